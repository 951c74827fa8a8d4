//! Converts the arguments of a kind from JSON in base units to the types that the kind declares.

use std::collections::BTreeMap;

use aqmlab_core::{Args, BitRate, Bytes, Duration, Param, Value};
use serde_json::Value as Json;

use crate::error::SpecError;

/// Returns the arguments of a kind that declares `params`: the values in `given`, and the defaults
/// of the other parameters.
///
/// # Errors
///
/// If a parameter does not exist, or its value has another type or is out of bounds. `at` names the
/// place in the error.
pub fn arguments(
    at: &str,
    params: &'static [Param],
    given: &BTreeMap<String, Json>,
) -> Result<Args, SpecError> {
    let mut args = Args::defaults(params);
    set_all(at, params, given, |name, value| args.set(name, value))?;
    Ok(args)
}

/// Converts each value in `given` to the type that its parameter declares, checks the bounds of the
/// parameter, and passes the converted value to `set`.
pub(crate) fn set_all(
    at: &str,
    params: &'static [Param],
    given: &BTreeMap<String, Json>,
    mut set: impl FnMut(&str, Value) -> Result<(), aqmlab_core::BadArgument>,
) -> Result<(), SpecError> {
    for (name, json) in given {
        let at = format!("{at}.{name}");
        let param = params.iter().find(|param| param.name == name).ok_or_else(|| {
            let known: Vec<_> = params.iter().map(|param| param.name).collect();
            SpecError::new(&at, format!("no such parameter; there are {}", known.join(", ")))
        })?;
        let value = convert(param.default, json)
            .ok_or_else(|| SpecError::new(&at, format!("{json} is not {}", wanted(param))))?;
        param.bounds.check(value).map_err(|error| SpecError::new(&at, error.to_string()))?;
        set(name, value).map_err(|error| SpecError::new(&at, error.to_string()))?;
    }
    Ok(())
}

fn convert(like: Value, json: &Json) -> Option<Value> {
    Some(match like {
        Value::Duration(_) => Value::Duration(Duration::from_nanos(json.as_u64()?)),
        Value::MaybeDuration(_) if json.is_null() => Value::MaybeDuration(None),
        Value::MaybeDuration(_) => Value::MaybeDuration(Some(Duration::from_nanos(json.as_u64()?))),
        Value::Count(_) => Value::Count(json.as_u64()?),
        Value::Bytes(_) => Value::Bytes(Bytes(json.as_u64()?)),
        Value::Rate(_) => Value::Rate(BitRate::new(json.as_u64()?)?),
        Value::MaybeRate(_) if json.is_null() => Value::MaybeRate(None),
        Value::MaybeRate(_) => Value::MaybeRate(Some(BitRate::new(json.as_u64()?)?)),
        Value::Number(_) => Value::Number(json.as_f64()?),
        Value::Flag(_) => Value::Flag(json.as_bool()?),
        Value::Word(_, allowed) => {
            let word = json.as_str()?;
            Value::Word(allowed.iter().find(|&&known| known == word)?, allowed)
        }
    })
}

fn wanted(param: &Param) -> String {
    match param.default {
        Value::Word(_, allowed) => format!("one of {}", allowed.join(", ")),
        Value::Duration(_) => "a number of nanoseconds".into(),
        Value::MaybeDuration(_) => "a number of nanoseconds, or null for off".into(),
        Value::Rate(_) => "a number of bits per second above zero".into(),
        Value::MaybeRate(_) => "a number of bits per second above zero, or null for off".into(),
        other => format!("a {}", other.type_name()),
    }
}
