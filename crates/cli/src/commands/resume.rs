//! `annals resume --print`: what a model would be sent.

use std::io::Write;
use std::process::ExitCode;

use annals::model::fold::Fate;
use annals::model::view::{self, Provider, Target};

use crate::args::{ProviderName, ResumeArgs};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::{self, plain};

pub(crate) fn run(context: &Context, args: &ResumeArgs) -> Result<ExitCode> {
    if !args.print {
        let hint = format!("`annals resume {} --print` prints what a model would be sent", args.session);
        return Err(Failure::Usage(
            "going on with a session needs an agent, which this version does not have yet".to_owned(),
            hint,
        ));
    }
    let store = context.store("resume")?;
    let id = store.resolve(&args.session)?;
    let replay = store.replay(&id)?;
    let meta = &replay.state.meta;
    let provider = match args.provider {
        Some(ProviderName::Anthropic) => Provider::Anthropic,
        Some(ProviderName::Openai) => Provider::OpenAi,
        None if meta.provider.as_deref() == Some("openai") => Provider::OpenAi,
        None => Provider::Anthropic,
    };
    let model = args.model.clone().or_else(|| meta.model.clone()).unwrap_or_default();
    let view = view::messages(&replay.state.context, &Target::new(provider, &model));
    for call in &view.closed {
        let fate = match call.fate {
            Fate::NotStarted => "did not start; safe to run",
            Fate::OutcomeUnknown => "may have run; check before running it again",
        };
        context.note(&format!("note: the {} call {} {fate}", plain(&call.name), plain(&call.id)));
    }
    for gap in &replay.gaps {
        context.note(&format!(
            "note: {} events from {} on are damaged and left out",
            gap.missing, gap.expected_seq
        ));
    }
    let text = if context.json { output::json_line(&view)? } else { output::json_pretty(&view)? };
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}
