//! Tests every registered discipline against the contract of `Qdisc`, with random operations and
//! every parameter. Also tests that each declaration is complete. The example discipline of
//! docs/howto/write-a-discipline.md passes the same tests.

#[path = "../src/bounds.rs"]
#[allow(dead_code, reason = "one discipline needs few of them")]
mod bounds;
mod rig;
#[path = "guide/step.rs"]
#[allow(unreachable_pub, reason = "it is written as one of the crate")]
mod step;

use std::collections::{BTreeMap, BTreeSet};

use aqmlab_core::{
    Args, BitRate, Bytes, Duration, Ecn, Instant, Kind, Packet, PacketFields, Param, Value,
};
use aqmlab_qdisc::{Backlog, PacketQueue, Parent, Qdisc, kinds};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use rig::Rig;

/// Returns every registered discipline, and the discipline of the guide.
fn every() -> impl Iterator<Item = &'static Kind<dyn Qdisc>> {
    kinds::all().chain(step::KINDS)
}

/// An operation on a discipline, with the nanoseconds since the previous operation.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Offer { after: u32, conn: u32, len: u32, ecn: Ecn },
    Take { after: u32 },
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

/// Generates gaps from zero to 1/3 s, mostly short. The gaps produce bursts, backlogs and idle
/// times.
fn gap() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0), 4 => 0..2_000_000_u32, 1 => 0..330_000_000_u32]
}

fn operation() -> impl Strategy<Value = Operation> {
    let offer = (gap(), 0..6_u32, 40..1_515_u32, ecn())
        .prop_map(|(after, conn, len, ecn)| Operation::Offer { after, conn, len, ecn });
    prop_oneof![3 => offer, 2 => gap().prop_map(|after| Operation::Take { after })]
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(), 1..300)
}

/// A model that checks the invariants after every operation on any discipline.
struct Model {
    offered: u64,
    offered_bytes: u64,
    sent: Vec<u64>,
    sent_bytes: u64,
    /// The connection and the ECN field of each packet when it was offered.
    origin: BTreeMap<u64, (u32, Ecn)>,
    last: BTreeMap<(u32, Option<u8>), u64>,
    /// Whether packets of one connection with different ECN fields may be in different queues.
    by_ecn: bool,
}

/// The disciplines that choose the queue of a packet by its ECN field.
const BY_ECN: [&str; 2] = ["dualpi2", "dualpi2_rfc"];

impl Model {
    fn of(kind: &Kind<dyn Qdisc>) -> Self {
        Self {
            by_ecn: BY_ECN.contains(&kind.name),
            offered: 0,
            offered_bytes: 0,
            sent: Vec::new(),
            sent_bytes: 0,
            origin: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    /// Returns the next packet. A connection has one priority and one DSCP, so that even strict
    /// bands keep the connection's order.
    fn packet(&mut self, conn: u32, len: u32, ecn: Ecn) -> Packet {
        let id = self.offered;
        self.offered += 1;
        self.offered_bytes += u64::from(len);
        self.origin.insert(id, (conn, ecn));
        Packet::from(PacketFields {
            ecn,
            priority: (conn * 5 % 16) as u8,
            dscp: (conn * 9 % 64) as u8,
            destination: conn / 2,
            ..PacketFields::plain(id, conn, len)
        })
    }

    fn on_sent(&mut self, packet: &Packet) -> Result<(), String> {
        let (conn, ecn) = self.origin[&packet.id];
        self.sent.push(packet.id);
        self.sent_bytes += u64::from(packet.len);
        let order = (conn, self.by_ecn.then_some(ecn.bits()));
        let before = self.last.insert(order, packet.id);
        check(before < Some(packet.id), || format!("{} overtook {before:?}", packet.id))?;
        let marked = packet.ecn == Ecn::Ce && ecn.is_capable();
        check(packet.ecn == ecn || marked, || format!("ECN {ecn:?} became {:?}", packet.ecn))
    }

    fn invariants(&self, rig: &Rig) -> Result<(), String> {
        let backlog = rig.qdisc.backlog();
        let dropped = rig.ledger.dropped.len() as u64;
        let packets = self.sent.len() as u64 + dropped + backlog.packets as u64;
        check(self.offered == packets, || format!("{} offered, {packets} known", self.offered))?;
        let bytes = self.sent_bytes + rig.ledger.dropped_bytes + backlog.bytes.0;
        check(self.offered_bytes == bytes, || {
            format!("{} bytes offered, {bytes} known", self.offered_bytes)
        })?;
        let empty = (backlog.packets == 0) == (backlog.bytes.0 == 0);
        check(empty, || format!("packets without bytes: {backlog:?}"))
    }

    /// Checks that no packet has two outcomes, and that no Not-ECT packet was marked.
    fn fates(&self, rig: &Rig) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for id in self.sent.iter().copied().chain(rig.ledger.drops()) {
            check(seen.insert(id), || format!("packet {id} has two fates"))?;
        }
        for id in rig.ledger.marks() {
            check(self.origin[&id].1 != Ecn::NotEct, || format!("Not-ECT packet {id} was marked"))?;
        }
        Ok(())
    }
}

fn check(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// The other disciplines may return true, because the tests of the contract check the order of the
/// packets of each connection.
#[test]
fn a_discipline_that_separates_packets_by_ecn_does_not_keep_their_order() {
    for kind in every().filter(|kind| BY_ECN.contains(&kind.name)) {
        let qdisc = (kind.build)(&Args::defaults(kind.params));
        assert!(!qdisc.keeps_order(), "{}", kind.name);
    }
}

/// Runs the operations on a discipline and then empties it. Returns the packets sent and the
/// ledger.
fn exercise(
    kind: &Kind<dyn Qdisc>,
    args: &Args,
    operations: &[Operation],
) -> Result<(Vec<u64>, rig::Ledger), String> {
    let mut rig = Rig::of((kind.build)(args));
    let mut model = Model::of(kind);
    let mut now = Instant::ZERO;
    let rate = BitRate::new(12_000_000).expect("not zero");
    rig.qdisc.attach(Parent { rate, never_polls_empty: false });
    for &operation in operations {
        match operation {
            Operation::Offer { after, conn, len, ecn } => {
                now += Duration::from_nanos(u64::from(after));
                let packet = model.packet(conn, len, ecn);
                rig.offer(now, packet);
            }
            Operation::Take { after } => {
                now += Duration::from_nanos(u64::from(after));
                take(&mut rig, &mut model, now)?;
            }
        }
        model.invariants(&rig)?;
    }
    while rig.packets() > 0 {
        now = (now + Duration::from_micros(900)).max(rig.qdisc.ready_at());
        take(&mut rig, &mut model, now)?;
        model.invariants(&rig)?;
    }
    model.fates(&rig)?;
    Ok((model.sent, rig.ledger))
}

/// Dequeues one packet. If the discipline returns none, its backlog must be empty or the discipline
/// not ready.
fn take(rig: &mut Rig, model: &mut Model, now: Instant) -> Result<(), String> {
    match rig.take(now) {
        Some(packet) => model.on_sent(&packet),
        None => check(rig.packets() == 0 || rig.qdisc.ready_at() > now, || {
            format!("stuck with {} packets", rig.packets())
        }),
    }
}

/// Returns the default parameters of a kind, two variants with so small a limit that the discipline
/// overflows, and, if the kind has the parameter `ecn`, a variant with ECN.
fn settings(kind: &'static Kind<dyn Qdisc>) -> Vec<Args> {
    let mut all = vec![Args::defaults(kind.params)];
    for limit in [1, 7] {
        let mut args = Args::defaults(kind.params);
        let set = args.set("limit", Value::Count(limit)).is_ok()
            || args.set("limit", Value::Count(limit + 1)).is_ok() // The minimum limit of SFQ is two.
            || args.set("limit", Value::Bytes(Bytes(limit * 1_000))).is_ok()
            || args.set("memlimit", Value::Bytes(Bytes(limit * 2_500))).is_ok();
        assert!(set, "{}: every discipline has a limit", kind.name);
        all.push(args);
    }
    let mut args = Args::defaults(kind.params);
    if args.set("ecn", Value::Flag(true)).is_ok() {
        all.push(args);
    }
    all
}

#[test]
fn c06_every_kind_obeys_the_contract_under_random_operations() {
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    for kind in every() {
        for args in settings(kind) {
            let mut runner = TestRunner::new_with_rng(config.clone(), seeded());
            let outcome = runner.run(&operations(), |operations| {
                let first = exercise(kind, &args, &operations).map_err(TestCaseError::fail)?;
                let again = exercise(kind, &args, &operations).map_err(TestCaseError::fail)?;
                prop_assert_eq!(first, again, "two runs differ");
                Ok(())
            });
            outcome.unwrap_or_else(|error| panic!("{} with {args:?}: {error}", kind.name));
        }
    }
}

/// Runs the operations on two equal disciplines. Packets of even length pass the first discipline
/// if it is empty. The second discipline enqueues and dequeues every packet.
fn compare_passing(
    kind: &Kind<dyn Qdisc>,
    args: &Args,
    operations: &[Operation],
) -> Result<(), String> {
    let mut rigs = [Rig::of((kind.build)(args)), Rig::of((kind.build)(args))];
    let mut model = Model::of(kind);
    let mut now = Instant::ZERO;
    for &operation in operations {
        let (Operation::Offer { after, .. } | Operation::Take { after }) = operation;
        now += Duration::from_nanos(u64::from(after));
        let [passing, queueing] = &mut rigs;
        let sent = if let Operation::Offer { conn, len, ecn, .. } = operation {
            let packet = model.packet(conn, len, ecn);
            queueing.offer(now, packet.clone());
            if passing.packets() == 0 && len % 2 == 0 {
                (passing.pass(now, packet), queueing.take(now))
            } else {
                passing.offer(now, packet);
                (None, None)
            }
        } else {
            (passing.take(now), queueing.take(now))
        };
        check(sent.0 == sent.1, || format!("{sent:?} differ"))?;
        let [passing, queueing] = &rigs;
        check(passing.qdisc.backlog() == queueing.qdisc.backlog(), || "other backlog".into())?;
        check(passing.ledger == queueing.ledger, || "other fates".into())?;
    }
    Ok(())
}

#[test]
fn a_packet_passes_an_empty_discipline_as_if_it_was_enqueued_and_dequeued() {
    let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
    for kind in every() {
        for args in settings(kind) {
            let mut runner = TestRunner::new_with_rng(config.clone(), seeded());
            let outcome = runner.run(&operations(), |operations| {
                compare_passing(kind, &args, &operations).map_err(TestCaseError::fail)
            });
            outcome.unwrap_or_else(|error| panic!("{} with {args:?}: {error}", kind.name));
        }
    }
}

/// Returns the settings of [`settings`], and settings with which more packets are marked.
fn marking(kind: &'static Kind<dyn Qdisc>) -> Vec<Args> {
    let mut all = settings(kind);
    for (name, value) in [
        ("ce_threshold", Value::Duration(Duration::from_micros(100))),
        ("ecn_mask", Value::Word("any_ect", &[])),
        ("drop_early", Value::Flag(true)),
    ] {
        let mut args = Args::defaults(kind.params);
        if args.set(name, value).is_ok() {
            all.push(args);
        }
    }
    all
}

/// Tests statement C-137: a discipline may change ECT(0) and ECT(1) to CE, and nothing else (RFC
/// 3168 §5, RFC 9331 §5). The random operations of the other tests check this under load. Here,
/// packets of each codepoint arrive at an empty queue, and then at a queue of packets that have
/// waited too long.
#[test]
fn every_kind_keeps_not_ect_and_ce_and_leaves_ect_alone_without_a_queue() {
    let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for kind in every() {
        for args in marking(kind) {
            let mut rig = Rig::of((kind.build)(&args));
            let mut model = Model::of(kind);
            for (n, ecn) in (0..).zip(codepoints) {
                let now = Instant::from_millis(10 + 10 * n);
                let packet = model.packet(0, 1_000, ecn);
                rig.offer(now, packet);
                let sent = rig.take(now);
                let kept = sent.as_ref().map(|packet| packet.ecn);
                // A packet that was dropped for lack of room has no ECN field to compare.
                let full = rig.ledger.drops().contains(&n);
                assert!(full || kept == Some(ecn), "{}: {ecn:?} became {kept:?}", kind.name);
            }
            for n in 0..600 {
                let now = Instant::from_millis(100 + n / 4);
                let packet = model.packet(0, 1_000, codepoints[n as usize % 4]);
                rig.offer(now, packet);
                if n % 8 == 0 {
                    if let Some(sent) = rig.take(now) {
                        let outcome = model.on_sent(&sent);
                        outcome.unwrap_or_else(|error| panic!("{}: {error}", kind.name));
                    }
                }
            }
        }
    }
}

/// Returns a generator with a fixed seed, so that the same cases run every time and failures are
/// reproducible.
fn seeded() -> proptest::test_runner::TestRng {
    proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha)
}

/// Returns allowed values of `param`: values that a user might write, sensible or not, and the ends
/// of the range.
fn others(param: &Param) -> Vec<Value> {
    let ends = param.bounds.ends(param.default).map(|(least, most)| [least, most]);
    let mut all = of_its_type(param);
    all.extend(ends.into_iter().flatten());
    all.retain(|value| param.bounds.admit(*value));
    all
}

fn of_its_type(param: &Param) -> Vec<Value> {
    let spans = [0, 1, 1_000, 20_000_000, 3_000_000_000].map(Duration::from_nanos);
    match param.default {
        Value::Duration(_) => spans.map(Value::Duration).to_vec(),
        Value::MaybeDuration(_) => spans.map(|span| Value::MaybeDuration(Some(span))).to_vec(),
        Value::Count(_) => [0, 1, 2, 33, 1_000_000].map(Value::Count).to_vec(),
        Value::Bytes(_) => [0, 1, 1_000, 1 << 40].map(|size| Value::Bytes(Bytes(size))).to_vec(),
        Value::Rate(_) => [1, 64_000, 10_000_000_000]
            .map(|bps| Value::Rate(BitRate::new(bps).expect("not zero")))
            .to_vec(),
        Value::MaybeRate(_) => [64_000, 10_000_000_000]
            .map(|bps| Value::MaybeRate(BitRate::new(bps)))
            .into_iter()
            .chain([Value::MaybeRate(None)])
            .collect(),
        Value::Number(number) => [0.0, 1.0, number / 2.0, number * 2.0].map(Value::Number).to_vec(),
        Value::Flag(flag) => vec![Value::Flag(!flag)],
        Value::Word(_, words) => words.iter().map(|word| Value::Word(word, words)).collect(),
    }
}

#[test]
fn every_parameter_takes_other_values_and_the_contract_still_holds() {
    let mut runner = TestRunner::new_with_rng(Config::default(), seeded());
    let samples: Vec<_> =
        (0..3).map(|_| operations().new_tree(&mut runner).expect("a sample").current()).collect();
    for kind in every() {
        for param in kind.params {
            for value in others(param) {
                let args = Args::defaults(kind.params).with(param.name, value);
                for sample in &samples {
                    exercise(kind, &args, sample).unwrap_or_else(|error| {
                        panic!("{} with {} = {value}: {error}", kind.name, param.name)
                    });
                }
            }
        }
    }
}

#[test]
fn declarations_are_complete() {
    let mut names = BTreeSet::new();
    for kind in every() {
        let name = kind.name;
        assert!(names.insert(name), "two disciplines are called {name}");
        assert!(is_word(name), "{name}: lower case, digits and underscores");
        assert!(kind.source.len() > 5, "{name}: say which document it follows");
        assert!(!kind.summary.is_empty() && !kind.summary.ends_with('.'), "{name}: a phrase");
        assert!(kind.summary.len() <= 90, "{name}: a summary is one line");
        let mut params = BTreeSet::new();
        for param in kind.params {
            let Param { name: word, doc, default, bounds } = param;
            assert!(bounds.admit(*default), "{name}.{word}: the default is out of bounds");
            assert!(params.insert(*word), "{name}: two parameters are called {word}");
            assert!(is_word(word), "{name}.{word}: lower case, digits and underscores");
            assert!(doc.ends_with('.') && doc.len() > 10, "{name}.{word}: a sentence");
            assert!(doc.starts_with(char::is_uppercase), "{name}.{word}: a sentence");
        }
    }
    for kind in kinds::all() {
        assert_eq!(kinds::find(kind.name).expect("listed").summary, kind.summary);
    }
}

fn is_word(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

#[test]
fn gauges_have_names_and_finite_values() {
    for kind in every() {
        let mut rig = Rig::of((kind.build)(&Args::defaults(kind.params)));
        for id in 0..20 {
            rig.offer(rig::ms(id), rig::packet(id, 1_000));
        }
        rig.take(rig::ms(200));
        for (name, value) in rig.qdisc.gauges() {
            assert!(is_word(name) && value.is_finite(), "{}: {name} is {value}", kind.name);
        }
    }
}

#[test]
fn every_file_of_a_kind_is_registered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kinds");
    let listed = include_str!("../src/kinds.rs");
    for entry in std::fs::read_dir(folder).expect("the folder of kinds") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a UTF-8 name");
        let line = format!("    {stem},\n");
        assert!(listed.contains(&line), "kinds.rs does not list `{stem}`");
    }
}
