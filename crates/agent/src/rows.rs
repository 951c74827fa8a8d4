//! Tables under construction.

use aqmlab_sim::{Column, Table};

/// Columns under construction: one row after the other, each value with its column's name.
#[derive(Default)]
pub(crate) struct Rows {
    words: Vec<(&'static str, Vec<u32>, Vec<String>)>,
    counts: Vec<(&'static str, Vec<u64>)>,
    flags: Vec<(&'static str, Vec<bool>)>,
    floats: Vec<(&'static str, Vec<f64>)>,
}

fn column<'a, T>(all: &'a mut Vec<(&'static str, Vec<T>)>, name: &'static str) -> &'a mut Vec<T> {
    let place = all.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        all.push((name, Vec::new()));
        all.len() - 1
    });
    &mut all[place].1
}

impl Rows {
    /// Rows of a table whose columns of words and numbers are these even if it has no rows.
    pub(crate) fn new(words: &[&'static str], floats: &[&'static str]) -> Self {
        Self {
            words: words.iter().map(|name| (*name, Vec::new(), Vec::new())).collect(),
            floats: floats.iter().map(|name| (*name, Vec::new())).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn word(&mut self, name: &'static str, word: &str) {
        let place = self.words.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
            self.words.push((name, Vec::new(), Vec::new()));
            self.words.len() - 1
        });
        let (_, indices, words) = &mut self.words[place];
        let index = words.iter().position(|known| known == word).unwrap_or_else(|| {
            words.push(word.to_owned());
            words.len() - 1
        });
        indices.push(index as u32);
    }

    pub(crate) fn count(&mut self, name: &'static str, value: u64) {
        column(&mut self.counts, name).push(value);
    }

    pub(crate) fn flag(&mut self, name: &'static str, value: bool) {
        column(&mut self.flags, name).push(value);
    }

    pub(crate) fn float(&mut self, name: &'static str, value: f64) {
        column(&mut self.floats, name).push(value);
    }

    pub(crate) fn floats<const N: usize>(&mut self, values: [(&'static str, f64); N]) {
        for (name, value) in values {
            self.float(name, value);
        }
    }

    /// The table with its columns in this order.
    pub(crate) fn in_order(self, names: &[&str]) -> Table {
        let mut columns = self.table().columns;
        columns.sort_by_key(|(name, _)| names.iter().position(|known| known == name));
        Table::new(columns)
    }

    pub(crate) fn table(self) -> Table {
        let words = self.words.into_iter().map(|(name, at, words)| (name, Column::Word(at, words)));
        let flags = self.flags.into_iter().map(|(name, values)| (name, Column::Flag(values)));
        let counts = self.counts.into_iter().map(|(name, values)| (name, Column::Count(values)));
        let floats = self.floats.into_iter().map(|(name, values)| (name, Column::Float(values)));
        Table::new(words.chain(flags).chain(counts).chain(floats).collect())
    }
}
