//! What must not be touched: an export full of marks is of no use.

use annals_export::Masker;

/// Texts in which there is nothing secret.
const TEXTS: &[&str] = &[
    // Digests, ids, versions.
    "commit 9f2c1e7b4a6d8035c1e2f3a4b5c6d7e8f9a0b1c2\nAuthor: A <a@b.c>",
    "index 83db48f..bf2a1c3 100644",
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file",
    "session-20261130-210509-0001abff",
    "\"crc\":\"51d0c7e2\",\"prev\":\"9f3c01aa\"",
    "go.sum: h1:Vn0vJxLrbV1Ys1Yk2cVZKn0D7mKQ5Vf8WqSg0kYF3cE=",
    // Lock files.
    "      \"integrity\": \"sha512-z8d2v0t9Zk1d6oN8l6vN6s0X1y2z3A4b5C6d7E8f9G0h1I2j3K4l5M6n7O8p9Q0r1S2t3U4v5W6x7Y8z9A0b1Q==\",",
    "checksum = \"c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2\"",
    "\"resolved\": \"https://registry.npmjs.org/jsonwebtoken/-/jsonwebtoken-9.0.2.tgz\",",
    "tokio-util 0.7.13 (registry+https://github.com/rust-lang/crates.io-index)",
    // Images and other encoded things.
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXSwibmFtZXMiOltdfQ==",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3v9xkQm1s0p2r4t6v8y0A2C4E6G8I0K2M4O6Q8S0U2 me@host",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ0pYcD8l\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    // Source code that names such things.
    "let password = read_password(&path)?;",
    "if password.len() < MIN_PASSWORD_LENGTH { return Err(Error::PasswordTooShort); }",
    "password: String,\n    token: Option<Token2>,\n    secret_key: [u8; 32],",
    "pub token: Sha256Hash,",
    "self.token = other.token.clone();",
    "token = tokens.next().unwrap2;",
    "const token = await getToken(userId42);",
    "password = os.environ[\"DB_PASSWORD\"]",
    "password: process.env.DB_PASSWORD2,",
    "api_key=os.getenv(\"OPENAI_API_KEY\")",
    "token = config.auth.token2",
    "var token = new Token2(stream);",
    "fn token(&self) -> &str { &self.token }",
    "secret = hmac.new(key, msg, sha256).hexdigest()",
    "\"password\": {\"type\": \"string\", \"minLength\": 8}",
    "<input type=\"password\" name=\"password\" id=\"password1\">",
    "label: 'Password', placeholder: 'Enter your password'",
    "\"token\": \"IDENTIFIER\", \"tokenType\": \"bearer\"",
    "tokenizer: \"cl100k_base\"",
    "\"tokenizer\": \"gpt2-medium-v1.2\"",
    "max_tokens: 128000, max_output_tokens=4096",
    "\"usage\":{\"input_tokens\":12034,\"cache_read_input_tokens\":998877}",
    "tokens used: 1234567890123",
    "assert_eq!(token, \"end_of_file_2\");",
    "match token { Token::Ident => 1, Token::Number2 => 2 }",
    "PublicKeyToken=b77a5c561934e089",
    "\"nextPageToken\": \"CAUQAA1b2c3d4e5f6\"",
    "cache_key: build-v2-9f2c1e7b4a6d8035",
    "PASSWORD_FILE=/run/secrets/db2",
    "TOKEN_URL=https://auth.internal/oauth2/token",
    "MAX_TOKENS=4096 TOKEN_LIMIT=128000",
    "PRIMARY_KEY=user_id2",
    "Secretary of state: \"Antony1234\"",
    "passwordless: \"login2fa\"",
    "pub const ERROR_INVALID_PASSWORD: WIN32_ERROR2 = 86u32;",
    "pub type CHANGE_PASSWORD_FN = Option<unsafe fn()>;",
    "PASSWD = getpass.getpass()",
    "const IFLA_PORT_KEY: _bindgen_ty_27 = 12;",
    "DEVSTAT_TYPE_PASS = 0x100,",
    "last_pass_time => '1219328376.07815'",
    "pip/version.py,sha256=qaN-fw_htIgKUVXoAuAEVgKxQu3tZ9qE2eiKkWIS7LA",
    "clienttoken : super::super::super::Win32::Foundation::HANDLE",
    "pub const STATUS_NO_SECRETS: NTSTATUS = 0xC0000371_u32;",
    "const ACCESS_TOKEN: ATTRIBUTE = 2147483666u32;",
    // Documentation.
    "export ANTHROPIC_API_KEY=your-api-key",
    "API_KEY=<your key here>",
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: ${DB_PASSWORD}",
    "password: \"{{ vault_password }}\"",
    "--password \"$DB_PASSWORD\" --token $TOKEN",
    "--token <TOKEN>",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_API_KEY",
    "Use the Bearer authentication scheme; basic authentication is deprecated.",
    "postgres://user:pass@localhost/db",
    "postgres://user:password@localhost/db",
    "postgres://${USER}:${PASS}@localhost/db",
    "https://user:<password>@host",
    "password=changeme",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "A private key begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "The secret: never give up. The token: a word. Password: see below.",
    "sk-learn-style-naming-for-2024-models",
    "task-0123456789abcdef0123 disk-0123456789abcdef0123",
    "scikit-learn==1.4.2 risk_score=0.95",
    // Addresses.
    "http://localhost:8080/path@v2",
    "https://unpkg.com/react@18.2.0/umd/react.js",
    "git@github.com:annals-dev/annals.git ssh://git@github.com:22/a/b",
    "see https://example.org:8443/a?x=1@2",
    "git+https://github.com/a/b.git@v1.2.3#egg=b",
    // Long names.
    "this_is_a_very_long_identifier_that_names_a_token_and_a_secret_and_goes_on_for_ever_2",
    "com.example.project.security.PasswordAuthenticationTokenFilterFactoryBean2",
    "TestPasswordResetTokenExpiresAfter24Hours ... ok",
    "C:\\Users\\me\\AppData\\token2\\x",
    // Times, tables, logs.
    "12:00:00:AA 1:AAB",
    "| token | count |\n|---|---|\n| foo | 12345678 |",
    "2026-12-01 10:00:00 [secret-manager] rotated 12 secrets in 345ms",
    "PWD=/home/me/src OLDPWD=/home/me",
];

#[test]
fn ordinary_text_is_left_alone() {
    let mut wrong = Vec::new();
    for text in TEXTS {
        let masked = Masker::standard().mask(text);
        if !masked.found.is_empty() {
            wrong.push(format!("{text:?}\n    became {:?}", masked.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// This crate's own sources and the repository's pages: real text, none of it secret.
#[test]
fn this_repository_is_left_alone() {
    let mut wrong = Vec::new();
    let mut bytes = 0;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for dir in ["crates", "docs", "xtask", "scripts", "benches"] {
        visit(&std::path::Path::new(root).join(dir), &mut |path, text| {
            bytes += text.len();
            for secret in Masker::standard().mask(text).found {
                wrong.push(format!("{}: {} {:?}", path.display(), secret.rule, &text[secret.at]));
            }
        });
    }
    assert!(bytes > 500_000, "{bytes}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn visit(path: &std::path::Path, take: &mut dyn FnMut(&std::path::Path, &str)) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            let name = entry.file_name();
            if name != "target" && name != "export" {
                visit(&entry.path(), take);
            }
        }
    } else if let Ok(text) = std::fs::read_to_string(path) {
        take(path, &text);
    }
}
