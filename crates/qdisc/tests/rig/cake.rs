//! A rig for CAKE: packets with given hashes, hosts and DSCPs, and departures at the times that the
//! shaper permits.

use aqmlab_core::{BitRate, Bytes, Duration, Instant, Packet, Value};
use aqmlab_qdisc::flows::tuple_hash_for;

use super::Rig;

const SALT: u32 = 1;
/// The time at which every test starts.
pub const START: Instant = Instant::from_millis(10_000);

/// Returns `cake` with these parameters. Unless the parameters change this, the target is so long
/// that COBALT signals nothing, and the memory limit so large that nothing overflows.
pub fn cake(changes: &[(&str, Value)]) -> Rig {
    let calm = Value::MaybeDuration(Some(Duration::from_secs(4_000)));
    let mut all =
        vec![("salt", Value::Count(SALT.into())), ("rtt", calm), bytes("memlimit", 1 << 30)];
    all.retain(|(name, _)| changes.iter().all(|(other, _)| name != other));
    all.extend_from_slice(changes);
    Rig::new("cake", &all)
}

pub fn mbit(mbit: u64) -> (&'static str, Value) {
    ("bandwidth", Value::MaybeRate(BitRate::new(mbit * 1_000_000)))
}

/// Returns the parameter `name` with the value `word`, which must be in the parameter's list.
pub fn word(name: &'static str, word: &str) -> (&'static str, Value) {
    let kind = super::kind("cake");
    let param = kind.params.iter().find(|param| param.name == name).expect("it has the parameter");
    let Value::Word(_, words) = param.default else { panic!("{name} is not a word") };
    let word = words.iter().find(|known| **known == word).expect("it is listed");
    (name, Value::Word(word, words))
}

pub fn flag(name: &'static str) -> (&'static str, Value) {
    (name, Value::Flag(true))
}

pub fn bytes(name: &'static str, bytes: u64) -> (&'static str, Value) {
    (name, Value::Bytes(Bytes(bytes)))
}

pub fn rtt_ms(ms: u64) -> (&'static str, Value) {
    ("rtt", Value::MaybeDuration(Some(Duration::from_millis(ms))))
}

/// Returns a packet of connection `conn` between two hosts, in an Ethernet frame of `len` bytes.
pub fn between(id: u64, conn: u32, hosts: [u32; 2], len: u32) -> Packet {
    let mut packet = Packet::plain(id, conn, len - 14);
    packet.len = len;
    [packet.source, packet.destination] = hosts;
    packet
}

/// Returns a packet whose flow has this hash.
pub fn hashed(id: u64, hash: u32) -> Packet {
    let mut packet = between(id, hash, [1, 2], 1_514);
    packet.tuple_hash = tuple_hash_for(hash, SALT);
    packet
}

/// Returns a packet with a DSCP. All packets with this DSCP belong to one flow.
pub fn coded(id: u64, dscp: u8) -> Packet {
    let mut packet = between(id, dscp.into(), [1, 2], 1_514);
    packet.dscp = dscp;
    packet
}

/// Returns the statistic `name` of `cake`, without its fraction.
pub fn statistic(rig: &Rig, name: &str) -> u64 {
    let all = rig.qdisc.gauges();
    all.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no {name}")).1 as u64
}

/// Dequeues packets as soon as they are ready, until `count` packets have left or the queues are
/// empty. Returns each packet with its time of departure.
pub fn departures(rig: &mut Rig, from: Instant, count: usize) -> Vec<(Packet, Instant)> {
    let (mut now, mut left) = (from, Vec::new());
    while left.len() < count && rig.packets() > 0 {
        now = now.max(rig.qdisc.ready_at());
        if let Some(packet) = rig.take(now) {
            left.push((packet, now));
        }
    }
    left
}

/// Returns the number of packets of each connection among the first `count` departures.
pub fn shares(rig: &mut Rig, count: usize, conns: u32) -> Vec<u64> {
    let mut shares = vec![0; conns as usize];
    for (packet, _) in departures(rig, START, count) {
        shares[packet.conn as usize] += 1;
    }
    shares
}
