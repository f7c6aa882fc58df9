//! Records as table entities and back; nothing here talks to anyone.
//!
//! An entity has the record's keys, its value in binary properties `V0`, `V1`, … of at most 64 KiB, `Expires` in
//! milliseconds since the epoch, and `Marker`, which names the commit that last touched it.

use azure_core::http::headers::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::store::{Etag, PartitionKey, Record, RowKey, StoreError, Write};

/// Most bytes of a binary property (Azure, "Understanding the Table service data model").
const CHUNK_BYTES: usize = 64 * 1024;
/// `Expires` of a record that stays: the end of the type, so that one comparison in a query tells live from expired.
const NEVER: i64 = i64::MAX;

/// An entity as read.
#[derive(Debug)]
pub(super) struct Entity {
    pub(super) record: Record,
    pub(super) version: Version,
    pub(super) marker: String,
}

/// What our tags hold: the table's own tag, and the expiry, so that a step on a record that has expired since it was read
/// is refused without another read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    expires: i64,
    tag: String,
}

impl Version {
    pub(super) fn new(expires: i64, tag: String) -> Self {
        Self { expires, tag }
    }

    /// Reads a tag of ours; `None` for anything else.
    pub(super) fn parse(etag: &Etag) -> Option<Self> {
        let (expires, tag) = etag.0.split_once(':')?;
        let weak = tag.strip_prefix("W/\"")?.strip_suffix('"')?;
        let harmless = weak.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        harmless.then_some(())?;
        Some(Self { expires: expires.parse().ok()?, tag: tag.to_owned() })
    }

    pub(super) fn etag(&self) -> Etag {
        Etag(format!("{}:{}", self.expires, self.tag))
    }

    pub(super) fn is_live(&self, now: Timestamp) -> bool {
        self.expires > millis(now)
    }

    pub(super) fn expires(&self) -> i64 {
        self.expires
    }

    /// The value for `If-Match`.
    pub(super) fn if_match(&self) -> HeaderValue {
        self.tag.clone().into()
    }
}

/// The type's signed milliseconds; times beyond them are never reached.
pub(super) fn millis(time: Timestamp) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(NEVER)
}

/// `Expires` of a record that is to be written.
pub(super) fn expiry(write: &Write) -> i64 {
    write.expires.map_or(NEVER, millis)
}

/// The entity that `write` makes, as JSON.
pub(super) fn encode(partition: &PartitionKey, write: &Write, marker: &str) -> String {
    let mut entity = marked(partition, &write.row, marker);
    entity.insert("Expires".to_owned(), expiry(write).to_string().into());
    entity.insert("Expires@odata.type".to_owned(), "Edm.Int64".into());
    for (index, chunk) in write.value.chunks(CHUNK_BYTES).enumerate() {
        entity.insert(format!("V{index}@odata.type"), "Edm.Binary".into());
        entity.insert(format!("V{index}"), STANDARD.encode(chunk).into());
    }
    Value::Object(entity).to_string()
}

/// What a check merges into the entity at `row`: the marker, which no reader sees.
pub(super) fn encode_check(partition: &PartitionKey, row: &RowKey, marker: &str) -> String {
    Value::Object(marked(partition, row, marker)).to_string()
}

fn marked(partition: &PartitionKey, row: &RowKey, marker: &str) -> Map<String, Value> {
    let keys = [("PartitionKey", partition.as_str()), ("RowKey", row.as_str()), ("Marker", marker)];
    keys.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// Reads an entity as the service prints it with `odata=minimalmetadata`.
pub(super) fn decode(entity: &Map<String, Value>) -> Result<Entity, StoreError> {
    let text = |name: &str| entity.get(name).and_then(Value::as_str);
    let damaged = |what: &str| StoreError::Corrupt(format!("a table entity {what}"));
    let row = text("RowKey").and_then(|row| RowKey::new(row).ok()).ok_or_else(|| damaged("without a legal RowKey"))?;
    let expires = text("Expires").and_then(|millis| millis.parse().ok()).ok_or_else(|| damaged("without Expires"))?;
    let tag = text("odata.etag").ok_or_else(|| damaged("without its ETag"))?;
    let version = Version::new(expires, tag.to_owned());
    let record = Record { row, value: decode_value(entity)?, etag: version.etag() };
    Ok(Entity { record, version, marker: text("Marker").unwrap_or_default().to_owned() })
}

fn decode_value(entity: &Map<String, Value>) -> Result<Bytes, StoreError> {
    let damaged = || StoreError::Corrupt("a table entity whose value is not base64".to_owned());
    let mut value = BytesMut::new();
    for chunk in (0..).map_while(|index| entity.get(&format!("V{index}"))) {
        let chunk = STANDARD.decode(chunk.as_str().ok_or_else(damaged)?).map_err(|_| damaged())?;
        value.extend_from_slice(&chunk);
    }
    Ok(value.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(length: usize, expires: Option<u64>) -> Write {
        let value = (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect();
        Write { row: RowKey::new("r").unwrap(), value, expires: expires.map(Timestamp::from_millis) }
    }

    fn entity(write: &Write) -> Map<String, Value> {
        let partition = PartitionKey::new("p").unwrap();
        let mut entity: Map<String, Value> = serde_json::from_str(&encode(&partition, write, "m")).unwrap();
        entity.insert("odata.etag".to_owned(), "W/\"datetime'1'\"".into());
        entity
    }

    #[test]
    fn records_come_back_as_they_were_written() {
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 8 * CHUNK_BYTES] {
            for expires in [None, Some(0), Some(1_800_000_000_000)] {
                let write = write(length, expires);
                let read = decode(&entity(&write)).unwrap();
                assert_eq!((read.record.row, read.record.value), (write.row.clone(), write.value.clone()));
                assert_eq!((read.version.expires, read.marker.as_str()), (expiry(&write), "m"));
            }
        }
    }

    #[test]
    fn no_property_is_larger_than_the_service_takes() {
        let entity = entity(&write(crate::store::MAX_VALUE_BYTES, None));
        let chunks = entity.iter().filter(|(name, _)| name.starts_with('V') && !name.contains('@'));
        let sizes: Vec<_> = chunks.map(|(_, chunk)| STANDARD.decode(chunk.as_str().unwrap()).unwrap().len()).collect();
        assert_eq!(sizes, [CHUNK_BYTES; 8]);
    }

    #[test]
    fn damaged_entities_are_told_from_absent_ones() {
        for (name, value) in [
            ("RowKey", Value::Null),
            ("RowKey", "not/legal".into()),
            ("Expires", "soon".into()),
            ("odata.etag", Value::Null),
            ("V0", "not base64!".into()),
            ("V0", 7.into()),
        ] {
            let mut entity = entity(&write(3, None));
            entity.insert(name.to_owned(), value.clone());
            assert!(matches!(decode(&entity), Err(StoreError::Corrupt(_))), "{name} {value}");
        }
    }

    #[test]
    fn versions_are_read_back_and_foreign_tags_are_not() {
        let version = Version::new(7, "W/\"datetime'2026-12-01T00%3A00%3A00.0000000Z'\"".to_owned());
        assert_eq!(Version::parse(&version.etag()), Some(version));
        for foreign in ["", "7", "7:", "7:*", "x:W/\"1\"", "7:W/\"1\"\r\nIf-Match: *\"", "7:W/\"a\"b\"", "W/\"1\""] {
            assert_eq!(Version::parse(&Etag(foreign.to_owned())), None, "{foreign}");
        }
    }

    #[test]
    fn a_version_knows_when_its_record_expires() {
        let at = |millis| Timestamp::from_millis(millis);
        let version = Version::new(10, "W/\"1\"".to_owned());
        assert!(version.is_live(at(9)));
        assert!(!version.is_live(at(10)));
    }
}
