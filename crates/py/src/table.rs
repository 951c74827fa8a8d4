//! The tables of a trial, for Python.

use std::borrow::Cow;

use aqmlab_trial::{Column, Words};
use numpy::{PyArrayMethods, PyReadonlyArray1, PyUntypedArray, ToPyArray};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyIterator, PyList, PyMapping, PyString};

use crate::stream;

/// A table: a mapping from the names of its columns to arrays, or to lists of str for words.
///
/// Each access to a column makes a new array or list. Tables compare by identity.
///
/// `Table(columns)` makes a table from such a mapping, with one-dimensional arrays of one length in
/// native byte order. Signed integers become unsigned. `Table(columns)` raises `ValueError` for
/// columns of different lengths, repeated names, and integers below 0 or from 2⁶³ on. It raises
/// `TypeError` for other types of columns.
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
        let items = columns.items()?;
        let mut read: Vec<(Cow<'static, str>, Column)> = Vec::with_capacity(items.len());
        for item in items {
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
            if read.iter().any(|(known, _)| *known == name) {
                return Err(PyValueError::new_err(format!("there are two columns `{name}`")));
            }
            read.push((name.into(), column));
        }
        Ok(Self { columns: read })
    }

    fn __len__(&self) -> usize {
        self.columns.len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        self.column(name).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.columns.iter().map(|(name, _)| name))?.try_iter()
    }

    fn __getitem__<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let column = self.column(name).ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?;
        values_of(name.py(), column)
    }

    /// Returns a column, or `default` if there is no column of this name.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        name: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.column(name) {
            Some(column) => Ok(Some(values_of(name.py(), column)?)),
            None => Ok(default),
        }
    }

    /// Returns the names of the columns, in order.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "KeysView")
    }

    /// Returns the columns, in order.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ValuesView")
    }

    /// Returns the name and the values of each column, in order.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ItemsView")
    }

    /// Returns the table as an Arrow stream, with a batch if there are rows.
    ///
    /// NaN becomes null, and unsigned integers become signed. The buffers of a large table are
    /// compressed. Raises `ValueError` if Arrow cannot encode the table.
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let encoded = py
            .detach(|| stream::encode(&self.columns))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &encoded))
    }
}

impl Table {
    fn column(&self, name: &Bound<'_, PyAny>) -> Option<&Column> {
        let name = name.extract::<PyBackedStr>().ok()?;
        self.columns.iter().find(|(known, _)| *known == *name).map(|(_, column)| column)
    }
}

/// Returns a view of `collections.abc` on a table.
fn view<'py>(table: &Bound<'py, Table>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    table.py().import("collections.abc")?.getattr(kind)?.call1((table,))
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
    let other = || {
        PyTypeError::new_err(format!(
            "column `{name}`: allowed are lists of str, and arrays of float64, uint64, int64 and bool"
        ))
    };
    if let Ok(list) = values.cast::<PyList>() {
        let mut words = Words::default();
        for word in list {
            words.push(&word.extract::<PyBackedStr>().map_err(|_| other())?);
        }
        return Ok(words.column());
    }
    if values.cast::<PyUntypedArray>().is_err() {
        return Err(other());
    }
    // The values must be contiguous and aligned to be read in place; a field of a packed structure
    // is neither.
    let numpy = values.py().import("numpy")?;
    let array = numpy.call_method1("require", (values, values.py().None(), "CA"))?;
    if let Ok(floats) = array.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Column::Float(floats.to_vec()?));
    }
    if array.extract::<PyReadonlyArray1<'_, bool>>().is_ok() {
        // NumPy accepts any byte as a truth value, and Rust only 0 and 1.
        let bytes = array.call_method1("view", ("uint8",))?;
        let bytes = bytes.extract::<PyReadonlyArray1<'_, u8>>()?;
        return Ok(Column::Flag(bytes.as_slice()?.iter().map(|&byte| byte != 0).collect()));
    }
    let counts: Vec<i64> = if let Ok(integers) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        integers.to_vec()?
    } else if let Ok(counts) = array.extract::<PyReadonlyArray1<'_, u64>>() {
        counts.as_slice()?.iter().map(|count| count.cast_signed()).collect()
    } else {
        return Err(other());
    };
    let counts: Result<Vec<u64>, _> = counts.into_iter().map(u64::try_from).collect();
    counts.map(Column::Count).map_err(|_| {
        PyValueError::new_err(format!("column `{name}` has an integer below 0 or from 2^63 on"))
    })
}
