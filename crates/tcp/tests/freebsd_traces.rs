//! Two hosts with FreeBSD's profiles must send the same segments as two hosts that run FreeBSD's
//! own code.
//!
//! `tests/traces` contains the recordings. Each recording contains a scenario and, after the line
//! `sent`, every segment with its time. `docs/explanation/validation.md` describes how the
//! recordings were made.

mod trace;

use std::path::Path;

/// Returns the first line that differs, if any, with the line before it.
fn difference(want: &str, got: &str) -> Option<String> {
    let (mut want, mut got) = (want.lines(), got.lines());
    let mut before = "";
    loop {
        let pair = (want.next(), got.next());
        match pair {
            (None, None) => return None,
            (Some(one), Some(other)) if one == other => before = one,
            (one, other) => {
                let (one, other) = (one.unwrap_or("nothing"), other.unwrap_or("nothing"));
                return Some(format!("after {before}\n  FreeBSD {one}\n  here    {other}"));
            }
        }
    }
}

#[test]
fn every_segment_is_the_one_that_freebsd_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "the traces are gone");
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let (scenario, want) = text.split_once("\nsent\n").unwrap();
            let got = trace::Run::new(trace::Scenario::parse(scenario)).run();
            difference(want, &got).map(|what| format!("{}: {what}", file.display()))
        })
        .collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}
