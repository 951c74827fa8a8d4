//! The computation of the responsiveness, and the test of stability.

use aqmlab_core::math;

/// The number of milliseconds in a minute.
const MINUTE_MS: f64 = 60_000.0;

/// Returns the mean of the samples at or below the percentile `trim`, by nearest rank; `None`
/// without samples.
pub(crate) fn trimmed_mean(mut samples: Vec<f64>, trim: f64) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let kept = ((trim * samples.len() as f64).ceil() as usize).clamp(1, samples.len().max(1));
    let kept = samples.get(..kept)?;
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// The trimmed means of the times of foreign probes and of self probes, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Means {
    /// The time of the TCP handshake of a foreign probe.
    pub(crate) tcp_foreign: Option<f64>,
    /// The time of a round trip of the TLS handshake of a foreign probe; `None` also without TLS.
    pub(crate) tls_foreign: Option<f64>,
    /// The time from the request to the response of a foreign probe.
    pub(crate) http_foreign: Option<f64>,
    /// The time from the request to the response of a self probe.
    pub(crate) http_loaded: Option<f64>,
}

impl Means {
    /// Returns the responsiveness of foreign probes, in round trips per minute. A round trip takes
    /// the mean of the TCP, TLS and HTTP times. Returns `None` without a TCP time or an HTTP time.
    pub(crate) fn foreign_rpm(&self) -> Option<f64> {
        let (tcp, http) = (self.tcp_foreign?, self.http_foreign?);
        let times: Vec<f64> = [tcp, http].into_iter().chain(self.tls_foreign).collect();
        per_minute(times.iter().sum::<f64>() / times.len() as f64)
    }

    /// Returns the responsiveness of self probes, in round trips per minute; `None` without a time.
    pub(crate) fn loaded_rpm(&self) -> Option<f64> {
        self.http_loaded.and_then(per_minute)
    }

    /// Returns the mean of [`Self::foreign_rpm`] and [`Self::loaded_rpm`]; `None` if one is
    /// unknown.
    pub(crate) fn responsiveness_rpm(&self) -> Option<f64> {
        Some(f64::midpoint(self.foreign_rpm()?, self.loaded_rpm()?))
    }
}

/// Returns the number of round trips of `ms` milliseconds in a minute; `None` if `ms` is zero.
fn per_minute(ms: f64) -> Option<f64> {
    (ms > 0.0).then(|| MINUTE_MS / ms)
}

/// Returns whether the standard deviation of `values` is less than `tolerance` times the last
/// value. The standard deviation is that of a population. Returns false without values.
pub(crate) fn is_stable(values: &[f64], tolerance: f64) -> bool {
    let Some(&present) = values.last() else { return false };
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    math::sqrt(variance) < tolerance * present
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn means(tcp: f64, tls: Option<f64>, http: f64, loaded: f64) -> Means {
        Means {
            tcp_foreign: Some(tcp),
            tls_foreign: tls,
            http_foreign: Some(http),
            http_loaded: Some(loaded),
        }
    }

    #[test]
    fn c238_equal_times_give_their_number_in_a_minute() {
        for (ms, rpm) in [(20.0, 3_000.0), (60.0, 1_000.0)] {
            let means = means(ms, Some(ms), ms, ms);
            close(means.responsiveness_rpm().unwrap(), rpm, 1e-9);
        }
    }

    #[test]
    fn c239_the_responsiveness_is_the_mean_of_two_rates() {
        let means = means(30.0, Some(30.0), 60.0, 120.0);
        close(means.foreign_rpm().unwrap(), 1_500.0, 1e-9);
        close(means.loaded_rpm().unwrap(), 500.0, 1e-9);
        close(means.responsiveness_rpm().unwrap(), 1_000.0, 1e-9);
    }

    #[test]
    fn c240_without_tls_a_foreign_round_trip_is_the_mean_of_two_times() {
        let means = means(30.0, None, 60.0, 120.0);
        close(means.foreign_rpm().unwrap(), 60_000.0 / 45.0, 1e-9);
        close(means.responsiveness_rpm().unwrap(), 916.7, 0.05);
    }

    #[test]
    fn c241_the_trimmed_mean_leaves_out_the_largest_times() {
        let samples = (1..=100).rev().map(f64::from).collect();
        assert_eq!(trimmed_mean(samples, 0.95), Some(48.0));
        assert_eq!(trimmed_mean(vec![7.0], 0.95), Some(7.0));
        assert_eq!(trimmed_mean(vec![1.0, 3.0], 1.0), Some(2.0));
        assert_eq!(trimmed_mean(Vec::new(), 0.95), None);
    }

    #[test]
    fn c242_values_are_stable_if_their_deviation_is_below_the_tolerance() {
        // The deviation is 0.1118, and 5 % of the present value is 0.505.
        let values = [10.0, 10.2, 9.9, 10.1];
        assert!(is_stable(&values, 0.05));
        assert!(is_stable(&values, 0.01108));
        assert!(!is_stable(&values, 0.01106));
        assert!(!is_stable(&[0.0; 4], 0.05), "nothing arrives");
        assert!(!is_stable(&[], 0.05));
    }

    #[test]
    fn c245_the_mean_of_rates_exceeds_the_rate_of_mean_times() {
        // goresponsiveness computes one rate from the means of the times, here 750 RPM.
        let foreign_ms = (30.0 + 30.0 + 60.0) / 3.0;
        let goresponsiveness_rpm = MINUTE_MS / f64::midpoint(foreign_ms, 120.0);
        let means = means(30.0, Some(30.0), 60.0, 120.0);
        close(means.responsiveness_rpm().unwrap() - goresponsiveness_rpm, 250.0, 1e-9);
    }

    #[test]
    fn a_part_that_is_not_measured_leaves_the_whole_unknown() {
        let all = means(30.0, Some(30.0), 60.0, 120.0);
        let no_self = Means { http_loaded: None, ..all };
        assert_eq!((no_self.loaded_rpm(), no_self.responsiveness_rpm()), (None, None));
        assert!(no_self.foreign_rpm().is_some());
        assert_eq!(Means { http_foreign: None, ..all }.responsiveness_rpm(), None);
        assert_eq!(means(0.0, None, 0.0, 0.0).responsiveness_rpm(), None);
    }
}
