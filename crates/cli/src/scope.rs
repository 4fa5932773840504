//! Which sessions are meant: arguments and the current directory, as the library's filter.

use std::path::Path;

use annals::{Filter, Projects};

use crate::args::FilterArgs;
use crate::error::{Failure, Result};
use crate::project::GitProjects;

/// The filter that the arguments describe.
pub(crate) fn filter(args: &FilterArgs) -> Result<Filter> {
    let here = if args.here {
        let dir = std::env::current_dir().map_err(|e| Failure::io("find", Path::new("."), e))?;
        let workspace = workspace(&dir)?;
        let project = GitProjects.of(&workspace);
        Some((workspace, project))
    } else {
        None
    };
    Ok(Filter {
        workspace: args.workspace.as_deref().map(workspace).transpose()?,
        project: args.project.clone(),
        here,
        agent: args.agent.clone(),
        origin: args.origin.clone(),
        model: args.model.clone(),
        tags: args.tags.clone(),
        since: args.since,
        until: args.until,
        ..Filter::default()
    })
}

/// A directory as sessions name it: canonical when it is there, else as it is written.
pub(crate) fn workspace(dir: &Path) -> Result<String> {
    let path = match dir.canonicalize() {
        Ok(path) => path,
        Err(_) => std::path::absolute(dir).map_err(|e| Failure::io("find", dir, e))?,
    };
    Ok(path.display().to_string())
}
