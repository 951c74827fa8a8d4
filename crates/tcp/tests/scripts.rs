//! Runs the scripts in `tests/scripts`, which contains a folder for each mechanism.
//! `support/script.rs` describes the grammar.

mod support;

use std::path::{Path, PathBuf};

use support::script;

fn scripts(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(folder);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn run(folder: &str) {
    let files = scripts(folder);
    assert!(!files.is_empty(), "no scripts in {folder}");
    let failures: Vec<String> = files.iter().filter_map(|file| script::run(file).err()).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

macro_rules! folders {
    ($($folder:ident),+ $(,)?) => {
        $(#[test]
        fn $folder() {
            run(stringify!($folder));
        })+

        #[test]
        fn every_folder_is_run() {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
            for entry in std::fs::read_dir(root).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!([$(stringify!($folder)),+].contains(&name.as_str()), "{name} is not run");
            }
        }
    };
}

folders! {
    autotune, burst, close, delack, ecn, frto, handshake, idle, nagle, persist, prr, rack, recovery,
    rto, slow_start, tlp, wakeup, window,
}

#[test]
fn a_wrong_script_says_where_and_what() {
    let folder = std::env::temp_dir().join(format!("aqmlab-scripts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (text, want) in [
        ("establish rtt=100ms\n+0ms wrte 5\n", ":2: unknown: in, out, write"),
        ("mtu big\n", ":1: `big` is not a number"),
        ("set rto_mn 5ms\n", ":1: no setting `rto_mn`"),
        (
            "establish\n\n+0ms write 10\n+0ms out . 1(11)\n",
            ":4: another length; found @0s: P. 1(10)",
        ),
        ("establish\n+0ms write 10\n", "at the end: unexpected at @0s: P. 1(10)"),
        ("establish\n+1ms in . 1(0) ack 1 wni 5\n", ":2: `wni` is nothing that a segment has"),
    ] {
        let file = folder.join("wrong.pkt");
        std::fs::write(&file, text).unwrap();
        // Data written at the last instant is sent only when time advances.
        let error = script::run(&file).expect_err(text);
        assert!(error.contains(want), "{error}\n  does not say\n{want}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
