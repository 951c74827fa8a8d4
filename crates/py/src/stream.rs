//! Encodes tables as the Arrow streams of a trial's file.

use std::borrow::Cow;
use std::sync::Arc;

use aqmlab_trial::Column;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, Field, Schema};

/// The number of values below which a table is not compressed.
///
/// A small table has many short buffers. Their compression saves no bytes, because each compressed
/// buffer also holds its size.
const SMALL: usize = 1 << 13;

/// The alignment of buffers in a stream, in bytes: the least that Arrow allows, which makes the
/// smallest streams.
const ALIGNMENT: usize = 8;

/// Returns a table of the columns as a stream: a schema, and a batch if there are rows.
pub(crate) fn encode(columns: &[(Cow<'static, str>, Column)]) -> Result<Vec<u8>, ArrowError> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .iter()
        .map(|(name, column)| {
            let array = array_of(column);
            (Field::new(name.as_ref(), array.data_type().clone(), true), array)
        })
        .unzip();
    let schema = Arc::new(Schema::new(fields));
    let values: usize = arrays.iter().map(|array| array.len()).sum();
    let packed = (values >= SMALL).then_some(CompressionType::LZ4_FRAME);
    let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?
        .try_with_compression(packed)?;
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options)?;
    if values > 0 {
        writer.write(&RecordBatch::try_new(schema, arrays)?)?;
    }
    writer.into_inner()
}

/// Returns the values of a column as an array of Arrow.
fn array_of(column: &Column) -> ArrayRef {
    match column {
        Column::Float(values) => {
            let are_numbers = values.iter().map(|value| !value.is_nan());
            let nulls = (!are_numbers.clone().all(|is_number| is_number))
                .then(|| are_numbers.collect::<NullBuffer>());
            Arc::new(Float64Array::new(values.clone().into(), nulls))
        }
        Column::Count(values) => {
            // No count of a table reaches 2^63.
            Arc::new(Int64Array::from_iter_values(values.iter().map(|&value| value.cast_signed())))
        }
        Column::Word(indices, words) => {
            let rows = indices.iter().map(|&index| &words[index as usize]);
            Arc::new(StringArray::from_iter_values(rows))
        }
        Column::Flag(values) => Arc::new(BooleanArray::from(values.clone())),
    }
}
