//! Who this process is towards Microsoft Entra ID.

use crate::config::Environment;
use crate::config::variables::{self, Variable};

/// The identity that tokens are asked for; plain data, so that it can be read from the environment and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The managed identity of an Azure host; `client_id` picks a user-assigned one.
    Managed {
        /// `AZURE_CLIENT_ID`.
        client_id: Option<String>,
    },
    /// A federated service account of a Kubernetes cluster; `azure_identity` reads the details from the environment.
    Workload,
    /// Whoever is logged in to the Azure CLI or the Azure Developer CLI.
    Developer,
}

impl Identity {
    /// Chooses as Azure's own libraries do: what the host offers, else the developer's login.
    pub fn from_env(environment: &Environment) -> Self {
        let filled = |variable: Variable| environment.get_filled(variable.name);
        if filled(variables::AZURE_FEDERATED_TOKEN_FILE).is_some() {
            Self::Workload
        } else if filled(variables::IDENTITY_ENDPOINT).is_some() {
            Self::Managed { client_id: filled(variables::AZURE_CLIENT_ID).map(str::to_owned) }
        } else {
            Self::Developer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_decides_who_the_process_is() {
        let managed = |client_id: Option<&str>| Identity::Managed { client_id: client_id.map(str::to_owned) };
        for (variables, expected) in [
            (vec![], Identity::Developer),
            (vec![("AZURE_CLIENT_ID", "c")], Identity::Developer),
            (vec![("IDENTITY_ENDPOINT", "http://x")], managed(None)),
            (vec![("IDENTITY_ENDPOINT", "http://x"), ("AZURE_CLIENT_ID", " ")], managed(None)),
            (vec![("IDENTITY_ENDPOINT", "http://x"), ("AZURE_CLIENT_ID", "c")], managed(Some("c"))),
            (vec![("AZURE_FEDERATED_TOKEN_FILE", "/t"), ("IDENTITY_ENDPOINT", "http://x")], Identity::Workload),
        ] {
            let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(Identity::from_env(&environment), expected, "{variables:?}");
        }
    }
}
