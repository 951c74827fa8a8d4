//! Differentiated Services codepoints: their names, and the priorities that Linux gives them.

/// The Differentiated Services codepoints by name.
///
/// Source: the IANA registry "DSCP Field Values". `VA` is VOICE-ADMIT (RFC 5865), `LE` is lower
/// effort (RFC 8622), and `NQB` is non-queue-building (draft-ietf-tsvwg-nqb).
pub const CODEPOINTS: &[(&str, u8)] = &[
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("NQB", 45),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// Returns Linux's `skb->priority` of a packet with this codepoint, after a router has forwarded
/// the packet.
///
/// Source: Linux 6.1 `ip_forward` and `ip_tos2prio` of `net/ipv4/route.c`. The kernel reads the
/// byte that contains the codepoint as in RFC 1349, whose type of service contains three bits of
/// the codepoint. EF therefore gets the same band of `pfifo_fast` as best effort. The ECN field
/// does not affect the priority.
pub const fn priority(dscp: u8) -> u8 {
    const BEST_EFFORT: u8 = 0;
    const BULK: u8 = 2;
    const INTERACTIVE_BULK: u8 = 4;
    const INTERACTIVE: u8 = 6;
    match dscp & 7 {
        0 | 1 => BEST_EFFORT,
        2 | 3 => BULK,
        4 | 5 => INTERACTIVE,
        _ => INTERACTIVE_BULK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> u8 {
        CODEPOINTS.iter().find(|(known, _)| *known == name).map(|(_, dscp)| *dscp).unwrap()
    }

    #[test]
    fn linux_reads_three_bits_of_a_codepoint_as_the_type_of_service() {
        let priorities = ["CS0", "CS6", "EF", "VA", "AF41", "AF11", "LE", "NQB"];
        assert_eq!(priorities.map(|name| priority(of(name))), [0, 0, 4, 6, 2, 2, 0, 6]);
    }

    #[test]
    fn classes_of_assured_forwarding_are_eight_times_the_class_and_twice_the_precedence() {
        for (name, dscp) in CODEPOINTS {
            let digits: Vec<u8> = name.bytes().filter_map(|it| it.checked_sub(b'0')).collect();
            match (&name[..2], digits.as_slice()) {
                ("AF", [class, precedence]) => assert_eq!(*dscp, 8 * class + 2 * precedence),
                ("CS", [class]) => assert_eq!(*dscp, 8 * class),
                _ => assert!(*dscp < 64, "{name}"),
            }
        }
    }
}
