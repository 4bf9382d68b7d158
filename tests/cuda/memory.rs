pub fn scene(_: &str) {}
