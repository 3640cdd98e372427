//! What comes on the page of a run while it goes on: its state, whenever that is another.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::response::sse::Event;
use futures_util::Stream;
use futures_util::stream::unfold;

use super::pages;
use super::shelf::{Shelf, Stamp};
use crate::live::Recorded;
use crate::report::markup::Element;

/// Between two looks at the file. Only where it has changed, anything is read of it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A record that is followed by one page.
pub struct Following {
    shelf: Arc<Shelf>,
    path: PathBuf,
    recorded: Recorded,
    /// As the file was when it was read last.
    stamp: Option<Stamp>,
    sent: String,
    is_begun: bool,
    is_over: bool,
}

/// What a look came to.
enum Seen {
    /// As elements.
    State(String),
    Finished,
    Unreadable(String),
    /// Nothing that was not sent.
    Nothing,
}

impl Following {
    /// Of a record of which nothing was sent yet.
    pub fn of(shelf: Arc<Shelf>, path: PathBuf) -> Following {
        Following {
            recorded: Recorded::of(&path),
            shelf,
            path,
            stamp: None,
            sent: String::new(),
            is_begun: false,
            is_over: false,
        }
    }

    /// Its state at present, or why there is none.
    pub fn state(&mut self) -> Result<Element, String> {
        let (stamp, is_written) = self.shelf.state(&self.path);
        if stamp.is_none() {
            return Err("its file is gone".to_owned());
        }
        if stamp != self.stamp {
            self.shelf.look(&mut self.recorded)?;
            self.stamp = stamp;
        }
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_ms = unix_ms.map_or(0, |since| since.as_millis() as u64);
        let now = self.recorded.since_start(unix_ms);
        Ok(pages::state(self.recorded.live(), now, is_written))
    }

    /// Whether its run had gone through to its end when it was looked at last.
    pub fn is_finished(&self) -> bool {
        self.recorded.is_finished()
    }

    fn look(&mut self) -> Seen {
        let state = match self.state() {
            Err(why) => return Seen::Unreadable(why),
            Ok(_) if self.is_finished() => return Seen::Finished,
            Ok(state) => state.to_string(),
        };
        if state == self.sent {
            return Seen::Nothing;
        }
        self.sent.clone_from(&state);
        Seen::State(state)
    }

    /// What is to be sent next; `None` when nothing more will come.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Following)> {
        while !self.is_over {
            if self.is_begun {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            self.is_begun = true;
            let (shelf, path) = (self.shelf.clone(), self.path.clone());
            let looked = tokio::task::spawn_blocking(move || (self.look(), self)).await;
            // A browser would ask for ever anew after a stream that ends without a word.
            let (seen, following) = looked.unwrap_or_else(|_| {
                let why = "a fault of acklab's own".to_owned();
                (Seen::Unreadable(why), Following::of(shelf, path))
            });
            self = following;
            let (name, data) = match seen {
                Seen::Nothing => continue,
                Seen::State(text) => ("state", text),
                Seen::Finished => ("finished", "yes".to_owned()),
                Seen::Unreadable(why) => ("unreadable", why),
            };
            self.is_over = name != "state";
            // Only line feeds end a line of an event.
            let event = Event::default().event(name).data(data.replace('\r', " "));
            return Some((Ok(event), self));
        }
        None
    }
}

/// Everything that comes of a record, as long as its run goes on.
pub fn stream(following: Following) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(following, Following::next)
}
