#!/usr/bin/env python3
"""Real faults against the real binary: system calls made to fail, processes killed, processes racing.

usage: faults.py PROGRAM [CYCLES]

1. `annals record` under `strace -e inject=`: errors and a kill at every n-th call; then a file system that really fills up.
2. A kill loop: SIGKILL at a random moment; what was acknowledged is compared with what is there.
3. Eight processes racing for one session.

Prints counts; exits with 1 at the first thing that is wrong.
"""
import json, os, random, shutil, signal, subprocess, sys, tempfile, time

PROGRAM = os.path.abspath(sys.argv[1])
CYCLES = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
BASE = os.environ.get("ANNALS_FAULTS_DIR")


def fail(text):
    print("WRONG:", text)
    sys.exit(1)


def line(n, pad=0):
    return json.dumps({"kind": "user_message", "data": {"kind": "prompt", "text": f"event {n} " + "x" * pad}}) + "\n"


def annals(home, *args, **kw):
    return subprocess.run([PROGRAM, "--data-dir", home, *args], capture_output=True, text=True, timeout=60, **kw)


def texts(home, session):
    """The texts in a session, as stored; and that it verifies."""
    checked = annals(home, "verify", session, "--json")
    if checked.returncode != 0:
        fail(f"verify: {checked.stdout} {checked.stderr}")
    shown = annals(home, "show", session, "--events", "--json")
    if shown.returncode != 0:
        fail(f"show: {shown.stderr}")
    events = [json.loads(l) for l in shown.stdout.splitlines()]
    if [e["seq"] for e in events] != list(range(len(events))):
        fail(f"numbers are not gapless: {[e['seq'] for e in events]}")
    return {e["seq"]: e["data"]["text"] for e in events if e["kind"] == "user_message"}


def compare(home, session, acknowledged, what):
    there = texts(home, session)
    for seq, text in acknowledged.items():
        if there.get(seq) != text:
            fail(f"{what}: event {seq} was acknowledged as {text!r}, {there.get(seq)!r} is there")


def inject(kinds):
    """Runs a scripted recording with one system call made to fail, for every n."""
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True)
    if probe.returncode != 0:
        print("SKIPPED: strace is missing or may not trace here:", probe.stderr.decode()[:200])
        return
    runs = 0
    for call, injection in kinds:
        for n in range(1, 60):
            home = tempfile.mkdtemp(dir=BASE)
            done = annals(home, "record", "s1", input="".join(line(i, 300) for i in range(3)))
            if done.returncode != 0:
                fail(f"plain recording: {done.stderr}")
            acknowledged = {i + 1: f"event {i} " + "x" * 300 for i in range(3)}
            trace = os.path.join(home, "trace")
            child = subprocess.Popen(
                ["strace", "-f", "-o", trace, "-e", f"trace={call}", "-e", f"inject={call}:{injection}:when={n}",
                 PROGRAM, "--data-dir", home, "record", "s1", "--json"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for i in range(100, 104):
                try:
                    child.stdin.write(line(i, 300))
                    child.stdin.flush()
                    answer = child.stdout.readline()
                except (BrokenPipeError, OSError):
                    break
                if not answer:
                    break
                try:
                    answer = json.loads(answer)
                except ValueError:
                    break
                if "seq" in answer:
                    acknowledged[answer["seq"]] = f"event {i} " + "x" * 300
            try:
                child.stdin.close()
            except OSError:
                pass
            child.wait(timeout=60)
            hit = "INJECTED" in open(trace).read() if os.path.exists(trace) else True
            if "signal" in injection:
                hit = child.returncode != 0
            what = f"{call}:{injection} at {n}"
            compare(home, "s1", acknowledged, what)
            again = annals(home, "record", "s1", input=line(999))
            if again.returncode != 0 or "seq" not in again.stdout:
                fail(f"{what}: can't be recorded afterwards: {again.stdout} {again.stderr}")
            seq = json.loads(again.stdout.splitlines()[-1])["seq"]
            acknowledged[seq] = "event 999 "
            compare(home, "s1", acknowledged, what + ", afterwards")
            shutil.rmtree(home)
            runs += 1
            if not hit:
                break
    print(f"injected faults: {runs} recordings, everything acknowledged is there")


def kill_loop(cycles):
    """Kills the recorder at random moments, over and over, in one home."""
    home = tempfile.mkdtemp(dir=BASE)
    rng = random.Random(7)
    acknowledged, number, session, torn, killed = {}, 0, None, 0, 0
    start = time.time()
    for cycle in range(cycles):
        if cycle % 50 == 0:
            if session:
                compare(home, session, acknowledged, f"cycle {cycle}")
            session, acknowledged = f"kill-{cycle}", {}
        child = subprocess.Popen([PROGRAM, "--data-dir", home, "record", session, "--json", "-q"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        sent = []
        for _ in range(rng.randrange(1, 30)):
            sent.append(f"event {number} " + "x" * rng.choice([0, 40, 3000]))
            number += 1
        body = "".join(json.dumps({"kind": "user_message", "data": {"kind": "prompt", "text": t}}) + "\n" for t in sent)
        child.stdin.write(body.encode())
        child.stdin.flush()
        wanted = rng.randrange(0, len(sent) + 1)
        answers = []
        while len(answers) < wanted:
            answer = child.stdout.readline()
            if not answer:
                fail(f"cycle {cycle}: the recorder stopped: {child.stderr.read()}")
            answers.append(answer)
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.002)
        child.send_signal(signal.SIGKILL)
        # Through the same buffer as the answers before: what `communicate` reads would skip what lies in it.
        rest = child.stdout.read()
        child.wait()
        killed += 1
        answers += [l + b"\n" for l in rest.split(b"\n") if l.endswith(b"}")]
        for answer, text in zip(answers, sent):
            acknowledged[json.loads(answer)["seq"]] = text
    compare(home, session, acknowledged, "the end")
    for directory in os.listdir(os.path.join(home, "sessions")):
        torn += sum(name.startswith("torn-") for name in os.listdir(os.path.join(home, "sessions", directory)))
    seconds = time.time() - start
    print(f"kill loop: {killed} kills, {number} events sent, {torn} torn tails kept aside, 0 acknowledged lost ({seconds:.0f} s)")
    shutil.rmtree(home)


def full_disk():
    """A real file system that really fills up."""
    mount = tempfile.mkdtemp(dir=BASE)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", mount], capture_output=True).returncode != 0:
        print("SKIPPED: a small file system can't be mounted here")
        return
    try:
        home = os.path.join(mount, "home")
        body = "".join(line(n, 900) for n in range(600))
        done = annals(home, "record", "full", "--json", "-q", input=body)
        answers = [json.loads(l) for l in done.stdout.splitlines()]
        acknowledged = {a["seq"]: f"event {n} " + "x" * 900 for n, a in enumerate(answers) if "seq" in a}
        refused = [a["error"] for a in answers if "error" in a]
        if len(answers) != 600 or not refused or any(e["kind"] != "NoSpace" for e in refused):
            fail(f"a full disk: {len(answers)} answers, {len(refused)} refusals, {refused[:2]} {done.stderr[:300]}")
        compare(home, "full", acknowledged, "full disk")
        print(f"full disk: {len(acknowledged)} acknowledged and there, {len(refused)} refused by name")
    finally:
        subprocess.run(["umount", mount], capture_output=True)
        os.rmdir(mount)


def race(processes, rounds):
    """Several processes want one session: one gets it, the others are told who has it."""
    home = tempfile.mkdtemp(dir=BASE)
    acknowledged, busy = {}, 0
    for n in range(rounds):
        children = [subprocess.Popen([PROGRAM, "--data-dir", home, "record", "race", "--json", "-q"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    for _ in range(processes)]
        for i, child in enumerate(children):
            body = [f"event {n}-{i}-{k} " for k in range(20)]
            try:
                out, err = child.communicate("".join(
                    json.dumps({"kind": "user_message", "data": {"kind": "prompt", "text": t}}) + "\n" for t in body), timeout=60)
            except BrokenPipeError:
                out, err = child.stdout.read(), child.stderr.read()
                child.wait()
            if child.returncode == 4:
                busy += 1
                if json.loads(err)["error"]["kind"] != "SessionBusy":
                    fail(f"a busy session says {err}")
            elif child.returncode == 0:
                for answer, text in zip(out.splitlines(), body):
                    seq = json.loads(answer)["seq"]
                    if seq in acknowledged:
                        fail(f"event {seq} was acknowledged twice")
                    acknowledged[seq] = text
            else:
                fail(f"a racer ended with {child.returncode}: {err}")
    compare(home, "race", acknowledged, "race")
    print(f"race: {processes} processes, {rounds} rounds: {len(acknowledged)} acknowledged once each, {busy} told that it is busy")
    shutil.rmtree(home)


if __name__ == "__main__":
    inject([
        ("fdatasync", "error=EIO"),
        ("fdatasync", "signal=KILL"),
        ("pwrite64", "error=ENOSPC"),
        ("pwrite64", "error=EIO"),
        ("pwrite64", "signal=KILL"),
        ("ftruncate", "error=EIO"),
        ("ftruncate", "signal=KILL"),
        ("fsync", "error=EIO"),
        ("openat", "signal=KILL"),
    ])
    full_disk()
    kill_loop(CYCLES)
    race(8, 25)
