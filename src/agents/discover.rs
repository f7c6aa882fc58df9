//! Which files of an app folder are agents, in load order.

use std::io;
use std::path::Path;

use super::slug::is_agent_file;
use crate::config::{Code, Diagnostic, Severity};

/// How many agent files a folder may hold.
const MAX_AGENTS: usize = 256;

/// The agent files of the folder and of its `agents/` (else `Agents/`), relative to the folder and in the order in which
/// existing folders load: by path, part by part.
///
/// # Errors
/// The folder cannot be listed, or holds too many agents.
pub(super) fn discover(root: &Path) -> Result<Vec<String>, Box<Diagnostic>> {
    let mut files = agent_files(root, None).map_err(|error| {
        Box::new(
            Diagnostic::new(
                Severity::Error,
                Code::FolderUnreadable,
                format!("cannot read the app folder `{}`: {error}", root.display()),
            )
            .help("name a folder that holds `*.agent.md` files"),
        )
    })?;
    let spellings = ["agents", "Agents"];
    if let Some(broken) = spellings.into_iter().find(|name| root.join(name).is_symlink() && !root.join(name).exists()) {
        return Err(Box::new(
            Diagnostic::new(Severity::Error, Code::FileUnreadable, "this is a link that leads nowhere")
                .in_file(broken)
                .help("correct the link, or remove it"),
        ));
    }
    if let Some(folder) = either_spelling(root, spellings) {
        let listed = agent_files(&root.join(folder), Some(folder)).map_err(|error| {
            Box::new(
                Diagnostic::new(Severity::Error, Code::FileUnreadable, format!("cannot list this folder: {error}"))
                    .in_file(folder)
                    .help("check its permissions"),
            )
        })?;
        files.extend(listed);
    }
    if files.len() > MAX_AGENTS {
        return Err(Box::new(
            Diagnostic::new(
                Severity::Error,
                Code::TooManyAgents,
                format!("the folder holds {} agent files, more than {MAX_AGENTS}", files.len()),
            )
            .help("split it into several apps"),
        ));
    }
    files.sort_by(|a, b| Path::new(a).cmp(Path::new(b)));
    Ok(files)
}

/// The first of two spellings of a folder that exists.
pub(super) fn either_spelling(root: &Path, spellings: [&'static str; 2]) -> Option<&'static str> {
    spellings.into_iter().find(|name| root.join(name).is_dir())
}

fn agent_files(folder: &Path, inside: Option<&str>) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        // A name that is not UTF-8 can be no slug and is no agent.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // Whatever else bears such a name, a link that leads nowhere for one, is met when it is read.
        if is_agent_file(&name) && !entry.path().is_dir() {
            files.push(inside.map_or(name.clone(), |folder| format!("{folder}/{name}")));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn agents_are_found_in_the_folder_and_one_level_below_in_path_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("agents/deeper")).unwrap();
        fs::create_dir_all(root.join("folder.agent.md")).unwrap();
        let files = [
            "zeta.agent.md",
            "README.md",
            ".hidden.agent.md",
            "CLAUDE.md",
            "agents/b.agent.md",
            "agents/a.claude.md",
            "agents/deeper/x.agent.md",
            "aaa.agent.md",
        ];
        for file in files {
            fs::write(root.join(file), "").unwrap();
        }
        assert_eq!(
            discover(root).unwrap(),
            ["CLAUDE.md", "aaa.agent.md", "agents/a.claude.md", "agents/b.agent.md", "zeta.agent.md"]
        );
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let link = |name: &str| std::os::unix::fs::symlink("nothing", folder.path().join(name)).unwrap();
        link("x.agent.md");
        assert_eq!(discover(folder.path()).unwrap(), ["x.agent.md"]);
        link("agents");
        assert_eq!(discover(folder.path()).unwrap_err().file.as_deref(), Some("agents"));
    }

    #[test]
    fn the_number_of_agents_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..=MAX_AGENTS {
            fs::write(folder.path().join(format!("a{index}.agent.md")), "").unwrap();
        }
        assert_eq!(discover(folder.path()).unwrap_err().code, Code::TooManyAgents);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let problem = discover(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(problem.code, Code::FolderUnreadable);
        assert!(problem.message.contains("/nowhere/at/all"));
    }
}
