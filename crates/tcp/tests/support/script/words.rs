//! Parses numbers, times and settings in scripts.

use aqmlab_core::{Bytes, Duration, Value};

pub(super) fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

pub(super) fn duration(word: &str) -> Result<Duration, String> {
    let digits = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (count, unit) = word.split_at(digits);
    let count = number(count)?;
    match unit {
        "us" => Ok(Duration::from_micros(count)),
        "ms" => Ok(Duration::from_millis(count)),
        "s" => Ok(Duration::from_secs(count)),
        _ => Err(format!("`{word}` is not a time such as 5ms")),
    }
}

pub(super) fn setting(old: Value, word: &str) -> Result<Value, String> {
    Ok(match old {
        Value::Duration(_) => Value::Duration(duration(word)?),
        Value::Count(_) => Value::Count(number(word)?),
        Value::Bytes(_) => Value::Bytes(Bytes(number(word)?)),
        Value::Flag(_) => Value::Flag(match word {
            "on" => true,
            "off" => false,
            _ => return Err(format!("`{word}` is neither on nor off")),
        }),
        Value::Word(_, allowed) => {
            let known = allowed.iter().find(|known| **known == word);
            Value::Word(known.ok_or(format!("`{word}` is none of {allowed:?}"))?, allowed)
        }
        other => return Err(format!("a {} cannot be set in a script", other.type_name())),
    })
}
