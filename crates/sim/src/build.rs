//! Builds the world of a trial from its parts.

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_trial::resolve::{Resolved, ResolvedApp};
use aqmlab_trial::spec::Spec;
use aqmlab_trial::{AppRunner, Grain, Impairments, gateway_shapers};

use crate::agenda::HostActor;
use crate::network::Network;
use crate::observer::Observer;
use crate::route::RoutePlan;
use crate::sampler::Sampler;
use crate::world::{AppSlot, World};

/// Builds the world of `spec` from its resolved `parts`, with an `observer`.
pub(crate) fn build<O: Observer>(spec: &Spec, parts: Resolved, observer: O) -> World<O> {
    let mut network = Network::new(observer, spec.seed);
    for (link, built) in spec.links.iter().zip(parts.links) {
        network.add_link(link.name.clone(), built.port, link.own);
        if let (Some(wifi), Some(config)) = (link.wifi, built.radio) {
            network.add_radio(wifi.cell, config);
        }
    }
    let mut slots = Vec::with_capacity(spec.apps.len());
    let mut apps = Vec::with_capacity(spec.apps.len());
    for (index, ResolvedApp { app, endpoints }) in parts.apps.into_iter().enumerate() {
        let of = &spec.apps[index];
        let routes = Direction::BOTH
            .map(|direction| network.create_route(plan_route(spec, index, direction)));
        network.routes.push(routes);
        let slot = network.agenda.register(HostActor::App(index as u32));
        slots.push(AppSlot {
            slot,
            endpoints,
            host: spec.home_host(index) as u32,
            priority: of.packet_priority(),
            dscp: of.dscp.unwrap_or(0),
            shapers: app.sets_shapers().then(|| gateway_shapers(spec, index)).flatten(),
        });
        apps.push(app);
    }
    let mut world = World {
        network,
        conns: Vec::new(),
        apps: slots,
        runner: AppRunner::new(spec, apps),
        touched: Vec::new(),
        sampler: None,
        events: 0,
    };
    for app in 0..spec.apps.len() as u32 {
        world.request_wake(app);
    }
    let every = Grain::of(spec).sample;
    if spec.keeps_series() && every > Duration::ZERO {
        let slot = world.network.agenda.register(HostActor::Sampler);
        world.network.agenda.set(slot, Instant::ZERO + every);
        world.sampler = Some(Sampler::new(slot, every));
    }
    world
}

fn plan_route(spec: &Spec, app: usize, direction: Direction) -> RoutePlan {
    let route = spec.apps[app].route(direction);
    let impairments = Impairments::new(spec, app, direction);
    RoutePlan {
        links: route.links.clone(),
        delay: route.delay,
        jitter: route.jitter_with(spec.host_jitter),
        reorder: route.reorders(),
        impairments: (!impairments.is_none()).then_some(impairments),
    }
}
