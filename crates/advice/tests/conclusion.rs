//! Advice from verdicts: the tiers, the better gateway, its gains and its costs.

use aqmlab_advice::{Advice, Better, Cause, Evidence, advice_from};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns a verdict on an application with one need. Both of its seeds have the word `word`.
fn verdict(app: &str, word: &str, (p50, p95): (f64, f64)) -> Value {
    let finding = json!({
        "need": "answers", "measure": "round-trip", "unit": "ms", "value": p95, "good": 100.0, "tolerable": 200.0,
        "more_is_better": false, "word": word, "margin": 0.0, "decides": true, "brief": "",
        "text": "", "least": null, "most": null, "over_seeds": null, "is_sure": true, "by_seed": [],
    });
    json!({
        "condition": 0, "app": app, "kind": "game", "word": word, "because": format!("{p95} ms"),
        "felt": "", "sentence": "", "told": "", "seeds": 2, "words_by_seed": [[1, word], [2, word]],
        "time": null, "findings": [finding],
        "medians": {"rtt_p50_ms": p50, "rtt_p95_ms": p95, "throughput_mean_mbit": null},
    })
}

fn transfer(app: &str, mbit: f64) -> Value {
    let mut made = verdict(app, "bad", (400.0, 900.0));
    made["kind"] = json!("bulk");
    made["medians"]["throughput_mean_mbit"] = json!(mbit);
    made
}

/// Returns a gateway with the verdicts at each tier.
fn gateway(name: &str, cases: &[(&str, Vec<Value>)]) -> Value {
    let cases = cases.iter().map(|(tier, verdicts)| json!({"tier": tier, "verdicts": verdicts}));
    let cases: Vec<_> = cases.collect();
    json!({"name": name, "title": format!("the {name}"), "is_at_home": true, "cases": cases})
}

fn advised(today_tier: Option<&str>, gateways: &[Value]) -> Advice {
    let app =
        |name: &str, who: &str, title: &str| json!({"name": name, "who": who, "title": title});
    let evidence: Evidence = serde_json::from_value(json!({
        "tiers": ["slow", "medium", "fast"],
        "today_tier": today_tier,
        "apps": [
            app("game", "Anna", "an online game"),
            app("game-2", "Anna", "an online game"),
            app("film", "", "a film"),
            app("film-2", "", "a film"),
        ],
        "gateways": gateways,
    }))
    .expect("it is an evidence");
    advice_from(&evidence)
}

fn game(word: &str, p95: f64) -> Vec<Value> {
    vec![verdict("game", word, (p95 / 2.0, p95))]
}

/// Returns the name of the better gateway, if there is one.
fn recommended(told: &Advice) -> Option<String> {
    told.conclusion.better.as_ref().map(|better| better.name.clone())
}

#[test]
fn the_slowest_sufficient_tier_stands_between_what_fails_and_what_is_well() {
    let cases = [
        ("slow", game("bad", 900.0)),
        ("medium", game("tolerable", 150.0)),
        ("fast", game("good", 50.0)),
    ];
    let told = advised(None, &[gateway("today", &cases)]);
    let today = &told.conclusion.gateways[0];
    assert_eq!(today.served.as_deref(), Some("medium"));
    assert_eq!(today.failed.as_deref(), Some("slow"));
    assert_eq!(today.well.as_deref(), Some("fast"));
    assert_eq!((today.seeds_served, told.conclusion.seeds), (2, 2));
    assert_eq!(today.failing, ["Anna's online game"]);
}

#[test]
fn an_application_without_measurements_is_neither_served_nor_missed() {
    let silent = verdict("film", "no data", (0.0, 0.0));
    let with = [verdict("game", "good", (20.0, 50.0)), silent];
    let told = advised(None, &[gateway("today", &[("slow", with.to_vec())])]);
    let today = &told.conclusion.gateways[0];
    assert_eq!(today.well.as_deref(), Some("slow"));
    assert_eq!((today.tiers[0].judged, today.tiers[0].served), (1, 1));
}

#[test]
fn a_case_without_measurements_serves_nobody() {
    let silent = || vec![verdict("game", "no data", (0.0, 0.0))];
    let told = |better: &str| {
        let better = vec![verdict("game", better, (20.0, 50.0))];
        advised(
            Some("slow"),
            &[gateway("today", &[("slow", silent())]), gateway("sqm", &[("slow", better)])],
        )
    };
    let both = told("no data");
    assert_eq!(both.conclusion.gateways[0].served, None);
    assert_eq!(both.conclusion.better, None);
    assert_eq!(both.headline.expect("both were run").kind, Cause::Open);
    let texts: Vec<_> = both.sentences.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "With the today, nothing was measured at slow.",
            "With the sqm, nothing was measured at slow.",
            "No router can be recommended: nothing was measured.",
        ]
    );
    let one = told("good").headline.expect("both were run");
    assert_eq!(one.text, "At slow, nothing was measured with the today.");
}

#[test]
fn a_seed_counts_if_no_application_is_bad_in_it() {
    let mut one = verdict("game", "good", (20.0, 50.0));
    let mut other = verdict("film", "good", (20.0, 50.0));
    one["words_by_seed"] = json!([[1, "good"], [2, "bad"], [3, "good"]]);
    other["words_by_seed"] = json!([[1, "good"], [2, "good"], [3, "tolerable"]]);
    let told = advised(None, &[gateway("today", &[("slow", vec![one, other])])]);
    assert_eq!(told.conclusion.gateways[0].seeds_served, 2);
}

#[test]
fn a_slower_tier_that_would_do_by_the_median_is_named_if_nothing_else_is_missed() {
    let cases = [
        ("slow", game("bad", 900.0)),
        ("medium", game("bad", 350.0)),
        ("fast", game("good", 50.0)),
    ];
    let told = advised(None, &[gateway("today", &cases)]);
    let by_median = &told.conclusion.gateways[0].by_median;
    assert_eq!(by_median.len(), 1);
    assert_eq!((by_median[0].tier.as_str(), by_median[0].apps.len()), ("medium", 1));
    let mut cases = cases;
    let lost = json!({
        "need": "loss", "measure": "loss", "unit": "%", "value": 9.0, "good": 1.0, "tolerable": 2.0,
        "more_is_better": false, "word": "bad", "margin": 0.0, "decides": false, "brief": "",
        "text": "", "least": null, "most": null, "over_seeds": null, "is_sure": true, "by_seed": [],
    });
    cases[1].1[0]["findings"].as_array_mut().expect("a list").push(lost);
    let told = advised(None, &[gateway("today", &cases)]);
    assert!(told.conclusion.gateways[0].by_median.is_empty());
}

#[test]
fn the_better_gateway_serves_at_a_slower_tier_or_serves_more_applications_well() {
    let today = gateway("today", &[("slow", game("tolerable", 150.0))]);
    let equal = gateway("sqm", &[("slow", game("tolerable", 150.0))]);
    let well = gateway("sqm", &[("slow", game("good", 50.0))]);
    let none = gateway("today", &[("slow", game("bad", 900.0))]);
    let better =
        |one: &Value, other: &Value| recommended(&advised(None, &[one.clone(), other.clone()]));
    assert_eq!(better(&today, &equal), None);
    assert_eq!(better(&today, &well), Some("sqm".to_owned()));
    assert_eq!(better(&none, &equal), Some("sqm".to_owned()));
    assert_eq!(better(&none, &none), None);
    let mut elsewhere = well.clone();
    elsewhere["is_at_home"] = json!(false);
    elsewhere["name"] = json!("provider");
    let told = advised(None, &[today, elsewhere, well]);
    assert_eq!(recommended(&told).as_deref(), Some("sqm"));
}

#[test]
fn the_better_gateway_is_set_up_for_the_compared_tier_if_it_serves_everyone_there() {
    let today = gateway("today", &[("slow", game("bad", 900.0)), ("fast", game("bad", 900.0))]);
    for (slow, medium, fast, tier) in [
        ("good", "good", "good", "slow"),
        ("good", "good", "bad", "slow"),
        ("bad", "good", "good", "fast"),
        ("bad", "good", "bad", "medium"),
    ] {
        let words = [("slow", slow), ("medium", medium), ("fast", fast)];
        let cases = words.map(|(tier, word)| (tier, game(word, 50.0)));
        let compared = if slow == "good" { None } else { Some("fast") };
        let told = advised(compared, &[today.clone(), gateway("sqm", &cases)]).conclusion;
        let (name, tier) = ("sqm".to_owned(), tier.to_owned());
        let better = Better { name, tier, is_for_slower_tier: false };
        assert_eq!(told.better, Some(better), "{words:?}");
    }
}

#[test]
fn a_gateway_that_serves_in_every_seed_is_better_than_one_with_more_good_verdicts() {
    let mut chance = verdict("game", "good", (20.0, 50.0));
    chance["words_by_seed"] = json!([[1, "good"], [2, "bad"]]);
    let none = gateway("today", &[("slow", game("bad", 900.0))]);
    let chance = gateway("pie", &[("slow", vec![chance])]);
    let sure = gateway("sqm", &[("slow", game("tolerable", 150.0))]);
    let told = advised(None, &[none, chance, sure]);
    assert_eq!(recommended(&told).as_deref(), Some("sqm"));
}

#[test]
fn only_shorter_round_trips_are_gains_and_transfers_have_costs() {
    let now = vec![
        verdict("game", "bad", (400.0, 900.0)),
        verdict("call", "bad", (40.0, 90.0)),
        verdict("speech", "tolerable", (40.0, 9_000.0)),
        transfer("film", 4.0),
        transfer("film-2", 2.0),
    ];
    let mut then = vec![
        verdict("game", "good", (20.0, 30.0)),
        verdict("call", "good", (40.0, 95.0)),
        verdict("speech", "good", (40.0, 90.0)),
        transfer("film", 2.0),
        transfer("film-2", 1.0),
    ];
    for one in &mut then[3..] {
        one["word"] = json!("good");
    }
    let gateways = [gateway("today", &[("slow", now)]), gateway("sqm", &[("slow", then)])];
    let told = advised(Some("slow"), &gateways).conclusion;
    let gains: Vec<_> = told.gains.iter().map(|one| one.app.as_str()).collect();
    assert_eq!(gains, ["Anna's online game", "speech"], "from tolerable too, after the bad ones");
    assert_eq!(told.costs.len(), 1);
    let cost = &told.costs[0];
    assert_eq!(cost.app, "each of the 2 films");
    assert!((cost.today_mbit - 3.0).abs() < 1e-9 && (cost.better_mbit - 1.5).abs() < 1e-9);
    let spoiled: Vec<_> = told.spoiled.iter().map(|one| one.app.as_str()).collect();
    assert_eq!(spoiled, ["Anna's online game", "call", "both films"]);
}

#[test]
fn the_headline_tells_the_gateway_from_the_tier() {
    let words = [
        (
            ("bad", "good"),
            Cause::Gateway,
            "At slow, it is your router, not your speed: Anna's online game suffers.",
        ),
        (
            ("bad", "bad"),
            Cause::Tier,
            "At slow, it is your speed: Anna's online game suffers with either router.",
        ),
        (
            ("good", "good"),
            Cause::Fine,
            "At slow, everything is good with the router that you have.",
        ),
        (
            ("tolerable", "bad"),
            Cause::Fine,
            "At slow, nobody is badly off with the router that you have, but Anna's online game is \
             only tolerable.",
        ),
        (
            ("tolerable", "good"),
            Cause::Gateway,
            "At slow, Anna's online game is only tolerable today, and a better router makes \
             everything good.",
        ),
    ];
    for ((today, better), kind, text) in words {
        let at = |name, word| gateway(name, &[("slow", game(word, 100.0))]);
        let told = advised(Some("slow"), &[at("today", today), at("sqm", better)]);
        let headline = told.headline.expect("both were run");
        assert_eq!((headline.kind, headline.text.as_str()), (kind, text));
    }
}

#[test]
fn without_a_better_gateway_the_headline_is_about_the_one_with_the_fewest_bad_applications() {
    let at = |name, [game, film, call]: [&str; 3]| {
        let verdicts = [("game", game), ("film", film), ("call", call)];
        let made = verdicts.map(|(app, word)| verdict(app, word, (1.0, 2.0)));
        gateway(name, &[("slow", made.to_vec())])
    };
    let today = at("today", ["bad", "bad", "bad"]);
    let gateways = [
        today,
        at("sqm", ["bad", "bad", "good"]),
        at("tolerable", ["tolerable", "bad", "tolerable"]),
        at("cake", ["good", "bad", "good"]),
    ];
    let told = advised(Some("slow"), &gateways);
    assert_eq!(recommended(&told), None);
    assert_eq!(
        told.headline.expect("all were run").text,
        "At slow, it is both your router and your speed: a better router helps Anna's online game \
         and call, but a film suffers even so."
    );
    assert!(told.sentences.iter().any(|one| one.text.starts_with("No router serves everybody")));
}

#[test]
fn a_router_does_not_help_an_application_that_gets_worse() {
    let bad = |app: &str, margin: f64| {
        let mut made = verdict(app, "bad", (1.0, 2.0));
        made["findings"][0]["margin"] = json!(margin);
        made
    };
    let told = |then: Vec<Value>| {
        let now = vec![bad("game", -2.0), bad("film", -2.0)];
        let gateways = [gateway("today", &[("slow", now)]), gateway("sqm", &[("slow", then)])];
        advised(Some("slow"), &gateways).headline.expect("both were run").text
    };
    let film = || verdict("film", "good", (1.0, 2.0));
    assert_eq!(
        told(vec![bad("game", -1.0), film()]),
        "At slow, it is both your router and your speed: a better router helps a film, but Anna's \
         online game suffers even so."
    );
    assert_eq!(
        told(vec![bad("game", -3.0), film()]),
        "At slow, it is both your router and your speed: a better router helps a film, but Anna's \
         online game suffers more than today."
    );
    assert_eq!(
        told(vec![bad("game", -3.0), bad("film", -1.0)]),
        "At slow, it is your speed: Anna's online game and a film suffer with either router."
    );
}

#[test]
fn round_trips_are_praised_only_of_applications_that_improve() {
    let now = vec![verdict("game", "bad", (400.0, 900.0))];
    let then = vec![verdict("game", "bad", (200.0, 450.0))];
    let gateways = [gateway("today", &[("slow", now)]), gateway("sqm", &[("slow", then)])];
    assert!(advised(Some("slow"), &gateways).conclusion.gains.is_empty());
}

#[test]
fn a_faster_tier_that_does_worse_is_named() {
    let cases = [
        ("slow", game("good", 50.0)),
        ("medium", game("tolerable", 150.0)),
        ("fast", game("good", 50.0)),
    ];
    let told = advised(None, &[gateway("today", &cases)]);
    let setbacks = &told.conclusion.gateways[0].setbacks;
    assert_eq!(setbacks.len(), 1);
    assert_eq!((setbacks[0].tier.as_str(), setbacks[0].slower.as_str()), ("medium", "slow"));
    assert_eq!(setbacks[0].apps, ["Anna's online game"]);
}

#[test]
fn many_applications_are_counted() {
    let bad = ["a", "b", "c", "d", "e"].map(|app| verdict(app, "bad", (1.0, 2.0)));
    let told = advised(None, &[gateway("today", &[("slow", bad.to_vec())])]);
    assert_eq!(told.conclusion.gateways[0].failing, ["a", "b", "c", "2 others"]);
}

/// Returns a verdict whose word is `word`, and `bad` in the first `bad_seeds` of its ten seeds.
fn doubtful(app: &str, word: &str, bad_seeds: usize) -> Value {
    let mut made = verdict(app, word, (20.0, 50.0));
    let words = (1..=10).map(|seed| json!([seed, if seed <= bad_seeds { "bad" } else { word }]));
    made["words_by_seed"] = words.collect();
    made
}

/// Returns a case with verdicts on a game, a film and a call.
fn three(words: [&str; 3]) -> Vec<Value> {
    let apps = ["game", "film", "call"];
    apps.iter().zip(words).map(|(app, word)| verdict(app, word, (1.0, 2.0))).collect()
}

fn texts(told: &Advice) -> Vec<&str> {
    told.sentences.iter().map(|one| one.text.as_str()).collect()
}

fn headline(told: &Advice) -> &str {
    &told.headline.as_ref().expect("both were run").text
}

#[test]
fn a_gateway_that_makes_everything_good_at_the_households_tier_is_better() {
    let words = |slow, medium| [("slow", game(slow, 90.0)), ("medium", game(medium, 90.0))];
    let today = gateway("today", &words("good", "tolerable"));
    let sqm = gateway("sqm", &words("tolerable", "good"));
    let told = advised(Some("medium"), &[today, sqm]);
    let better = told.conclusion.better.as_ref().expect("one is better");
    assert_eq!((better.tier.as_str(), better.is_for_slower_tier), ("medium", false));
    assert!(!texts(&told).iter().any(|text| text.starts_with("None of the other")));
    assert!(!texts(&told).iter().any(|text| text.starts_with("You need no other router")));
}

#[test]
fn a_gateway_that_makes_more_good_at_the_households_tier_is_better() {
    let today = gateway("today", &[("slow", three(["tolerable", "tolerable", "good"]))]);
    let sqm = gateway("sqm", &[("slow", three(["tolerable", "good", "good"]))]);
    let told = advised(Some("slow"), &[today.clone(), sqm]);
    assert_eq!(recommended(&told).as_deref(), Some("sqm"));
    assert_eq!(
        headline(&told),
        "At slow, nobody is badly off today, and a better router makes a film good."
    );
    let told = advised(Some("slow"), &[today.clone(), today]);
    assert_eq!(recommended(&told), None);
    assert!(texts(&told).contains(&"None of the other routers does better at slow."));
}

#[test]
fn a_gateway_that_is_not_needed_may_let_a_slower_tier_suffice() {
    let words = |slow, medium, fast| {
        let medium = vec![verdict("game", medium, (1.0, 2.0)), transfer("film", 4.0)];
        let slow = vec![verdict("game", slow, (1.0, 2.0)), transfer("film", 2.0)];
        let fast = vec![verdict("game", fast, (1.0, 2.0)), transfer("film", 9.0)];
        let mut cases = [("slow", slow), ("medium", medium), ("fast", fast)];
        for (_, verdicts) in &mut cases {
            verdicts[1]["word"] = json!("good");
            verdicts[1]["words_by_seed"] = json!([[1, "good"], [2, "good"]]);
        }
        cases
    };
    let today = gateway("today", &words("bad", "bad", "good"));
    let sqm = gateway("sqm", &words("bad", "good", "good"));
    let told = advised(Some("fast"), &[today.clone(), sqm]);
    let better = told.conclusion.better.as_ref().expect("one is better");
    assert_eq!((better.tier.as_str(), better.is_for_slower_tier), ("medium", true));
    assert_eq!(headline(&told), "At fast, everything is good with the router that you have.");
    assert!(
        texts(&told)
            .contains(&"You need no other router at fast. With the sqm, medium would be enough.")
    );
    assert!(told.conclusion.gains.is_empty() && told.conclusion.costs.is_empty());
    let same = gateway("sqm", &words("bad", "bad", "good"));
    let told = advised(Some("fast"), &[today, same]);
    assert_eq!(recommended(&told), None);
    assert!(
        texts(&told).contains(&"None of the other routers does better at fast: today's is enough.")
    );
}

#[test]
fn without_a_tier_a_gateway_that_only_equals_todays_is_not_better() {
    let seldom = gateway("today", &[("slow", vec![doubtful("game", "good", 3)])]);
    let always = gateway("sqm", &[("slow", vec![doubtful("game", "good", 0)])]);
    assert_eq!(recommended(&advised(None, &[seldom, always])), None);
}

#[test]
fn todays_gateway_is_enough_for_the_tier_that_the_household_needs_instead_of_its_own() {
    let at = |name, slow, medium| {
        gateway(name, &[("slow", three(["bad", slow, "good"])), ("medium", three(medium))])
    };
    let today = at("today", "tolerable", ["good", "good", "good"]);
    let sqm = at("sqm", "good", ["good", "good", "good"]);
    let told = advised(Some("slow"), &[today, sqm.clone()]);
    assert_eq!(recommended(&told), None);
    assert!(texts(&told).contains(&"None of the other routers serves everybody at slow."));
    let today = at("today", "tolerable", ["tolerable", "good", "good"]);
    assert_eq!(recommended(&advised(Some("slow"), &[today, sqm])).as_deref(), Some("sqm"));
}

#[test]
fn gateways_with_the_same_tier_differ_by_what_is_not_good_at_all_tiers() {
    let words = |slow, medium| [("slow", game(slow, 90.0)), ("medium", game(medium, 90.0))];
    let today = gateway("today", &words("bad", "bad"));
    let first = gateway("sqm-up", &words("good", "tolerable"));
    let second = gateway("sqm", &words("good", "good"));
    let told = advised(None, &[today, first, second]);
    assert_eq!(recommended(&told).as_deref(), Some("sqm"));
}

#[test]
fn a_median_that_most_seeds_contradict_is_stated_with_its_numbers() {
    let told = |today: Value, better: Value| {
        let at = |name, verdict| gateway(name, &[("slow", vec![verdict])]);
        advised(Some("slow"), &[at("today", today), at("sqm", better)])
    };
    let good = |bad_seeds| doubtful("game", "good", bad_seeds);
    let only_today = told(good(7), doubtful("game", "tolerable", 1));
    assert_eq!(recommended(&only_today).as_deref(), Some("sqm"));
    assert_eq!(
        headline(&only_today),
        "At slow, nobody is badly off today by the median of 10 simulations, but in 7 of them \
         somebody was; with a better router, somebody was in 1."
    );
    let both = told(good(7), good(10));
    assert_eq!(recommended(&both), None);
    assert_eq!(
        headline(&both),
        "At slow, nobody is badly off with the router that you have by the median of 10 \
         simulations, but in 7 of them somebody was."
    );
    assert_eq!(
        texts(&both)[1],
        "With the sqm, slow is the slowest speed at which nobody is badly off by the median of 10 \
         simulations, but in all of them somebody was; it is the slowest of the list."
    );
    assert_eq!(texts(&both)[2], "None of the other routers does better at slow.");
    assert_eq!(
        headline(&told(doubtful("game", "bad", 0), good(6))),
        "At slow, it is your router, not your speed: Anna's online game suffers; even with a \
         better router, somebody suffers in 6 of 10 simulations."
    );
}

#[test]
fn what_is_only_tolerable_at_the_sufficient_tier_is_named() {
    let cases = [
        ("slow", three(["tolerable", "good", "tolerable"])),
        ("fast", three(["good", "good", "good"])),
    ];
    let told = advised(None, &[gateway("today", &cases)]);
    assert_eq!(told.conclusion.gateways[0].tolerable, ["Anna's online game", "call"]);
    assert_eq!(
        texts(&told)[0],
        "With the today, slow is the slowest speed at which nobody is badly off, and the slowest \
         of the list. At slow, Anna's online game and call are only tolerable. Everything is good \
         from fast."
    );
}

#[test]
fn copies_of_an_application_are_told_apart_by_their_number() {
    let at = |name, words: [&str; 3]| {
        let apps = ["film", "film-2", "call"];
        let made = apps.iter().zip(words).map(|(app, word)| {
            let mut made = verdict(app, word, (1.0, 2.0));
            if (name, *app) == ("sqm", "film-2") {
                made["findings"][0]["margin"] = json!(-3.0);
            }
            made
        });
        gateway(name, &[("slow", made.collect())])
    };
    let today = at("today", ["bad", "bad", "bad"]);
    let told = advised(Some("slow"), &[today.clone(), at("sqm", ["bad", "bad", "good"])]);
    assert_eq!(
        headline(&told),
        "At slow, it is both your router and your speed: a better router helps call, but one of \
         the films suffers even so, and another of the films suffers more than today."
    );
    assert!(texts(&told).contains(&"At slow with today's router, both films suffer."));
    assert!(texts(&told).contains(&"Both films, slow: in the first of them, 2 ms."));
    let told = advised(Some("slow"), &[today, at("sqm", ["good", "bad", "bad"])]);
    assert_eq!(
        headline(&told),
        "At slow, it is both your router and your speed: a better router helps one of the films, \
         but call suffers even so, and another of the films suffers more than today."
    );
}

fn cases() -> impl Strategy<Value = Vec<(&'static str, Vec<Value>)>> {
    let word = prop::sample::select(vec!["good", "tolerable", "bad", "no data", "no needs"]);
    let verdicts = ["game", "game-2", "film", "film-2"].map(|app| {
        let made = move |(word, p95): (&str, f64)| {
            let mut made = transfer(app, p95);
            if !app.starts_with("film") {
                made = verdict(app, word, (p95 / 3.0, p95));
            }
            made["word"] = json!(word);
            made["words_by_seed"] = json!([[1, word], [2, word]]);
            made
        };
        prop::option::of((word.clone(), 1.0..1e4).prop_map(made))
    });
    let verdicts = verdicts.prop_map(|all| all.into_iter().flatten().collect::<Vec<_>>());
    let tiers = prop::sample::subsequence(vec!["slow", "medium", "fast"], 0..=3);
    tiers.prop_flat_map(move |tiers| {
        let count = tiers.len();
        prop::collection::vec(verdicts.clone(), count)
            .prop_map(move |all| tiers.clone().into_iter().zip(all).collect())
    })
}

proptest! {
    #[test]
    fn a_headline_agrees_with_the_recommendation(
        today in cases(),
        other in cases(),
        third in cases(),
        tier in prop::sample::select(vec![None, Some("slow"), Some("medium"), Some("fast")]),
    ) {
        let others = [gateway("sqm", &other), gateway("pie", &third)];
        let told = advised(tier, &[&[gateway("today", &today)][..], &others].concat());
        let better = told.conclusion.better.as_ref();
        let texts = told.sentences.iter().map(|one| &one.text);
        for text in texts.chain(told.headline.iter().map(|one| &one.text)) {
            prop_assert!(!text.contains("  ") && !text.contains(" ,"), "{text}");
        }
        match told.headline.map(|one| (one.kind, one.text)) {
            Some((Cause::Gateway, text)) => {
                prop_assert!(better.is_some_and(|one| !one.is_for_slower_tier), "{text}");
            }
            Some((Cause::Fine, text)) => {
                prop_assert!(better.is_none_or(|one| one.is_for_slower_tier), "{text}");
            }
            _ => {}
        }
    }

    #[test]
    fn only_tiers_that_were_run_are_claimed(today in cases(), other in cases()) {
        let ran = [today.clone(), other.clone()];
        let told = advised(None, &[gateway("today", &today), gateway("sqm", &other)]);
        for (result, cases) in told.conclusion.gateways.iter().zip(&ran) {
            let named = [&result.served, &result.well, &result.failed].into_iter().flatten();
            let named = named.chain(&result.exceptions).chain(result.by_median.iter().map(|one| &one.tier));
            for tier in named {
                prop_assert!(cases.iter().any(|(known, _)| known == tier), "{tier}");
            }
        }
    }
}
