//! Gives the input of a run to the law.

use aqmlab_apps::autorate::{Law, Line, Order, Sampler, printed_rtt, printed_time};
use aqmlab_core::{Digest, Direction};

use super::recipe::Recipe;

/// Returns the commands of the law: one line of text per command, with its time in microseconds.
pub fn play(run: &Recipe) -> Vec<String> {
    let mut next = 0;
    let mut draw = || {
        next += 1;
        run.draws[(next - 1) % run.draws.len()]
    };
    let mut law = Law::new(run.settings.clone(), 0, &mut draw);
    let mut said = Vec::new();
    note(&mut said, &mut law, 0);
    for (now, line) in lines(run) {
        law.handle(line, now, &mut draw);
        note(&mut said, &mut law, now);
    }
    said
}

/// Returns the lines that the program reads, with their times. A sample precedes a reply that is
/// read at the same time.
fn lines(run: &Recipe) -> Vec<(i64, Line)> {
    let mut sampler = Sampler::new(&run.settings, run.counters(0));
    let mut lines = Vec::new();
    let mut now = 0;
    while now < run.end {
        lines.push((now, Line::Rates(sampler.sample(run.counters(now)))));
        now += sampler.period();
    }
    lines.extend(run.replies.iter().map(|reply| {
        let Some(reflector) = reply.reflector else { return (reply.read, Line::Other) };
        let time = printed_time(reply.printed as u64 * 1_000);
        (reply.read, Line::Reply { reflector, rtt: printed_rtt(reply.rtt), time })
    }));
    lines.sort_by_key(|line| line.0);
    lines
}

fn note(said: &mut Vec<String>, law: &mut Law, now: i64) {
    for order in law.orders() {
        said.push(match order {
            Order::SetRate(Direction::Down, rate) => format!("{now} down {rate}"),
            Order::SetRate(Direction::Up, rate) => format!("{now} up {rate}"),
            Order::StartPings => {
                let active: Vec<_> = law.active().iter().map(u32::to_string).collect();
                format!("{now} ask {}", active.join(" "))
            }
            Order::StopPings => format!("{now} stop"),
        });
    }
}

/// Returns the number of commands and their digest.
pub fn outcome(said: &[String]) -> String {
    let mut digest = Digest::default();
    for byte in said.iter().flat_map(|line| line.bytes().chain([b'\n'])) {
        digest.fold(u64::from(byte));
    }
    format!("{} {digest}", said.len())
}
