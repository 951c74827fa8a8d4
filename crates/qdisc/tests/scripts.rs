//! Tests written as scripts: the packets offered and their times, and the packets that must leave,
//! be dropped or be marked.
//!
//! A script names a discipline, with parameters that differ from its defaults, and then lists the
//! events. `#` begins a comment. This example shows the syntax and not the behaviour of CoDel:
//!
//! ```text
//! codel limit=5 ecn=true
//!   0ms  in 1..6 drop 6        # offers packets 1 to 6; the queue has room for five
//!   0ms  in 7 flow 2 len 300 ect prio 6
//!   7ms  out 1 2               # takes two packets
//!   8ms  out 4 drop 3 mark 4   # takes one; 3 is dropped and 4 marked on the way
//!   9ms  out                   # takes, and nothing comes
//! ```
//!
//! A packet belongs to flow 0, has 1000 bytes and is not ECN-capable, unless the line states
//! otherwise.

#[path = "../src/bounds.rs"]
#[allow(dead_code, reason = "one discipline needs few of them")]
mod bounds;
mod rig;
#[path = "guide/step.rs"]
#[allow(unreachable_pub, reason = "it is written as one of the crate")]
mod step;

use std::fmt::Write as _;
use std::path::PathBuf;

use aqmlab_core::{Args, Bytes, Duration, Ecn, Instant, Kind, Packet, Value};
use aqmlab_qdisc::{Backlog, PacketQueue, Qdisc, kinds};
use rig::Rig;

#[test]
fn every_script_comes_true() {
    let mut failures = String::new();
    for path in scripts("tests/scripts").into_iter().chain(scripts("tests/guide")) {
        let text = std::fs::read_to_string(&path).expect("a script");
        if let Err(error) = run(&path.display().to_string(), &text) {
            writeln!(failures, "{error}").expect("a string takes it");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Returns the scripts of a folder of this crate. Cargo runs the tests of a crate in its folder.
fn scripts(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder of scripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "q"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {folder}");
    paths
}

/// Runs a script; the error names the file, the line, and the actual result.
fn run(file: &str, text: &str) -> Result<(), String> {
    let mut rig = None;
    let mut now = Instant::ZERO;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let outcome = match &mut rig {
            None => build(line).map(|built| rig = Some(built)),
            Some(rig) => step(rig, line, &mut now),
        };
        outcome.map_err(|problem| format!("{file}:{number}: `{line}`: {problem}"))?;
    }
    rig.map(|_| ()).ok_or_else(|| format!("{file}: a script begins with a discipline"))
}

/// Parses the first line: a discipline and its parameters.
fn build(line: &str) -> Result<Rig, String> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let of_guide = step::KINDS.iter().find(|kind| kind.name == name);
    let kind = kinds::find(name).or(of_guide).ok_or_else(|| {
        let names: Vec<_> = kinds::all().map(|kind| kind.name).collect();
        format!("unknown discipline `{name}`; try one of {}", names.join(", "))
    })?;
    let mut args = Args::defaults(kind.params);
    for word in words {
        let (name, text) =
            word.split_once('=').ok_or_else(|| format!("`{word}` is not `parameter=value`"))?;
        let value = value(kind, name, text)?;
        args.set(name, value).map_err(|error| error.to_string())?;
    }
    Ok(Rig::of((kind.build)(&args)))
}

/// Reads `text` as the type of parameter `name`.
fn value(kind: &Kind<dyn Qdisc>, name: &str, text: &str) -> Result<Value, String> {
    let param = kind.params.iter().find(|param| param.name == name).ok_or_else(|| {
        let names: Vec<_> = kind.params.iter().map(|param| param.name).collect();
        format!("{} has no parameter `{name}`; it has {}", kind.name, names.join(", "))
    })?;
    let wanted = || format!("`{text}` is not a {}", param.default.type_name());
    match param.default {
        Value::Duration(_) | Value::MaybeDuration(_) => {
            span(text).map(Value::Duration).ok_or_else(wanted)
        }
        Value::Count(_) => text.parse().map(Value::Count).map_err(|_| wanted()),
        Value::Bytes(_) => text.parse().map(|n| Value::Bytes(Bytes(n))).map_err(|_| wanted()),
        Value::Flag(_) => text.parse().map(Value::Flag).map_err(|_| wanted()),
        Value::Number(_) => text.parse().map(Value::Number).map_err(|_| wanted()),
        Value::Word(_, words) => words
            .iter()
            .find(|word| **word == text)
            .map(|word| Value::Word(word, words))
            .ok_or_else(wanted),
        Value::Rate(_) | Value::MaybeRate(_) => Err(format!("scripts cannot set `{name}`")),
    }
}

/// Parses a duration such as `5ms`, `250us`, `1s` or `17ns`.
fn span(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

/// The content of a line after its time.
struct Line {
    out: bool,
    ids: Vec<u64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
    flow: u32,
    len: u32,
    ecn: Ecn,
    priority: u8,
}

fn step(rig: &mut Rig, text: &str, now: &mut Instant) -> Result<(), String> {
    let (time, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let at = span(time).ok_or_else(|| format!("`{time}` is not a time such as 5ms or 250us"))?;
    let at = Instant::ZERO + at;
    if at < *now {
        return Err(format!("time runs back from {now}"));
    }
    *now = at;
    let line = read(rest)?;
    rig.ledger = rig::Ledger::default();
    let out = if line.out { take(rig, at, line.ids.len().max(1)) } else { offer(rig, at, &line) };
    let got = (out, rig.ledger.drops(), rig.ledger.marks());
    if got == (line.ids, line.drops, line.marks) {
        return Ok(());
    }
    let (out, drops, marks) = got;
    Err(format!(
        "{} {out:?}, dropped {drops:?}, marked {marks:?}",
        if line.out { "out" } else { "in" }
    ))
}

fn take(rig: &mut Rig, at: Instant, times: usize) -> Vec<u64> {
    (0..times).filter_map(|_| rig.take_id(at)).collect()
}

fn offer(rig: &mut Rig, at: Instant, line: &Line) -> Vec<u64> {
    for &id in &line.ids {
        let mut plain = Packet::plain(id, line.flow, line.len);
        (plain.ecn, plain.priority) = (line.ecn, line.priority);
        rig.offer(at, plain);
    }
    line.ids.clone()
}

fn read(text: &str) -> Result<Line, String> {
    let mut words = text.split_whitespace().peekable();
    let out = match words.next() {
        Some("in") => false,
        Some("out") => true,
        other => return Err(format!("`{}` is neither `in` nor `out`", other.unwrap_or_default())),
    };
    let mut line = Line {
        out,
        ids: ids(&mut words)?,
        drops: Vec::new(),
        marks: Vec::new(),
        flow: 0,
        len: 1_000,
        ecn: Ecn::NotEct,
        priority: 0,
    };
    while let Some(word) = words.next() {
        match word {
            "drop" => line.drops = ids(&mut words)?,
            "mark" => line.marks = ids(&mut words)?,
            "ect" if !out => line.ecn = Ecn::Ect0,
            "flow" if !out => line.flow = number(word, words.next())?,
            "len" if !out => line.len = number(word, words.next())?,
            "prio" if !out => line.priority = number(word, words.next())?,
            _ if out => return Err(format!("`{word}` is neither a number, `drop` nor `mark`")),
            _ => {
                return Err(format!(
                    "`{word}` is not a number, `drop`, `mark`, `flow`, `len`, `prio` or `ect`"
                ));
            }
        }
    }
    Ok(line)
}

fn number<T: std::str::FromStr>(of: &str, word: Option<&str>) -> Result<T, String> {
    let word = word.unwrap_or_default();
    word.parse().map_err(|_| format!("`{of}` needs a number, and `{word}` is none"))
}

/// Parses packet numbers, such as `4`, and ranges of packet numbers, such as `4..9`, until another
/// word follows.
fn ids<'a>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Vec<u64>, String> {
    let mut all = Vec::new();
    while let Some(word) = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        let (first, last) = word.split_once("..").unwrap_or((word, word));
        match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) => all.extend(first..=last),
            _ => return Err(format!("`{word}` is not a packet or a range such as 1..6")),
        }
    }
    Ok(all)
}

#[test]
fn a_script_that_fails_says_where_and_what_came_instead() {
    let lines = [
        (
            "pfifo\n\n0ms in 1 2 # two\n1ms out 2\n",
            "x.q:4: `1ms out 2`: out [1], dropped [], marked []",
        ),
        ("pfifo limit=1\n0ms in 1 2\n", "x.q:2: `0ms in 1 2`: in [1, 2], dropped [2], marked []"),
        ("pfifo limt=1\n", "x.q:1: `pfifo limt=1`: pfifo has no parameter `limt`; it has limit"),
        ("pfifo limit=1ms\n", "x.q:1: `pfifo limit=1ms`: `1ms` is not a count"),
        ("pfifo\n5 in 1\n", "x.q:2: `5 in 1`: `5` is not a time such as 5ms or 250us"),
        ("pfifo\n5ms put 1\n", "x.q:2: `5ms put 1`: `put` is neither `in` nor `out`"),
        ("pfifo\n5ms in 1\n4ms out 1\n", "x.q:3: `4ms out 1`: time runs back from 5ms"),
        (
            "pfifo\n5ms in 1 len x\n",
            "x.q:2: `5ms in 1 len x`: `len` needs a number, and `x` is none",
        ),
        (
            "pfifo\n5ms in 1..x\n",
            "x.q:2: `5ms in 1..x`: `1..x` is not a packet or a range such as 1..6",
        ),
        ("# nothing\n", "x.q: a script begins with a discipline"),
    ];
    for (text, want) in lines {
        assert_eq!(run("x.q", text), Err(want.to_owned()));
    }
    let unknown = run("x.q", "cobel\n").expect_err("no such discipline");
    assert!(unknown.starts_with("x.q:1: `cobel`: unknown discipline `cobel`; try one of pfifo,"));
}
