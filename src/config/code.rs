//! The stable codes of findings; `docs/diagnostics.md` is generated from this table.

macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal;)*) => {
        /// A kind of finding. The number never changes its meaning; a number that is no longer used is not given away.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as people see and search it.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id),* }
            }

            /// What the code stands for, in one sentence.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }
        }
    };
}

codes! {
    FolderUnreadable = "A2F0101", "The app folder cannot be read.";
    FileUnreadable = "A2F0102", "A file cannot be read, is too large, or is not UTF-8 text.";
    FrontMatterMissing = "A2F0103", "An agent file has no front matter.";
    FrontMatterUnclosed = "A2F0104", "The front matter of an agent file has no closing line of dashes.";
    FrontMatterLate = "A2F0105", "Something stands before the first line of dashes of an agent file.";
    SyntaxInvalid = "A2F0106", "A file is not valid YAML or JSON.";
    TooManyAgents = "A2F0107", "The folder holds more agent files than are read.";
    NoAgents = "A2F0108", "The folder holds no agent that can be loaded.";
    NothingServed = "A2F0109", "No agent declares an A2A endpoint.";

    UnknownField = "A2F0201", "A field does not exist.";
    MissingField = "A2F0202", "A required field is missing.";
    WrongType = "A2F0203", "A value has the wrong type.";
    UnknownChoice = "A2F0204", "A value is not one of those that the field knows.";
    Blank = "A2F0205", "A text that is needed is blank.";
    OutOfRange = "A2F0206", "A number is outside its range.";
    ModeNotServed = "A2F0207", "`mode: durable` is known, but this version serves `simple`.";

    DuplicateSlug = "A2F0301", "Two agent files have the same slug, letter case aside.";
    EntryPointMissing = "A2F0302", "An agent has neither a trigger nor an endpoint, and no other agent refers to it.";
    TriggerUnsupported = "A2F0303", "A trigger type cannot start an agent.";
    SubagentReference = "A2F0304", "A reference to another agent is wrong.";
    UnknownExclude = "A2F0305", "`exclude` names something that does not exist.";
    TokenLimits = "A2F0306", "The token limits of an agent contradict each other.";
    RoutePrefix = "A2F0307", "The route prefix of `host.json` cannot be served.";
    SkillName = "A2F0308", "A skill has no valid name, or shares it with another skill.";

    UrlInvalid = "A2F0401", "The public address of an A2A endpoint breaks a rule.";
    UrlPathDiffers = "A2F0402", "The path of the public address is not the route that is served.";
    ContextShared = "A2F0403", "Callers can continue the conversations of others.";
    AuthWeakened = "A2F0404", "An agent is open to everyone although the app asks for a key or a token.";
    EntraIncomplete = "A2F0405", "`http_auth: entra` on an agent with an A2A endpoint lacks the tenant or the audiences.";
    EntraWithoutMode = "A2F0406", "Entra settings are present, but the mode is not `entra`.";

    McpNotServed = "A2F0501", "MCP servers are not served by this version.";
    SkillsNotServed = "A2F0502", "Skills are not served by this version.";
    PythonToolsNotServed = "A2F0503", "Python tools are not served by this version.";
    SubagentsNotServed = "A2F0504", "Subagents are not served by this version.";
    SandboxNotServed = "A2F0505", "The code interpreter is not served by this version.";
    WorkflowsNotServed = "A2F0506", "Workflows are not served by this version.";
    WebRequestNotServed = "A2F0507", "The `web_request` tool, which is on by default, is not offered by this version.";
    EndpointNotServed = "A2F0508", "A trigger or an endpoint other than `a2a` is not served by this program.";
    CompactionNotServed = "A2F0509", "History compaction is not applied by this version.";
    McpServerIgnored = "A2F0510", "An entry of `mcp.json`, or the file as a whole, is ignored.";

    VariableUnset = "A2F0601", "A placeholder names a variable that is not set, and is left as it stands.";
    VariableIgnored = "A2F0602", "A variable of the environment has a value that is ignored.";
    SettingsEncrypted = "A2F0603", "`local.settings.json` is encrypted, so its values are not read.";
    SettingIgnored = "A2F0604", "A value of `local.settings.json` is not a plain value, and is ignored.";

    OwnField = "A2F0701", "A field exists only in this program: the folder no longer loads in the Python runtime.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_and_in_order() {
        let ids: Vec<_> = Code::ALL.iter().map(|code| code.id()).collect();
        let unique: HashSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        assert!(ids.is_sorted());
    }
}
