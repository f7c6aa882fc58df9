//! A committed file that is made, as a whole or in parts, from the code.

use std::path::PathBuf;
use std::{env, fs};

/// A file of the repository.
pub(crate) struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    /// Reads the file; one that is not there is empty.
    pub(crate) fn open(path: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
        let text = fs::read_to_string(&path).unwrap_or_default();
        Self { path, text }
    }

    /// Asserts that the file has exactly this text, or gives it this text when blessing.
    pub(crate) fn must_be(&self, expected: &str) {
        if env::var_os("A2A_FUNCTIONS_BLESS").is_some() {
            fs::write(&self.path, expected).unwrap();
            return;
        }
        assert!(
            self.text == expected,
            "{} is stale; run `A2A_FUNCTIONS_BLESS=1 cargo test --test docs`",
            self.path.display()
        );
    }

    /// Asserts that the file has these parts between `<!-- begin NAME -->` and `<!-- end NAME -->`.
    pub(crate) fn must_contain(&self, parts: &[(&str, String)]) {
        let mut expected = self.text.clone();
        for (name, part) in parts {
            let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
            let start = expected.find(&begin).unwrap_or_else(|| panic!("no `{}`", begin.trim())) + begin.len();
            let length = expected[start..].find(&end).unwrap_or_else(|| panic!("no `{end}`"));
            expected.replace_range(start..start + length, &format!("\n{part}\n"));
        }
        self.must_be(&expected);
    }
}
