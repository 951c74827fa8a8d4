//! The macro that declares a profile's settings, and the types of settings whose values are words.

/// Declares an enumeration whose variants users write as words.
macro_rules! words {
    ($(#[doc = $doc:literal])+ enum $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $vdoc])+ $variant,)+
        }

        impl $name {
            /// The words that users write, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word that users write.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Returns the variant that `word` names, if there is one.
            pub fn find(word: &str) -> Option<Self> {
                [$(Self::$variant),+].into_iter().find(|one| one.word() == word)
            }
        }
    };
}

words! {
    /// The rule that computes the retransmission timeout.
    enum RtoRule {
        /// The rule of Linux's `tcp_rtt_estimator`.
        Linux = "linux",
        /// The rule of RFC 6298, with the profile's minimum.
        Rfc6298 = "rfc6298",
    }
}

words! {
    /// The rule for the delay of acknowledgements.
    enum DelayedAckRule {
        /// The delay adapts to the gaps between the peer's segments.
        Adaptive = "adaptive",
        /// The delay is constant, and every second segment ends it.
        Fixed = "fixed",
    }
}

macro_rules! field {
    (duration) => {
        Duration
    };
    (count) => {
        u64
    };
    (bytes) => {
        u64
    };
    (flag) => {
        bool
    };
    (word $type:ident) => {
        $type
    };
}

macro_rules! to_value {
    ($value:expr, duration) => {
        Value::Duration($value)
    };
    ($value:expr, count) => {
        Value::Count($value)
    };
    ($value:expr, bytes) => {
        Value::Bytes(Bytes($value))
    };
    ($value:expr, flag) => {
        Value::Flag($value)
    };
    ($value:expr, word $type:ident) => {
        Value::Word($value.word(), $type::WORDS)
    };
}

macro_rules! from_value {
    ($value:expr, duration) => {
        if let Value::Duration(span) = $value { Some(span) } else { None }
    };
    ($value:expr, count) => {
        if let Value::Count(count) = $value { Some(count) } else { None }
    };
    ($value:expr, bytes) => {
        if let Value::Bytes(size) = $value { Some(size.0) } else { None }
    };
    ($value:expr, flag) => {
        if let Value::Flag(flag) = $value { Some(flag) } else { None }
    };
    ($value:expr, word $type:ident) => {
        if let Value::Word(word, _) = $value { $type::find(word) } else { None }
    };
}

/// The bounds of a setting. Without explicit bounds, the bounds of its type apply.
macro_rules! bounds {
    ($kind:ident: $bounds:expr) => {
        $bounds
    };
    (duration:) => {
        Bounds::span(Duration::ZERO, Duration::from_secs(86_400))
    };
    (count:) => {
        Bounds::Whole(0, u32::MAX as u64)
    };
    // Socket buffers and windows are signed 32-bit numbers in every kernel.
    (bytes:) => {
        Bounds::Whole(0, i32::MAX as u64)
    };
    ($kind:ident:) => {
        Bounds::Any
    };
}

/// The only stack that reads a setting, or `None` if no stack is named.
macro_rules! reader {
    () => {
        None
    };
    ($stack:ident) => {
        Some(Stack::$stack)
    };
}

macro_rules! profile {
    ($($(#[doc = $doc:literal])+ $(@$stack:ident)? $name:ident
       ($kind:ident $($type:ident)?) = $linux:expr $(, $bounds:expr)?;)+) => {
        /// The constants and rules of a host's TCP.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Profile {
            /// The name that users write.
            pub name: &'static str,
            /// The name of the host's default congestion controller.
            pub default_cc: &'static str,
            /// The TCP stack that the host runs.
            pub stack: Stack,
            $($(#[doc = $doc])+ pub $name: field!($kind $($type)?),)+
        }

        impl Profile {
            /// Returns Linux 6.1 in Debian's configuration.
            pub const fn linux() -> Self {
                Self {
                    name: "linux",
                    default_cc: "cubic",
                    stack: Stack::Linux,
                    $($name: $linux,)+
                }
            }

            /// Returns the value of the setting called `name`, if there is one.
            pub fn get(&self, name: &str) -> Option<Value> {
                match name {
                    $(stringify!($name) => Some(to_value!(self.$name, $kind $($type)?)),)+
                    _ => None,
                }
            }

            /// Sets the setting called `name` to `value`. The bounds of the setting are not
            /// checked.
            ///
            /// # Errors
            ///
            /// If there is no such setting, if the value has another type, or if the word is not in
            /// the setting's list.
            pub fn set(&mut self, name: &str, value: Value) -> Result<(), BadArgument> {
                let type_name = match name {
                    $(stringify!($name) => {
                        if let Some(value) = from_value!(value, $kind $($type)?) {
                            self.$name = value;
                            return Ok(());
                        }
                        to_value!(self.$name, $kind $($type)?).type_name()
                    })+
                    _ => return Err(BadArgument::Unknown(name.to_owned())),
                };
                Err(BadArgument::Type(name.to_owned(), type_name))
            }
        }

        /// Every setting, with the only stack that reads it, or `None` if both stacks read it.
        const SETTINGS: &[(Option<Stack>, Param)] = &[$((reader!($($stack)?), Param {
            name: stringify!($name),
            default: to_value!($linux, $kind $($type)?),
            bounds: bounds!($kind: $($bounds)?),
            doc: concat!($($doc),+).trim_ascii(),
        }),)+];
    };
}

pub(super) use {bounds, field, from_value, profile, reader, to_value};
