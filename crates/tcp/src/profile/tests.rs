use super::*;

#[test]
fn every_setting_can_be_read_and_written_by_name() {
    let mut profile = Profile::linux();
    for setting in [Stack::Linux, Stack::FreeBsd].into_iter().flat_map(Profile::settings) {
        assert_eq!(profile.get(setting.name), Some(setting.default), "{}", setting.name);
        profile.set(setting.name, setting.default).unwrap();
        assert!(!setting.doc.starts_with(' '), "{}", setting.name);
    }
    assert_eq!(profile, Profile::linux());
}

#[test]
fn every_profile_is_within_the_bounds_of_its_settings() {
    for profile in Profile::all() {
        for setting in Profile::settings(profile.stack) {
            let value = profile.get(setting.name).unwrap();
            assert!(setting.bounds.admit(value), "{}.{}", profile.name, setting.name);
        }
    }
}

#[test]
fn bad_settings_are_refused() {
    let mut profile = Profile::linux();
    let unknown = profile.set("rack_", Value::Flag(true));
    assert_eq!(unknown, Err(BadArgument::Unknown("rack_".into())));
    let mistyped = profile.set("rto_min", Value::Count(3));
    assert_eq!(mistyped, Err(BadArgument::Type("rto_min".into(), "duration")));
    assert!(profile.set("rto_rule", Value::Word("vms", &[])).is_err());
    assert_eq!(profile.set("rto_rule", Value::Word("rfc6298", &[])), Ok(()));
    assert_eq!(profile.rto_rule, RtoRule::Rfc6298);
}

#[test]
fn profiles_are_found_by_name() {
    for profile in Profile::all() {
        assert_eq!(Profile::find(profile.name).as_ref(), Some(&profile));
    }
    assert!(Profile::find("plan9").is_none());
}
