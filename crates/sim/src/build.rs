//! From a trial's description to a world that is ready to run.

use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use aqmlab_core::{BitRate, Duration, Instant, Rng};
use aqmlab_node::{Overhead, Port, Shaper};

use crate::arguments::choose;
use crate::error::SpecError;
use crate::grain::Grain;
use crate::network::{Actor, Network, RoutePlan};
use crate::notes::Notes;
use crate::observer::Observer;
use crate::sampler::Sampler;
use crate::spec::{AppSpec, LinkSpec, RouteSpec, ShaperSpec, Spec};
use crate::tcp_plan::TcpPlan;
use crate::wifi;
use crate::world::{AppSlot, Wake, World};

/// Most of anything that a trial may have: a bound on memory, far beyond any home.
const MOST: usize = 10_000;
/// Most rows of a time series.
const MOST_ROWS: u64 = 20_000_000;
/// The longest delay of a way, an hour: far beyond any path, and far from what time can hold.
const MOST_DELAY_NS: u64 = 3_600_000_000_000;

/// Builds the world of `spec`, which [`check_whole`] has passed, watched by `observer`.
pub(crate) fn build<O: Observer>(spec: &Spec, observer: O) -> Result<World<O>, SpecError> {
    let mut network = Network::new(observer, spec.seed);
    for (index, link) in spec.links.iter().enumerate() {
        let at = format!("links[{index}]");
        let port = port(&at, link, spec.seed)?;
        network.add_link(link.name.clone(), port, link.own);
        if let (Some(wifi), Some(config)) = (link.wifi, wifi::config(&at, link)?) {
            network.add_radio(wifi.cell, config);
        }
    }
    let mut world = World {
        network,
        conns: Vec::new(),
        apps: Vec::new(),
        notices: VecDeque::new(),
        touched: Vec::new(),
        sampler: None,
        events: 0,
        read_marks: vec![Default::default(); spec.apps.len()],
    };
    for (index, app) in spec.apps.iter().enumerate() {
        add_app(&mut world, spec, index, app)?;
    }
    let every = Grain::of(spec).sample;
    if spec.keeps_series() && every > Duration::ZERO {
        let slot = world.network.enrol(Actor::Sampler);
        world.network.agenda.set(slot, Instant::ZERO + every);
        world.sampler = Some(Sampler::new(slot, every));
    }
    Ok(world)
}

/// Refuses what no trial can be, or what would take more room than a machine has.
pub(crate) fn check_whole(spec: &Spec) -> Result<(), SpecError> {
    let measure = &spec.measure;
    let step = measure.step_ns;
    let end = measure.to_ns.unwrap_or(spec.duration_ns);
    let names: BTreeSet<_> = spec.apps.iter().map(|app| &app.name).collect();
    for (wrong, at, problem) in [
        (spec.duration_ns == 0, "duration_ns", "a trial of no length shows nothing"),
        (spec.duration_ns > 1 << 60, "duration_ns", "longer than 36 years"),
        (spec.links.len() > MOST, "links", "more than 10000"),
        (spec.apps.len() > MOST, "apps", "more than 10000"),
        (names.len() < spec.apps.len(), "apps", "two applications have the same name"),
        (step == 0 || measure.window_ns == 0, "measure", "a window of no width counts nothing"),
        (
            step > 0 && measure.window_ns % step != 0,
            "measure.window_ns",
            "not a whole multiple of measure.step_ns",
        ),
        (measure.window_ns > 1 << 60, "measure.window_ns", "longer than 36 years"),
        (measure.points == 0, "measure.points", "a series of no points shows nothing"),
        (measure.from_ns >= end, "measure.from_ns", "not before the end of the measurement"),
        (end > spec.duration_ns, "measure.to_ns", "after the end of the trial"),
    ] {
        if wrong {
            return Err(SpecError::new(at, problem));
        }
    }
    check_room(spec)
}

/// Refuses what is measured in more steps than a machine has room for.
fn check_room(spec: &Spec) -> Result<(), SpecError> {
    let (measure, grain) = (&spec.measure, Grain::of(spec));
    let most = MOST_ROWS / spec.apps.len().max(1) as u64;
    for (wrong, at, problem) in [
        (
            measure.window_ns / measure.step_ns > most,
            "measure.step_ns",
            "more than 20 million steps in the windows of all applications together",
        ),
        (
            measure.series && grain.steps(spec) > most,
            "measure.points",
            "more than 20 million steps of all applications together",
        ),
        (
            measure.series && grain.samples(spec) > MOST_ROWS / 100,
            "measure.points",
            "more than 200000 samples of each TCP and queue",
        ),
    ] {
        if wrong {
            return Err(SpecError::new(at, problem));
        }
    }
    Ok(())
}

/// The port of a link of a trial, at `at` in it, as the simulator runs it.
///
/// # Errors
///
/// If there is no such discipline, or it has no such parameters.
pub fn port(at: &str, link: &LinkSpec, seed: u64) -> Result<Port, SpecError> {
    let rate = wifi::rate(at, link)?
        .or(BitRate::new(link.rate_bps))
        .ok_or_else(|| SpecError::new(format!("{at}.rate_bps"), "a rate of zero sends nothing"))?;
    let qdisc = choose(&format!("{at}.qdisc"), &link.qdisc, aqmlab_qdisc::kinds::find)?.build();
    let over = link.overhead;
    let overhead =
        Overhead { bytes: over.bytes, minimum: over.minimum, atm: over.atm, counted: over.counted };
    let shaper = match link.shaper {
        ShaperSpec::Line => Shaper::Line,
        ShaperSpec::Htb => Shaper::Htb,
        ShaperSpec::Dummynet => Shaper::Dummynet,
    };
    let rng = Rng::stream(seed, &format!("qdisc.{}", link.name));
    let mut port = Port::new(qdisc, rate, overhead, rng)
        .shaped_by(shaper)
        .delayed_by(Duration::from_nanos(link.pipe_delay_ns));
    // Traffic comes to a gateway that has been running; nothing but chance ties its timers to it.
    port.settle(Rng::stream(seed, &format!("phase.{}", link.name)).next_u64());
    Ok(port)
}

fn add_app<O: Observer>(
    world: &mut World<O>,
    spec: &Spec,
    index: usize,
    app: &AppSpec,
) -> Result<(), SpecError> {
    let at = format!("apps[{index}]");
    let chosen = choose(&format!("{at}.app"), &app.app, aqmlab_apps::kinds::find)?;
    let tcp = [
        TcpPlan::new(&format!("{at}.home"), &app.home)?,
        TcpPlan::new(&format!("{at}.wan"), &app.wan)?,
    ];
    let mut routes = Vec::with_capacity(2);
    for (name, route) in [("up", &app.up), ("down", &app.down)] {
        let plan =
            plan_route(&format!("{at}.{name}"), spec, &format!("{}.{name}", app.name), route)?;
        routes.push(world.network.lay(plan));
    }
    let routes: [_; 2] = routes.try_into().ok().expect("two directions, two routes");
    world.network.routes.push(routes);
    if let Some(priority) = app.priority.filter(|&priority| priority > 15) {
        return Err(SpecError::new(format!("{at}.priority"), format!("{priority} is not 0 to 15")));
    }
    let slot = world.network.enrol(Actor::App(index as u32));
    let built = chosen.build();
    crate::datagrams::check(&format!("{at}.app"), app, &*built)?;
    world.apps.push(AppSlot {
        app: Some(built),
        slot,
        wakes: BinaryHeap::new(),
        asked: 0,
        rng: Rng::stream(spec.seed, &format!("app.{}", app.name)),
        conns: Vec::new(),
        tcp,
        priority: app.priority,
        notes: Notes::of(spec),
    });
    let late = spec.start_delay_ns(index);
    let start = Instant::from_nanos(app.start_ns.saturating_add(late));
    world.schedule(index as u32, start, Wake::Start);
    if let Some(stop_ns) = app.stop_ns {
        if stop_ns <= app.start_ns {
            return Err(SpecError::new(format!("{at}.stop_ns"), "not after start_ns"));
        }
        world.schedule(index as u32, Instant::from_nanos(stop_ns.saturating_add(late)), Wake::Stop);
    }
    Ok(())
}

fn plan_route(
    at: &str,
    spec: &Spec,
    name: &str,
    route: &RouteSpec,
) -> Result<RoutePlan, SpecError> {
    if let Some(missing) = route.links.iter().find(|&&link| link >= spec.links.len()) {
        let problem = format!("there is no link number {missing}; there are {}", spec.links.len());
        return Err(SpecError::new(format!("{at}.links"), problem));
    }
    if route.links.len() > 200 {
        return Err(SpecError::new(format!("{at}.links"), "more than 200 links in a row"));
    }
    if route.delay_ns.max(route.jitter_ns).max(spec.host_jitter_ns) > MOST_DELAY_NS {
        return Err(SpecError::new(format!("{at}.delay_ns"), "longer than an hour"));
    }
    if !(0.0..=1.0).contains(&route.loss) {
        return Err(SpecError::new(format!("{at}.loss"), "not between 0 and 1"));
    }
    Ok(RoutePlan {
        links: route.links.clone(),
        delay: Duration::from_nanos(route.delay_ns),
        // The host's jitter is drawn together with the path's: both delay a packet's arrival.
        jitter: Duration::from_nanos(route.jitter_ns.saturating_add(spec.host_jitter_ns)),
        reorder: route.reorder && route.jitter_ns > 0,
        loss: route.loss,
        rng: Rng::stream(spec.seed, &format!("loss.{name}")),
    })
}
