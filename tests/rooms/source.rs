//! Rust sources as text: comments, strings and test modules blanked out, and the paths that are
//! left. Not a parser: it knows as much of the language as the rules need.

use std::fs;
use std::path::{Path, PathBuf};

/// One file, with its path from the root of the project.
pub struct Source {
    /// With `/` between folders.
    pub path: String,
    /// The code; what is not code is blanks, so that lines and columns stay.
    code: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under a folder of the project; none where the folder is not there.
pub fn sources(folder: &str) -> Vec<Source> {
    files(&root().join(folder))
        .iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| Source::read(path))
        .collect()
}

/// Path and text of every file that people wrote.
pub fn texts() -> Vec<(String, String)> {
    let kinds = ["rs", "py", "sh", "md", "toml", "yml", "yaml", "cu"];
    let written = |path: &String| {
        let kind = Path::new(path).extension().and_then(|kind| kind.to_str());
        kind.is_some_and(|kind| kinds.contains(&kind)) || path.starts_with(".ci/")
    };
    let all = files(&root()).into_iter().filter(written);
    all.filter_map(|path| Some((path.clone(), fs::read_to_string(root().join(path)).ok()?)))
        .collect()
}

/// Paths, from the root, of the files under a folder; what is built or not ours is left out.
fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ours = !name.starts_with("target") && (!name.starts_with('.') || name == ".ci");
        if path.is_dir() && ours && !path.join("CACHEDIR.TAG").exists() {
            found.extend(files(&path));
        } else if path.is_file() {
            let inner = path.strip_prefix(root()).unwrap();
            found.push(inner.to_string_lossy().replace('\\', "/"));
        }
    }
    found.sort();
    found
}

impl Source {
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap();
        Self {
            path: path.to_owned(),
            code: without_tests(&code_only(&text)),
        }
    }

    /// The module under the crate root that this file belongs to: `lib` or `bin` for the roots,
    /// and `run` for `progress`, which is what `run` says while it works.
    pub fn room(&self) -> &str {
        let inner = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let first = inner.split('/').next().unwrap_or_default();
        shared_name(first.strip_suffix(".rs").unwrap_or(first))
    }

    /// How many modules this file lies under: 1 for `src/beam/mod.rs`, 2 for `src/beam/log.rs`.
    fn depth(&self) -> usize {
        let inner = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inner
            .split('/')
            .filter(|part| *part != "mod.rs" && *part != "lib.rs")
            .count()
    }

    /// Line and name of every module of the crate root that is named, by `crate::` or by enough
    /// `super::`.
    pub fn rooms_used(&self) -> Vec<(usize, String)> {
        if self.room() == "bin" {
            return Vec::new();
        }
        let climb = "super::".repeat(self.depth());
        let mut used = self.heads("crate::");
        used.extend(
            self.heads(&climb)
                .into_iter()
                .filter(|(_, name)| name != "super"),
        );
        used.iter()
            .map(|(line, name)| (*line, shared_name(name).to_owned()))
            .collect()
    }

    /// Line and name of everything that may be a crate: the first names of paths.
    pub fn crates_used(&self) -> Vec<(usize, String)> {
        let mut used = Vec::new();
        for (at, _) in self.code.match_indices("::") {
            let before = self.code.get(..at).unwrap_or_default();
            let start = before.rfind(|c: char| !is_word(c)).map_or(0, |k| k + 1);
            let name = before.get(start..).unwrap_or_default();
            let inner = before.get(..start).is_some_and(|head| head.ends_with("::"));
            if !name.is_empty() && !inner {
                used.push((line_of(&self.code, start), name.to_owned()));
            }
        }
        used
    }

    /// The names right after a path prefix, groups in braces included.
    fn heads(&self, prefix: &str) -> Vec<(usize, String)> {
        let mut heads = Vec::new();
        for (at, _) in self.code.match_indices(prefix) {
            let before = self
                .code
                .get(..at)
                .and_then(|text| text.chars().next_back());
            if before.is_some_and(|c| is_word(c) || c == ':' || c == '$') {
                continue;
            }
            let rest = self.code.get(at + prefix.len()..).unwrap_or_default();
            let line = line_of(&self.code, at);
            heads.extend(group(rest).into_iter().map(|name| (line, name)));
        }
        heads
    }

    /// The lines where a text stands.
    pub fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code
            .match_indices(text)
            .map(|(at, _)| line_of(&self.code, at))
    }

    /// The lines where a whole word stands.
    pub fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let whole = move |at: usize| {
            let before = self
                .code
                .get(..at)
                .and_then(|text| text.chars().next_back());
            let after = self
                .code
                .get(at + word.len()..)
                .and_then(|text| text.chars().next());
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        };
        let found = self
            .code
            .match_indices(word)
            .filter(move |(at, _)| whole(*at));
        found.map(|(at, _)| line_of(&self.code, at))
    }
}

/// `progress` is a file of its own and a part of `run`.
fn shared_name(room: &str) -> &str {
    if room == "progress" { "run" } else { room }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_of(code: &str, at: usize) -> usize {
    code.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// `name` of `name::…`, or the first names in `{name::…, name}`.
fn group(rest: &str) -> Vec<String> {
    let word = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|c| is_word(*c))
            .collect::<String>()
    };
    let Some(inside) = rest.strip_prefix('{') else {
        return vec![word(rest)];
    };
    let mut names = vec![word(inside)];
    let mut depth = 0_usize;
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(word(inside.get(at + 1..).unwrap_or_default())),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The code up to a test module that ends the file; tests may look anywhere.
fn without_tests(code: &str) -> String {
    let head = code.find("#[cfg(test)]\nmod ").filter(|at| {
        let declared = code.get(at + 13..).and_then(|rest| rest.lines().next());
        declared.is_some_and(|line| line.ends_with('{'))
    });
    code.get(..head.unwrap_or(code.len()))
        .unwrap_or_default()
        .to_owned()
}

/// `text` with comments, strings and characters made blanks, lines kept.
pub fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = not_code(rest, code.chars().next_back());
        let (taken, left) = rest.split_at(length.unwrap_or(first.len_utf8()));
        match length {
            Some(_) => code.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
            None => code.push_str(taken),
        }
        rest = left;
    }
    code
}

/// How many bytes at the start of `rest` are a comment, a string or a character.
fn not_code(rest: &str, before: Option<char>) -> Option<usize> {
    let to = |found: Option<usize>| Some(found.unwrap_or(rest.len()));
    if rest.starts_with("//") {
        return to(rest.find('\n'));
    }
    if rest.starts_with("/*") {
        return to(rest.find("*/").map(|at| at + 2));
    }
    if rest.starts_with('"') {
        return to(closing(rest, '"'));
    }
    if rest.starts_with('r') && !before.is_some_and(is_word) || rest.starts_with("br") {
        let raw = rest.trim_start_matches('b').strip_prefix('r')?;
        let hashes = raw.chars().take_while(|c| *c == '#').count();
        if raw.get(hashes..)?.starts_with('"') {
            let start = rest.len() - raw.len() + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            return to(rest
                .get(start..)?
                .find(&end)
                .map(|at| start + at + end.len()));
        }
    }
    let mut chars = rest.chars();
    let character = chars.next() == Some('\'') && {
        let (second, third) = (chars.next(), chars.next());
        second == Some('\\') || third == Some('\'')
    };
    if character {
        to(closing(rest, '\''))
    } else {
        None
    }
}

/// Where a string or character that begins with one `quote` ends.
fn closing(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[test]
fn only_code_is_left() {
    let text = "a /* x */ b // y\n\"unsafe \\\" z\" 'u' '\\'' &'a r#\"q\"# c";
    let code = code_only(text);
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words, ["a", "b", "&'a", "c"]);
    assert_eq!(code.len(), text.len());
}

#[test]
fn groups_are_opened() {
    assert_eq!(group("beam::Beam;"), ["beam"]);
    assert_eq!(
        group("{beam::{self, log}, sky, plan::Spec};"),
        ["beam", "sky", "plan"]
    );
}
