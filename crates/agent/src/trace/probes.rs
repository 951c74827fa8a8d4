//! Probes in the kernel: the packets into and out of a discipline, and the times that it reads.
//!
//! Source: Documentation/trace/kprobetrace.rst of the kernel. Probes at the entry and the return of
//! a discipline's two functions record the operations in order. Probes at the return addresses of
//! `ktime_get` in the discipline record the exact times that the discipline read, in nanoseconds.
//! The kernel's own event reports dropped packets.
//!
//! A probe at a function that also has other callers would miss events of the discipline.
//! Interrupts may arrive while the kernel handles such a probe, and a softirq that follows may
//! dequeue. The kernel skips the probes in that softirq (`kprobe_ftrace_handler`). The discipline
//! itself runs with softirqs disabled.

use std::fs;

use super::calls::Code;
use super::layout::Types;

const TRACING: &str = "/sys/kernel/tracing";
/// The offset of a packet's number, after the Ethernet, IPv4 and UDP headers.
const NUMBER: u32 = 14 + 20 + 8;
/// The offset of IPv4's Identification field, from the Ethernet header. The field holds a packet's
/// number if the job states the headers of the packets.
const IDENTIFICATION: u32 = 14 + 4;
/// The offset of the byte with IPv4's ECN field, from the Ethernet header.
const TOS: u32 = 14 + 1;
/// The size of the recording buffer in kB. A packet takes about six lines of a hundred bytes.
const BUFFER_KB: &str = "163840";

/// The entry points of a discipline in the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Doors {
    /// The discipline's kind in tc.
    pub(crate) kind: &'static str,
    enqueue: &'static str,
    dequeue: &'static str,
    /// The prefix that the names of the discipline's own functions have, without a leading `_` or
    /// `fq_`.
    pub(crate) own: &'static str,
    /// Whether the discipline reads the clock for every packet that it enqueues or dequeues.
    pub(crate) timed: bool,
    /// The functions whose results the recording needs, besides the clock.
    calls: &'static [Call],
    /// Additional probes of the discipline.
    extra: &'static [&'static str],
}

/// A function that a discipline calls, and the probe that records its result.
#[derive(PartialEq, Eq)]
struct Call {
    event: &'static str,
    callee: &'static str,
    result: &'static str,
}

const fn call(event: &'static str, callee: &'static str, result: &'static str) -> Call {
    Call { event, callee, result }
}

const CLOCK: Call = call("clock", "ktime_get", "ns=%ax:u64");
/// The probe of the hash that a discipline computes with its own key.
const HASH: Call = call("hash", "skb_get_hash_perturb", "hash=%ax:u32");
/// The probe of a 32-bit random number.
const WORD: Call = call("word", "get_random_u32", "value=%ax:u32");
/// The probe of a 16-bit random number.
const HALF: Call = call("half", "get_random_u16", "value=%ax:u16");
/// The probe of the hashes of addresses and flows, which CAKE computes itself.
const KEYS: Call = call("keys", "flow_hash_from_keys", "hash=%ax:u32");
/// The probe of a request for a 64-bit random number, which the kernel writes to a buffer on the
/// caller's stack. This probe records the address of the buffer. [`FILL`] records the stack pointer
/// and the words from the stack pointer on.
const ASK: &str = "p:aqmlab/ask get_random_bytes at=%di:x64";
const FILL: &str = "r8:aqmlab/fill get_random_bytes stack=$stack:x64 \
    w0=$stack0:x64 w1=$stack1:x64 w2=$stack2:x64 w3=$stack3:x64 w4=$stack4:x64 \
    w5=$stack5:x64 w6=$stack6:x64 w7=$stack7:x64";
/// The probe of PIE's timer.
const PIE_TIMER: &str = "p:aqmlab/update sch_pie:pie_timer";
/// The probe of FQ-PIE's timer.
const FQ_PIE_TIMER: &str = "p:aqmlab/update sch_fq_pie:fq_pie_timer";

impl Doors {
    /// Returns whether packets leave through a function of HTB. That function may return no packet
    /// even if the discipline has packets.
    pub(crate) fn is_shared(&self) -> bool {
        self.dequeue == HTB
    }

    /// Returns whether the discipline removes packets that it does not count as lost.
    pub(crate) fn consumes(&self) -> bool {
        self.calls.contains(&KEYS)
    }

    /// Returns whether the discipline hashes with its own key. The hash of the packet is then
    /// irrelevant.
    pub(crate) fn is_keyed(&self) -> bool {
        self.calls.contains(&HASH)
    }
}

/// HTB's dequeue function.
const HTB: &str = "sch_htb:htb_dequeue";

const fn doors(
    kind: &'static str,
    enqueue: &'static str,
    dequeue: &'static str,
    own: &'static str,
) -> Doors {
    Doors { kind, enqueue, dequeue, own, timed: false, calls: &[], extra: &[] }
}

const fn timed(doors: Doors) -> Doors {
    Doors { timed: true, ..doors }
}

const fn with(extra: &'static [&'static str], doors: Doors) -> Doors {
    Doors { extra, ..doors }
}

const fn calling(calls: &'static [Call], doors: Doors) -> Doors {
    Doors { calls, ..doors }
}

/// Every discipline that can be recorded. The kernel also uses the dequeue function of the two
/// FIFOs elsewhere. For the FIFOs, the probes use HTB's function, which returns the dequeued
/// packets.
const DOORS: &[Doors] = &[
    doors("pfifo", "pfifo_enqueue", HTB, "pfifo_"),
    doors("bfifo", "bfifo_enqueue", HTB, "bfifo_"),
    timed(doors(
        "codel",
        "sch_codel:codel_qdisc_enqueue",
        "sch_codel:codel_qdisc_dequeue",
        "codel_",
    )),
    timed(doors("fq_codel", "fq_codel_enqueue", "fq_codel_dequeue", "codel_")),
    calling(&[HASH], doors("sfq", "sch_sfq:sfq_enqueue", "sch_sfq:sfq_dequeue", "sfq_")),
    calling(&[WORD], doors("red", "sch_red:red_enqueue", "sch_red:red_dequeue", "red_")),
    with(
        &[ASK, FILL, PIE_TIMER],
        timed(doors("pie", "sch_pie:pie_qdisc_enqueue", "sch_pie:pie_qdisc_dequeue", "pie_")),
    ),
    calling(
        &[KEYS, HALF, WORD],
        timed(doors("cake", "sch_cake:cake_enqueue", "sch_cake:cake_dequeue", "cake_")),
    ),
    with(
        &[ASK, FILL, FQ_PIE_TIMER],
        timed(doors(
            "fq_pie",
            "sch_fq_pie:fq_pie_qdisc_enqueue",
            "sch_fq_pie:fq_pie_qdisc_dequeue",
            "pie_",
        )),
    ),
];

/// Returns the entry points of the discipline that tc calls `kind`.
pub(crate) fn find(kind: &str) -> Result<&'static Doors, String> {
    DOORS.iter().find(|doors| doors.kind == kind).ok_or_else(|| {
        let known: Vec<_> = DOORS.iter().map(|doors| doors.kind).collect();
        format!("`{kind}` cannot be recorded; {} can", known.join(", "))
    })
}

/// Sets the probes of a discipline, whose module must be loaded, and starts the recording. If `raw`
/// is true, the job states the headers of the packets, and IPv4's Identification field holds a
/// packet's number.
pub(crate) fn set(doors: &Doors, types: &Types, raw: bool) -> Result<(), String> {
    let code = Code::read(doors.own)?;
    write("events/enable", "0")?;
    write("kprobe_events", "")?;
    write("buffer_size_kb", BUFFER_KB)?;
    // The address of an `skb` identifies its packet, so the trace must not hash addresses.
    write("options/hash-ptr", "0")?;
    write("options/overwrite", "0")?;
    for line in lines(doors, types, raw)?.into_iter().chain(results(doors, &code)?) {
        append("kprobe_events", &line)?;
    }
    write("trace", "")?;
    write("events/skb/kfree_skb/enable", "1")?;
    write("events/skb/consume_skb/enable", if doors.consumes() { "1" } else { "0" })?;
    write("events/aqmlab/enable", "1")
}

/// Stops the recording. Returns the recording, or the gap that makes it unusable.
pub(crate) fn end() -> Result<Result<String, String>, String> {
    write("events/aqmlab/enable", "0")?;
    write("events/skb/kfree_skb/enable", "0")?;
    write("events/skb/consume_skb/enable", "0")?;
    match missing(&read("per_cpu/cpu0/stats")?, &read("kprobe_profile")?) {
        Some(gap) => Ok(Err(gap)),
        None => Ok(Ok(read("trace")?)),
    }
}

/// Returns the probes of the results that the discipline receives from other functions.
fn results(doors: &Doors, code: &Code) -> Result<Vec<String>, String> {
    let clock = if doors.timed { &[CLOCK][..] } else { &[] };
    let mut lines = Vec::new();
    for Call { event, callee, result } in clock.iter().chain(doors.calls) {
        let places = code.returns(callee)?;
        if places.is_empty() {
            return Err(format!("{} does not call {callee} in this kernel", doors.kind));
        }
        lines.extend(places.iter().map(|place| format!("p:aqmlab/{event} {place} {result}")));
    }
    Ok(lines)
}

fn lines(doors: &Doors, types: &Types, raw: bool) -> Result<Vec<String>, String> {
    let field = |name| types.offset("sk_buff", name);
    let (data, counted) = (field("data")?, field("cb")?);
    let (hash, memory) = (field("hash")?, field("truesize")?);
    let Doors { enqueue, dequeue, .. } = doors;
    let (number, width) = if raw { (IDENTIFICATION, "u16") } else { (NUMBER, "u32") };
    let mut lines = vec![
        format!(
            "p:aqmlab/offer {enqueue} skb=%di:x64 len=+{counted}(%di):u32 \
             id=+{number}(+{data}(%di)):{width} mem=+{memory}(%di):u32"
        ),
        format!("r8:aqmlab/offered {enqueue} code=$retval:u32"),
        format!("p:aqmlab/take {dequeue}"),
        format!(
            "r8:aqmlab/taken {dequeue} skb=$retval:x64 \
             hash=+{hash}($retval):u32 tos=+{TOS}(+{data}($retval)):u8"
        ),
    ];
    lines.extend(doors.extra.iter().map(|&line| line.into()));
    Ok(lines)
}

/// Returns the gap of a recording, if there is one: entries lost because the buffer was full, or
/// entries that a probe missed.
fn missing(stats: &str, profile: &str) -> Option<String> {
    let full = stats.lines().find(|line| {
        let counts = ["overrun:", "dropped events:", "commit overrun:"];
        counts.iter().any(|name| line.starts_with(name)) && !line.ends_with(": 0")
    });
    let missed = profile.lines().find(|line| !line.ends_with(" 0"));
    full.or(missed).map(Into::into)
}

fn path(name: &str) -> String {
    format!("{TRACING}/{name}")
}

fn read(name: &str) -> Result<String, String> {
    fs::read_to_string(path(name)).map_err(|error| format!("{}: {error}", path(name)))
}

fn write(name: &str, text: &str) -> Result<(), String> {
    fs::write(path(name), text).map_err(|error| format!("{} = {text}: {error}", path(name)))
}

fn append(name: &str, text: &str) -> Result<(), String> {
    let file = fs::OpenOptions::new().append(true).open(path(name));
    file.and_then(|mut file| std::io::Write::write_all(&mut file, format!("{text}\n").as_bytes()))
        .map_err(|error| format!("{} = {text}: {error}", path(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_in_the_buffer_and_at_the_probes() {
        let stats = "entries: 9\noverrun: 0\ncommit overrun: 0\ndropped events: 0\n";
        let profile = "  offer      300       0\n  clock     3267       0\n";
        assert_eq!(missing(stats, profile), None);
        let full = stats.replace("events: 0", "events: 7");
        assert_eq!(missing(&full, profile), Some("dropped events: 7".into()));
        let missed = profile.replace("300       0", "300       1");
        assert!(missing(stats, &missed).is_some_and(|line| line.contains("offer")));
    }

    #[test]
    fn what_cannot_be_recorded_is_named() {
        assert!(find("choke").is_err_and(|said| said.contains("`choke`") && said.contains("sfq")));
    }
}
