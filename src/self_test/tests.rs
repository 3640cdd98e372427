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
fn outcomes_accumulate_and_a_part_s_last_one_counts_in_short_and_whole() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(kept(cache.path()), []);
    let short = |holds| Part {
        is_quick: true,
        ..part("driver", holds)
    };
    for one in [
        part("driver", false),
        part("open-loop", true),
        part("driver", true),
        short(false),
        short(true),
    ] {
        keep(cache.path(), one).unwrap();
    }
    let all = [part("open-loop", true), part("driver", true), short(true)];
    assert_eq!(kept(cache.path()), all);
    assert_eq!(cache.path().read_dir().unwrap().count(), 1);
}

#[test]
fn what_cannot_be_read_was_not_run() {
    let cache = tempfile::tempdir().unwrap();
    std::fs::write(cache.path().join("self-test.json"), "[{").unwrap();
    assert_eq!(kept(cache.path()), []);
}
