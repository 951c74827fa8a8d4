//! Messages on a schedule, and the proportion of them that is missing.

use aqmlab_core::Duration;

/// The last part of a run. Messages that are due in it do not count, because they may still be in
/// transit.
const IN_TRANSIT: Duration = Duration::from_secs(1);

/// Returns the percentage of the due messages that did not arrive. A message is due at the start of
/// `span` and every `interval` after the start, up to [`IN_TRANSIT`] before the end of `span`.
/// `arrived` is the number of messages that arrived. Returns `None` if `span` is not longer than
/// [`IN_TRANSIT`].
pub(crate) fn missing_percent(span: Duration, interval: Duration, arrived: u64) -> Option<f64> {
    let counted = span.saturating_sub(IN_TRANSIT);
    if counted == Duration::ZERO {
        return None;
    }
    let due = counted.as_nanos() / interval.as_nanos().max(1) + 1;
    Some(100.0 * due.saturating_sub(arrived) as f64 / due as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_due_before_the_last_second_must_have_arrived() {
        let missing = |seconds, arrived| {
            missing_percent(Duration::from_secs(seconds), Duration::from_millis(500), arrived)
        };
        assert_eq!(missing(11, 21), Some(0.0));
        assert_eq!(missing(11, 23), Some(0.0), "those of the last second");
        assert_eq!(missing(11, 0), Some(100.0));
        assert_eq!(missing(5, 0), Some(100.0));
        assert_eq!(missing(6, 11).map(f64::round), Some(0.0));
        assert_eq!(missing(1, 0), None, "it may be on its way");
    }
}
