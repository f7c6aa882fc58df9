//! From the name of an agent file to its slug: the segment of its routes and its identity.

/// The slug of a file name. Letter case is kept and repeated underscores stay, as existing folders expect.
pub(super) fn slug(file_name: &str) -> String {
    let lower = file_name.to_lowercase();
    if is_bare(&lower) {
        return "main".to_owned();
    }
    let stem = stem(file_name);
    let replaced: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let slug = replaced.trim_matches('_');
    if slug.is_empty() {
        return "agent_function".to_owned();
    }
    if slug.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("fn_{slug}");
    }
    slug.to_owned()
}

/// Whether a name in a folder is that of an agent file.
pub(super) fn is_agent_file(file_name: &str) -> bool {
    let lower = file_name.to_lowercase();
    let named = lower.ends_with(".agent.md") || lower.ends_with(".claude.md");
    !file_name.starts_with('.') && (is_bare(&lower) || named)
}

/// Whether the file is the app's main agent: `agent.md`, `CLAUDE.md`, `main.agent.md` or `main.claude.md` in any case.
pub(super) fn is_main(file_name: &str) -> bool {
    let lower = file_name.to_lowercase();
    is_bare(&lower) || matches!(lower.as_str(), "main.agent.md" | "main.claude.md")
}

fn is_bare(lower: &str) -> bool {
    matches!(lower, "agent.md" | "claude.md")
}

fn stem(file_name: &str) -> &str {
    [".claude.md", ".agent.md"]
        .into_iter()
        .find_map(|suffix| {
            let (stem, end) = file_name.split_at_checked(file_name.len().checked_sub(suffix.len())?)?;
            end.eq_ignore_ascii_case(suffix).then_some(stem)
        })
        .unwrap_or(file_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_follow_the_table_of_the_runtime() {
        let cases = [
            ("main.agent.md", "main"),
            ("agent.md", "main"),
            ("Agent.MD", "main"),
            ("CLAUDE.md", "main"),
            ("incident-triage.agent.md", "incident_triage"),
            ("Report.AGENT.md", "Report"),
            ("Main.agent.md", "Main"),
            ("2024 plan.agent.md", "fn_2024_plan"),
            ("--.agent.md", "agent_function"),
            ("a--b.claude.md", "a__b"),
            ("my.report.agent.md", "my_report"),
            ("_x_.agent.md", "x"),
            ("größe.agent.md", "gr__e"),
            ("日本.agent.md", "agent_function"),
            ("a.agent.md.claude.md", "a_agent_md"),
        ];
        for (file, expected) in cases {
            assert_eq!(slug(file), expected, "{file}");
        }
    }

    #[test]
    fn agent_files_are_known_by_name() {
        let cases = [
            ("a.agent.md", true),
            ("a.claude.md", true),
            ("AGENT.md", true),
            ("Claude.MD", true),
            ("A.AGENT.MD", true),
            ("foo.agents.md", false),
            ("README.md", false),
            ("foo.md", false),
            (".agent.md", false),
            (".x.agent.md", false),
        ];
        for (file, expected) in cases {
            assert_eq!(is_agent_file(file), expected, "{file}");
        }
    }

    #[test]
    fn the_main_agent_is_known_by_name() {
        let cases = [
            ("main.agent.md", true),
            ("main.claude.md", true),
            ("Main.agent.md", true),
            ("agent.md", true),
            ("CLAUDE.md", true),
            ("domain.agent.md", false),
        ];
        for (file, expected) in cases {
            assert_eq!(is_main(file), expected, "{file}");
        }
    }
}
