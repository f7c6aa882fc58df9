//! Writing a set of files: all of them or none, and never a file that is half old and half new.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::AppFile;
use crate::config::{MAX_FILE_BYTES, read_regular};

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written: {source}; {}", path.display(), in_words(written))]
pub struct WriteError {
    path: PathBuf,
    source: io::Error,
    /// The files that are new already.
    written: Vec<PathBuf>,
}

fn in_words(written: &[PathBuf]) -> String {
    let names: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    if names.is_empty() { "nothing was changed".to_owned() } else { format!("changed already: {}", names.join(", ")) }
}

/// Writes files below `root`, and the folders that they need. Each is first written in full beside its place; only when
/// all are there do they take their places.
pub fn write_all<'f>(root: &Path, files: impl IntoIterator<Item = &'f AppFile>) -> Result<(), WriteError> {
    let mut staged = Vec::new();
    let mut folders = Vec::new();
    for file in files {
        match stage(&root.join(&file.path), &file.contents, &mut folders) {
            Ok(temporary) => staged.push((temporary, &file.path)),
            Err(source) => {
                drop(staged);
                for folder in folders.iter().rev() {
                    // What cannot be removed is an empty folder, which does no harm.
                    let _ = fs::remove_dir(folder);
                }
                return Err(WriteError { path: file.path.clone(), source, written: Vec::new() });
            }
        }
    }
    let mut written = Vec::new();
    for (temporary, path) in staged {
        match temporary.persist(root.join(path)) {
            Ok(_) => written.push(path.clone()),
            Err(error) => return Err(WriteError { path: path.clone(), source: error.error, written }),
        }
    }
    Ok(())
}

fn stage(path: &Path, contents: &str, folders: &mut Vec<PathBuf>) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    match fs::create_dir(folder) {
        Ok(()) => folders.push(folder.to_path_buf()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // A new file may be read by whom the user's mask lets; an old one keeps its permissions.
    let mut temporary = Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    temporary.write_all(contents.as_bytes())?;
    temporary.as_file().sync_all()?;
    match fs::metadata(path) {
        Ok(metadata) => temporary.as_file().set_permissions(metadata.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(temporary)
}

/// The text of `root/path`; `None` when there is no such file. Links are refused: what is written would land elsewhere.
pub fn read_own(root: &Path, path: &Path) -> io::Result<Option<String>> {
    let mut at = root.to_path_buf();
    for part in path {
        at.push(part);
        if at.is_symlink() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link, or in a folder that is one"));
        }
    }
    let Some(bytes) = read_regular(&at)? else { return Ok(None) };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {MAX_FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> AppFile {
        AppFile { path: PathBuf::from(path), contents: "new".to_owned() }
    }

    #[test]
    fn files_get_their_contents_and_keep_their_permissions() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("old");
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
        write_all(root.path(), &[file("old"), file("folder/new")]).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "new");
        assert_eq!(fs::metadata(&old).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(root.path().join("folder/new")).unwrap(), "new");
    }

    #[test]
    fn one_file_that_cannot_be_written_leaves_all_as_they_were() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("old"), "old").unwrap();
        fs::write(root.path().join("occupied"), "").unwrap();
        let error = write_all(root.path(), &[file("old"), file("folder/new"), file("occupied/x")]).unwrap_err();
        assert!(error.to_string().starts_with("occupied/x cannot be written: "), "{error}");
        assert!(error.to_string().ends_with("; nothing was changed"), "{error}");
        let mut names: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["occupied", "old"]);
        assert_eq!(fs::read_to_string(root.path().join("old")).unwrap(), "old");
    }

    #[test]
    fn a_file_that_cannot_take_its_place_is_reported_with_those_that_have() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("b")).unwrap();
        let error = write_all(root.path(), &[file("a"), file("b")]).unwrap_err();
        assert!(error.to_string().ends_with("; changed already: a"), "{error}");
    }
}
