//! The job file: what an unfinished output is made from and how, in words that two processes can
//! compare.

use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

/// The first line of a job file.
const TITLE: &str = "mmconv job 1";

/// How its last line begins; the XXH3 of all before it follows.
const CHECK: &str = "check = ";

/// What stands in a job file for people, and for whoever goes on, but decides no byte of the
/// pixels by itself. All else must agree.
const FREE: [&str; 13] = [
    "input",
    "command",
    "existing",
    "rest",
    "beamlog",
    "header_at",
    "header_bytes",
    "datasum",
    "block_bytes",
    "planes",
    "output_bytes",
    "data_at",
    "plane_bytes",
];

/// Whether one process makes the output or several: they do not go on with each other's work, but
/// the bytes are the same.
pub const MADE_BY: &str = "made_by";

/// Characters of a value that a difference shows.
const LONGEST: usize = 120;

/// Keys and values, in the order in which they were put. No key is there twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    entries: Vec<(String, String)>,
}

/// Where two jobs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub key: String,
    /// What the unfinished work has.
    pub stored: String,
    /// What is asked for now.
    pub asked: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |value: &str| {
            if value.is_empty() {
                "nothing".to_owned()
            } else {
                value.to_owned()
            }
        };
        let shortened = |value: &str| match said(value) {
            long if long.chars().count() > LONGEST => {
                format!("{}...", long.chars().take(LONGEST).collect::<String>())
            }
            value => value,
        };
        let (key, stored, asked) = (&self.key, shortened(&self.stored), shortened(&self.asked));
        write!(f, "{}: {stored} there, {asked} now", key.replace('_', " "))
    }
}

impl Job {
    /// Adds or replaces a value. Line breaks, as in a hostile path, become blanks.
    pub fn set(&mut self, key: &str, value: impl fmt::Display) {
        let value = value.to_string().replace(['\n', '\r'], " ");
        let known = self.entries.iter_mut().find(|(known, _)| known == key);
        match known {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// A value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut entries = self.entries.iter();
        entries.find(|(known, _)| known == key).map(|(_, v)| &**v)
    }

    /// A value that is a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    /// A name for everything that decides the bytes: 32 hexadecimal digits, the XXH3 of all that
    /// must agree but for who makes it.
    #[must_use]
    pub fn id(&self) -> String {
        let mut text = String::new();
        let named = self.binding().filter(|(key, _)| *key != MADE_BY);
        for (key, value) in named {
            text.push_str(&format!("{key} = {value}\n"));
        }
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Where this job, which is stored, and one that is asked for differ.
    #[must_use]
    pub fn differences(&self, asked: &Self) -> Vec<Difference> {
        let keys = self.binding().map(|(key, _)| key);
        let new = asked.binding().map(|(key, _)| key);
        let new = new.filter(|key| self.get(key).is_none());
        let difference = |key: &str| {
            let of = |job: &Self| job.get(key).unwrap_or_default().to_owned();
            let (stored, asked) = (of(self), of(asked));
            let key = key.to_owned();
            (stored != asked).then_some(Difference { key, stored, asked })
        };
        keys.chain(new).filter_map(difference).collect()
    }

    fn binding(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.entries.iter().map(|(key, value)| (&**key, &**value));
        entries.filter(|(key, _)| !FREE.contains(key))
    }

    /// The text of the file. By its last line it is known to be whole.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for (key, value) in &self.entries {
            text.push_str(&format!("{key} = {value}\n"));
        }
        text.push_str(&format!("{CHECK}{:032x}\n", xxh3_128(text.as_bytes())));
        text
    }

    /// A job from its file's text; `None` where that is none, is not whole or was changed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let end = text.rfind(CHECK)?;
        let (body, check) = text.split_at_checked(end)?;
        let check = check.strip_prefix(CHECK)?.strip_suffix('\n')?;
        if format!("{:032x}", xxh3_128(body.as_bytes())) != check {
            return None;
        }
        let mut job = Self::default();
        for line in body.strip_prefix(TITLE)?.strip_prefix('\n')?.lines() {
            let (key, value) = line.split_once(" = ")?;
            job.set(key, value);
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let mut job = Job::default();
        job.set("input", "a\nb.fits");
        job.set("target", "20 x 17 arcsec");
        job.set("planes", 37);
        job
    }

    #[test]
    fn what_is_written_is_read() {
        let read = Job::parse(&job().render()).unwrap();
        assert_eq!(read, job());
        assert_eq!(read.get("input"), Some("a b.fits"));
        assert_eq!(read.number("planes"), Some(37));
        assert_eq!(read.number("target"), None);
    }

    #[test]
    fn no_part_of_a_job_is_a_job() {
        let text = job().render();
        for length in 0..text.len() {
            assert_eq!(Job::parse(&text[..length]), None, "{length}");
        }
        assert_eq!(Job::parse(&text.replace("37", "38")), None);
    }

    #[test]
    fn paths_and_command_lines_may_differ_and_nothing_else() {
        let mut other = job();
        other.set("input", "/elsewhere/a.fits");
        other.set("command", "mmconv smooth");
        assert_eq!(job().differences(&other), []);
        assert_eq!(other.id(), job().id());
        other.set("target", "30 x 27 arcsec");
        other.set("edge", "wrap");
        assert_ne!(other.id(), job().id());
        let words: Vec<String> = job()
            .differences(&other)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            words,
            [
                "target: 20 x 17 arcsec there, 30 x 27 arcsec now",
                "edge: nothing there, wrap now"
            ]
        );
    }
}
