//! CAKE in the words of `tc` and of sqm-scripts.
//!
//! CAKE is its own shaper and charges the framing of the line itself, so it needs neither HTB nor
//! `stab`. A home gateway translates addresses. With `nat`, CAKE tells the hosts behind the gateway
//! apart. Source: tc-cake(8); sqm-scripts `functions.sh` (`get_cake_lla_string`),
//! `piece_of_cake.qos` and `layer_cake.qos`.

use std::collections::BTreeMap;

use crate::device::{Bottleneck, Framing, Setting};

/// Returns whether the discipline of a direction is CAKE.
pub(crate) fn is_cake(shaper: &Bottleneck) -> bool {
    shaper.qdisc == "cake"
}

/// Returns CAKE with its rate, its parameters and the framing, in the words of `tc`.
pub(crate) fn spelled(shaper: &Bottleneck, framing: Framing) -> String {
    let mut words = vec![format!("cake bandwidth {}kbit", shaper.kbit())];
    words.extend(options(&shaper.params, &[]));
    words.push(format!("nat overhead {}", framing.bytes));
    if framing.minimum > 0 {
        words.push(format!("mpu {}", framing.minimum));
    }
    words.push(if framing.atm { "atm" } else { "noatm" }.to_owned());
    words.join(" ")
}

/// Returns the words of CAKE's parameters, without the rate, the framing and the parameters in
/// `without`.
fn options(params: &BTreeMap<String, Setting>, without: &[&str]) -> Vec<String> {
    let word = |(name, value): (&String, &Setting)| match (name.as_str(), value) {
        (name, _) if without.contains(&name) => None,
        ("diffserv" | "isolation" | "network", Setting::Text(word)) => Some(word.clone()),
        ("ack_filter", Setting::Text(word)) => Some(match word.as_str() {
            "on" => "ack-filter".to_owned(),
            "aggressive" => "ack-filter-aggressive".to_owned(),
            _ => "no-ack-filter".to_owned(),
        }),
        ("wash", Setting::Flag(on)) => Some(if *on { "wash" } else { "nowash" }.to_owned()),
        ("ingress", Setting::Flag(on)) => Some(if *on { "ingress" } else { "egress" }.to_owned()),
        ("autorate_ingress", Setting::Flag(true)) => Some("autorate-ingress".to_owned()),
        ("rtt" | "memlimit", Setting::Text(value)) => Some(format!("{name} {value}")),
        _ => None,
    };
    params.iter().filter_map(word).collect()
}

/// Returns the script of sqm-scripts that sets up CAKE with the parameters of both directions, and
/// the names and values of the options that the script needs. Returns `None` if no script has the
/// tins of both directions.
pub(crate) fn script(
    up: Option<&Bottleneck>,
    down: Option<&Bottleneck>,
) -> Option<(&'static str, Vec<(String, String)>)> {
    let tins = |shaper: &Bottleneck| match shaper.params.get("diffserv") {
        Some(Setting::Text(word)) => word.clone(),
        _ => "diffserv3".to_owned(),
    };
    let (above, below) = (up.map(tins), down.map(tins));
    let is = |tins: &Option<String>, word: &str| tins.as_ref().is_none_or(|it| it == word);
    let name = match (is(&above, "besteffort"), is(&above, "diffserv3")) {
        (true, _) if is(&below, "besteffort") => "piece_of_cake.qos",
        (_, true) if is(&below, "besteffort") || is(&below, "diffserv3") => "layer_cake.qos",
        _ => return None,
    };
    let washes = down.is_some_and(|it| it.params.get("wash") == Some(&Setting::Flag(true)));
    let switch = |on: bool| if on { "1" } else { "0" }.to_owned();
    let words = |shaper: Option<&Bottleneck>| {
        let all = shaper.map(|it| options(&it.params, &["diffserv", "wash"])).unwrap_or_default();
        [vec!["nat".to_owned()], all].concat().join(" ")
    };
    let options = [
        ("squash_dscp", switch(washes)),
        ("squash_ingress", switch(is(&below, "besteffort"))),
        ("eqdisc_opts", words(up)),
        ("iqdisc_opts", words(down)),
    ];
    Some((name, options.map(|(name, value)| (name.to_owned(), value)).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DOCSIS, shaper};

    fn cake(params: &[(&str, Setting)]) -> Bottleneck {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Bottleneck { params: params.collect(), ..shaper(19_000_000, "cake") }
    }

    fn text(word: &str) -> Setting {
        Setting::Text(word.to_owned())
    }

    #[test]
    fn cake_charges_the_framing_itself_and_sees_the_hosts_behind_the_gateway() {
        assert_eq!(
            spelled(
                &cake(&[("diffserv", text("besteffort")), ("wash", Setting::Flag(true))]),
                DOCSIS
            ),
            "cake bandwidth 19000kbit besteffort wash nat overhead 18 mpu 64 noatm"
        );
        let atm = Framing { bytes: 40, minimum: 0, atm: true, counted: 0 };
        let told = [("ack_filter", text("on")), ("rtt", text("30000us")), ("mpu", text("68"))];
        assert_eq!(
            spelled(&cake(&told), atm),
            "cake bandwidth 19000kbit ack-filter rtt 30000us nat overhead 40 atm"
        );
    }

    #[test]
    fn sqm_has_a_script_for_one_tin_and_a_script_for_three() {
        let one = cake(&[("diffserv", text("besteffort")), ("wash", Setting::Flag(true))]);
        let three = cake(&[("isolation", text("dual-srchost"))]);
        let (name, _) = script(Some(&one), Some(&one)).expect("there is one");
        assert_eq!(name, "piece_of_cake.qos");
        let (name, options) = script(Some(&three), Some(&one)).expect("there is one");
        assert_eq!(name, "layer_cake.qos");
        for (option, value) in
            [("squash_dscp", "1"), ("squash_ingress", "1"), ("eqdisc_opts", "nat dual-srchost")]
        {
            assert!(options.contains(&(option.to_owned(), value.to_owned())), "{option}");
        }
        assert!(script(Some(&cake(&[("diffserv", text("diffserv8"))])), None).is_none());
    }
}
