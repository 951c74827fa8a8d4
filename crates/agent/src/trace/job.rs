//! The traces to record, as JSON.

use serde_json::Value;

/// One trace: a discipline, a rate, and packets with the times between them.
pub(crate) struct Trace {
    /// The discipline's kind in tc.
    pub(crate) kind: String,
    /// The discipline's options in tc.
    pub(crate) options: String,
    /// The rate at which HTB dequeues, in bits per second of the bytes that it counts.
    pub(crate) rate_bps: u64,
    /// The number of bytes that HTB counts per packet beyond the packet's IP length.
    pub(crate) overhead: i64,
    /// The ECN field of each flow.
    pub(crate) ecn: Vec<u8>,
    /// The packets to send, in order.
    pub(crate) arrivals: Vec<Arrival>,
    /// The headers of each packet, from the IP header on; empty if the job does not state them.
    pub(crate) heads: Vec<Vec<u8>>,
    /// Whether the discipline is the root of the device, without HTB above it.
    pub(crate) root: bool,
}

impl Trace {
    /// Returns whether packets are sent with the headers of the job.
    pub(crate) fn is_raw(&self) -> bool {
        !self.heads.is_empty()
    }
}

/// A packet to be sent.
pub(crate) struct Arrival {
    /// The time since the previous packet in nanoseconds.
    pub(crate) gap_ns: u64,
    /// The packet's flow.
    pub(crate) flow: u64,
    /// The packet's length in bytes, including the IP header.
    pub(crate) len: u64,
}

/// Returns the traces of a job, or `None` if `json` is not a job of traces.
pub(crate) fn parse(json: &str) -> Option<Result<Vec<Trace>, String>> {
    let whole: Value = serde_json::from_str(json).ok()?;
    let traces = whole.get("traces")?.as_array()?;
    let each = traces.iter().enumerate().map(|(place, one)| {
        trace(one).ok_or_else(|| format!("traces[{place}]: a trace is not like this"))
    });
    Some(each.collect())
}

fn trace(json: &Value) -> Option<Trace> {
    let list = |name: &str| json.get(name)?.as_array();
    let ecn: Option<Vec<u8>> =
        list("ecn")?.iter().map(|one| u8::try_from(one.as_u64()?).ok()).collect();
    let ecn = ecn?;
    let arrivals: Option<Vec<Arrival>> =
        list("arrivals")?.iter().map(|one| arrival(one, ecn.len())).collect();
    let arrivals = arrivals?;
    let heads: Option<Vec<Vec<u8>>> = match json.get("heads") {
        None => Some(Vec::new()),
        Some(heads) => heads.as_array()?.iter().map(|head| bytes(head.as_str()?)).collect(),
    };
    let heads = heads.filter(|heads| heads.is_empty() || heads.len() == arrivals.len())?;
    Some(Trace {
        kind: json.get("kind")?.as_str()?.into(),
        options: json.get("options")?.as_str()?.into(),
        rate_bps: json.get("rate_bps")?.as_u64()?,
        overhead: json.get("overhead")?.as_i64()?,
        ecn,
        arrivals,
        heads,
        root: json.get("root").and_then(Value::as_bool).unwrap_or(false),
    })
}

/// Parses the bytes of an IP header in hexadecimal digits; `None` for invalid digits and for fewer
/// than 20 bytes.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(pair).collect();
    bytes.filter(|bytes| bytes.len() >= 20)
}

/// Parses a packet: the gap before it, its flow and its length. Returns `None` if there is no such
/// flow, or if the length is not from 32 bytes (the headers and a packet number) to 1500.
fn arrival(json: &Value, flows: usize) -> Option<Arrival> {
    let number = |place: usize| json.get(place)?.as_u64();
    let (gap_ns, flow, len) = (number(0)?, number(1)?, number(2)?);
    (flow < flows as u64 && (32..=1_500).contains(&len)).then_some(Arrival { gap_ns, flow, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_not_a_job() {
        assert!(parse(r#"{"seed": 1, "links": []}"#).is_none());
    }

    #[test]
    fn packets_may_have_headers_of_their_own() {
        let json = |heads: &str| {
            format!(
                r#"{{"traces": [{{"kind": "cake", "options": "", "rate_bps": 1000000, "overhead": 14,
                    "ecn": [0], "arrivals": [[0, 0, 64]], "heads": [{heads}], "root": true}}]}}"#
            )
        };
        let head = format!("\"45{}\"", "00".repeat(27));
        let traces = parse(&json(&head)).expect("it is a job").expect("it is right");
        assert!(traces[0].is_raw() && traces[0].root);
        assert_eq!((traces[0].heads[0].len(), traces[0].heads[0][0]), (28, 0x45));
        for wrong in [r#""45""#, r#""4x""#, &format!("{head}, {head}")] {
            assert!(parse(&json(wrong)).expect("it is a job").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_packet_of_a_flow_that_there_is_not_is_refused() {
        let json = |flow: u32| {
            format!(
                r#"{{"traces": [{{"kind": "pfifo", "options": "limit 9", "rate_bps": 1000000,
                    "overhead": 0, "ecn": [0, 2], "arrivals": [[0, {flow}, 64]]}}]}}"#
            )
        };
        let traces = parse(&json(1)).expect("it is a job").expect("it is right");
        assert_eq!((traces[0].arrivals[0].flow, traces[0].arrivals[0].len), (1, 64));
        assert!(parse(&json(2)).expect("it is a job").is_err());
    }
}
