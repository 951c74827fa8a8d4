//! The tables of a trial, for Python.

use std::borrow::Cow;
use std::collections::BTreeMap;

use aqmlab_trial::Column;
use numpy::{PyReadonlyArray1, ToPyArray};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyMapping, PyString};

use crate::stream;

/// A table: a mapping from the names of its columns to arrays, or to lists of str for words.
///
/// Each access to a column makes a new array or list. `Table(columns)` makes a table from such a
/// mapping. Arrays of signed integers become unsigned. It raises `ValueError` for columns of
/// different lengths and for negative integers, and `TypeError` for other types of columns.
#[pyclass(frozen, mapping, module = "aqmlab._core")]
pub(crate) struct Table {
    columns: Vec<(Cow<'static, str>, Column)>,
}

impl From<aqmlab_trial::Table> for Table {
    fn from(table: aqmlab_trial::Table) -> Self {
        let columns = table.columns.into_iter();
        Self { columns: columns.map(|(name, column)| (name.into(), column)).collect() }
    }
}

#[pymethods]
impl Table {
    #[new]
    fn new(columns: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let mut read: Vec<(Cow<'static, str>, Column)> = Vec::with_capacity(columns.len()?);
        for item in columns.items()? {
            let (name, values): (String, Bound<'_, PyAny>) = item.extract()?;
            let column = column_of(&name, &values)?;
            if let Some((first, other)) = read.first()
                && other.len() != column.len()
            {
                let (rows, expected) = (column.len(), other.len());
                return Err(PyValueError::new_err(format!(
                    "column `{name}` has {rows} rows, and column `{first}` has {expected}"
                )));
            }
            read.push((name.into(), column));
        }
        Ok(Self { columns: read })
    }

    fn __len__(&self) -> usize {
        self.columns.len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.keys())?.try_iter()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.column(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        values_of(py, column)
    }

    /// Returns a column, or `default` if there is no column of this name.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.column(name) {
            Some(column) => Ok(Some(values_of(py, column)?)),
            None => Ok(default),
        }
    }

    /// Returns the names of the columns, in order.
    fn keys(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_ref()).collect()
    }

    /// Returns the columns, in order.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.columns.iter().map(|(_, column)| values_of(py, column)).collect()
    }

    /// Returns the name and the values of each column, in order.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyAny>)>> {
        let columns = self.columns.iter();
        columns.map(|(name, column)| Ok((name.as_ref(), values_of(py, column)?))).collect()
    }

    /// Returns the table without the columns in `omitted`, as an Arrow stream.
    ///
    /// The stream has a batch if the table has rows. NaN becomes null, and unsigned integers become
    /// signed. The buffers of a large table are compressed.
    fn arrow_stream<'py>(
        &self,
        py: Python<'py>,
        omitted: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut kept = Vec::with_capacity(self.columns.len());
        for (name, column) in &self.columns {
            if !omitted.contains(name)? {
                kept.push((name.as_ref(), column));
            }
        }
        let encoded =
            stream::encode(&kept).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &encoded))
    }
}

impl Table {
    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, column)| column)
    }
}

/// Registers [`Table`] as a mapping, so that `isinstance` and `match` take it for one.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    PyMapping::register::<Table>(py)
}

/// Returns an array of the values of a column, or a list of its words.
fn values_of<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    Ok(match column {
        Column::Float(values) => values.to_pyarray(py).into_any(),
        Column::Count(values) => values.to_pyarray(py).into_any(),
        Column::Flag(values) => values.to_pyarray(py).into_any(),
        Column::Word(indices, words) => {
            // All rows with a word share its object, because creating an object takes longer than
            // counting a reference.
            let words: Vec<_> = words.iter().map(|word| PyString::new(py, word)).collect();
            PyList::new(py, indices.iter().map(|&index| &words[index as usize]))?.into_any()
        }
    })
}

/// Reads a column of Python.
fn column_of(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Column> {
    if let Ok(floats) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Column::Float(floats.as_array().to_vec()));
    }
    if let Ok(counts) = values.extract::<PyReadonlyArray1<'_, u64>>() {
        return Ok(Column::Count(counts.as_array().to_vec()));
    }
    if let Ok(flags) = values.extract::<PyReadonlyArray1<'_, bool>>() {
        return Ok(Column::Flag(flags.as_array().to_vec()));
    }
    if let Ok(integers) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        let counts: Result<_, _> = integers.as_array().iter().map(|&one| one.try_into()).collect();
        let negative = |_| PyValueError::new_err(format!("column `{name}` has a negative integer"));
        return counts.map(Column::Count).map_err(negative);
    }
    if let Ok(list) = values.cast::<PyList>()
        && let Ok(words) = list.extract::<Vec<String>>()
    {
        return Ok(words_of(words));
    }
    Err(PyTypeError::new_err(format!(
        "column `{name}`: allowed are lists of str, and arrays of float64, uint64, int64 and bool"
    )))
}

/// Returns a column of words.
fn words_of(rows: Vec<String>) -> Column {
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let indices = rows
        .into_iter()
        .map(|word| {
            let next = known.len() as u32;
            *known.entry(word).or_insert(next)
        })
        .collect();
    let mut words = vec![String::new(); known.len()];
    for (word, index) in known {
        words[index as usize] = word;
    }
    Column::Word(indices, words)
}
