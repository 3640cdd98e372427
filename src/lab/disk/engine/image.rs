//! What a disk holds, as a whole: kept, gone back to, replaced.

use super::Engine;
use crate::lab::disk::condition::Condition;

impl<R> Engine<R> {
    /// As it is now the disk can be gone back to: see [`crate::lab::disk::store::Store::keep`].
    ///
    /// # Errors
    /// Tells why it is not at rest, with all that it holds durable.
    pub fn keep(&mut self) -> Result<(), String> {
        let reason = match self.condition {
            Condition::Works if !self.under_way.is_empty() => "requests are under way",
            Condition::Works if self.store.volatile_bytes() > 0 => "not all of it is durable",
            Condition::Works => {
                self.store.keep();
                if let Some(member) = &mut self.member {
                    member.keep();
                }
                return Ok(());
            }
            _ => "it does not do what it is asked",
        };
        Err(reason.to_owned())
    }

    /// Holds what it held when it was kept, and works again, in upkeep; how many blocks were put
    /// back. One of several copies follows nobody then. All copies of a volume go back, or none:
    /// one alone would have forgotten what it has said that it holds.
    ///
    /// # Errors
    /// Tells why it cannot: it is in use, or nothing was kept.
    pub fn go_back(&mut self) -> Result<u64, String> {
        if !self.condition.fails() {
            return Err("it is in use".to_owned());
        }
        let blocks = self.store.go_back();
        let blocks = blocks.ok_or_else(|| "no image of it was kept".to_owned())?;
        if let Some(member) = &mut self.member {
            member.go_back();
        }
        self.begin_anew();
        Ok(blocks)
    }

    /// Another disk takes the place of one that was destroyed: all zeros, in upkeep; one of several
    /// copies is blank, and obeys no head that the lost one would not have obeyed.
    ///
    /// # Errors
    /// Tells that there is a disk.
    pub fn renew(&mut self) -> Result<(), String> {
        if self.condition != Condition::Destroyed {
            return Err("it is there, and takes no other's place".to_owned());
        }
        self.store.wipe();
        if let Some(member) = &mut self.member {
            member.replace();
        }
        self.begin_anew();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Answer, Request};
    use super::*;
    use crate::lab::disk::store::Store;
    use crate::study::disk::{Disk, PowerCut};

    const NOW: Duration = Duration::from_secs(1);

    /// Replies are numbers here.
    fn engine() -> Engine<u32> {
        let store = Store::in_memory(1 << 20).unwrap();
        let mut engine = Engine::new(store, Disk::default(), 7);
        engine.set_upkeep(false);
        engine
    }

    fn write(engine: &mut Engine<u32>, value: u8) {
        let data = [value];
        let write = Request::Write {
            offset: 0,
            data: &data,
        };
        assert_eq!(engine.submit(NOW, write, 1), [(1, Answer::Written(1))]);
    }

    fn flush(engine: &mut Engine<u32>) {
        let done = engine.submit(NOW, Request::Flush, 2);
        assert_eq!(done, [(2, Answer::Flushed)]);
    }

    fn first_byte(engine: &mut Engine<u32>) -> u8 {
        let read = Request::Read {
            offset: 0,
            bytes: 1,
        };
        match &engine.submit(NOW, read, 3)[..] {
            [(3, Answer::Data(data))] => data[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_disk_goes_back_as_often_as_one_likes() {
        let mut engine = engine();
        write(&mut engine, 1);
        let reason = engine.keep().unwrap_err();
        assert!(reason.contains("durable"), "{reason}");
        flush(&mut engine);
        engine.keep().unwrap();
        for value in [2, 3] {
            write(&mut engine, value);
            flush(&mut engine);
            assert!(engine.go_back().is_err(), "it is in use");
            engine.freeze();
            assert_eq!(engine.go_back(), Ok(1));
            assert_eq!(first_byte(&mut engine), 1);
        }
        assert_eq!(engine.condition(), Condition::Works);
    }

    #[test]
    fn what_was_never_kept_cannot_be_gone_back_to() {
        let mut engine = engine();
        engine.freeze();
        let reason = engine.go_back().unwrap_err();
        assert!(reason.contains("kept"), "{reason}");
        assert!(engine.keep().is_err());
        assert_eq!(engine.condition(), Condition::NoPower);
    }

    #[test]
    fn a_destroyed_disk_is_replaced_by_an_empty_one() {
        let mut engine = engine();
        write(&mut engine, 1);
        flush(&mut engine);
        engine.keep().unwrap();
        assert!(engine.renew().is_err());
        engine.destroy();
        // No power cut brings it back.
        engine.freeze();
        assert_eq!(engine.condition(), Condition::Destroyed);
        assert!(engine.check_there().is_err() && engine.mend().is_err());
        engine.renew().unwrap();
        assert_eq!(first_byte(&mut engine), 0);
        write(&mut engine, 2);
        engine.freeze();
        engine.cut(PowerCut::KeepAll);
        assert_eq!(first_byte(&mut engine), 2);
        engine.destroy();
        assert_eq!(engine.go_back(), Ok(1));
        assert_eq!(first_byte(&mut engine), 1);
    }
}
