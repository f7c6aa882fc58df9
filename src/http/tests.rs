//! The outbound client against a local server.

use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

fn client<const N: usize>(variables: [(&str, &str); N]) -> HttpClient {
    HttpClient::from_env(&Environment::from(variables))
}

async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

#[test]
fn nothing_is_built_before_the_first_use() {
    let client = client([]);
    assert!(client.built.get().is_none());
    client.get().unwrap();
    assert!(client.clone().built.get().is_some(), "clones share the client");
}

#[tokio::test]
async fn requests_name_the_product_and_its_version() {
    let server = server(ResponseTemplate::new(200)).await;
    client([]).get().unwrap().get(server.uri()).send().await.unwrap();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests[0].headers["user-agent"], concat!("a2a-functions/", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn redirects_are_answers_and_not_followed() {
    let target = server(ResponseTemplate::new(200)).await;
    let redirecting = server(ResponseTemplate::new(307).insert_header("location", target.uri())).await;
    let response = client([]).get().unwrap().post(redirecting.uri()).body("secret").send().await.unwrap();
    assert_eq!(response.status(), 307);
    assert!(target.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_carries_requests_but_never_those_to_this_machine() {
    let proxy = server(ResponseTemplate::new(418)).await;
    let direct = server(ResponseTemplate::new(204)).await;
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let client = client([(variable, &proxy.uri())]);
        let client = client.get().unwrap();
        assert_eq!(client.get("http://models.invalid/").send().await.unwrap().status(), 418, "{variable}");
        assert_eq!(client.get(direct.uri()).send().await.unwrap().status(), 204, "{variable}");
    }
}

#[test]
fn a_proxy_password_stays_out_of_errors_and_debug_output() {
    let client = client([("HTTPS_PROXY", "http://user:hunter2@:::")]);
    let error = client.get().unwrap_err();
    assert!(!format!("{error} {client:?}").contains("hunter2"), "{error} {client:?}");
}
