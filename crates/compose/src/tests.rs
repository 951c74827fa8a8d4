use super::*;

const HOME: &str = r#"
duration = "20 s"

[path]
rate = "95/90 %"
rtt = "30 ms"
qdisc = "fq_codel limit=1000 target=5ms"
shaper = "htb"
overhead = "docsis"

[path.modem]
rate = "50/2.5 Mbit/s"
qdisc = "pfifo limit=250"
overhead = "docsis"

[apps.zebra]
kind = "bulk"
direction = "up"
start = "1.5 s"

[apps.film]
kind = "dash"
max_rate = "5 Mbit/s"
rtt = "15 ms"
"#;

#[test]
fn a_shaped_gateway_before_a_modem_has_four_links_and_shares_of_its_rates() {
    let spec = from_toml(HOME, 7).expect("it is a scenario").spec;
    let links: Vec<_> = spec.links.iter().map(|one| (one.name.as_str(), one.rate_bps())).collect();
    let expected = [
        ("up", 2_250_000),
        ("down", 47_500_000),
        ("modem-up", 2_500_000),
        ("modem-down", 50_000_000),
    ];
    assert_eq!(links, expected);
    assert_eq!(spec.apps[0].up.links, [0, 2]);
    assert_eq!(spec.apps[0].down.links, [3, 1]);
    assert_eq!(spec.seed, 7);
}

#[test]
fn applications_keep_their_order() {
    let spec = from_toml(HOME, 7).expect("it is a scenario").spec;
    let names: Vec<_> = spec.apps.iter().map(|app| app.name.as_str()).collect();
    assert_eq!(names, ["zebra", "film"]);
}

#[test]
fn json_and_toml_compose_to_the_same_trial() {
    let table: toml::Table = toml::from_str(HOME).expect("it is TOML");
    let json = serde_json::to_string(&table).expect("it is JSON");
    let text = |made: Result<Composed, _>| {
        serde_json::to_string(&made.expect("a trial").spec).expect("text")
    };
    assert_eq!(text(from_json(&json, 3)), text(from_toml(HOME, 3)));
}

#[test]
fn a_tolerance_applies_to_an_application_and_its_copies() {
    let text = HOME.replace("[apps.film]\n", "[apps.film]\ncount = 2\n");
    let text = format!("{text}\n[report.tolerances]\nfilm = \"0.3 s\"\nzebra = \"40 ms\"\n");
    let limits_ms = from_toml(&text, 7).expect("it is a scenario").limits_ms;
    let told: Vec<_> = limits_ms.iter().map(|(app, ms)| (app.as_str(), *ms as u64)).collect();
    assert_eq!(told, [("film-1", 300), ("film-2", 300), ("zebra", 40)]);
    let wrong = from_toml(&text.replace("0.3 s", "0.3"), 7).unwrap_err();
    assert_eq!(wrong.at, "report.tolerances.film");
}

#[test]
fn a_tolerance_does_not_apply_to_applications_with_longer_names() {
    let others =
        ["film-hd", "film-2", "game-1"].map(|name| format!("[apps.{name}]\nkind = \"voip\"\n"));
    let text = format!("{HOME}\n[apps.call]\nkind = \"voip\"\ncount = 2\n{}", others.concat());
    let text = format!(
        "{text}[report.tolerances]\ncall-2 = \"2 s\"\nfilm = \"3 s\"\ncall = \"1 s\"\ngame = \"4 s\"\n"
    );
    let limits_ms = from_toml(&text, 7).expect("it is a scenario").limits_ms;
    let told: Vec<_> = limits_ms.iter().map(|(app, ms)| (app.as_str(), *ms as u64)).collect();
    assert_eq!(told, [("call-1", 1_000), ("call-2", 2_000), ("film", 3_000), ("game-1", 4_000)]);
}

#[test]
fn errors_name_the_place() {
    for (key, value, told) in [
        ("duration", "20", "duration: `20` is not a duration; write it as in \"40 ms\""),
        ("title = 1\nspeed", "x", "line 3: unknown field `speed`"),
    ] {
        let text = HOME.replacen("duration = \"20 s\"", &format!("{key} = \"{value}\""), 1);
        let error = from_toml(&text, 1).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
    let wrong = |from: &str, to: &str| from_toml(&HOME.replacen(from, to, 1), 1).unwrap_err();
    assert_eq!(wrong("95/90 %", "195/90 %").at, "path.down.rate");
    assert_eq!(wrong("fq_codel", "fq_code").at, "path.up.qdisc");
    assert_eq!(wrong("limit=1000", "lmit=1000").at, "path.up.qdisc.lmit");
    assert_eq!(wrong("\"dash\"", "\"das\"").at, "apps.film");
    assert_eq!(wrong("max_rate = \"5 Mbit/s\"", "max_rate = 5").at, "apps.film.max_rate");
    assert_eq!(wrong("overhead = \"docsis\"", "overhead = \"dsl\"").at, "path.up.overhead");
}
