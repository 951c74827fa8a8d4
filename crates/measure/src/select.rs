//! The value at an index of the sorted values. At most eight values are sorted.
//!
//! The comparison of two samples of a round-trip time cannot be predicted by the processor, so no
//! branch of this module depends on a single comparison. `select_nth_unstable` takes longer,
//! because it ends with an insertion sort.

/// The largest number of values that are not partitioned. The comparators of [`select_from_few`]
/// are for this number.
const FEW: usize = 8;

/// Returns the value that has the index `index` if the values are sorted. Leaves the values in any
/// order, and some of them several times.
///
/// # Panics
///
/// If `index` is not below the number of values.
pub(crate) fn select(values: &mut [u64], mut index: usize) -> u64 {
    let mut len = values.len();
    while len > FEW {
        let part = &mut values[..len];
        let pivot = middle(part[0], part[len / 2], part[len - 1]);
        let below = part.iter().filter(|&&value| value < pivot).count();
        let up_to = part.iter().filter(|&&value| value <= pivot).count();
        if index < below {
            len = keep(part, |value| value < pivot);
        } else if index < up_to {
            return pivot;
        } else {
            len = keep(part, |value| value > pivot);
            index -= up_to;
        }
    }
    select_from_few(&values[..len], index)
}

fn middle(a: u64, b: u64, c: u64) -> u64 {
    a.max(b).min(a.min(b).max(c))
}

/// Moves the `wanted` values to the front. Returns their number.
fn keep(values: &mut [u64], wanted: impl Fn(u64) -> bool) -> usize {
    let mut kept = 0;
    for at in 0..values.len() {
        let value = values[at];
        values[kept] = value;
        kept += usize::from(wanted(value));
    }
    kept
}

/// Does what [`select`] does for up to [`FEW`] values.
///
/// The comparators are those of Batcher's merge exchange (Knuth, The Art of Computer Programming,
/// volume 3, algorithm 5.2.2M).
fn select_from_few(values: &[u64], index: usize) -> u64 {
    let mut sorted = [u64::MAX; FEW];
    sorted[..values.len()].copy_from_slice(values);
    order(&mut sorted, 4, [0, 1, 2, 3]);
    order(&mut sorted, 2, [0, 1, 4, 5]);
    order(&mut sorted, 2, [2, 3]);
    order(&mut sorted, 1, [0, 2, 4, 6]);
    order(&mut sorted, 3, [1, 3]);
    order(&mut sorted, 1, [1, 3, 5]);
    sorted[index]
}

/// Sorts pairs: for each of `places`, the value there and the value `distance` places behind it.
#[inline]
fn order<const N: usize>(values: &mut [u64; FEW], distance: usize, places: [usize; N]) {
    for place in places {
        let (one, other) = (values[place], values[place + distance]);
        (values[place], values[place + distance]) = (one.min(other), one.max(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a strategy for values of all sizes, of which many are equal.
    fn values() -> impl Strategy<Value = u64> {
        prop_oneof![Just(7), 0..9_u64, (0_u32..64).prop_flat_map(|bits| 0..=1_u64 << bits)]
    }

    proptest! {
        #[test]
        fn each_index_has_the_value_of_the_sorted_values(
            values in prop::collection::vec(values(), 1..300),
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            for (index, &want) in sorted.iter().enumerate() {
                prop_assert_eq!(select(&mut values.clone(), index), want, "index {}", index);
            }
        }
    }
}
