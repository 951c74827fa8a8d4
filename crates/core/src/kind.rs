//! The declaration of a discipline, a congestion controller or a traffic generator.
//!
//! The command line, the scenario checker, the schema for editors and the manual are derived from
//! these declarations. A new kind is complete once it is declared.

use std::collections::BTreeMap;
use std::fmt;

use crate::{BitRate, Bounds, Bytes, Duration};

/// The declaration of one implementation of `T`.
pub struct Kind<T: ?Sized> {
    /// The name that users write.
    pub name: &'static str,
    /// A line for lists and `--help`: a phrase without a full stop.
    pub summary: &'static str,
    /// The document that the implementation follows.
    pub source: &'static str,
    /// The parameters that users may set.
    pub params: &'static [Param],
    /// Builds an instance. The arguments have been checked against `params`.
    pub build: fn(&Args) -> Box<T>,
}

/// One parameter of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name that users write.
    pub name: &'static str,
    /// The value if the user sets none. The default also determines the parameter's type.
    pub default: Value,
    /// The values allowed.
    pub bounds: Bounds,
    /// The meaning, in one sentence.
    pub doc: &'static str,
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A duration in nanoseconds.
    Duration(Duration),
    /// A duration; `None` switches the feature off.
    MaybeDuration(Option<Duration>),
    /// A whole number, such as a number of packets.
    Count(u64),
    /// A size in bytes.
    Bytes(Bytes),
    /// A rate in bits per second.
    Rate(BitRate),
    /// A rate; `None` removes the limit.
    MaybeRate(Option<BitRate>),
    /// A plain number, such as a gain or a probability.
    Number(f64),
    /// A switch.
    Flag(bool),
    /// One word of a closed list: the word, and the list.
    Word(&'static str, &'static [&'static str]),
}

impl Value {
    /// Returns the type's name in schemas and messages.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::Duration(_) => "duration",
            Self::MaybeDuration(_) => "duration or off",
            Self::Count(_) => "count",
            Self::Bytes(_) => "bytes",
            Self::Rate(_) => "rate",
            Self::MaybeRate(_) => "rate or off",
            Self::Number(_) => "number",
            Self::Flag(_) => "flag",
            Self::Word(..) => "word",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration(span) | Self::MaybeDuration(Some(span)) => span.fmt(f),
            Self::MaybeDuration(None) | Self::MaybeRate(None) => f.write_str("off"),
            Self::Count(count) => count.fmt(f),
            Self::Bytes(size) => write!(f, "{} B", size.0),
            Self::Rate(rate) | Self::MaybeRate(Some(rate)) => rate.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Word(word, _) => f.write_str(word),
        }
    }
}

/// A complete set of arguments for one kind, with their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Args(BTreeMap<&'static str, (Value, Bounds)>);

/// An argument that a kind does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadArgument {
    /// The kind has no parameter of this name.
    Unknown(String),
    /// The first field is the name of a parameter whose value has the wrong type or is not a listed
    /// word. The second field is the type that the parameter needs, or `listed word`.
    Type(String, &'static str),
    /// The value in the first field is out of bounds. The second field describes the values
    /// allowed.
    Bounds(String, String),
}

impl fmt::Display for BadArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "unknown parameter `{name}`"),
            Self::Type(name, want) => write!(f, "`{name}` is not a {want}"),
            Self::Bounds(value, want) => write!(f, "`{value}` is not {want}"),
        }
    }
}

impl std::error::Error for BadArgument {}

impl Args {
    /// Returns the arguments with every parameter at its default.
    pub fn defaults(params: &'static [Param]) -> Self {
        Self(params.iter().map(|param| (param.name, (param.default, param.bounds))).collect())
    }

    /// Sets one argument. A parameter that can be off also accepts a plain duration or rate.
    ///
    /// # Errors
    ///
    /// If there is no such parameter, or if the value has another type, is out of bounds or is not
    /// a listed word.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), BadArgument> {
        let Some((slot, bounds)) = self.0.get_mut(name) else {
            return Err(BadArgument::Unknown(name.to_owned()));
        };
        let value = match (*slot, value) {
            (Value::MaybeDuration(_), Value::Duration(span)) => Value::MaybeDuration(Some(span)),
            (Value::MaybeRate(_), Value::Rate(rate)) => Value::MaybeRate(Some(rate)),
            (Value::Word(_, allowed), Value::Word(word, _)) if allowed.contains(&word) => {
                Value::Word(word, allowed)
            }
            (Value::Word(..), _) => return Err(BadArgument::Type(name.to_owned(), "listed word")),
            (_, value) => value,
        };
        if std::mem::discriminant(slot) != std::mem::discriminant(&value) {
            return Err(BadArgument::Type(name.to_owned(), slot.type_name()));
        }
        bounds.check(value)?;
        *slot = value;
        Ok(())
    }

    /// Returns these arguments with the argument `name` set to `value`, for tests and tools that
    /// know the parameters.
    ///
    /// # Panics
    ///
    /// If [`Self::set`] returns an error.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.set(name, value).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Returns the value of the parameter `name`, of any type.
    ///
    /// # Panics
    ///
    /// If the kind declares no parameter `name`.
    pub fn value(&self, name: &str) -> Value {
        self.0.get(name).unwrap_or_else(|| panic!("the kind does not declare `{name}`")).0
    }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident -> $type:ty: $pattern:pat => $value:expr;)+) => {
        /// Access by type. Each function panics if the kind declares no parameter of this name and
        /// type. Such a panic shows an error of the kind's author, not of the user.
        impl Args {
            $($(#[$doc])*
            pub fn $name(&self, name: &str) -> $type {
                match self.value(name) {
                    $pattern => $value,
                    other => panic!("`{name}` is declared as a {}", other.type_name()),
                }
            })+
        }
    };
}

getters! {
    /// Returns the duration called `name`.
    duration -> Duration: Value::Duration(span) => span;
    /// Returns the duration called `name`, or `None` if it is off.
    maybe_duration -> Option<Duration>: Value::MaybeDuration(span) => span;
    /// Returns the count called `name`.
    count -> u64: Value::Count(count) => count;
    /// Returns the size called `name`.
    bytes -> Bytes: Value::Bytes(size) => size;
    /// Returns the rate called `name`.
    rate -> BitRate: Value::Rate(rate) => rate;
    /// Returns the rate called `name`, or `None` if there is no limit.
    maybe_rate -> Option<BitRate>: Value::MaybeRate(rate) => rate;
    /// Returns the number called `name`.
    number -> f64: Value::Number(number) => number;
    /// Returns the switch called `name`.
    flag -> bool: Value::Flag(flag) => flag;
    /// Returns the word called `name`.
    word -> &'static str: Value::Word(word, _) => word;
}

/// Declares the named modules and lists their kinds in the given order.
///
/// A module declares `pub const KINDS: &[Kind<T>]`, which has one kind for each variant of the
/// mechanism that the module implements.
#[macro_export]
macro_rules! kinds {
    ($of:ty: $($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// The kinds of every module, in the order in which lists show them.
        pub const MODULES: &[&[$crate::Kind<$of>]] = &[$($name::KINDS),+];

        /// Returns every kind, in the order of `MODULES`.
        pub fn all() -> impl Iterator<Item = &'static $crate::Kind<$of>> {
            MODULES.iter().flat_map(|kinds| kinds.iter())
        }

        /// Returns the kind called `name`, if there is one.
        pub fn find(name: &str) -> Option<&'static $crate::Kind<$of>> {
            all().find(|kind| kind.name == name)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param {
            name: "limit",
            default: Value::Count(10),
            bounds: Bounds::Whole(1, 100),
            doc: "Packets that may wait.",
        },
        Param {
            name: "ce_threshold",
            default: Value::MaybeDuration(None),
            bounds: Bounds::span(Duration::ZERO, Duration::from_secs(1)),
            doc: "Marks above.",
        },
        Param {
            name: "mode",
            default: Value::Word("a", &["a", "b"]),
            bounds: Bounds::Any,
            doc: "Which.",
        },
    ];

    #[test]
    fn arguments_are_checked_against_their_declaration() {
        let mut args = Args::defaults(PARAMS);
        let ms = Value::Duration(Duration::from_millis(1));
        assert_eq!(args.set("limit", Value::Count(5)), Ok(()));
        assert_eq!(args.set("ce_threshold", ms), Ok(()));
        assert_eq!(args.set("mode", Value::Word("b", &[])), Ok(()));
        assert_eq!(args.set("lmit", ms), Err(BadArgument::Unknown("lmit".into())));
        assert_eq!(args.set("limit", ms), Err(BadArgument::Type("limit".into(), "count")));
        assert!(args.set("mode", Value::Word("c", &[])).is_err());
        let told = args.set("limit", Value::Count(101)).unwrap_err().to_string();
        assert_eq!(told, "`101` is not between 1 and 100");
        assert!(args.set("ce_threshold", Value::Duration(Duration::from_secs(2))).is_err());
        assert_eq!(args.set("ce_threshold", Value::MaybeDuration(None)), Ok(()));
        assert_eq!(args.set("ce_threshold", ms), Ok(()));
        assert_eq!(args.count("limit"), 5);
        assert_eq!(args.maybe_duration("ce_threshold"), Some(Duration::from_millis(1)));
        assert_eq!(args.word("mode"), "b");
    }
}
