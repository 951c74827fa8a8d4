//! Kinds with parameters, such as `"fq_codel limit=1000"`.

use std::collections::BTreeMap;

use aqmlab_core::{BitRate, Param, Value};
use aqmlab_trial::SpecError;
use aqmlab_trial::spec::{KindSpec, Listed, Named, QdiscKind, Registered};
use serde_json::{Value as Json, json};

use crate::quantity;
use crate::scenario::{Choice, Plain};

/// Returns the discipline that `choice` names, with its parameters.
pub(crate) fn qdisc(at: &str, choice: &Choice) -> Result<KindSpec<QdiscKind>, SpecError> {
    let (name, given) = match choice {
        Choice::Text(text) => words(at, text)?,
        Choice::Table(table) => {
            let mut given = table.0.clone();
            let place = given.iter().position(|(name, _)| name == "kind");
            let place = place.ok_or_else(|| SpecError::new(at, "no `kind` is given"))?;
            (quantity::shown(&given.remove(place).1), given)
        }
    };
    of_kind(at, &name, &given)
}

/// Returns the kind called `name`, with the values of the parameters in `given`.
pub(crate) fn of_kind<T: ?Sized + Listed>(
    at: &str,
    name: &str,
    given: &[(String, Plain)],
) -> Result<KindSpec<Registered<T>>, SpecError> {
    let kind = Registered::<T>::find(name).ok_or_else(|| {
        let known = Registered::<T>::names().join(", ");
        SpecError::new(at, format!("there is no kind called `{name}`; there are {known}"))
    })?;
    let mut params = BTreeMap::new();
    for (name, value) in given {
        let at = format!("{at}.{name}");
        let param = kind.0.params.iter().find(|param| param.name == name).ok_or_else(|| {
            let known: Vec<_> = kind.0.params.iter().map(|param| param.name).collect();
            SpecError::new(&at, format!("no such parameter; there are {}", known.join(", ")))
        })?;
        params.insert(name.clone(), base_units(&at, param, value)?);
    }
    Ok(KindSpec { kind, params })
}

/// Parses a parameter's value and converts it to base units.
fn base_units(at: &str, param: &Param, value: &Plain) -> Result<Json, SpecError> {
    Ok(match param.default {
        Value::Duration(_) => json!(quantity::duration(at, value)?.as_nanos()),
        Value::MaybeDuration(_) => {
            json!(quantity::duration_or_off(at, value)?.map(aqmlab_core::Duration::as_nanos))
        }
        Value::Count(_) => json!(quantity::count(at, value)?),
        Value::Bytes(_) => json!(quantity::size(at, value)?.0),
        Value::Rate(_) => json!(quantity::rate(at, value)?.as_bps()),
        Value::MaybeRate(_) => json!(quantity::rate_or_off(at, value)?.map(BitRate::as_bps)),
        Value::Number(_) => json!(quantity::number(at, value)?),
        Value::Flag(_) => json!(quantity::flag(at, value)?),
        Value::Word(..) => json!(quantity::shown(value)),
    })
}

/// Parses the short form into the name of the kind and its parameters.
fn words(at: &str, text: &str) -> Result<(String, Vec<(String, Plain)>), SpecError> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    let mut given: Vec<(String, Plain)> = Vec::new();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .filter(|(name, _)| !given.iter().any(|(known, _)| known == name))
            .ok_or_else(|| SpecError::new(at, format!("`{word}` is not a parameter")))?;
        given.push((name.to_owned(), plain(value)));
    }
    Ok((name, given))
}

fn plain(text: &str) -> Plain {
    let is_number = text.bytes().all(|one| one.is_ascii_digit() || one == b'.');
    if let ("true" | "false", flag) = (text, text == "true") {
        Plain::Flag(flag)
    } else if let Ok(whole) = text.parse() {
        Plain::Whole(whole)
    } else if let Some(real) = text.parse().ok().filter(|_| is_number) {
        Plain::Real(real)
    } else {
        Plain::Text(text.trim_matches('"').to_owned())
    }
}
