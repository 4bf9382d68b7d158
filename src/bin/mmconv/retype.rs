//! The line to type to go on with work that was interrupted.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

const RESUME: &str = "--resume";

/// The command line as it was typed, quoted for a shell, with `--resume`.
pub fn resumed(words: impl IntoIterator<Item = OsString>) -> String {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let end = words.iter().position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    let said = |flag: &str, words: &[OsString]| words.iter().take(end).any(|word| word == flag);
    // These decide about outputs that exist, as `--resume` would.
    let resumes = said(RESUME, &words);
    let decided = ["--overwrite", "--skip-existing"]
        .iter()
        .any(|flag| said(flag, &words));
    let mut number = 0;
    // Begun anew it was.
    words.retain(|word| {
        number += 1;
        number > end || word != "--restart"
    });
    if !decided && !resumes {
        // After `--` it would be a file.
        let end = words.iter().position(|word| word == "--");
        words.insert(end.unwrap_or(words.len()), RESUME.into());
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// One word for a POSIX shell, or where it is not printable text for bash, ksh and zsh.
pub fn quoted(word: &OsStr) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./=:,+@%".contains(byte);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.bytes().all(|byte| plain(&byte)) => text.to_owned(),
        Some(text) if !text.chars().any(char::is_control) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => escaped(word.as_bytes()),
    }
}

/// With the escapes of `$'...'`.
fn escaped(bytes: &[u8]) -> String {
    let mut text = "$'".to_owned();
    for &byte in bytes {
        match byte {
            b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b' '..=b'~' => text.push(char::from(byte)),
            // Octal: of hexadecimal digits a shell may take as many as follow.
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    fn line(words: &[&str]) -> String {
        resumed(words.iter().map(OsString::from))
    }

    #[test]
    fn what_does_not_go_with_resume_is_left_away() {
        assert_eq!(line(&["mmconv", "--restart", "a"]), "mmconv a --resume");
        assert_eq!(
            line(&["mmconv", "--overwrite", "a"]),
            "mmconv --overwrite a"
        );
        assert_eq!(
            line(&["mmconv", "--", "--restart"]),
            "mmconv --resume -- --restart"
        );
    }

    #[test]
    fn resume_is_said_once_and_is_no_file() {
        assert_eq!(line(&["mmconv", "a.fits"]), "mmconv a.fits --resume");
        let before = "mmconv --resume -- -a.fits";
        assert_eq!(line(&["mmconv", "--", "-a.fits"]), before);
        assert_eq!(line(&["mmconv", "--resume", "--", "-a.fits"]), before);
    }

    /// What a shell makes of it is what was typed.
    #[test]
    fn a_shell_reads_back_every_word() {
        let nasty = OsString::from_vec(b"\xff\xfe9' \\ \n".to_vec());
        let words = ["", "a b", "it's", "$HOME", "*", "ä", "~", "#x", "a\tb\n"];
        let words: Vec<OsString> = words.iter().map(OsString::from).chain([nasty]).collect();
        let line = resumed(words.clone());
        let script = format!("printf '%s\\0' {line}");
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        let mut expected: Vec<u8> = Vec::new();
        for word in words
            .iter()
            .map(|word| word.as_bytes())
            .chain([RESUME.as_bytes()])
        {
            expected.extend(word);
            expected.push(0);
        }
        assert_eq!(output.stdout, expected);
    }
}
