//! Tables of results, stored as columns.

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Floating-point numbers; `NaN` means "no value".
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
    /// The index of each row's word, and the list of words.
    Word(Vec<u32>, Vec<String>),
    /// Truth values.
    Flag(Vec<bool>),
}

impl Column {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Count(values) => values.len(),
            Self::Word(values, _) => values.len(),
            Self::Flag(values) => values.len(),
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table: named columns of equal length, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The name and values of each column.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Returns a table of the given columns.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn new(columns: Vec<(&'static str, Column)>) -> Self {
        if let Some((_, first)) = columns.first() {
            let rows = first.len();
            for (name, column) in &columns {
                assert_eq!(column.len(), rows, "column `{name}` differs in length");
            }
        }
        Self { columns }
    }

    /// Returns the column called `name`, if there is one.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| *known == name).map(|(_, column)| column)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

/// A column of words that is being built.
#[derive(Debug, Default)]
pub struct Words {
    indices: Vec<u32>,
    words: Vec<String>,
}

impl Words {
    /// Takes memory for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.indices.reserve(rows);
    }

    /// Adds a row with `word`.
    pub fn push(&mut self, word: &str) {
        let index = self.index(word);
        self.indices.push(index);
    }

    /// Adds `rows` rows with `word`.
    pub(crate) fn push_rows(&mut self, word: &str, rows: usize) {
        if rows > 0 {
            let index = self.index(word);
            self.indices.resize(self.indices.len() + rows, index);
        }
    }

    /// Returns the index of `word` in the list of words. Adds the word if the list does not have
    /// it, so the caller must add a row with this index.
    pub(crate) fn index(&mut self, word: &str) -> u32 {
        // Lists are short (flows, metrics), so a linear search is faster than a map. A row mostly has
        // the word of the row before or the next word of the list, so the search begins there.
        let start = self.indices.last().map_or(0, |&last| last as usize);
        let mut places = (start..self.words.len()).chain(0..start);
        let index = places.find(|&place| self.words[place] == word);
        let index = index.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        });
        index as u32
    }

    /// Returns the finished column. Its rows have the words of `indices`, which [`Self::index`]
    /// returned.
    pub(crate) fn column_of(self, indices: Vec<u32>) -> Column {
        Column::Word(indices, self.words)
    }

    /// Returns the finished column.
    pub fn column(self) -> Column {
        Column::Word(self.indices, self.words)
    }
}
