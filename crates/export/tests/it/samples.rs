//! Secrets of every kind, made at run time: no scanner of a forge shall find one in this source, and none was ever a real one.

/// Characters by the name that providers' documentation gives them.
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// `len` characters that look random and are the same every time. The first is a letter, the last is one that any rule takes, and
/// there is a digit near the start.
fn random(alphabet: &str, len: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ (len as u64);
    let mut text: Vec<char> = (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()]
        })
        .collect();
    let letter = if alphabet.contains(&'d') { 'd' } else { 'D' };
    let digit = if alphabet.contains(&'7') { '7' } else { letter };
    (text[0], text[2], text[len - 1]) = (letter, digit, digit);
    text.into_iter().collect()
}

fn key(prefix: &[&str], alphabet: &str, len: usize) -> String {
    format!("{}{}", prefix.concat(), random(alphabet, len))
}

/// A private key as it stands in a file.
pub(crate) fn pem(kind: &str) -> String {
    let body: Vec<String> = (0..12).map(|i| random(BASE64, 64 + i).chars().take(64).collect()).collect();
    let (begin, end) = (["-----BEG", "IN"].concat(), ["-----E", "ND"].concat());
    format!("{begin} {kind}-----\n{}\nAb3=\n{end} {kind}-----", body.join("\n"))
}

/// A JSON web token.
pub(crate) fn jwt() -> String {
    format!(
        "ey{}.ey{}.{}",
        random(BASE62, 34).replacen('d', "J", 1),
        random(BASE62, 60).replacen('d', "J", 1),
        random(URL_SAFE, 43)
    )
}

/// Keys that are known by their own form: the rule and the key.
pub(crate) fn keys() -> Vec<(&'static str, String)> {
    let mut keys = vec![
        ("aws-access-key", key(&["AK", "IA"], UPPER, 16)),
        ("aws-access-key", key(&["AS", "IA"], UPPER, 16)),
        ("google-api-key", key(&["AI", "za"], URL_SAFE, 35)),
        ("google-oauth", key(&["ya", "29."], URL_SAFE, 80)),
        ("google-oauth", key(&["GOC", "SPX-"], URL_SAFE, 28)),
        ("azure-client-secret", format!("{}8{}{}", "ab3", "Q~", random(URL_SAFE, 34))),
        ("digitalocean-token", key(&["do", "p_v1_"], HEX, 64)),
        ("cloud-token", key(&["tsk", "ey-auth-"], BASE62, 30)),
        ("cloud-token", key(&["da", "pi"], HEX, 32)),
        ("cloud-token", key(&["hv", "s."], URL_SAFE, 90)),
        ("github-token", key(&["gh", "p_"], BASE62, 36)),
        ("github-token", key(&["gh", "o_"], BASE62, 36)),
        ("github-token", key(&["gh", "u_"], BASE62, 36)),
        ("github-token", key(&["gh", "s_"], BASE62, 36)),
        ("github-token", format!("{}_{}", key(&["github", "_pat_"], BASE62, 22), random(BASE62, 59))),
        ("gitlab-token", key(&["gl", "pat-"], URL_SAFE, 20)),
        ("npm-token", key(&["np", "m_"], BASE62, 36)),
        ("pypi-token", key(&["py", "pi-AgEIcHlwaS5vcmc"], URL_SAFE, 120)),
        ("docker-token", key(&["dck", "r_pat_"], URL_SAFE, 27)),
        ("package-token", key(&["ruby", "gems_"], HEX, 48)),
        ("package-token", key(&["ci", "o"], BASE62, 32)),
        ("anthropic-key", key(&["sk-", "ant-api03-"], URL_SAFE, 95)),
        ("anthropic-key", key(&["sk-", "ant-oat01-"], URL_SAFE, 95)),
        ("openrouter-key", key(&["sk-", "or-v1-"], HEX, 64)),
        ("openai-key", key(&["sk-", "proj-"], URL_SAFE, 120)),
        ("openai-key", format!("{}T3BlbkFJ{}", key(&["sk", "-"], BASE62, 20), random(BASE62, 20))),
        ("openai-key", key(&["sk", "-"], HEX, 32)),
        ("huggingface-token", key(&["h", "f_"], BASE62, 34)),
        ("groq-key", key(&["gs", "k_"], BASE62, 52)),
        ("model-key", key(&["xa", "i-"], BASE62, 80)),
        ("model-key", key(&["r", "8_"], BASE62, 37)),
        (
            "slack-token",
            format!("{}-1234567890123-{}", ["xo", "xb-123456789012"].concat(), random(BASE62, 24)),
        ),
        ("stripe-key", key(&["sk", "_live_"], BASE62, 24)),
        ("stripe-key", key(&["rk", "_test_"], BASE62, 99)),
        ("stripe-key", key(&["wh", "sec_"], BASE62, 32)),
        ("twilio-key", key(&["S", "K"], HEX, 32)),
        ("sendgrid-key", format!("{}.{}", key(&["S", "G."], URL_SAFE, 22), random(URL_SAFE, 43))),
        ("service-key", key(&["shp", "at_"], HEX, 32)),
        ("service-key", key(&["lin", "_api_"], BASE62, 40)),
        ("age-key", key(&["AGE-SEC", "RET-KEY-1"], UPPER, 58)),
        ("jwt", jwt()),
    ];
    for kind in
        ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    {
        keys.push(("private-key", pem(kind)));
    }
    keys
}

/// Secrets that their surroundings give away: the rule, the text, and the part that must not be left.
pub(crate) fn in_place() -> Vec<(&'static str, String, String)> {
    let secret40 = random(BASE64, 40);
    let hex32 = random(HEX, 32);
    let base62 = random(BASE62, 32);
    let short = ["hunt", "er2!x"].concat();
    let telegram = format!("A{}", random(URL_SAFE, 34).replacen('d', "A", 1));
    let discord = format!("MTA{}.{}.{}", random(BASE62, 23), "Gx7_ab", random(URL_SAFE, 38));
    let azure = format!("{}==", random(BASE64, 86));
    let mut all = Vec::new();
    let mut put = |rule, text: String, secret: &str| {
        assert!(text.contains(secret), "{text}");
        all.push((rule, text, secret.to_owned()));
    };
    put("aws-secret-key", format!("AWS_SECRET_ACCESS_KEY={secret40}"), &secret40);
    put("aws-secret-key", format!("aws_secret_access_key = {secret40}\nregion = eu-west-1"), &secret40);
    put("aws-secret-key", format!(r#""SecretAccessKey": "{secret40}","#), &secret40);
    put("aws-secret-key", format!(r#"{{"out":"{{\"SecretAccessKey\": \"{secret40}\"}}"}}"#), &secret40);
    put("aws-key-pair", format!("{},{secret40}", key(&["AK", "IA"], UPPER, 16)), &secret40);
    put(
        "azure-storage-key",
        format!("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={azure};Suffix=x"),
        &azure,
    );
    put(
        "telegram-token",
        format!("https://api.telegram.org/bot1234567890:{telegram}/sendMessage"),
        &telegram,
    );
    put("telegram-token", format!("TELEGRAM=1234567890:{telegram}"), &telegram);
    put("discord-token", format!("DISCORD_BOT={discord}"), &discord);
    put("discord-token", format!("discord.login('{discord}')").replace("login(", "token = "), &discord);
    put("discord-token", format!("Authorization: Bot {discord}"), &discord);
    put(
        "discord-webhook",
        format!("https://discord.com/api/webhooks/123456789/{}", random(URL_SAFE, 68)),
        &random(URL_SAFE, 68),
    );
    put(
        "slack-webhook",
        format!("https://hooks.slack.com/services/T0123ABCD/B0123ABCD/{}", random(BASE62, 24)),
        &random(BASE62, 24),
    );
    put("twilio-token", format!("TWILIO_AUTH_TOKEN={hex32}"), &hex32);
    put(
        "docker-auth",
        format!(r#""auths":{{"https://index.docker.io/v1/":{{"auth":"{}=="}}}}"#, random(BASE62, 30)),
        &random(BASE62, 30),
    );
    put("npm-token", format!("//registry.npmjs.org/:_authToken={base62}"), &base62);
    put("url-password", format!("postgres://app:{short}@db.internal:5432/app"), &short);
    put("url-password", format!("git clone https://x-access-token:{base62}@github.com/a/b"), &base62);
    put("url-password", format!("redis://:{short}@cache:6379"), &short);
    put("url-password", "amqp://guest:p@ss:w0rd@rabbit/vhost".to_owned(), "p@ss:w0rd");
    put("authorization", format!("Authorization: Bearer {base62}"), &base62);
    put(
        "authorization",
        format!(r#"curl -H "Authorization: token {hex32}" https://api.example.org"#),
        &hex32,
    );
    put("authorization", format!(r#"{{"headers":{{"authorization":"Bearer {base62}"}}}}"#), &base62);
    put("authorization-basic", "Authorization: Basic YWRtaW46aHVudGVy".to_owned(), "YWRtaW46aHVudGVy");
    put("bearer-token", format!("-H 'X-Auth: Bearer {base62}'"), &base62);
    put("curl-user", format!("curl -s -u deploy:{short} https://ci.internal/api"), &short);
    put("env-password", format!("DB_PASSWORD={short}"), &short);
    put("env-password", format!("export PGPASSWORD='{short}'"), &short);
    put("env-password", "POSTGRES_PASSWORD: swordfish\n".to_owned(), "swordfish");
    put("env-password", r#"MYSQL_ROOT_PASSWORD="two words 7""#.to_owned(), "two words 7");
    put("env-password", r#"{"command":"DB_PASSWORD=k1ngk0ng\nOTHER=1"}"#.to_owned(), "k1ngk0ng");
    put("env-password", r#"{"env":{"SMTP_PASS":"k1ngk0ng"}}"#.to_owned(), "k1ngk0ng");
    put("env-secret", format!("SESSION_SECRET={base62}"), &base62);
    put("env-secret", format!("STRIPE_API_KEY: \"{base62}\""), &base62);
    put("env-secret", format!("const API_TOKEN: &str = \"{base62}\";"), &base62);
    put("env-secret", format!("docker run -e MY_SERVICE_TOKEN={hex32} img"), &hex32);
    put("env-secret", format!("WALLET_PRIVATE_KEY=0x{}", random(HEX, 64)), &random(HEX, 64));
    put("password", format!(r#"{{"user":"bob","password":"{short}"}}"#), &short);
    put("password", format!(r#"{{"body":"{{\"password\": \"{short}\"}}"}}"#), &short);
    put("password", r#"{"password":"a\"b\\c9d"}"#.to_owned(), r#"a\"b\\c9d"#);
    put("password", format!("db.connect(user='x', password='{short}')"), &short);
    put("password", format!("let password: &str = \"{short}\";"), &short);
    put("password", format!("config[\"password\"] = \"{short}\""), &short);
    put("password-plain", format!("password: {short}"), &short);
    put("password-plain", format!("Server=db;Uid=sa;Pwd={short};Database=x"), &short);
    put("password-plain", format!("2026-12-01T10:00:00Z INFO login user=bob password={short} ok"), &short);
    put("secret", format!("api_key = \"{base62}\""), &base62);
    put("secret", format!("apiKey: '{hex32}',"), &hex32);
    put("secret", format!(r#"{{\"token\": \"{hex32}\"}}"#), &hex32);
    put("secret", format!("const clientSecret: string = \"{base62}\";"), &base62);
    put("secret-plain", format!("X-Api-Key: {hex32}"), &hex32);
    put("secret-plain", format!("GET /v1/items?access_token={base62}&page=2"), &base62);
    put("secret-plain", format!("secret: {base62}\n"), &base62);
    put("secret-flag", format!("mysqldump --password {short} app"), &short);
    put("secret-flag", format!(r#"["deploy","--token","{base62}"]"#), &base62);
    put("secret-flag", format!("gh auth --token={base62}"), &base62);
    put("secret-element", format!("<server><password>{short}</password></server>"), &short);
    all
}

/// Surroundings that a key is found in. `{}` is the place; `\` before it means that the key is escaped as JSON first, `\\` twice.
pub(crate) const PLACES: &[&str] = &[
    "{}",
    "SERVICE={}\n",
    "export SERVICE=\"{}\"\n",
    "service:\n  value: {}\n",
    "{\"value\": \"\\{}\"}",
    "{\"out\":\"line\\n\\{}\\nnext\"}",
    "{\"out\":\"{\\\"value\\\": \\\"\\\\{}\\\"}\"}",
    "X-Service: {}\r\n",
    "2026-12-01T10:00:00Z WARN client: refused key={} status=401",
    "`{}`, said the page",
    "<li>{}</li>",
    "https://service.internal/v1?q=1&k={}&page=2",
    "\u{1b}[32m{}\u{1b}[0m",
    "{\"out\":\"\\u001b[32m\\{}\\u001b[0m\"}",
    "value%3D{}%26x",
];

/// Puts a key into a place.
pub(crate) fn put(place: &str, key: &str) -> String {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    match place.split_once("{}").unwrap() {
        (before, after) if before.ends_with("\\\\") => {
            format!("{}{}{after}", &before[..before.len() - 2], json(&json(key)))
        }
        (before, after) if before.ends_with('\\') => {
            format!("{}{}{after}", &before[..before.len() - 1], json(key))
        }
        (before, after) => format!("{before}{key}{after}"),
    }
}
