//! Converts tables to JSON, with columns by name. A number without a value is `null`.

use aqmlab_trial::{Column, Table};
use serde_json::{Value, json};

/// Returns the tables as a JSON object, by name.
pub(crate) fn tables<'a>(named: impl Iterator<Item = &'a (&'static str, Table)>) -> Value {
    Value::Object(named.map(|(name, found)| ((*name).to_owned(), table(found))).collect())
}

fn table(table: &Table) -> Value {
    let columns = table.columns.iter();
    Value::Object(columns.map(|(name, column)| ((*name).to_owned(), values(column))).collect())
}

fn values(column: &Column) -> Value {
    match column {
        Column::Float(values) => json!(values),
        Column::Count(values) => json!(values),
        Column::Flag(values) => json!(values),
        Column::Word(indices, words) => {
            let word = |index: &u32| Value::String(words[*index as usize].clone());
            Value::Array(indices.iter().map(word).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_value_is_null_and_a_word_is_written_out() {
        let columns = vec![
            ("link", Column::Word(vec![1, 0], vec!["up".into(), "down".into()])),
            ("t_s", Column::Float(vec![0.5, f64::NAN])),
        ];
        let made = tables([("queues", Table::new(columns))].iter());
        assert_eq!(made.to_string(), r#"{"queues":{"link":["down","up"],"t_s":[0.5,null]}}"#);
    }
}
