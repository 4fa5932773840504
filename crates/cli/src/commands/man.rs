//! `annals man`.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, ManArgs};
use crate::error::{Failure, Result};

pub(crate) fn run(args: &ManArgs) -> Result<ExitCode> {
    let command = Args::command();
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(|e| Failure::io("create", dir, e))?;
            clap_mangen::generate_to(command, dir).map_err(|e| Failure::io("write to", dir, e))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            std::io::stdout().lock().write_all(&page)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
