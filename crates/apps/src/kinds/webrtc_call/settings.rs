//! The settings of a sender, and the rates on the path that follow from them.

use super::encoder::Camera;
use super::end::{IP_UDP, RTP};
use super::gcc::Limits;
use super::speech;

/// The settings of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The camera and the limits of its encoder.
    pub(crate) camera: Camera,
    /// The first target in bit/s.
    pub(crate) start_bps: f64,
    /// The number of bytes of speech in a packet.
    pub(crate) speech: u32,
    /// The maximum number of video bytes in a packet.
    pub(crate) payload: u32,
    /// Whether the sender probes the path.
    pub(crate) probing: bool,
}

impl Settings {
    /// The total length in bytes of a packet's headers on the path, from IP to SRTP.
    pub(crate) const PATH_HEADERS: u32 = IP_UDP + RTP;

    /// Returns the rate of the speech on the path, in bit/s.
    fn speech_bps(&self) -> f64 {
        f64::from(8 * (self.speech + Self::PATH_HEADERS)) / speech::PACKET.as_secs_f64()
    }

    /// Returns the rate on the path for `bps` of video at `fps`, including headers and speech.
    fn path_bps(&self, bps: f64, fps: f64) -> f64 {
        let packets = (bps / 8.0 / fps / f64::from(self.payload)).ceil().max(1.0);
        bps + 8.0 * packets * fps * f64::from(Self::PATH_HEADERS) + self.speech_bps()
    }

    /// Returns the video rate that fits into `bps` on the path at `fps`.
    pub(crate) fn video_bps(&self, bps: f64, fps: f64) -> f64 {
        let left = (bps - self.speech_bps()).max(0.0);
        let packet = f64::from(self.payload + Self::PATH_HEADERS);
        let packets = (left / 8.0 / fps / packet).ceil().max(1.0);
        (left - 8.0 * packets * fps * f64::from(Self::PATH_HEADERS)).max(0.0)
    }

    /// Returns the limits of the controller.
    pub(crate) fn limits(&self) -> Limits {
        let Camera { fps, most_bps, least_bps, .. } = self.camera;
        Limits {
            start: self.start_bps,
            floor: self.path_bps(least_bps, fps / 2.0),
            allocated: self.path_bps(most_bps, fps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn headers_and_speech_are_part_of_the_target() {
        let camera = Camera { fps: 30.0, most_bps: 2.5e6, least_bps: 30e3, variation: 0.25 };
        let settings =
            Settings { camera, start_bps: 300e3, speech: 80, payload: 1_200, probing: true };
        // The rate is 138 B every 20 ms.
        close(settings.speech_bps(), 55_200.0, 1e-6);
        // 1 Mbit/s is 4,167 B per frame in 4 packets, each with 58 B of headers.
        let path = 1e6 + 8.0 * 4.0 * 30.0 * 58.0 + 55_200.0;
        close(settings.path_bps(1e6, 30.0), path, 1e-6);
        close(settings.video_bps(path, 30.0), 1e6, 1e-6);
        close(settings.limits().floor, 30e3 + 8.0 * 15.0 * 58.0 + 55_200.0, 1e-6);
        close(settings.video_bps(10e3, 30.0), 0.0, 0.0);
    }
}
