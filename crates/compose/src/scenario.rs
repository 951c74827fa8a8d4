//! The keys that a scenario may use. Any other key is an error.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// A value of TOML or JSON without members: text, a number or a switch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Plain {
    /// A switch: true or false.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// Text, often a number with its unit.
    Text(String),
}

/// A table whose members keep their order.
#[derive(Debug)]
pub(crate) struct Ordered<V>(pub(crate) Vec<(String, V)>);

impl<V> Default for Ordered<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Ordered<V> {
    /// Returns the member called `name`, if there is one.
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Ordered<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
            type Value = Ordered<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<V>, A::Error> {
                let mut members = Ordered::default();
                while let Some((name, value)) = map.next_entry::<String, V>()? {
                    if members.get(&name).is_some() {
                        return Err(A::Error::custom(format_args!("`{name}` stands twice")));
                    }
                    members.0.push((name, value));
                }
                Ok(members)
            }
        }
        from.deserialize_map(Members(PhantomData))
    }
}

/// A discipline with parameters: `"fq_codel limit=1000"`, or a table.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Choice {
    /// The short form, a name that parameters may follow.
    Text(String),
    /// `{ kind = "…", … }`.
    Table(Ordered<Plain>),
}

/// The bytes that a link charges beyond IP: a name or a table.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Overhead {
    /// The name of a kind of line.
    Name(String),
    /// The numbers of the overhead.
    Table(OverheadTable),
}

/// The numbers of an overhead.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OverheadTable {
    pub(crate) bytes: u32,
    pub(crate) minimum: u32,
    pub(crate) atm: bool,
    pub(crate) counted: u32,
}

/// A scenario. The keys `title`, `description` and `seeds` are ignored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(default)]
    #[allow(dead_code)]
    title: IgnoredAny,
    #[serde(default)]
    #[allow(dead_code)]
    description: IgnoredAny,
    #[serde(default)]
    #[allow(dead_code)]
    seeds: IgnoredAny,
    pub(crate) duration: Option<Plain>,
    pub(crate) path: Path,
    pub(crate) apps: Ordered<Ordered<Plain>>,
    pub(crate) measure: Option<Measure>,
    #[serde(default)]
    pub(crate) report: Report,
}

/// The path between the home and the internet. A key of one direction takes precedence over the
/// same key of the path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Path {
    pub(crate) rate: Option<String>,
    pub(crate) qdisc: Option<Choice>,
    pub(crate) shaper: Option<String>,
    pub(crate) overhead: Option<Overhead>,
    pub(crate) rtt: Option<Plain>,
    pub(crate) host_jitter: Option<Plain>,
    pub(crate) start_jitter: Option<Plain>,
    #[serde(default)]
    pub(crate) down: Way,
    #[serde(default)]
    pub(crate) up: Way,
    pub(crate) modem: Option<Modem>,
}

/// The keys of one direction of the gateway.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Way {
    pub(crate) rate: Option<String>,
    pub(crate) qdisc: Option<Choice>,
    pub(crate) shaper: Option<String>,
    pub(crate) overhead: Option<Overhead>,
}

/// The modem on the access line, with a queue at each end of the line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Modem {
    pub(crate) rate: Option<String>,
    pub(crate) qdisc: Option<Choice>,
    pub(crate) overhead: Option<Overhead>,
    #[serde(default)]
    pub(crate) down: Hop,
    #[serde(default)]
    pub(crate) up: Hop,
}

/// The keys of one direction of a modem.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Hop {
    pub(crate) rate: Option<String>,
    pub(crate) qdisc: Option<Choice>,
    pub(crate) overhead: Option<Overhead>,
}

/// The start of the measured interval.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    pub(crate) from: Option<Plain>,
}

/// The needs that the scenario states.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Report {
    /// The limits on round-trip times, by application.
    pub(crate) tolerances: Ordered<Plain>,
}
