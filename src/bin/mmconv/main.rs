//! stub
mod args;
mod failure;
mod help;
mod out;
mod request;
mod values;
mod words;
fn main() {}
