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
    FUNCTION_KEYS = "A2A_FUNCTION_KEYS",
        "Function keys of hosts that check none: entries `name=key` or `name=sha256:<hash>`, separated by commas; the name `_master` is that of the master key.";
    CONTEXT_SECRET = "A2A_CONTEXT_SECRET",
        "The secret that signs context identifiers of anonymous agents, at least 32 characters; without it one is made and kept in the store.";
    ALLOWED_HOSTS = "A2A_ALLOWED_HOSTS",
        "Host names that requests may use beside those of the agents' urls and loopback, separated by commas.";
    ALLOWED_ORIGINS = "A2A_ALLOWED_ORIGINS",
        "Origins of web pages that may call the agents, separated by commas.";
    STORE = "A2A_STORE",
        "Where state is kept: `memory`, `sqlite:PATH` or `azure-table`; the option `--store` outranks it.";
    LOG = "A2A_LOG",
        "What is logged: a level such as `info`, or a filter such as `a2a_functions=debug`.";
    CUSTOM_HANDLER_PORT = "FUNCTIONS_CUSTOMHANDLER_PORT",
        "The port on which the Functions host expects this process; set by the host.";
    WEBSITE_HOSTNAME = "WEBSITE_HOSTNAME",
        "The app's public host name; set by the Functions host.";
    FUNCTIONS_ENVIRONMENT = "AZURE_FUNCTIONS_ENVIRONMENT",
        "`Development` under Core Tools, where the host enforces no keys; set by the host.";
    LAMBDA_RUNTIME_API = "AWS_LAMBDA_RUNTIME_API",
        "The address of the Lambda runtime; set by Lambda.";
    NO_COLOR = "NO_COLOR",
        "Any value that is not empty turns colors off.";
    TERM = "TERM",
        "`dumb` turns colors off.";
}
