//! Volumes that stall, fail, are full or destroyed, and go back to an image.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use acklab::lab::disk::{Condition, Knock};
use acklab::study::disk::{Delay, Disk, PowerCut};

use super::disk::{
    BLOCK_BYTES, Block, PATIENCE, WATCH, code, direct, first_byte, on_volume, wait_until,
    write_block,
};

#[test]
fn lab_disk_that_stalls_goes_on() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        let file = direct(&path);
        write_block(&file, 1);
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Done);
        volume.stall().unwrap();
        assert_eq!(volume.condition().unwrap(), Condition::Stalled);
        assert_eq!(volume.knock(WATCH).unwrap(), Knock::Waits);
        let write = thread::spawn(move || {
            write_block(&file, 2);
            file.sync_data().expect("a flush");
        });
        thread::sleep(WATCH); // that it does not end is the test
        assert!(!write.is_finished());
        // Who asks from here does not wait with it.
        assert!(volume.samples(1).is_err() && volume.fill(0).is_err());
        volume.go_on().unwrap();
        write.join().expect("a write");
        assert_eq!(first_byte(&path), 2);
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Done);
    });
}

#[test]
fn lab_disk_that_stalls_can_lose_its_power() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        let file = direct(&path);
        write_block(&file, 1);
        nix::unistd::syncfs(&file).expect("a sync");
        volume.stall().unwrap();
        let write = thread::spawn(move || file.write_all_at(&Block([2; BLOCK_BYTES]).0, 0));
        assert_eq!(volume.knock(WATCH).unwrap(), Knock::Waits);
        volume.freeze().unwrap();
        assert!(matches!(
            code(write.join().unwrap()),
            Some(libc::EIO | libc::EROFS)
        ));
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Failed);
        volume.cut_power(PowerCut::DropAll).unwrap();
        assert_eq!(first_byte(&path), 1);
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Done);
    });
}

/// Whoever waits for a disk cannot even be killed; it ends when the disk goes on.
#[test]
fn lab_disk_that_stalls_lets_go_of_the_killed() {
    // So slow that it is not full before it stalls.
    let disk = Disk {
        write: Delay::Constant(Duration::from_millis(1)),
        ..Disk::default()
    };
    on_volume(disk, |volume| {
        let path = volume.mount_point().join("file");
        let mut command = Command::new("dd");
        command
            .args(["if=/dev/zero", "bs=4096", "oflag=direct", "status=none"])
            .arg(format!("of={}", path.display()));
        let mut writer = command.spawn().expect("dd");
        wait_until("it writes", || {
            fs::metadata(&path).is_ok_and(|file| file.len() > 0)
        });
        volume.stall().unwrap();
        assert_eq!(volume.knock(WATCH).unwrap(), Knock::Waits);
        writer.kill().expect("a kill");
        thread::sleep(WATCH); // that it does not end is the test
        assert!(writer.try_wait().expect("a status").is_none());
        volume.go_on().unwrap();
        writer.wait().expect("an end");
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Done);
    });
}

#[test]
fn lab_disk_that_fails_can_be_mended() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        let file = direct(&path);
        write_block(&file, 1);
        nix::unistd::syncfs(&file).expect("a sync");
        write_block(&file, 2);
        volume.fail().unwrap();
        assert_eq!(volume.condition().unwrap(), Condition::Fails);
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Failed);
        let written = file.write_all_at(&Block([3; BLOCK_BYTES]).0, 0);
        assert!(matches!(code(written), Some(libc::EIO | libc::EROFS)));
        drop(file);
        volume.mend().unwrap();
        // It was no power cut.
        assert_eq!(first_byte(&path), 2);
        assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Done);
        assert!(volume.mend().is_err());
    });
}

#[test]
fn lab_disk_that_is_slow_is_seen_to_be() {
    on_volume(Disk::default(), |volume| {
        let flush = Duration::from_millis(50);
        let slow = Disk {
            flush: Delay::Constant(flush),
            ..Disk::default()
        };
        volume.set(slow).unwrap();
        assert!(volume.flushes_take(flush).unwrap());
        volume.set(Disk::default()).unwrap();
        assert!(!volume.flushes_take(PATIENCE).unwrap());
    });
}

#[test]
fn lab_disk_is_filled_and_freed() {
    on_volume(Disk::default(), |volume| {
        let leave = 1 << 20;
        let before = volume.free_bytes().unwrap();
        let taken = volume.fill(leave).unwrap();
        assert!(taken > before / 2, "{taken} of {before}");
        let left = volume.free_bytes().unwrap();
        assert!(left <= leave && left >= leave / 2, "{left}");
        let path = volume.mount_point().join("file");
        let large = vec![1_u8; 8 << 20];
        assert_eq!(code(fs::write(&path, &large)), Some(libc::ENOSPC));
        fs::remove_file(&path).expect("a part of a file");
        volume.free().unwrap();
        assert!(volume.free_bytes().unwrap() > before / 2);
        fs::write(&path, &large).expect("room");
        volume.free().expect("nothing to do");
    });
}

/// Whatever became of it meanwhile, it is what it was.
#[test]
fn lab_disk_goes_back_to_its_image() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        let put = |value: u8| {
            let file = direct(&path);
            write_block(&file, value);
            file.sync_all().expect("a flush");
        };
        put(1);
        let more = volume.mount_point().join("more");
        volume.keep_image().expect("an image");
        assert_eq!(first_byte(&path), 1);
        for round in 0..5_u8 {
            put(9);
            fs::write(&more, vec![round; 3 << 20]).expect("a file");
            match round {
                0 => {}
                1 => {
                    volume.cut_power(PowerCut::Random { seed: 7 }).unwrap();
                }
                2 => volume.stall().unwrap(),
                3 => volume.fail().unwrap(),
                _ => {
                    volume.freeze().unwrap();
                    volume.destroy().unwrap();
                }
            }
            let start = Instant::now();
            let blocks = volume.go_back().expect("the image");
            let took_ms = start.elapsed().as_millis();
            let _ = writeln!(io::stderr(), "{blocks} blocks put back in {took_ms} ms");
            // A small part of the image.
            assert!((1..4_096).contains(&blocks), "{blocks}");
            assert_eq!(first_byte(&path), 1);
            assert!(!more.exists());
            assert_eq!(volume.knock(PATIENCE).unwrap(), Knock::Done);
        }
        // It is checked then.
        volume.keep_image().expect("a clean file system");
    });
}

#[test]
fn lab_disk_that_is_destroyed_is_replaced() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        fs::write(&path, "old").expect("a file");
        volume.keep_image().expect("an image");
        volume.freeze().unwrap();
        volume.destroy().unwrap();
        assert_eq!(volume.condition().unwrap(), Condition::Destroyed);
        assert!(!path.exists() && volume.knock(WATCH).is_err());
        assert!(
            volume.cut_power(PowerCut::KeepAll).is_err(),
            "nothing is left"
        );
        volume.renew().expect("a new disk");
        assert!(!path.exists());
        fs::write(&path, "new").expect("a file");
        volume.cut_power(PowerCut::DropAll).unwrap();
        volume.go_back().expect("the image");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "old");
    });
}
