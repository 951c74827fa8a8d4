//! The time for which the line has been idle.

/// The idle time, as the program counts it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Idle {
    /// The line is in use.
    #[default]
    Busy,
    /// The line was found idle once. The program has stored the name of the variable that holds the
    /// current time, and not its value. The time until the next reply is therefore not counted.
    Found,
    /// The line has been idle for `total` at the time `last`.
    Counted { total: i64, last: i64 },
}

impl Idle {
    /// Records at `now` whether the line is idle. Returns the idle time.
    pub(super) fn note(&mut self, idle: bool, now: i64) -> i64 {
        *self = match (idle, *self) {
            (false, _) => Self::Busy,
            (true, Self::Busy) => Self::Found,
            (true, Self::Found) => Self::Counted { total: 0, last: now },
            (true, Self::Counted { total, last }) => {
                Self::Counted { total: total + now - last, last: now }
            }
        };
        match *self {
            Self::Counted { total, .. } => total,
            Self::Busy | Self::Found => 0,
        }
    }
}
