//! Converts tables to dictionaries of arrays.

use aqmlab_trial::{Column, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns the columns of `table` by name: numpy arrays, and lists of str for words.
pub(crate) fn to_python(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table.columns {
        match column {
            Column::Float(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Count(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Flag(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Word(indices, words) => {
                let texts = indices.iter().map(|&index| words[index as usize].as_str());
                columns.set_item(name, PyList::new(py, texts.collect::<Vec<_>>())?)?;
            }
        }
    }
    Ok(columns)
}
