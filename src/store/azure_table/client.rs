//! The table service's HTTP interface: get, query, change and create, each one request in the normal case.

use std::sync::Arc;

use azure_core::error::ErrorKind;
use azure_core::http::headers::{ACCEPT, CONTENT_TYPE, ETAG, HeaderName};
use azure_core::http::{
    ClientOptions, Context, ExponentialRetryOptions, Method, Pipeline, PipelineOptions, PipelineSendOptions,
    RawResponse, Request, RetryOptions, StatusCode, Transport as AzureTransport, Url,
};
use serde_json::{Map, Value};

use super::batch;
use super::failure::{Failure, Refusal};
use super::request::{DATA_SERVICE_VERSION, EntityRequest, JSON};
use super::settings::AzureTableSettings;
use super::transport::{Transport, root_cause};
use super::{credential, rows};
use crate::http::HttpClient;
use crate::store::{PartitionKey, RowKey};

const VERSION: (HeaderName, &str) = (HeaderName::from_static("x-ms-version"), "2019-02-02");
const NEXT_PARTITION: HeaderName = HeaderName::from_static("x-ms-continuation-nextpartitionkey");
const NEXT_ROW: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");

/// One table, behind the official pipeline.
#[derive(Debug)]
pub(super) struct TableClient {
    /// Repeats what fails on the way: reading twice does no harm.
    reads: Pipeline,
    /// Sends once: whether a change may be repeated is decided where its effect is known.
    writes: Pipeline,
    service: String,
    table: String,
}

/// Where a query goes on: the continuation headers of the page before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    pub(super) partition: String,
    pub(super) row: String,
}

/// A page of a query.
#[derive(Debug)]
pub(super) struct QueryPage {
    pub(super) entities: Vec<rows::Entity>,
    pub(super) next: Option<Continuation>,
}

impl TableClient {
    /// A client for the table of `settings`. Makes no request.
    pub(super) fn new(settings: AzureTableSettings, http: &HttpClient) -> Self {
        let transport = AzureTransport::new(Arc::new(Transport::new(http.clone(), settings.timeouts.attempt)));
        let credential = credential::policy(settings.credential, http);
        let pipeline = |retry| {
            let options = ClientOptions { retry, transport: Some(transport.clone()), ..ClientOptions::default() };
            // Throttling is not in the list: callers are told how long to stay away, and know what they can wait for.
            let retried = [
                StatusCode::RequestTimeout,
                StatusCode::InternalServerError,
                StatusCode::BadGateway,
                StatusCode::GatewayTimeout,
            ];
            let pipeline_options =
                PipelineOptions { retry_status_codes: retried.to_vec(), ..PipelineOptions::default() };
            Pipeline::new(
                option_env!("CARGO_PKG_NAME"),
                option_env!("CARGO_PKG_VERSION"),
                options,
                Vec::new(),
                vec![Arc::clone(&credential)],
                Some(pipeline_options),
            )
        };
        let patient = ExponentialRetryOptions {
            initial_delay: azure_core::time::Duration::milliseconds(100),
            max_retries: 3,
            ..ExponentialRetryOptions::default()
        };
        Self {
            reads: pipeline(RetryOptions::exponential(patient)),
            writes: pipeline(RetryOptions::none()),
            service: settings.endpoint.as_str().trim_end_matches('/').to_owned(),
            table: settings.table.as_str().to_owned(),
        }
    }

    /// Where the table is, without credentials.
    pub(super) fn address(&self) -> String {
        format!("{}/{}", self.service, self.table)
    }

    /// "Query Entities", one entity by its keys.
    pub(super) async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<rows::Entity>, Failure> {
        let target = super::request::target(partition, row);
        match self.read(&format!("{}/{}{target}", self.service, self.table), &[]).await {
            Ok(answer) => Ok(Some(rows::decode(&json(answer.body().as_ref())?)?)),
            Err(Failure::Refused(Refusal { status: StatusCode::NotFound, .. })) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// "Query Entities" that match `filter`, at most `top`. A table that is not there yet has none.
    pub(super) async fn query(
        &self,
        filter: &str,
        top: usize,
        from: Option<&Continuation>,
    ) -> Result<QueryPage, Failure> {
        let top = top.to_string();
        let mut query = vec![("$filter", filter), ("$top", &*top)];
        if let Some(from) = from {
            query.extend([("NextPartitionKey", from.partition.as_str()), ("NextRowKey", from.row.as_str())]);
        }
        let answer = match self.read(&format!("{}/{}()", self.service, self.table), &query).await {
            Err(Failure::Refused(refusal)) if refusal.is_missing_table() => {
                return Ok(QueryPage { entities: Vec::new(), next: None });
            }
            answer => answer?,
        };
        let header = |name| answer.headers().get_optional_string(&name);
        let next = header(NEXT_PARTITION)
            .map(|partition| Continuation { partition, row: header(NEXT_ROW).unwrap_or_default() });
        let page = json(answer.body().as_ref())?;
        let entities = page.get("value").and_then(Value::as_array).ok_or_else(|| Failure::unreadable("a page"))?;
        let entities = entities.iter().map(|entity| rows::decode(entity.as_object().unwrap_or(&Map::new())));
        Ok(QueryPage { entities: entities.collect::<Result<_, _>>()?, next })
    }

    /// Makes all changes of `requests` or none, and answers the tags of the entities that are left.
    pub(super) async fn change(&self, requests: &[EntityRequest]) -> Result<Vec<Option<String>>, Failure> {
        match requests {
            [alone] => self.change_one(alone).await.map(|tag| vec![tag]),
            many => self.change_many(many).await,
        }
    }

    async fn change_one(&self, change: &EntityRequest) -> Result<Option<String>, Failure> {
        let mut request = request(&format!("{}/{}{}", self.service, self.table, change.target), change.method)?;
        for (name, value) in change.headers() {
            request.insert_header(name, value);
        }
        request.set_body(change.body.clone().into_bytes());
        let answer = send(&self.writes, &mut request).await?;
        Ok(answer.headers().get_optional_string(&ETAG))
    }

    async fn change_many(&self, changes: &[EntityRequest]) -> Result<Vec<Option<String>>, Failure> {
        let mut request = request(&format!("{}/$batch", self.service), Method::Post)?;
        request.insert_header(CONTENT_TYPE, batch::content_type());
        request.insert_header(ACCEPT, JSON);
        request.set_body(batch::encode(&format!("{}/{}", self.service, self.table), changes).into_bytes());
        let answer = send(&self.writes, &mut request).await?;
        let parts = batch::decode(&String::from_utf8_lossy(answer.body().as_ref()));
        if let Some(failed) = parts.iter().find(|part| !(200..300).contains(&part.status)) {
            return Err(Failure::Refused(Refusal::in_batch(failed)));
        }
        if parts.len() != changes.len() {
            // Accepted, but not in words we know: the rows themselves will tell.
            return Err(Failure::Lost("the answer to a batch is incomplete".to_owned()));
        }
        Ok(parts.into_iter().map(|part| part.etag).collect())
    }

    /// "Create Table"; one that is there already is as good.
    pub(super) async fn create_table(&self) -> Result<(), Failure> {
        let mut request = request(&format!("{}/Tables", self.service), Method::Post)?;
        request.insert_header(CONTENT_TYPE, "application/json");
        request.insert_header(ACCEPT, JSON);
        request.set_body(serde_json::json!({ "TableName": self.table }).to_string().into_bytes());
        match send(&self.writes, &mut request).await {
            Err(Failure::Refused(refusal)) if refusal.code == "TableAlreadyExists" => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn read(&self, address: &str, query: &[(&str, &str)]) -> Result<RawResponse, Failure> {
        let mut request = request(address, Method::Get)?;
        if !query.is_empty() {
            request.url_mut().query_pairs_mut().extend_pairs(query);
        }
        request.insert_header(ACCEPT, JSON);
        send(&self.reads, &mut request).await
    }
}

fn request(address: &str, method: Method) -> Result<Request, Failure> {
    let url = Url::parse(address).map_err(|_| Failure::unreadable("the table's address"))?;
    let mut request = Request::new(url, method);
    request.insert_header(VERSION.0, VERSION.1);
    request.insert_header(DATA_SERVICE_VERSION, "3.0;");
    Ok(request)
}

async fn send(pipeline: &Pipeline, request: &mut Request) -> Result<RawResponse, Failure> {
    // Statuses are read here: the pipeline's own check would put whole answers into errors.
    let options = PipelineSendOptions { skip_checks: true, ..PipelineSendOptions::default() };
    let answer = pipeline.send(&Context::default(), request, Some(options)).await.map_err(|error| failure(&error))?;
    if answer.status().is_success() { Ok(answer) } else { Err(Failure::of_answer(&answer)) }
}

fn failure(error: &azure_core::Error) -> Failure {
    let reason = root_cause(error);
    match error.kind() {
        ErrorKind::Connection => Failure::Unsent(reason),
        ErrorKind::Credential => Failure::Denied(reason),
        _ => Failure::Lost(reason),
    }
}

fn json(body: &[u8]) -> Result<Map<String, Value>, Failure> {
    serde_json::from_slice(body).map_err(|_| Failure::unreadable("an answer"))
}
