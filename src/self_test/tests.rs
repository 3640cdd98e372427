use super::*;

fn part(name: &str, holds: bool) -> Part {
    Part {
        name: name.to_owned(),
        checks: vec![Check {
            holds,
            ..Check::default()
        }],
        ..Part::default()
    }
}

#[test]
fn outcomes_accumulate_and_a_part_s_last_one_counts() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(kept(cache.path()), []);
    for one in [
        part("driver", false),
        part("open-loop", true),
        part("driver", true),
    ] {
        keep(cache.path(), one).unwrap();
    }
    let all = kept(cache.path());
    assert_eq!(all, [part("open-loop", true), part("driver", true)]);
    assert_eq!(cache.path().read_dir().unwrap().count(), 1);
}

#[test]
fn what_cannot_be_read_was_not_run() {
    let cache = tempfile::tempdir().unwrap();
    std::fs::write(cache.path().join("self-test.json"), "[{").unwrap();
    assert_eq!(kept(cache.path()), []);
}
