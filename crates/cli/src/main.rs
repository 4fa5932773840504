//! The program `annals`.
//!
//! stdout is data, stderr is talk. Arguments, environment, terminal and exit codes are this crate's business; what is done with sessions is the
//! library's.

mod args;
mod commands;
mod context;
mod error;
mod output;
mod project;
mod scope;
mod settings;
mod when;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use context::Context;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return error::usage(&error),
    };
    let context = Context::new(&args.global);
    let outcome = match &args.command {
        None => commands::status::run(&context),
        Some(Command::Import(args)) => commands::import::run(&context, args),
        Some(Command::List(args)) => commands::list::run(&context, args),
        Some(Command::Show(args)) => commands::show::run(&context, args),
        Some(Command::Resume(args)) => commands::resume::run(&context, args),
        Some(Command::Record(args)) => commands::record::run(&context, args),
        Some(Command::Search(args)) => commands::search::run(&context, args),
        Some(Command::Export(args)) => commands::export::run(&context, args),
        Some(Command::Fork(args)) => commands::change::fork(&context, args),
        Some(Command::Save(args)) => commands::change::save(&context, args),
        Some(Command::Rename(args)) => commands::change::rename(&context, args),
        Some(Command::Tag(args)) => commands::change::tag(&context, args),
        Some(Command::Mv(args)) => commands::change::mv(&context, args),
        Some(Command::Rm(args)) => commands::change::rm(&context, args),
        Some(Command::Relink(args)) => commands::change::relink(&context, args),
        Some(Command::Trash(args)) => commands::trash::run(&context, args),
        Some(Command::Log(args)) => commands::operations::log(&context, args),
        Some(Command::Undo(args)) => commands::operations::undo(&context, args),
        Some(Command::Stats(args)) => commands::stats::run(&context, args),
        Some(Command::Du(args)) => commands::du::run(&context, args),
        Some(Command::Why(args)) => commands::why::run(&context, args),
        Some(Command::Reindex(args)) => commands::doctor::reindex(&context, args),
        Some(Command::Doctor(_)) => commands::doctor::run(&context),
        Some(Command::Config(_)) => commands::config::run(&context),
        Some(Command::Verify(args)) => commands::verify::run(&context, args),
        Some(Command::Repair(args)) => commands::repair::run(&context, args),
        Some(Command::Demo) => commands::demo::run(&context),
        Some(Command::Completions(args)) => commands::completions::run(args),
        Some(Command::Man(args)) => commands::man::run(args),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => error::report(&context, &error),
    }
}
