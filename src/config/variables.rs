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
    PROVIDER = "AZURE_FUNCTIONS_AGENTS_PROVIDER",
        "The model provider: `openai`, `azure_openai`, `foundry`, or `demo` for canned replies. When unset, the first of `AZURE_OPENAI_ENDPOINT`, `FOUNDRY_PROJECT_ENDPOINT` and `OPENAI_API_KEY` that is set decides.";
    OPENAI_KEY = "OPENAI_API_KEY",
        "The key for OpenAI, or for the server of `OPENAI_BASE_URL`, which may do without one.";
    OPENAI_URL = "OPENAI_BASE_URL",
        "An OpenAI-compatible server, with its path (`https://…/v1`); plain `http` for loopback addresses only.";
    OPENAI_API = "A2A_OPENAI_API",
        "The API that the provider is spoken to with: `responses`, or `chat` for Chat Completions. By default `chat` for an `OPENAI_BASE_URL` that is neither OpenAI's nor Azure's, else `responses`.";
    AZURE_OPENAI_URL = "AZURE_OPENAI_ENDPOINT",
        "The endpoint of the Azure OpenAI resource.";
    AZURE_OPENAI_KEY = "AZURE_OPENAI_API_KEY",
        "Its key; without one, Microsoft Entra ID tokens are used.";
    AZURE_OPENAI_MODEL = "AZURE_OPENAI_DEPLOYMENT",
        "The deployment for agents without a model; outranked by `AZURE_FUNCTIONS_AGENTS_MODEL`.";
    AZURE_OPENAI_API_VERSION = "AZURE_OPENAI_API_VERSION",
        "Sent as `api-version` when set.";
    FOUNDRY_URL = "FOUNDRY_PROJECT_ENDPOINT",
        "The endpoint of the Foundry project, which always takes Microsoft Entra ID tokens.";
    FOUNDRY_MODEL = "FOUNDRY_MODEL",
        "The model for agents without one; outranked by `AZURE_FUNCTIONS_AGENTS_MODEL`.";
    REASONING_EFFORT = "AZURE_FUNCTIONS_AGENTS_REASONING_EFFORT",
        "Passed on to the model.";
    REASONING_SUMMARY = "AZURE_FUNCTIONS_AGENTS_REASONING_SUMMARY",
        "Passed on to the model, over the Responses API only.";
    MODEL_IDLE_TIMEOUT = "A2A_MODEL_IDLE_TIMEOUT_SECONDS",
        "The longest silence of a model before its reply counts as lost; 300 by default.";
    AZURE_CLIENT_ID = "AZURE_CLIENT_ID",
        "The user-assigned managed identity to use instead of the system-assigned one.";
    AZURE_FEDERATED_TOKEN_FILE = "AZURE_FEDERATED_TOKEN_FILE",
        "Set by Azure's workload identity for Kubernetes, whose tokens are then used.";
    IDENTITY_ENDPOINT = "IDENTITY_ENDPOINT",
        "Set by Azure hosts that offer a managed identity, whose tokens are then used; elsewhere, those of the Azure CLI or Developer CLI.";
    HTTPS_PROXY = "HTTPS_PROXY",
        "The proxy for outbound `https` requests, also in lower case. This machine and the metadata address are reached directly.";
    HTTP_PROXY = "HTTP_PROXY",
        "The proxy for outbound `http` requests, also in lower case.";
    ALL_PROXY = "ALL_PROXY",
        "The proxy for outbound requests that have none of their own, also in lower case.";
    NO_PROXY = "NO_PROXY",
        "Hosts and networks that are reached without a proxy, separated by commas, also in lower case.";
    FUNCTION_KEYS = "A2A_FUNCTION_KEYS",
        "Function keys of hosts that check none: entries `name=key` or `name=sha256:<hash>`, separated by commas; the name `_master` is that of the master key.";
    CONTEXT_SECRET = "A2A_CONTEXT_SECRET",
        "The secret that signs context identifiers of anonymous agents, at least 32 characters; without it one is made and kept in the store.";
    CONTEXT_LEASE = "A2A_CONTEXT_LEASE_SECONDS",
        "Seconds for which a process that died keeps its conversations from others, 2 to 300; 15 by default.";
    ALLOWED_HOSTS = "A2A_ALLOWED_HOSTS",
        "Host names that requests may use beside those of the agents' urls and loopback, separated by commas.";
    ALLOWED_ORIGINS = "A2A_ALLOWED_ORIGINS",
        "Origins of web pages that may call the agents, separated by commas.";
    STORE = "A2A_STORE",
        "Where state is kept: `memory`, `sqlite:PATH` or `azure-table`; the option `--store` outranks it.";
    TABLE_CONNECTION = "A2A_TABLE_CONNECTION_STRING",
        "The table service of the store `azure-table`, as a storage connection string; outranks the next three.";
    TABLE_SAS_URL = "A2A_TABLE_SAS_URL",
        "The same, as the service's address with a shared access signature.";
    HOST_STORAGE = "AzureWebJobsStorage",
        "The Functions host's storage account, as a connection string.";
    HOST_STORAGE_TABLE_URI = "AzureWebJobsStorage__tableServiceUri",
        "The Functions host's table service, used with a managed identity.";
    HOST_STORAGE_ACCOUNT = "AzureWebJobsStorage__accountName",
        "The same by the account's name alone.";
    HOST_STORAGE_CLIENT_ID = "AzureWebJobsStorage__clientId",
        "The user-assigned identity for the storage account; comes before `AZURE_CLIENT_ID`.";
    TABLE_NAME = "A2A_TABLE_NAME",
        "The table of the store `azure-table`; `a2afunctions` by default.";
    LOG = "A2A_LOG",
        "What is logged: a level such as `info`, or a filter such as `a2a_functions=debug`.";
    AUTHORITY_HOST = "AZURE_AUTHORITY_HOST",
        "The service whose tokens agents with `http_auth: entra` accept; `https://login.microsoftonline.com` by default.";
    EASY_AUTH_ENABLED = "WEBSITE_AUTH_ENABLED",
        "Set by App Service Authentication (Easy Auth) when it stands before the app.";
    EASY_AUTH_TRUSTED = "AZURE_FUNCTIONS_AGENTS_ENTRA_EASY_AUTH",
        "`true` lets agents with `http_auth: entra` believe its principals; without it, tokens alone count.";
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
