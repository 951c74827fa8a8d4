//! Converts the kernel's recording to operations of a discipline.
//!
//! An operation is a row with these columns:
//!
//! - `offer`: 1 for an enqueue, 0 for a dequeue;
//! - `time`: the time that the discipline read in nanoseconds, as the difference from the previous
//!   operation;
//! - `read`: the number of clock readings (if zero, the time is the last known time);
//! - `id`: the number of the packet, or −1 without a packet;
//! - `len`: the length that the discipline counts;
//! - `mem`: the memory of the packet (`truesize`);
//! - `ecn`: the ECN field at departure;
//! - `dscp`: the codepoint at departure.
//!
//! Other keys hold lists, in which an operation is the number of its row:
//!
//! - `drops`: pairs of an operation and a packet that it dropped;
//! - `later`: pairs of an operation and a clock reading after the operation's first;
//! - `draws`: pairs of an operation and a random number that it drew;
//! - `updates`: the operations that follow the expiry of a timer;
//! - `hashes`: pairs of a flow and its hash;
//! - `hosts`: each flow with the hashes of its source and destination.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::job::Trace;
use super::probes::Doors;

/// A line of the recording.
#[derive(Clone, Copy)]
enum Line<'a> {
    Offer { skb: u64, len: u64, id: u64, mem: u64 },
    Offered,
    Take,
    Taken { skb: u64, hash: u64, tos: u64 },
    Clock { caller: &'a str, ns: u64 },
    Hash(u64),
    Freed { skb: u64 },
    Consumed { skb: u64 },
    Keys { caller: &'a str, hash: u64 },
    Word { caller: &'a str, value: u64, bits: u32 },
    Ask { at: u64 },
    Fill { caller: &'a str, stack: u64, words: [u64; 8] },
    Update,
}

const WORDS: [&str; 8] = ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"];

#[derive(Default)]
struct Operation {
    offer: bool,
    time: u64,
    reads: u64,
    id: Option<u64>,
    len: u64,
    mem: u64,
    ecn: u64,
    dscp: u64,
    drops: Vec<u64>,
    /// Packets that the discipline removed at once and does not count as lost.
    consumed: Vec<u64>,
}

/// Parses a recording of `trace`, taken at the entry points `doors`. Returns its columns.
pub(crate) fn read(text: &str, trace: &Trace, doors: &Doors) -> Result<Value, String> {
    let mut reader = Reader {
        own: doors.own,
        keyed: doors.is_keyed(),
        shared: doors.is_shared(),
        raw: trace.is_raw(),
        ..Reader::default()
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let meant = parse(line)
            .ok_or_else(|| format!("the kernel's recording has an unknown line: `{line}`"))?;
        reader.line(meant, trace).map_err(|problem| format!("{problem} at `{line}`"))?;
    }
    if reader.inside.is_some() || !reader.waiting.is_empty() {
        return Err(format!("{} packets never left the discipline", reader.waiting.len()));
    }
    if doors.timed {
        reader.check_times()?;
    }
    Ok(reader.columns())
}

#[derive(Default)]
struct Reader<'a> {
    own: &'a str,
    keyed: bool,
    shared: bool,
    /// Whether the packet numbers start at one.
    raw: bool,
    done: Vec<Operation>,
    /// The operation in progress, if any.
    inside: Option<Operation>,
    /// The numbers of the packets in the discipline, by address.
    waiting: BTreeMap<u64, u64>,
    /// The row of the last enqueue. A packet dropped outside an operation belongs to this enqueue,
    /// because the kernel frees displaced packets only after the next dequeue.
    last_offer: usize,
    clock: u64,
    hashes: BTreeMap<u64, u64>,
    /// The hashes of the destination, the source and the flow of the packet being enqueued.
    keys: Vec<u64>,
    /// The hashes of each flow's source and destination.
    hosts: BTreeMap<u64, (u64, u64)>,
    /// Further clock readings within one operation.
    later: Vec<(usize, u64)>,
    /// Random numbers, in the upper bits of 64 bits, with the operations that drew them.
    draws: Vec<(usize, u64)>,
    /// The address of the buffer for the last requested random number.
    asked: u64,
    /// The operations that follow the expiry of a timer.
    updates: Vec<usize>,
}

impl Reader<'_> {
    fn line(&mut self, line: Line<'_>, trace: &Trace) -> Result<(), String> {
        match line {
            Line::Offer { skb, len, id, mem } => {
                let id = id.checked_sub(self.raw.into()).ok_or("a packet without a number")?;
                self.waiting.insert(skb, id);
                let offered =
                    Operation { offer: true, id: Some(id), len, mem, ..Operation::default() };
                self.begin(offered)?;
            }
            Line::Take => self.begin(Operation::default())?,
            Line::Offered => {
                self.last_offer = self.done.len();
                self.know_keys(trace)?;
                self.end(true)?;
            }
            Line::Taken { skb, hash, tos } => self.taken(skb, hash, tos, trace)?,
            Line::Clock { caller, ns } => self.tell(caller, ns),
            Line::Hash(hash) => self.hash(hash, trace)?,
            Line::Freed { skb } => self.freed(skb),
            Line::Consumed { skb } => self.consumed(skb),
            Line::Keys { caller, hash } if self.is_own(caller) => self.keys.push(hash),
            Line::Keys { .. } => {}
            Line::Word { caller, value, bits } => self.drew(caller, value << (64 - bits)),
            Line::Ask { at } => self.asked = at,
            Line::Fill { caller, stack, words } => {
                let place = self.asked.wrapping_sub(stack) / 8;
                if let Some(&value) = words.get(place as usize) {
                    self.drew(caller, value);
                }
            }
            Line::Update => self.updates.push(self.done.len()),
        }
        Ok(())
    }

    fn begin(&mut self, operation: Operation) -> Result<(), String> {
        if self.inside.is_some() {
            return Err("one operation began within another".into());
        }
        self.inside = Some(Operation { time: self.clock, ..operation });
        Ok(())
    }

    fn end(&mut self, offer: bool) -> Result<(), String> {
        let done = self.inside.take().filter(|operation| operation.offer == offer);
        self.done.push(done.ok_or("an operation ended that had not begun")?);
        Ok(())
    }

    fn taken(&mut self, skb: u64, hash: u64, tos: u64, trace: &Trace) -> Result<(), String> {
        let operation = self.inside.as_mut().ok_or("a packet was given unasked")?;
        if skb == 0 && self.shared {
            // HTB's own dequeue may not have polled the discipline.
            self.inside = None;
            return Ok(());
        }
        if skb != 0 {
            let id = self.waiting.remove(&skb).ok_or("a packet left that was never enqueued")?;
            operation.id = Some(id);
            operation.ecn = tos & 3;
            operation.dscp = tos >> 2;
            if hash != 0 && !self.keyed {
                self.know(id, hash, trace)?;
            }
        }
        self.end(false)
    }

    /// Advances the clock to a reading. Records the reading if the discipline made it.
    fn tell(&mut self, caller: &str, ns: u64) {
        self.clock = self.clock.max(ns);
        let own = self.is_own(caller);
        let Some(operation) = self.inside.as_mut().filter(|_| own) else { return };
        operation.reads += 1;
        if operation.reads == 1 {
            operation.time = ns;
        } else {
            self.later.push((self.done.len(), ns));
        }
    }

    fn is_own(&self, caller: &str) -> bool {
        is_own(caller, self.own)
    }

    fn drew(&mut self, caller: &str, value: u64) {
        if self.inside.is_some() && self.is_own(caller) {
            self.draws.push((self.done.len(), value));
        }
    }

    /// Records the hashes that the discipline computed for the packet just enqueued. The discipline
    /// computes the hash of the flow only if the flow's packets have no hash.
    fn know_keys(&mut self, trace: &Trace) -> Result<(), String> {
        let keys = std::mem::take(&mut self.keys);
        let [destination, source, ref flow @ ..] = keys[..] else { return Ok(()) };
        let id = self.inside.as_ref().and_then(|operation| operation.id);
        let arrival = id.and_then(|id| trace.arrivals.get(id as usize));
        let number = arrival.ok_or("a packet that was not sent")?.flow;
        let known = *self.hosts.entry(number).or_insert((source, destination));
        if known != (source, destination) {
            return Err("the hashes of a flow's hosts changed".into());
        }
        match (flow, id) {
            ([hash], Some(id)) => self.know(id, *hash, trace),
            _ => Ok(()),
        }
    }

    fn hash(&mut self, hash: u64, trace: &Trace) -> Result<(), String> {
        match self.inside.as_ref().and_then(|operation| operation.id) {
            Some(id) => self.know(id, hash, trace),
            None => Ok(()),
        }
    }

    fn know(&mut self, id: u64, hash: u64, trace: &Trace) -> Result<(), String> {
        let arrival = trace.arrivals.get(id as usize).ok_or("a packet that was not sent")?;
        let known = *self.hashes.entry(arrival.flow).or_insert(hash);
        if known == hash { Ok(()) } else { Err("a flow's hash changed".into()) }
    }

    fn freed(&mut self, skb: u64) {
        let Some(id) = self.waiting.remove(&skb) else { return };
        match (&mut self.inside, self.done.get_mut(self.last_offer)) {
            (Some(operation), _) | (None, Some(operation)) => operation.drops.push(id),
            (None, None) => {}
        }
    }

    fn consumed(&mut self, skb: u64) {
        let Some(operation) = &mut self.inside else { return };
        if let Some(id) = self.waiting.remove(&skb) {
            operation.consumed.push(id);
        }
    }

    /// Checks that the time of every enqueued or dequeued packet is known. A packet that was
    /// refused needs no time.
    fn check_times(&self) -> Result<(), String> {
        let gap = self.done.iter().position(|operation| {
            let refused = operation.offer && operation.drops.contains(&operation.id.unwrap_or(0));
            operation.id.is_some() && operation.reads == 0 && !refused
        });
        gap.map_or(Ok(()), |place| Err(format!("the time of operation {place} is missing")))
    }

    fn columns(mut self) -> Value {
        // The kernel keeps the packets that an enqueue displaced on a stack until it frees them.
        for offer in self.done.iter_mut().filter(|operation| operation.offer) {
            offer.drops.reverse();
            let overflow = std::mem::take(&mut offer.drops);
            offer.drops = std::mem::take(&mut offer.consumed).into_iter().chain(overflow).collect();
        }
        let mut before = 0;
        let gap = |operation: &Operation| {
            let at = signed(operation.time);
            at - std::mem::replace(&mut before, at)
        };
        let times: Vec<i64> = self.done.iter().map(gap).collect();
        let id = |operation: &Operation| operation.id.map_or(-1, signed);
        let ids: Vec<i64> = self.done.iter().map(id).collect();
        let column = |value: fn(&Operation) -> u64| self.done.iter().map(value).collect::<Vec<_>>();
        let drops: Vec<_> = self
            .done
            .iter()
            .enumerate()
            .flat_map(|(place, operation)| operation.drops.iter().map(move |id| (place, *id)))
            .collect();
        json!({
            "offer": column(|operation| operation.offer.into()),
            "time": times,
            "read": column(|operation| operation.reads),
            "id": ids,
            "len": column(|operation| operation.len),
            "mem": column(|operation| operation.mem),
            "ecn": column(|operation| operation.ecn),
            "dscp": column(|operation| operation.dscp),
            "drops": drops,
            "later": self.later,
            "draws": self.draws,
            "updates": self.updates,
            "hashes": self.hashes.into_iter().collect::<Vec<_>>(),
            "hosts": self
                .hosts
                .into_iter()
                .map(|(flow, (source, destination))| (flow, source, destination))
                .collect::<Vec<_>>(),
        })
    }
}

/// Returns whether the name of a function begins with `own` after any leading `_` and `fq_`.
pub(crate) fn is_own(caller: &str, own: &str) -> bool {
    caller.trim_start_matches('_').trim_start_matches("fq_").starts_with(own)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Parses a line of the form `cpu time: event: (where) name=value …`; `None` for another line.
fn parse(line: &str) -> Option<Line<'_>> {
    let rest = line.split_once("] ")?.1;
    let (_, rest) = rest.split_once(": ")?;
    let (event, rest) = rest.split_once(": ")?;
    let value = |name: &str| field(rest, name);
    let caller = rest.trim_start_matches('(');
    Some(match event {
        "offer" => Line::Offer {
            skb: value("skb")?,
            len: value("len")?,
            id: value("id")?,
            mem: value("mem")?,
        },
        "offered" => Line::Offered,
        "take" => Line::Take,
        "taken" => Line::Taken {
            skb: value("skb")?,
            hash: value("hash").unwrap_or(0),
            tos: value("tos").unwrap_or(0),
        },
        "clock" => Line::Clock { caller, ns: value("ns")? },
        "hash" => Line::Hash(value("hash")?),
        "word" => Line::Word { caller, value: value("value")?, bits: 32 },
        "half" => Line::Word { caller, value: value("value")?, bits: 16 },
        "keys" => Line::Keys { caller, hash: value("hash")? },
        "ask" => Line::Ask { at: value("at")? },
        "fill" => {
            let mut words = [0; 8];
            for (word, name) in words.iter_mut().zip(WORDS) {
                *word = value(name)?;
            }
            Line::Fill { caller, stack: value("stack")?, words }
        }
        "update" => Line::Update,
        "kfree_skb" => Line::Freed { skb: value("skbaddr")? },
        "consume_skb" => Line::Consumed { skb: value("skbaddr")? },
        _ => return None,
    })
}

/// Returns the decimal or hexadecimal value of ` name=value`, if it is in `text`.
fn field(text: &str, name: &str) -> Option<u64> {
    let word = text.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if name == "skbaddr" => u64::from_str_radix(word, 16).ok(),
        None => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::probes;
    use super::*;

    /// Returns the lines in the kernel's format. Each line gets the same prefix.
    fn recorded(lines: &[&str]) -> String {
        let head = "            init-1       [000] b..1.    22.040794: ";
        lines.iter().flat_map(|line| [head, line, "\n"]).collect()
    }

    fn trace(kind: &str) -> Trace {
        let json = format!(
            r#"{{"traces": [{{"kind": "{kind}", "options": "", "rate_bps": 1000000, "overhead": 0,
                "ecn": [0, 2], "arrivals": [[0, 0, 64], [0, 1, 64]]}}]}}"#
        );
        let mut traces =
            super::super::job::parse(&json).expect("it is a job").expect("it is right");
        traces.remove(0)
    }

    fn read_as(kind: &str, lines: &[&str]) -> Result<Value, String> {
        read(&recorded(lines), &trace(kind), probes::find(kind)?)
    }

    const OFFERS: [&str; 6] = [
        "offer: (codel_qdisc_enqueue+0x0/0x90 [sch_codel]) skb=0xff10 len=64 id=0 mem=768",
        "clock: (codel_qdisc_enqueue+0x1d/0x90 [sch_codel] <- ktime_get) ns=1000",
        "offered: (htb_enqueue+0x174/0x390 [sch_htb] <- codel_qdisc_enqueue) code=0",
        "offer: (codel_qdisc_enqueue+0x0/0x90 [sch_codel]) skb=0xff20 len=64 id=1 mem=768",
        "clock: (tick_sched_timer+0x19/0x80 <- ktime_get) ns=1500",
        "offered: (htb_enqueue+0x174/0x390 [sch_htb] <- codel_qdisc_enqueue) code=1",
    ];
    const TAKES: [&str; 4] = [
        "take: (codel_qdisc_dequeue+0x0/0x51 [sch_codel])",
        "clock: (__codel_qdisc_dequeue+0x6c/0x760 [sch_codel] <- ktime_get) ns=2000",
        "taken: (htb_dequeue+0x1cc/0x800 [sch_htb] <- codel_qdisc_dequeue) skb=0xff10 hash=9 tos=3",
        "kfree_skb: skbaddr=000000000000ff20 protocol=2048 location=ffffffffb4a446c6 reason: QDISC_DROP",
    ];

    #[test]
    fn operations_come_with_the_times_that_the_discipline_read() {
        let got = read_as("codel", &[&OFFERS[..], &TAKES].concat()).expect("it is whole");
        assert_eq!(got["offer"], json!([1, 1, 0]));
        assert_eq!(got["time"], json!([1000, 0, 1000]));
        assert_eq!(got["read"], json!([1, 0, 1]));
        assert_eq!(got["id"], json!([0, 1, 0]));
        assert_eq!(got["ecn"], json!([0, 0, 3]));
        assert_eq!(got["hashes"], json!([[0, 9]]));
        // The kernel frees the packet after the dequeue, but the drop belongs to the enqueue that
        // refused the packet.
        assert_eq!(got["drops"], json!([[1, 1]]));
    }

    #[test]
    fn a_time_that_is_missing_is_an_error() {
        let lines: Vec<_> = OFFERS.iter().chain(&TAKES).copied().collect();
        let without: Vec<_> = lines.iter().copied().filter(|line| !line.contains("0x1d")).collect();
        assert!(read_as("codel", &without).unwrap_err().contains("operation 0"));
    }

    #[test]
    fn packets_that_never_left_are_an_error() {
        assert!(read_as("codel", &OFFERS).unwrap_err().contains("2 packets never left"));
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error() {
        assert!(read_as("codel", &["what: (f+0x0/0x1)"]).unwrap_err().contains("what"));
    }

    #[test]
    fn cakes_hashes_draws_and_removed_acknowledgements_belong_to_their_operations() {
        let lines = [
            "offer: (cake_enqueue+0x0/0x90 [sch_cake]) skb=0xff10 len=64 id=0 mem=768",
            "clock: (cake_enqueue+0x1d/0x90 [sch_cake] <- ktime_get) ns=1000",
            "keys: (cake_hash+0x1/0x9 [sch_cake] <- flow_hash_from_keys) hash=7",
            "keys: (cake_hash+0x2/0x9 [sch_cake] <- flow_hash_from_keys) hash=8",
            "keys: (cake_hash+0x3/0x9 [sch_cake] <- flow_hash_from_keys) hash=9",
            "half: (cake_get_flow_quantum+0x3/0x9 [sch_cake] <- get_random_u16) value=3",
            "offered: (__dev_queue_xmit+0x1/0x9 <- cake_enqueue) code=0",
            "offer: (cake_enqueue+0x0/0x90 [sch_cake]) skb=0xff20 len=64 id=1 mem=768",
            "clock: (cake_enqueue+0x1d/0x90 [sch_cake] <- ktime_get) ns=1100",
            "consume_skb: skbaddr=000000000000ff10 location=ff",
            "half: (cake_get_flow_quantum+0x3/0x9 [sch_cake] <- get_random_u16) value=4",
            "word: (cake_enqueue+0x3/0x9 [sch_cake] <- get_random_u32) value=5",
            "offered: (__dev_queue_xmit+0x1/0x9 <- cake_enqueue) code=0",
            "take: (cake_dequeue+0x0/0x51 [sch_cake])",
            "clock: (cake_dequeue+0x6c/0x760 [sch_cake] <- ktime_get) ns=2000",
            "taken: (__qdisc_run+0x1/0x8 <- cake_dequeue) skb=0xff20 hash=0 tos=187",
        ];
        let got = read_as("cake", &lines).expect("it is whole");
        assert_eq!((&got["hosts"], &got["hashes"]), (&json!([[0, 8, 7]]), &json!([[0, 9]])));
        assert_eq!(got["drops"], json!([[1, 0]]));
        assert_eq!(got["draws"], json!([[0, 3_u64 << 48], [1, 4_u64 << 48], [1, 5_u64 << 32]]));
        assert_eq!((&got["ecn"][2], &got["dscp"][2]), (&json!(3), &json!(46)));
    }

    #[test]
    fn random_numbers_are_found_on_the_stack_of_whoever_asked() {
        let words = "w0=0x1 w1=0x2 w2=0x3 w3=0x4 w4=0x5 w5=0x6 w6=0x7 w7=0x8";
        let fill = format!(
            "fill: (pie_drop_early+0x1/0x9 [sch_pie] <- get_random_bytes) stack=0x100 {words}"
        );
        let lines = [
            "update: (pie_timer+0x0/0x80 [sch_pie])",
            "offer: (pie_qdisc_enqueue+0x0/0x90 [sch_pie]) skb=0xff10 len=64 id=0 mem=768",
            "ask: (get_random_bytes+0x0/0x9) at=0x110",
            &fill,
            "offered: (htb_enqueue+0x174/0x390 [sch_htb] <- pie_qdisc_enqueue) code=1",
            "kfree_skb: skbaddr=000000000000ff10 protocol=2048 location=ff reason: QDISC_DROP",
        ];
        let got = read_as("pie", &lines).expect("it is whole");
        assert_eq!((&got["draws"], &got["updates"]), (&json!([[0, 3]]), &json!([0])));
    }
}
