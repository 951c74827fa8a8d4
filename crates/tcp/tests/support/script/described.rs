//! The segments in scripts, such as `P. 1(1000)x3 ack 1 win 64000`.

use std::fmt::Write as _;

use aqmlab_core::{Duration, Ecn, TcpFlags};
use aqmlab_tcp::Segment;

use super::Outcome;
use super::words::{duration, number};

/// A segment as a script describes it.
pub(super) struct Described {
    pub(super) flags: TcpFlags,
    pub(super) seq: u64,
    pub(super) payload: u32,
    pub(super) count: u32,
    pub(super) ack: Option<u64>,
    pub(super) window: Option<u32>,
    pub(super) sack: Option<Vec<(u64, u64)>>,
    pub(super) echo: Option<Duration>,
    pub(super) ecn: Option<Ecn>,
    pub(super) again: bool,
    pub(super) mss: Option<u16>,
    pub(super) scale: Option<u8>,
    pub(super) sack_permitted: bool,
    pub(super) timestamps: bool,
}

impl Described {
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let [flags, numbers, rest @ ..] = words else {
            return Err("a segment is FLAGS SEQ(LENGTH) …".into());
        };
        let (seq, length) = numbers.split_once('(').ok_or("a segment is FLAGS SEQ(LENGTH) …")?;
        let (payload, count) = length.split_once(')').ok_or("the length ends with `)`")?;
        let count = count.strip_prefix('x').map_or(Ok(1), number)?;
        let mut wanted = Self {
            flags: control_bits(flags)?,
            seq: number(seq)?,
            payload: number(payload)? as u32,
            count: count as u32,
            ack: None,
            window: None,
            sack: None,
            echo: None,
            ecn: None,
            again: false,
            mss: None,
            scale: None,
            sack_permitted: false,
            timestamps: false,
        };
        let mut rest = rest.iter().copied().peekable();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or(format!("`{word}` needs a value"));
            match word {
                "ack" => wanted.ack = Some(number(value()?)?),
                "win" => wanted.window = Some(number(value()?)? as u32),
                "ecr" => wanted.echo = Some(duration(value()?)?),
                "mss" => wanted.mss = Some(number(value()?)? as u16),
                "ws" => wanted.scale = Some(number(value()?)? as u8),
                "sackok" => wanted.sack_permitted = true,
                "ts" => wanted.timestamps = true,
                "again" => wanted.again = true,
                "ect0" => wanted.ecn = Some(Ecn::Ect0),
                "ect1" => wanted.ecn = Some(Ecn::Ect1),
                "noect" => wanted.ecn = Some(Ecn::NotEct),
                "ce" => wanted.ecn = Some(Ecn::Ce),
                "nosack" => wanted.sack = Some(Vec::new()),
                "sack" => {
                    let blocks = wanted.sack.get_or_insert_with(Vec::new);
                    while let Some((start, end)) = rest.peek().and_then(|word| word.split_once('-'))
                    {
                        blocks.push((number(start)?, number(end)?));
                        rest.next();
                    }
                }
                other => return Err(format!("`{other}` is nothing that a segment has")),
            }
        }
        Ok(wanted)
    }

    pub(super) fn compare(&self, segment: &Segment) -> Outcome {
        let header = &segment.header;
        let visible = |flags: TcpFlags| flags.0 & !TcpFlags::PSH.0;
        let mut wrong = String::new();
        let mut differ = |what: &str, differs: bool| {
            if differs {
                let _ = write!(wrong, "{}{what}", if wrong.is_empty() { "" } else { ", " });
            }
        };
        differ("flags", visible(header.flags) != visible(self.flags));
        differ("push", self.flags.has(TcpFlags::PSH) && !header.flags.has(TcpFlags::PSH));
        differ("sequence number", header.seq != self.seq);
        differ("length", header.payload != self.payload);
        differ("acknowledgement", self.ack.is_some_and(|ack| ack != header.ack));
        differ("window", self.window.is_some_and(|window| window != header.window));
        differ("ECN field", self.ecn.is_some_and(|ecn| ecn != segment.ecn));
        differ("retransmission", self.again != segment.retransmission);
        differ("MSS", self.mss.is_some_and(|mss| mss != header.mss));
        differ("window scale", self.scale.is_some_and(|scale| scale != header.window_scale));
        differ("SACK-permitted", self.sack_permitted && !header.sack_permitted);
        differ("timestamps", self.timestamps && !header.timestamps);
        let blocks: Vec<_> = header.sack.iter(header.ack).collect();
        differ("SACK", self.sack.as_ref().is_some_and(|sack| *sack != blocks));
        if wrong.is_empty() { Ok(()) } else { Err(format!("another {wrong}")) }
    }
}

pub(super) fn show(segment: &Segment) -> String {
    let header = &segment.header;
    let flags: String = FLAGS
        .iter()
        .filter(|(_, flag)| header.flags.has(*flag))
        .map(|(letter, _)| letter)
        .collect();
    let mut text = format!(
        "{flags} {}({}) ack {} win {}",
        header.seq, header.payload, header.ack, header.window
    );
    for (i, (start, end)) in header.sack.iter(header.ack).enumerate() {
        let _ = write!(text, "{} {start}-{end}", if i == 0 { " sack" } else { "" });
    }
    if segment.ecn.is_capable() {
        text += if segment.ecn == Ecn::Ect1 { " ect1" } else { " ect0" };
    }
    if segment.retransmission {
        text += " again";
    }
    text
}

const FLAGS: [(char, TcpFlags); 8] = [
    ('S', TcpFlags::SYN),
    ('F', TcpFlags::FIN),
    ('R', TcpFlags::RST),
    ('P', TcpFlags::PSH),
    ('E', TcpFlags::ECE),
    ('W', TcpFlags::CWR),
    ('A', TcpFlags::AE),
    ('.', TcpFlags::ACK),
];

pub(super) fn control_bits(word: &str) -> Result<TcpFlags, String> {
    word.chars().try_fold(TcpFlags::default(), |flags, letter| {
        let known = FLAGS.iter().find(|(known, _)| *known == letter);
        known.map(|(_, flag)| flags.with(*flag)).ok_or(format!("`{letter}` is no flag"))
    })
}
