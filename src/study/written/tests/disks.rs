//! `disk`, `images`, and a sweep's axis of disks.

use proptest::prelude::*;

use super::*;
use crate::study::{Delay, Disk, Disks, ImagePlace, Images};

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

fn flush(flush_ms: f64) -> Disk {
    Disk {
        flush: Delay::Constant(ms(flush_ms)),
        ..Disk::default()
    }
}

/// A study of one sweep with the given lines, and the given ones at its top.
fn disks(top: &str, sweep: &str) -> Vec<Disks> {
    study(top, sweep).sweeps.remove(0).disks
}

fn study(top: &str, sweep: &str) -> Study {
    meant(&text(top, sweep))
}

fn text(top: &str, sweep: &str) -> String {
    format!("{top}\n{SINGLE}{SWEEP}{sweep}\n")
}

fn labels(disks: &[Disks]) -> Vec<&str> {
    disks.iter().map(|disks| disks.label.as_str()).collect()
}

#[test]
fn a_mode_with_copies_puts_all_modes_on_emulated_disks() {
    let copied = format!("{SINGLE}\n[[mode]]\nserver = \"mysql\"\nmode = \"mirror\"\n{SWEEP}");
    let study = meant(&copied);
    let images = Images {
        place: ImagePlace::Memory,
        bytes: 954 << 20,
    };
    assert_eq!(study.images, Some(images));
    let plain = Disks {
        label: "flush 0 ms".into(),
        all: Disk::default(),
        by_site: BTreeMap::new(),
    };
    assert_eq!(study.sweeps[0].disks, [plain]);
}

#[test]
fn one_sweep_with_disks_puts_all_sweeps_on_emulated_disks() {
    let text = format!("{SINGLE}{SWEEP}{SWEEP}flush = [\"1ms\", \"4ms\"]\n");
    let study = meant(&text);
    assert!(study.images.is_some());
    assert_eq!(labels(&study.sweeps[0].disks), ["flush 0 ms"]);
    assert_eq!(labels(&study.sweeps[1].disks), ["flush 1 ms", "flush 4 ms"]);
    assert_eq!(study.sweeps[1].disks[1].all, flush(4.0));
}

#[test]
fn a_disk_is_called_after_all_that_differs_from_none() {
    let disks = disks(
        r#"disk = { read = "80us", write = { low = "0.1ms", high = "0.3ms" },
                    flush = { median = "1ms", p99 = "4ms" }, iops = 3000,
                    bandwidth = "150MB/s", write_cache = true, b = { flush = "5ms" } }"#,
        "",
    );
    assert_snapshot!(disks[0].label, @"flush 1 ms (p99 4 ms), write 0.1 ms to 0.3 ms, read 80 µs, 3000 IOPS, 150 MB/s, b: flush 5 ms");
}

#[test]
fn a_sweeps_disk_lies_on_the_studys() {
    let top = r#"disk = { flush = "1ms", iops = 500, b = { flush = "5ms" }, c = { iops = 100 } }"#;
    assert_eq!(
        labels(&disks(top, "")),
        ["flush 1 ms, 500 IOPS, b: flush 5 ms, c: 100 IOPS"]
    );
    let raised = disks(top, "flush = \"2ms\"").remove(0);
    assert_eq!(raised.all.flush, flush(2.0).flush);
    // What is said of one site holds against what is said of all.
    assert_eq!(raised.of("b").flush, flush(5.0).flush);
    assert_eq!(
        (raised.of("c").flush, raised.of("c").iops),
        (flush(2.0).flush, Some(100))
    );
    let sweep = "[[sweep.disk]]\nlabel = \"b as c\"\nb = { flush = \"3ms\", iops = 100 }\n\
                 [[sweep.disk]]\nwrite_cache = true\n";
    let [own, same] = &disks(top, sweep)[..] else {
        panic!("two")
    };
    assert_eq!(
        (own.label.as_str(), own.of("b").flush),
        ("b as c", flush(3.0).flush)
    );
    assert_eq!(
        same.label,
        "flush 1 ms, 500 IOPS, b: flush 5 ms, c: 100 IOPS"
    );
}

#[test]
fn a_disk_without_a_write_cache_is_told() {
    let uncached =
        "disk = [{ write_cache = false, write = \"0.5ms\" }, { a = { write_cache = false } }]";
    assert_eq!(
        labels(&disks("", uncached)),
        [
            "write 0.5 ms, no write cache",
            "flush 0 ms, a: no write cache"
        ]
    );
}

#[test]
fn both_short_and_long_forms_may_be_given() {
    let sweep = "flush = [\"0ms\", { low = \"1ms\", high = \"3ms\" }]\ndisk = { iops = 200 }";
    assert_eq!(
        labels(&disks("", sweep)),
        ["flush 0 ms", "flush 1 ms to 3 ms", "flush 0 ms, 200 IOPS"]
    );
}

#[test]
fn images_ask_for_emulated_disks() {
    let study = study(
        "images = { place = \"/var/tmp/disks\", size = \"512MB\" }",
        "",
    );
    let images = study.images.unwrap();
    assert_eq!(images.place, ImagePlace::Folder("/var/tmp/disks".into()));
    assert_eq!(images.bytes, 489 << 20);
    assert!(images.bytes >= 512_000_000 && images.bytes < 513_100_000);
    assert_eq!(labels(&study.sweeps[0].disks), ["flush 0 ms"]);
}

#[test]
fn a_mode_can_have_images_of_its_own_size() {
    let study = meant(&with_mode("mysql", "single", "image = \"2GB\""));
    assert_eq!(study.modes[0].image_bytes, Some(1908 << 20));
    // To say so asks for emulated disks, and leaves all others as they are.
    assert_eq!(study.images.map(|images| images.bytes), Some(954 << 20));
    let wrong = mistakes(&with_mode("mysql", "single", "image = \"1MB\""));
    assert_snapshot!(wrong, @r#"study.toml:4: mode[1].image: given "1MB"; must be a size from 400 MB to 1000 GB, such as "1GB""#);
}

#[test]
fn disks_have_limits() {
    let wrong = |lines: &str| mistakes(&text(lines, ""));
    assert_snapshot!(wrong("disk = { flush = \"1h\" }"), @r#"study.toml:1: disk.flush: given "1h"; must be a time from 0 to 10 s"#);
    assert_snapshot!(wrong("disk = { write = \"-1ms\", read = 5 }"), @r#"
    study.toml:1: disk.write: given "-1ms"; must be a time from 0 to 10 s
    study.toml:1: disk.read: given 5; must be a time from 0 to 10 s, with its unit, such as "2.15ms"
    "#);
    assert_snapshot!(wrong("disk = { iops = 0, bandwidth = \"0MB/s\" }"), @r#"
    study.toml:1: disk.iops: given 0; must be a whole number from 10 to 10000000
    study.toml:1: disk.bandwidth: given "0MB/s"; must be a rate from 1 MB/s to 100 GB/s, such as "150MB/s"
    "#);
    assert_snapshot!(wrong("disk = { bandwidth = \"150mb\", write_cache = \"no\" }"), @r#"
    study.toml:1: disk.bandwidth: given "150mb"; must be a rate from 1 MB/s to 100 GB/s, such as "150MB/s"
    study.toml:1: disk.write_cache: given "no"; must be true or false
    "#);
    assert_snapshot!(wrong("disk = { d = { flush = \"1ms\" }, flsh = \"1ms\" }"), @r#"
    study.toml:1: disk.d: given { flush = "1ms" }; no such key; known here are read, write, flush, iops, bandwidth, write_cache, a, b, c
    study.toml:1: disk.flsh: given "1ms"; no such key; did you mean flush?
    "#);
    assert!(read(&text("disk = { flush = \"0ms\" }", "")).is_ok());
    assert!(read(&text("disk = { flush = \"10s\" }", "")).is_ok());
    let wrong = |delay: &str| mistakes(&text(&format!("disk = {{ flush = {delay} }}"), ""));
    assert_snapshot!(wrong("{ low = \"1ms\" }"), @r#"study.toml:1: disk.flush.high: is missing; give low and high, or median and p99"#);
    assert_snapshot!(wrong("{}"), @"
    study.toml:1: disk.flush.median: is missing; give low and high, or median and p99
    study.toml:1: disk.flush.p99: is missing; give low and high, or median and p99
    ");
    assert_snapshot!(wrong("{ low = \"4ms\", high = \"1ms\" }"), @r#"study.toml:1: disk.flush.high: given "1ms"; must be at least 4 ms, the shortest time"#);
    assert_snapshot!(wrong("{ median = \"4ms\", p99 = \"1ms\" }"), @r#"study.toml:1: disk.flush.p99: given "1ms"; must be at least 4 ms, the median"#);
    assert_snapshot!(wrong("{ median = \"0ms\", p99 = \"1ms\" }"), @r#"study.toml:1: disk.flush.median: given "0ms"; must be above 0: half of all times lie below it"#);
    assert_snapshot!(wrong("{ low = \"1ms\", high = \"2ms\", p99 = \"3ms\" }"), @r#"study.toml:1: disk.flush.p99: given "3ms"; no such key; known here are low, high"#);
    assert_snapshot!(wrong("{ median = \"1ms\", p99 = \"11s\" }"), @r#"study.toml:1: disk.flush.p99: given "11s"; must be a time from 0 to 10 s"#);
    let wrong = |lines: &str| mistakes(&text(lines, ""));
    assert_snapshot!(wrong("images = { place = \"disks\", size = \"1 gb\" }"), @r#"
    study.toml:1: images.place: given "disks"; must be "memory", or a folder by its whole path
    study.toml:1: images.size: given "1 gb"; must be a size from 400 MB to 1000 GB, such as "1GB"
    "#);
    assert_snapshot!(wrong("images = { size = \"1MB\", where = \"memory\" }"), @r#"
    study.toml:1: images.size: given "1MB"; must be a size from 400 MB to 1000 GB, such as "1GB"
    study.toml:1: images.where: given "memory"; no such key; known here are place, size
    "#);
}

#[test]
fn a_flush_without_a_cache_means_nothing() {
    let advice = "has a flush time and write_cache = false: without a volatile cache a flush costs \
                  nothing; give write a time instead";
    let wrong = |top, sweep, at: &str| {
        let found = mistakes(&text(top, sweep));
        assert!(found.contains(at) && found.contains(advice), "{found}");
    };
    wrong(
        "disk = { write_cache = false, flush = \"1ms\" }",
        "",
        "study.toml:1: disk: given",
    );
    wrong(
        "disk = { flush = \"1ms\", b = { write_cache = false } }",
        "",
        "study.toml:1: disk: given",
    );
    wrong(
        "disk = { write_cache = false }",
        "flush = [\"0ms\", \"1ms\"]",
        "sweep[1].flush[2]: given \"1ms\";",
    );
    wrong(
        "disk = { flush = \"1ms\" }",
        "disk = { write_cache = false }",
        "sweep[1].disk: given",
    );
    assert!(read(&text("disk = { write_cache = false }", "flush = \"0ms\"")).is_ok());
}

#[test]
fn a_label_of_disks_stands_for_one_kind_only() {
    let sweep =
        "disk = [{ label = \"slow\", flush = \"1ms\" }, { label = \"Slow!\", flush = \"2ms\" }]";
    assert_snapshot!(mistakes(&text("", sweep)), @r#"study.toml:10: sweep[1].disk[2]: given { label = "Slow!", flush = "2ms" }; the label "Slow!" already stands for other disks"#);
    assert_snapshot!(mistakes(&text("", "flush = []\ndisk = 5")), @"
    study.toml:10: sweep[1].flush: given []; must not be empty
    study.toml:11: sweep[1].disk: given 5; must be a table
    ");
}

#[test]
fn sites_leave_the_words_of_disks_alone() {
    for word in ["read", "write", "flush", "iops"] {
        let found = mistakes(&with_top(&format!("sites = [\"a\", \"{word}\"]")));
        assert!(
            found.contains("is a word with a meaning of its own"),
            "{found}"
        );
    }
}

#[test]
fn disks_are_an_axis_of_the_studys_length() {
    let text = text(
        "rounds = 1000\nmeasure = \"1m\"",
        "flush = [\"0ms\", \"1ms\", \"2ms\"]",
    );
    assert!(mistakes(&text.replace("1m\"", "1h\"")).contains("3 cells × 1000 rounds"));
}

/// A time as it is written and as it is meant, in µs.
fn any_delay() -> impl Strategy<Value = (String, Delay)> {
    let times = (1u64..10_000_000, 0u64..10_000_000, 0u8..3);
    times.prop_map(|(one, other, kind)| {
        let (low, high) = (one.min(other.max(1)), one.max(other));
        let [least, most] = [low, high].map(Duration::from_micros);
        match kind {
            0 => (
                format!("\"{one}us\""),
                Delay::Constant(Duration::from_micros(one)),
            ),
            1 => (
                format!("{{ low = \"{low}us\", high = \"{high}us\" }}"),
                Delay::Uniform {
                    low: least,
                    high: most,
                },
            ),
            _ => (
                format!("{{ median = \"{low}us\", p99 = \"{high}us\" }}"),
                Delay::LogNormal {
                    median: least,
                    p99: most,
                },
            ),
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_of_a_disk_is_meant(
        (read, read_meant) in any_delay(),
        (flush, flush_meant) in any_delay(),
        (own, own_meant) in any_delay(),
        iops in 10u32..10_000_000,
        megabytes in 1u64..100_000,
    ) {
        let top = format!(
            "disk = {{ read = {read}, flush = {flush}, iops = {iops}, \
             bandwidth = \"{megabytes}MB/s\", b = {{ flush = {own} }} }}"
        );
        let disks = disks(&top, "").remove(0);
        let all = Disk {
            read: read_meant,
            flush: flush_meant,
            iops: Some(iops),
            bandwidth_bytes_per_s: Some(megabytes * 1_000_000),
            ..Disk::default()
        };
        prop_assert_eq!(disks.of("a"), all);
        prop_assert_eq!(disks.of("b"), Disk { flush: own_meant, ..all });
        let only = matches!(flush_meant, Delay::Constant(_)) && own_meant == flush_meant;
        prop_assert_eq!(disks.equal_flush().is_some(), only);
    }
}
