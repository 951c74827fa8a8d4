//! Names from a fixed list. Parsing a specification fails if it contains a name outside the list.

use std::borrow::Cow;
use std::fmt;

use aqmlab_apps::App;
use aqmlab_core::{Kind, Param};
use aqmlab_qdisc::Qdisc;
use aqmlab_tcp::Profile;
use aqmlab_tcp::cc::CongestionControl;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A member of a list of names.
pub trait Named: Copy {
    /// The noun for a member of the list, for messages.
    const NOUN: &'static str;
    /// The name of the list, in the JSON Schema.
    const LIST: &'static str;

    /// Returns the member called `name`, if there is one.
    fn find(name: &str) -> Option<Self>;

    /// Returns the member's name.
    fn name(self) -> &'static str;

    /// Returns the names of all members.
    fn names() -> Vec<&'static str>;
}

/// A trait object whose kinds are registered in a list.
pub trait Listed: 'static {
    /// The name of the list, in the JSON Schema.
    const LIST: &'static str;

    /// Returns all kinds.
    fn all() -> Vec<&'static Kind<Self>>;
}

macro_rules! listed {
    ($($object:ty, $list:literal, $kinds:path;)+) => {$(
        impl Listed for $object {
            const LIST: &'static str = $list;

            fn all() -> Vec<&'static Kind<Self>> {
                use $kinds as kinds;
                kinds::all().collect()
            }
        }
    )+};
}

listed! {
    dyn Qdisc, "Discipline", aqmlab_qdisc::kinds;
    dyn App, "Application", aqmlab_apps::kinds;
    dyn CongestionControl, "CongestionControl", aqmlab_tcp::cc::kinds;
}

/// A kind from the list of registered kinds.
pub struct Registered<T: ?Sized + 'static>(pub &'static Kind<T>);

/// A registered discipline.
pub type QdiscKind = Registered<dyn Qdisc>;
/// A registered traffic generator.
pub type AppKind = Registered<dyn App>;

impl<T: ?Sized> Clone for Registered<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Registered<T> {}

impl<T: ?Sized> fmt::Debug for Registered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl<T: ?Sized + Listed> Named for Registered<T> {
    const NOUN: &'static str = "kind";
    const LIST: &'static str = T::LIST;

    fn find(name: &str) -> Option<Self> {
        T::all().into_iter().find(|kind| kind.name == name).map(Self)
    }

    fn name(self) -> &'static str {
        self.0.name
    }

    fn names() -> Vec<&'static str> {
        T::all().into_iter().map(|kind| kind.name).collect()
    }
}

/// A congestion controller that a specification may name.
#[derive(Clone, Copy)]
pub enum Controller {
    /// A congestion controller of the simulator.
    Simulated(&'static Kind<dyn CongestionControl>),
    /// A congestion controller that only the Linux kernel has.
    LinuxOnly(&'static str),
}

/// The controllers of Linux 6.1 that a trial may use and that the simulator lacks.
const LINUX_ONLY: &[&str] = &[
    "bic",
    "cdg",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

impl Controller {
    /// Returns the parameters that the controller declares.
    pub const fn params(self) -> &'static [Param] {
        match self {
            Self::Simulated(kind) => kind.params,
            Self::LinuxOnly(_) => &[],
        }
    }

    /// Returns the names of the controllers that only the Linux kernel has.
    pub const fn linux_only() -> &'static [&'static str] {
        LINUX_ONLY
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Named for Controller {
    const NOUN: &'static str = "kind";
    const LIST: &'static str = "CongestionControl";

    fn find(name: &str) -> Option<Self> {
        let only = || LINUX_ONLY.iter().find(|known| **known == name);
        Registered::find(name)
            .map(|Registered(kind)| Self::Simulated(kind))
            .or_else(|| only().map(|name| Self::LinuxOnly(name)))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Simulated(kind) => kind.name,
            Self::LinuxOnly(name) => name,
        }
    }

    fn names() -> Vec<&'static str> {
        [Registered::<dyn CongestionControl>::names(), LINUX_ONLY.to_vec()].concat()
    }
}

/// A host profile, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Host(&'static str);

impl Host {
    /// Returns the profile itself.
    ///
    /// # Panics
    ///
    /// The function never panics, because the name comes from the list of profiles.
    pub fn profile(self) -> Profile {
        Profile::find(self.0).unwrap_or_else(|| unreachable!("`{}` is a profile's name", self.0))
    }
}

impl Default for Host {
    fn default() -> Self {
        Self(Profile::linux().name)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Named for Host {
    const NOUN: &'static str = "host";
    const LIST: &'static str = "Host";

    fn find(name: &str) -> Option<Self> {
        Profile::find(name).map(|profile| Self(profile.name))
    }

    fn name(self) -> &'static str {
        self.0
    }

    fn names() -> Vec<&'static str> {
        Profile::all().into_iter().map(|profile| profile.name).collect()
    }
}

fn read<'de, N: Named, D: Deserializer<'de>>(from: D) -> Result<N, D::Error> {
    let name = Cow::<str>::deserialize(from)?;
    N::find(&name)
        .ok_or_else(|| D::Error::custom(format_args!("there is no {} called `{name}`", N::NOUN)))
}

fn schema<N: Named>() -> Schema {
    json_schema!({"type": "string", "enum": N::names()})
}

macro_rules! read_by_name {
    ($(($($generics:tt)*) $type:ty;)+) => {$(
        impl<'de, $($generics)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                read(from)
            }
        }

        impl<$($generics)*> Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(Named::name(*self))
            }
        }

        impl<$($generics)*> JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                <Self as Named>::LIST.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema::<Self>()
            }
        }
    )+};
}

read_by_name! {
    (T: ?Sized + Listed) Registered<T>;
    () Controller;
    () Host;
}
