//! Stores the packets of a tap as a capture that Wireshark opens, with the headers of every packet.
//!
//! Source: draft-ietf-opsawg-pcap, the classic format with nanoseconds and link type
//! `LINKTYPE_RAW`, as the simulator writes it. Checksums are as the kernel wrote them. On a veth
//! pair, the kernel leaves TCP and UDP checksums to a network card, and nothing computes them.

use aqmlab_core::Instant;
use aqmlab_measure::capture::EPOCH;

const MAGIC: u32 = 0xa1b2_3c4d;
const LINKTYPE_RAW: u32 = 101;
/// The maximum number of bytes of a packet that are kept.
const SNAPLEN: usize = 96;
/// The maximum size of one capture in bytes, about half a million packets. The capture stays in the
/// memory of the virtual machine until the end of the trial.
const MOST: usize = 48 << 20;

/// The capture of one tap.
pub(crate) struct Capture {
    bytes: Vec<u8>,
    /// Whether a packet did not fit.
    full: bool,
}

impl Capture {
    /// Returns an empty capture.
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::with_capacity(1 << 20);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend([2, 0, 4, 0]);
        bytes.extend([0; 8]);
        bytes.extend((SNAPLEN as u32).to_le_bytes());
        bytes.extend(LINKTYPE_RAW.to_le_bytes());
        Self { bytes, full: false }
    }

    /// Keeps the headers of an IP packet of `ip_len` bytes that passed at `at`. `packet` holds the
    /// first bytes of the packet.
    pub(crate) fn keep(&mut self, packet: &[u8], at: Instant, ip_len: u32) {
        let head = &packet[..headers(packet).min(packet.len())];
        if self.bytes.len() + 16 + head.len() > MOST {
            self.full = true;
            return;
        }
        let time = EPOCH.as_nanos() + at.as_nanos();
        let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
        for field in [seconds as u32, rest as u32, head.len() as u32, ip_len] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(head);
    }

    /// Returns the file, or an error if a packet did not fit.
    pub(crate) fn file(self) -> Result<Vec<u8>, String> {
        if self.full {
            return Err(format!(
                "measure.packets: a capture would be longer than {} MiB, which is what the kernel \
                 engine has room for: make the trial shorter, or run it on the simulator",
                MOST >> 20
            ));
        }
        Ok(self.bytes)
    }
}

/// Returns the files of both taps, or an error if a packet did not fit.
pub(crate) fn files([home, wan]: [Capture; 2]) -> Result<[Vec<u8>; 2], String> {
    Ok([home.file()?, wan.file()?])
}

/// Returns the length of a TCP packet's headers, at most [`SNAPLEN`]. For other packets, returns
/// [`SNAPLEN`].
fn headers(packet: &[u8]) -> usize {
    let ip = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    match (packet.get(9), packet.get(ip + 12)) {
        (Some(6), Some(offset)) => (ip + usize::from(offset >> 4) * 4).min(SNAPLEN),
        _ => SNAPLEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packets_headers_are_kept_with_its_time_and_length() {
        let mut packet = [0; 200];
        (packet[0], packet[9], packet[32]) = (0x45, 6, 0x80);
        let mut capture = Capture::new();
        capture.keep(&packet, Instant::from_millis(1_500), 1_500);
        packet[9] = 17;
        capture.keep(&packet, Instant::from_millis(1_500), 200);
        let file = capture.file().expect("there was room");
        assert_eq!(file.len(), 24 + 16 + 52 + 16 + 96);
        let word =
            |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
        assert_eq!([24, 28, 32, 36].map(word), [1_577_836_801, 500_000_000, 52, 1_500]);
    }

    #[test]
    fn a_capture_that_is_too_long_is_none() {
        let mut capture = Capture::new();
        capture.bytes.resize(MOST, 0);
        capture.keep(&[0x45; 96], Instant::ZERO, 96);
        assert!(capture.file().expect_err("it is full").contains("48 MiB"));
    }
}
