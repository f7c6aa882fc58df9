//! A text file held for reading: bounded, UTF-8, with one kind of line end, and able to name lines and columns.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Code, Diagnostic, Severity, printable};

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A byte range of a [`Source`].
pub type Span = Range<usize>;

/// A line and a column, both counted from one, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// One file: its name for people and its text.
///
/// A byte order mark is dropped and CRLF and CR become LF, so that files saved on any system read the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The path relative to the app folder, with `/` between its parts.
    pub file: String,
    /// The text.
    pub text: String,
    /// Where each line begins, so that a place is found without counting.
    line_starts: Vec<usize>,
}

impl Source {
    /// Holds a text that is already in memory.
    pub fn new(file: impl Into<String>, text: &str) -> Arc<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() };
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Arc::new(Self { file: file.into(), text, line_starts })
    }

    /// Reads `root/file`; `Ok(None)` when there is no such file.
    ///
    /// # Errors
    /// A diagnostic of the given severity when the file cannot be read, is larger than [`MAX_FILE_BYTES`] or is not UTF-8.
    pub fn read(root: &Path, file: &str, severity: Severity) -> Result<Option<Arc<Self>>, Box<Diagnostic>> {
        let unreadable = |message: String, help: &str| {
            Box::new(Diagnostic::new(severity, Code::FileUnreadable, message).in_file(file).help(help))
        };
        let bytes = match read_regular(&root.join(file)) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => {
                return Err(unreadable(
                    format!("cannot read this file: {error}"),
                    "check that it is a regular file that this user may read",
                ));
            }
        };
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(unreadable(
                format!("this file is larger than {} KiB", MAX_FILE_BYTES / 1024),
                "shorten it; long reference material belongs in files that the agent reads when it needs them",
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            unreadable(format!("this file is not UTF-8 text (byte {at})"), "save it as UTF-8")
        })?;
        Ok(Some(Self::new(file, &text)))
    }

    /// The line and column of a byte offset; an offset past the end is the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = if self.text.is_char_boundary(offset) { offset } else { self.text.len() };
        let (line, start) = self.line_of(offset);
        Position { line, column: self.text[start..offset].chars().count() + 1 }
    }

    /// The line of a span that lies in one line: its number, where it begins, and its text.
    pub(super) fn line(&self, span: &Span) -> (usize, usize, &str) {
        let (line, start) = self.line_of(span.start);
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        (line, start, self.text.get(start..end).unwrap_or_default())
    }

    fn line_of(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        (line, self.line_starts.get(line - 1).copied().unwrap_or_default())
    }

    /// The text of a span as it may be shown in a message: one line, no control characters, at most 60 characters.
    pub fn shown(&self, span: &Span) -> String {
        const LIMIT: usize = 60;
        let text = self.text.get(span.clone()).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default().trim_end();
        let mut shown = printable(&line.chars().take(LIMIT).collect::<String>());
        if line.chars().nth(LIMIT).is_some() || text.trim_end().contains('\n') {
            shown.push('…');
        }
        shown
    }
}

/// The first bytes of a regular file, one more than [`MAX_FILE_BYTES`] at most; `None` when nothing has the name.
///
/// # Errors
/// What has the name is no regular file (a pipe would be waited for without end), is a link that leads nowhere, or cannot
/// be read.
pub fn read_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(io::Error::new(io::ErrorKind::NotFound, "it is a link that leads nowhere")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
        }
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_byte_order_mark_do_not_change_the_text() {
        for text in ["a\nb\n", "a\r\nb\r\n", "\u{feff}a\r\nb\n", "a\rb\r\n"] {
            assert_eq!(Source::new("f", text).text, "a\nb\n", "{text:?}");
        }
    }

    #[test]
    fn positions_count_characters_from_one() {
        let source = Source::new("f", "a\nçé x\n");
        let at = source.text.find('x').unwrap();
        assert_eq!(source.position(at), Position { line: 2, column: 4 });
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(999), Position { line: 3, column: 1 });
    }

    #[test]
    fn shown_text_is_one_short_line_without_control_characters() {
        let source = Source::new("f", &format!("a\u{1b}[31mb\nc{}", "d".repeat(100)));
        assert_eq!(source.shown(&(0..7)), "a\u{fffd}[31mb");
        assert_eq!(source.shown(&(0..9)), "a\u{fffd}[31mb…");
        assert_eq!(source.shown(&(8..109)).chars().count(), 61);
    }

    #[test]
    fn a_file_over_the_limit_and_a_binary_file_are_refused_and_a_missing_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| Source::read(folder.path(), name, Severity::Skip);
        let limit = usize::try_from(MAX_FILE_BYTES).unwrap();
        std::fs::write(folder.path().join("fits"), vec![b'a'; limit]).unwrap();
        std::fs::write(folder.path().join("large"), vec![b'a'; limit + 1]).unwrap();
        std::fs::write(folder.path().join("binary"), [b'a', 0xff]).unwrap();
        assert!(read("fits").unwrap().is_some());
        assert!(read("absent").unwrap().is_none());
        for name in ["large", "binary"] {
            let problem = read(name).unwrap_err();
            assert_eq!((problem.severity, problem.code), (Severity::Skip, Code::FileUnreadable));
        }
    }

    #[test]
    fn only_regular_files_are_read_and_a_link_that_leads_nowhere_is_no_missing_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "a").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("dangling")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert!(Source::read(folder.path(), "link", Severity::Skip).unwrap().is_some());
        for name in ["folder", "dangling", "pipe"] {
            let problem = Source::read(folder.path(), name, Severity::Skip).unwrap_err();
            assert_eq!(problem.code, Code::FileUnreadable, "{name}");
        }
    }
}
