//! What a command works with: the environment, the terminal, the store.

use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use annals::model::{Clock, Timestamp};
use annals::{Random, Store, StoreOptions};
use etcetera::BaseStrategy;

use crate::args::{Global, When};
use crate::error::{Failure, Result};
use crate::project::GitProjects;
use crate::settings::Settings;

pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    global: Global,
    settings: OnceCell<Settings>,
}

/// The system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The operating system's random source.
struct SystemRandom;

impl Random for SystemRandom {
    fn four(&self) -> [u8; 4] {
        let mut bytes = [0; 4];
        if getrandom::fill(&mut bytes).is_err() {
            // Only there to tell sessions of one second apart: the clock's nanoseconds do as well.
            let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
            bytes = (nanos ^ std::process::id().rotate_left(16)).to_be_bytes();
        }
        bytes
    }
}

impl Context {
    pub(crate) fn new(global: &Global) -> Self {
        match global.color {
            When::Always => anstream::ColorChoice::Always.write_global(),
            When::Never => anstream::ColorChoice::Never.write_global(),
            // NO_COLOR, CLICOLOR_FORCE, TERM=dumb and pipes are looked at by the stream itself.
            When::Auto => {}
        }
        Self { json: global.json, quiet: global.quiet, global: global.clone(), settings: OnceCell::new() }
    }

    /// The configuration, read when it is first asked.
    pub(crate) fn settings(&self) -> Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::load(&self.global)?;
        for warning in &settings.warnings {
            self.note(&format!("warning: {}", crate::output::plain(warning)));
        }
        Ok(self.settings.get_or_init(|| settings))
    }

    /// The data directory: `--data-dir`, else `ANNALS_HOME`, else the configuration's, else the platform's.
    pub(crate) fn home(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.settings()?.data_dir.value {
            return std::path::absolute(dir).map_err(|e| Failure::io("find", dir, e));
        }
        let base = etcetera::choose_base_strategy().map_err(|_| Failure::NoHome)?;
        Ok(base.data_dir().join("annals"))
    }

    pub(crate) fn store(&self, program: &str) -> Result<Store> {
        self.store_with(program, self.settings()?.durability.value)
    }

    pub(crate) fn store_with(&self, program: &str, durability: annals::log::Durability) -> Result<Store> {
        let mut options = StoreOptions::new(self.home()?, Arc::new(SystemClock), Arc::new(SystemRandom));
        options.program = format!("annals {program}");
        options.projects = Arc::new(GitProjects);
        options.durability = durability;
        options.allow_network_fs = self.settings()?.allow_network_fs.value;
        Ok(Store::open(options)?)
    }

    /// Says what was not as it should be with the index.
    pub(crate) fn notices(&self, store: &Store) {
        for notice in store.notices() {
            self.note(&format!("note: {}", crate::output::plain(&notice)));
        }
    }

    /// Whether people look at stdout.
    pub(crate) fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// Whether progress is worth drawing.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    /// Says something on stderr that is no error.
    #[allow(clippy::print_stderr)]
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            anstream::eprintln!("{text}");
        }
    }
}
