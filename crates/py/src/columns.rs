//! Converts tables to dictionaries of arrays.

use aqmlab_trial::{Column, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// Returns the columns of `table` by name: numpy arrays, and lists of str for words.
pub(crate) fn to_python(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table.columns {
        match column {
            Column::Float(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Count(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Flag(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Word(indices, words) => {
                // All rows with a word share its object, because creating an object takes longer
                // than counting a reference.
                let words: Vec<_> = words.iter().map(|word| PyString::new(py, word)).collect();
                let rows = indices.iter().map(|&index| &words[index as usize]);
                columns.set_item(name, PyList::new(py, rows)?)?;
            }
        }
    }
    Ok(columns)
}
