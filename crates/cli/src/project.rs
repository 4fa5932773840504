//! What stays the same of a project when its directory is moved or cloned anew: the first commit of its repository.

use std::path::Path;
use std::process::{Command, Stdio};

use annals::Projects;

/// Projects are git repositories.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GitProjects;

impl Projects for GitProjects {
    /// `git:` and the root commit. A repository with several is known by the one whose hash comes first; a shallow clone has another root, and
    /// one without commits none: both are known by their remote, when they have one.
    fn of(&self, workspace: &str) -> Option<String> {
        let dir = Path::new(workspace);
        // Most directories are no repository: to know that no program is started.
        if !dir.ancestors().any(|above| above.join(".git").exists()) {
            return None;
        }
        let is_shallow = git(dir, &["rev-parse", "--is-shallow-repository"]).as_deref() == Some("true");
        if !is_shallow && let Some(roots) = git(dir, &["rev-list", "--max-parents=0", "HEAD"]) {
            return roots.lines().min().map(|root| format!("git:{root}"));
        }
        let url = git(dir, &["config", "--get", "remote.origin.url"])?;
        // Whoever clones with a token does not mean to keep it here.
        let url = match url.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, r)| r)),
            None => url,
        };
        Some(format!("git:{url}"))
    }
}

/// What git says, when it is there and content. It is asked nothing that changes anything or runs what the repository configures.
fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
