//! The tins of CAKE: the tin of each DSCP, and the rates and weights of the tins.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_select_tin` and `cake_config_*`. Tins have the kernel's
//! internal numbers. In `diffserv3` and `diffserv4`, tin 0 is best effort and tin 1 is bulk; tc
//! shows bulk first.

/// The maximum number of tins.
pub const TINS: usize = 8;

/// A set of tins, which a keyword of tc selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One tin.
    BestEffort,
    /// A tin for each IP precedence, the upper three bits of the DSCP.
    Precedence,
    /// Eight tins by DSCP.
    Diffserv8,
    /// Bulk, best effort, video and voice.
    Diffserv4,
    /// Bulk, best effort and voice.
    Diffserv3,
}

/// The rate and the weight of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rate up to which the tin has priority, in bytes per second; zero if there is no limit.
    pub rate: u64,
    /// The weight of the tin if the rate is not limited.
    pub quantum: u16,
}

impl Mode {
    /// tc's keywords for the choice of tins.
    pub const WORDS: &[&str] = &["besteffort", "precedence", "diffserv8", "diffserv4", "diffserv3"];

    /// Returns the mode of a keyword; [`Self::Diffserv3`] for a word that is not in
    /// [`Self::WORDS`].
    pub fn of(word: &str) -> Self {
        match word {
            "besteffort" => Self::BestEffort,
            "precedence" => Self::Precedence,
            "diffserv8" => Self::Diffserv8,
            "diffserv4" => Self::Diffserv4,
            _ => Self::Diffserv3,
        }
    }

    /// Returns the tin of a DSCP.
    #[inline]
    pub const fn tin(self, dscp: u8) -> usize {
        let dscp = (dscp & 63) as usize;
        let tin = match self {
            Self::BestEffort => 0,
            Self::Precedence => dscp as u8 >> 3,
            Self::Diffserv8 => DIFFSERV8[dscp],
            Self::Diffserv4 => DIFFSERV4[dscp],
            Self::Diffserv3 => DIFFSERV3[dscp],
        };
        tin as usize
    }

    /// Returns the tins in the order in which tc shows them, with tc's names.
    pub const fn shown(self) -> &'static [(usize, &'static str)] {
        match self {
            Self::BestEffort => &[(0, "tin0")],
            Self::Precedence | Self::Diffserv8 => &[
                (0, "tin0"),
                (1, "tin1"),
                (2, "tin2"),
                (3, "tin3"),
                (4, "tin4"),
                (5, "tin5"),
                (6, "tin6"),
                (7, "tin7"),
            ],
            Self::Diffserv4 => &[(1, "bulk"), (0, "best_effort"), (2, "video"), (3, "voice")],
            Self::Diffserv3 => &[(1, "bulk"), (0, "best_effort"), (2, "voice")],
        }
    }

    /// Returns the shares of the tins for a rate in bytes per second. A rate of zero means no
    /// limit.
    pub fn shares(self, rate: u64) -> Vec<Share> {
        let shifted = |by: &[u32]| {
            by.iter().map(|by| Share { rate: rate >> by, quantum: 1_024 >> by }).collect()
        };
        match self {
            Self::BestEffort => vec![Share { rate, quantum: u16::MAX }],
            Self::Diffserv3 => shifted(&[0, 4, 2]),
            Self::Diffserv4 => shifted(&[0, 4, 1, 2]),
            Self::Precedence | Self::Diffserv8 => {
                let first = Share { rate, quantum: 256 };
                let next = |share: &Share| {
                    let Share { rate, quantum } = *share;
                    Some(Share { rate: (rate * 7) >> 3, quantum: (quantum * 7) >> 3 })
                };
                std::iter::successors(Some(first), next).take(TINS).collect()
            }
        }
    }
}

const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, //
    1, 2, 1, 2, 1, 2, 1, 2, //
    5, 2, 4, 2, 4, 2, 4, 2, //
    3, 2, 3, 2, 3, 2, 3, 2, //
    6, 2, 3, 2, 3, 2, 3, 2, //
    6, 2, 2, 2, 6, 2, 6, 2, //
    7, 2, 2, 2, 2, 2, 2, 2, //
    7, 2, 2, 2, 2, 2, 2, 2, //
];

/// Voice has the DSCPs CS4, CS5, VA, EF, CS6 and CS7. Video has 4, CS2, CS3, and the classes 2 to 4
/// of assured forwarding. Bulk has LE and CS1.
const DIFFSERV4: [u8; 64] = tins(&[
    (1, &[1, 8]),
    (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
    (3, &[32, 40, 44, 46, 48, 56]),
]);

/// Voice has the DSCPs 4, VA, EF, CS6 and CS7. Bulk has LE and CS1.
const DIFFSERV3: [u8; 64] = tins(&[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])]);

/// Returns the table that maps the DSCPs in `given` to their tins, and all other DSCPs to best
/// effort.
const fn tins(given: &[(u8, &[u8])]) -> [u8; 64] {
    let mut table = [0; 64];
    let mut tin = 0;
    while tin < given.len() {
        let mut place = 0;
        while place < given[tin].1.len() {
            table[given[tin].1[place] as usize] = given[tin].0;
            place += 1;
        }
        tin += 1;
    }
    table
}
