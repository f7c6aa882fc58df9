//! Which settings are taken, which are refused, and that none of them shows a secret.

use super::*;

type Variables<'a> = &'a [(&'a str, &'a str)];

fn settings(variables: Variables<'_>) -> Result<Option<AzureTableSettings>, SettingsError> {
    AzureTableSettings::from_env(
        &variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    )
}

fn endpoint_and_credential(variables: Variables<'_>) -> (String, String) {
    let settings = settings(variables).unwrap().unwrap();
    let credential = match settings.credential {
        TableCredential::SharedKey { account, key } => format!("key {account} {}", key.secret()),
        TableCredential::Sas(signature) => format!("sas {}", signature.secret()),
        TableCredential::Identity(identity) => format!("{identity:?}"),
    };
    (settings.endpoint.to_string(), credential)
}

#[test]
fn sources_are_read_in_their_order() {
    const KEYED: &str = "AccountName=host;AccountKey=a2V5";
    const OWN: &str = "AccountName=own;AccountKey=b3du";
    const SIGNED: &str = "https://signed.table.core.windows.net/?sv=2022&sig=s%3D";
    const URI: &str = "https://named.table.core.windows.net/";
    let own = ("A2A_TABLE_CONNECTION_STRING", OWN);
    let signed = ("A2A_TABLE_SAS_URL", SIGNED);
    let host = ("AzureWebJobsStorage", KEYED);
    let uri = ("AzureWebJobsStorage__tableServiceUri", URI);
    let account = ("AzureWebJobsStorage__accountName", "plain");
    let client = ("AzureWebJobsStorage__clientId", "c1");
    let azure_client = ("AZURE_CLIENT_ID", "c2");
    let functions = ("IDENTITY_ENDPOINT", "http://127.0.0.1:1/token");
    let cases: [(Variables<'_>, &str, &str); 7] = [
        (&[own, signed, host, uri], "https://own.table.core.windows.net/", "key own b3du"),
        (&[signed, host, uri], "https://signed.table.core.windows.net/", "sas sv=2022&sig=s%3D"),
        (&[host, uri, client], "https://host.table.core.windows.net/", "key host a2V5"),
        (&[("AzureWebJobsStorage", " "), uri], "https://named.table.core.windows.net/", "Developer"),
        (&[uri, client, azure_client], "https://named.table.core.windows.net/", "Managed { client_id: Some(\"c1\") }"),
        (
            &[account, azure_client, functions],
            "https://plain.table.core.windows.net/",
            "Managed { client_id: Some(\"c2\") }",
        ),
        (&[uri, account, functions], "https://named.table.core.windows.net/", "Managed { client_id: None }"),
    ];
    for (variables, endpoint, credential) in cases {
        assert_eq!(endpoint_and_credential(variables), (endpoint.to_owned(), credential.to_owned()), "{variables:?}");
    }
    assert!(settings(&[]).unwrap().is_none());
}

#[test]
fn connection_strings_of_all_kinds_are_understood() {
    const EMULATED: &str = "http://127.0.0.1:10002/devstoreaccount1";
    let cases = [
        ("UseDevelopmentStorage=true", EMULATED),
        ("usedevelopmentstorage=TRUE;", EMULATED),
        ("DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5", "http://a.table.core.windows.net/"),
        (
            "AccountName=a;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn",
            "https://a.table.core.chinacloudapi.cn/",
        ),
        (
            "BlobEndpoint=http://x/b;TableEndpoint=http://10.0.0.7:8/acc/;AccountName=acc;AccountKey=a2V5",
            "http://10.0.0.7:8/acc",
        ),
        ("TableEndpoint=https://c.example.org/;SharedAccessSignature=?sv=1&sig=abc%3D", "https://c.example.org/"),
    ];
    for (text, endpoint) in cases {
        assert_eq!(endpoint_and_credential(&[("AzureWebJobsStorage", text)]).0, endpoint, "{text}");
    }
}

#[test]
fn unusable_settings_are_refused_without_quoting_them() {
    let cases = [
        ("AzureWebJobsStorage", "AccountName=a;AccountKey=secret!", Fault::Key),
        ("AzureWebJobsStorage", "AccountName=a;secret", Fault::Part),
        ("AzureWebJobsStorage", "AccountName=a", Fault::NoCredential),
        ("AzureWebJobsStorage", "AccountKey=c2VjcmV0", Fault::NoEndpoint),
        ("AzureWebJobsStorage", "AccountName=evil.example/secret;AccountKey=a2V5", Fault::Endpoint),
        ("AzureWebJobsStorage", "TableEndpoint=ftp://secret;AccountName=a;AccountKey=a2V5", Fault::Endpoint),
        ("AzureWebJobsStorage__tableServiceUri", "https://user:secret@a.example", Fault::Endpoint),
        ("AzureWebJobsStorage__tableServiceUri", "https://a.example/?sig=secret", Fault::Endpoint),
        ("A2A_TABLE_SAS_URL", "https://a.example/?sv=secret", Fault::NoSignature),
        ("A2A_TABLE_SAS_URL", "http://a.example/?sig=secret", Fault::CleartextSignature),
    ];
    for (variable, text, fault) in cases {
        let error = settings(&[(variable, text)]).unwrap_err();
        assert_eq!(error, fault.of(variable), "{text}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("secret") && !shown.contains("c2VjcmV0"), "{shown}");
    }
}

#[test]
fn a_shown_credential_hides_its_secret() {
    for text in
        ["AccountName=a;AccountKey=c2VjcmV0", "TableEndpoint=https://a.example;SharedAccessSignature=sig=c2VjcmV0"]
    {
        let shown = format!("{:?}", settings(&[("AzureWebJobsStorage", text)]).unwrap());
        assert!(!shown.contains("c2VjcmV0"), "{shown}");
    }
}

#[test]
fn table_names_follow_azures_rules() {
    let longest = "a".repeat(63);
    for (name, legal) in [
        ("a2afunctions", true),
        ("Abc", true),
        (&*longest, true),
        (&*format!("{longest}a"), false),
        ("ab", false),
        ("2ab", false),
        ("a-b-c", false),
        ("tables", false),
        ("Tables", false),
        ("täbles", false),
        ("", false),
    ] {
        assert_eq!(TableName::new(name).is_some(), legal, "{name}");
    }
    let named = [
        ("UseDevelopmentStorage", ""),
        ("AzureWebJobsStorage", "UseDevelopmentStorage=true"),
        ("A2A_TABLE_NAME", "no/name"),
    ];
    assert_eq!(settings(&named).unwrap_err(), Fault::TableName.of("A2A_TABLE_NAME"));
}
