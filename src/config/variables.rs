//! The variables of the environment that are read, in one table; `docs/configuration.md` lists it.

/// A variable of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub purpose: &'static str,
}

macro_rules! variables {
    ($($constant:ident = $name:literal, $purpose:literal;)*) => {
        $(#[doc = $purpose] pub const $constant: Variable = Variable { name: $name, purpose: $purpose };)*

        /// Every variable, in the order in which the documentation lists them.
        pub const ALL: &[Variable] = &[$($constant),*];
    };
}

variables! {
    APP_ROOT = "AZURE_FUNCTIONS_AGENTS_APP_ROOT",
        "The app folder, when the command line names none.";
    SCRIPT_ROOT = "AzureWebJobsScriptRoot",
        "The app folder that the Functions host sets; comes after `AZURE_FUNCTIONS_AGENTS_APP_ROOT`.";
    MODEL = "AZURE_FUNCTIONS_AGENTS_MODEL",
        "The model of agents for which neither their file nor `agents.config.yaml` names one.";
    TIMEOUT = "AZURE_FUNCTIONS_AGENTS_TIMEOUT_SECONDS",
        "Seconds that one turn may take, when neither the agent nor `agents.config.yaml` says so; ignored with a warning unless it is a number above 0 and up to 86400.";
    ROUTE_PREFIX = "AzureFunctionsJobHost__extensions__http__routePrefix",
        "The route prefix; outranks `extensions.http.routePrefix` of `host.json`.";
    NO_COLOR = "NO_COLOR",
        "Any value that is not empty turns colors off.";
    TERM = "TERM",
        "`dumb` turns colors off.";
}
