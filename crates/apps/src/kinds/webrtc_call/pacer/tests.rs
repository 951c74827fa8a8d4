use proptest::prelude::*;

use super::super::wire::Frame;
use super::*;
use crate::testing::close;

const SIZES: Sizes = Sizes { payload: 1_200, headers: 58 };

fn video(number: u64, bytes: u32) -> VideoPacket {
    let captured = Instant::ZERO;
    let frame = Frame { number: 0, captured, is_key: false, lines: 180, bytes, packets: 1 };
    VideoPacket { number, index: 0, frame, bytes }
}

fn at_us(us: u64) -> Instant {
    Instant::from_micros(us)
}

/// Runs a pacer until its queue is empty. Returns each packet with its time and its probe.
fn drain(pacer: &mut Pacer, from: Instant) -> Vec<(Instant, Packet, Option<Cluster>)> {
    let (mut now, mut out) = (from, Vec::new());
    while let Some(at) = pacer.next(now) {
        now = at;
        out.extend(pacer.process(now).into_iter().map(|(packet, probe)| (now, packet, probe)));
    }
    out
}

#[test]
fn a_frame_of_less_than_40_ms_leaves_at_once_and_a_larger_one_is_spread() {
    // At 2.5 Mbit/s, 40 ms are 12,500 B.
    let mut pacer = Pacer::new(SIZES, 2.5e6, Instant::ZERO);
    for number in 0..40 {
        pacer.push(video(number, 1_192), Instant::ZERO);
    }
    let times: Vec<_> = drain(&mut pacer, Instant::ZERO).iter().map(|one| one.0).collect();
    assert_eq!(times.iter().filter(|&&at| at == Instant::ZERO).count(), 10, "12,500 B");
    assert_eq!(times[10], at_us(40_000));
    assert_eq!(times[39], at_us(120_000));
}

#[test]
fn retransmissions_go_first() {
    let mut pacer = Pacer::new(SIZES, 2.5e6, Instant::ZERO);
    pacer.push(video(7, 1_000), Instant::ZERO);
    pacer.push_rtx(video(3, 1_000), Instant::ZERO);
    assert!(pacer.is_rtx_queued(3) && !pacer.is_rtx_queued(7));
    let sent: Vec<_> = pacer.process(Instant::ZERO).into_iter().map(|(packet, _)| packet).collect();
    assert_eq!(sent, [Packet::Rtx(video(3, 1_000)), Packet::Video(video(7, 1_000))]);
}

#[test]
fn a_queue_of_more_than_2_seconds_raises_the_rate() {
    // 125,000 B at 100 kbit/s would take 10 s.
    let mut pacer = Pacer::new(SIZES, 100e3, Instant::ZERO);
    for number in 0..100 {
        pacer.push(video(number, 1_192), Instant::ZERO);
    }
    let last = drain(&mut pacer, Instant::ZERO).last().unwrap().0;
    assert!(last <= at_us(2_100_000), "{last}");
}

#[test]
fn a_probe_has_its_rate_and_fills_up_with_padding() {
    let mut pacer = Pacer::new(SIZES, 750e3, Instant::ZERO);
    pacer.probe(Cluster { id: 0, bps: 1.8e6 }, Instant::ZERO);
    assert_eq!(pacer.next(Instant::ZERO), None, "a packet of media begins it");
    pacer.push(video(0, 1_192), Instant::ZERO);
    let sent = drain(&mut pacer, Instant::ZERO);
    assert!(sent.iter().all(|one| one.2.is_some()));
    assert!(sent[2..].iter().all(|one| matches!(one.1, Packet::Padding(_))));
    let bytes: f64 = sent.iter().map(|one| f64::from(SIZES.of(&one.1))).sum();
    // At 1.8 Mbit/s, 15 ms are 3,375 B.
    assert!((3_375.0..3_375.0 + 1_250.0).contains(&bytes), "{bytes}");
    let (_, last, _) = sent.last().unwrap();
    let span = sent.last().unwrap().0.as_secs_f64();
    close(8.0 * (bytes - f64::from(SIZES.of(last))) / span, 1.8e6, 0.02e6);
}

#[test]
fn a_probe_that_is_late_is_given_up() {
    let mut pacer = Pacer::new(SIZES, 750e3, Instant::ZERO);
    pacer.probe(Cluster { id: 0, bps: 900e3 }, Instant::ZERO);
    pacer.push(video(0, 1_192), Instant::ZERO);
    pacer.process(Instant::ZERO);
    pacer.process(at_us(40_000));
    assert!(!pacer.probing.is_active());
}

/// Runs a pacer until `ms` without adding video. Returns the number of bytes that it sent.
fn padded(pacer: &mut Pacer, ms: u64) -> f64 {
    let mut bytes = 0.0;
    while let Some(at) = pacer.next(pacer.last).filter(|&at| at < at_us(1_000 * ms)) {
        let out = pacer.process(at);
        bytes += out.iter().map(|(packet, _)| f64::from(SIZES.of(packet))).sum::<f64>();
    }
    bytes
}

/// Tests that padding and video together have at most the padding rate (`pacing_controller.cc`,
/// `PaddingToAdd`; `rtp_sender.cc`, `GeneratePadding`).
#[test]
fn padding_fills_up_its_rate_and_video_goes_first() {
    let mut pacer = Pacer::new(SIZES, 2.5e6, Instant::ZERO);
    assert!(padded(&mut pacer, 1_000) <= 0.0, "no padding unless a rate is set");
    pacer.set_rates(2.5e6, 1e6, Instant::ZERO);
    close(8.0 * padded(&mut pacer, 1_000), 1e6, 0.02e6);
    let mut busy = Pacer::new(SIZES, 2.5e6, Instant::ZERO);
    busy.set_rates(2.5e6, 1e6, Instant::ZERO);
    for number in 0..5 {
        busy.push(video(number, 1_192), Instant::ZERO);
    }
    assert_eq!(busy.process(Instant::ZERO).len(), 5);
    // The 6,250 B of video are 50 ms of the padding rate.
    close(8.0 * padded(&mut busy, 1_000), 0.95e6, 0.02e6);
}

/// Tests that padding is a retransmitted packet unless this packet is more than three times as
/// large as the padding that is due. In 5 ms, 1 Mbit/s is 625 B and 300 kbit/s is 187 B. A packet
/// of 1,200 B is less than three times 625 B, and more than three times 187 B (`rtp_sender.cc`,
/// `kMaxPaddingSizeFactor`).
#[test]
fn padding_is_a_large_packet_again_unless_that_is_three_times_too_large() {
    for (bps, want) in [(1e6, 1_200), (300e3, 255)] {
        let mut pacer = Pacer::new(SIZES, 2.5e6, Instant::ZERO);
        pacer.set_rates(2.5e6, bps, Instant::ZERO);
        assert_eq!(pacer.process(Instant::ZERO), [(Packet::Padding(want), None)]);
    }
}

/// Tests that audio adds to the debt of the pacer. `UpdateAllowedBitrateRange` in
/// `webrtc_voice_engine.cc` gives audio a rate of its own, so `audio_send_stream.cc` calls
/// `AccountForAudioPacketsInPacedSender`.
#[test]
fn audio_adds_to_the_debt_of_video() {
    let after = |audio: u32| {
        let mut pacer = Pacer::new(SIZES, 2.5e6, Instant::ZERO);
        pacer.sent_audio(audio, Instant::ZERO);
        for number in 0..20 {
            pacer.push(video(number, 1_192), Instant::ZERO);
        }
        pacer.process(Instant::ZERO).len()
    };
    // At 2.5 Mbit/s, 40 ms are 12,500 B.
    assert_eq!((after(0), after(2_500)), (10, 8));
}

proptest! {
    /// Tests statement C-108.
    #[test]
    fn no_interval_has_more_than_its_rate_and_a_burst(
        frames in prop::collection::vec((0..50_000_u64, 1..30_u64), 1..40),
        bps in 100e3..10e6_f64,
    ) {
        let mut pacer = Pacer::new(SIZES, bps, Instant::ZERO);
        let (mut now, mut sent, mut number) = (Instant::ZERO, Vec::new(), 0);
        let mut longest = 0.0_f64;
        for (gap, packets) in frames {
            let until = now + Duration::from_micros(gap);
            while let Some(at) = pacer.next(now).filter(|&at| at <= until) {
                now = at;
                let out = pacer.process(now);
                sent.extend(out.iter().map(|(packet, _)| (now, f64::from(SIZES.of(packet)))));
            }
            now = until;
            for _ in 0..packets {
                pacer.push(video(number, 1_200), now);
                number += 1;
            }
            longest = longest.max(pacer.queued(bps).as_secs_f64());
        }
        // A longer queue raises the rate.
        prop_assume!(longest < 1.0);
        for (place, &(from, _)) in sent.iter().enumerate() {
            let mut bytes = 0.0;
            for &(at, size) in &sent[place..] {
                bytes += size;
                let allowed = bps / 8.0 * (at.since(from).as_secs_f64() + BURST_S) + 1_258.0;
                prop_assert!(bytes <= allowed + 1.0, "{bytes} B, {allowed} allowed");
            }
        }
    }
}
