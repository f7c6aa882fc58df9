//! The request that each step of a commit becomes, alone or inside a batch.

use azure_core::http::Method;
use azure_core::http::headers::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, IF_MATCH, PREFER};

use super::rows::{self, Version};
use crate::store::{PartitionKey, RowKey, Write};

/// The JSON that has each entity's tag in it, and the types of what JSON cannot say.
pub(super) const JSON: &str = "application/json;odata=minimalmetadata";
pub(super) const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");

/// One change to one entity.
#[derive(Debug, Clone)]
pub(super) struct EntityRequest {
    pub(super) method: Method,
    /// What follows the table's address.
    pub(super) target: String,
    /// The tag that the entity must still have.
    pub(super) if_match: Option<HeaderValue>,
    pub(super) body: String,
}

impl EntityRequest {
    /// "Insert Entity": loses to an entity that is there, expired or not.
    pub(super) fn insert(partition: &PartitionKey, write: &Write, marker: &str) -> Self {
        let body = rows::encode(partition, write, marker);
        Self { method: Method::Post, target: String::new(), if_match: None, body }
    }

    /// "Update Entity" with a tag, "Insert Or Replace Entity" without.
    pub(super) fn put(partition: &PartitionKey, write: &Write, version: Option<&Version>, marker: &str) -> Self {
        let body = rows::encode(partition, write, marker);
        Self::of(Method::Put, partition, &write.row, version, body)
    }

    /// "Delete Entity".
    pub(super) fn delete(partition: &PartitionKey, row: &RowKey, version: &Version) -> Self {
        Self::of(Method::Delete, partition, row, Some(version), String::new())
    }

    /// "Merge Entity" of nothing but the marker: the one conditional request that leaves an entity's content alone and
    /// may stand in a batch.
    pub(super) fn check(partition: &PartitionKey, row: &RowKey, version: &Version, marker: &str) -> Self {
        Self::of(Method::Patch, partition, row, Some(version), rows::encode_check(partition, row, marker))
    }

    fn of(method: Method, partition: &PartitionKey, row: &RowKey, version: Option<&Version>, body: String) -> Self {
        Self { method, target: target(partition, row), if_match: version.map(Version::if_match), body }
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let fixed = [
            (ACCEPT, HeaderValue::from_static(JSON)),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (PREFER, HeaderValue::from_static("return-no-content")),
            (DATA_SERVICE_VERSION, HeaderValue::from_static("3.0;")),
        ];
        fixed.into_iter().chain(self.if_match.clone().map(|tag| (IF_MATCH, tag)))
    }
}

/// An entity's place behind the table's address; keys need no quoting by construction.
pub(super) fn target(partition: &PartitionKey, row: &RowKey) -> String {
    format!("(PartitionKey='{}',RowKey='{}')", partition.as_str(), row.as_str())
}
