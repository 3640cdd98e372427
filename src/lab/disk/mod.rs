//! Disks in user space: how long a request takes, and what a power cut leaves.
//!
//! Every node has a volume, a child process of ours that serves one image as a file; a loop device
//! on that file carries an ext4, and the server's data lie on that.
//!
//! - `store`: the image, durable and volatile; `pace`: when a request is done
//! - `engine`: both together, still without a clock; `desk`: with threads; `fuse`: with the kernel
//! - `volume`: the process; `wire`: what it is told; `process`, `handle`: pid 1's side
//! - `loop_device`, `ext4`: what stands on the file; `probe`: what a user of it sees
//! - `condition`: whether it does what it is asked; `full`: a file that takes all room
//! - `copies`: the machines of a volume with several copies; `replica`: what is asked of one of
//!   them, and what it tells; `fail_over`: which one leads when the head is lost
//! - `needs`: what all this wants of the machine; `counters`: what is counted

mod busy;
mod condition;
pub mod copies;
pub mod counters;
mod desk;
mod engine;
pub mod ext4;
mod fail_over;
mod full;
mod fuse;
pub mod handle;
pub mod loop_device;
pub mod needs;
pub mod pace;
mod parent;
pub mod probe;
mod process;
mod punctual;
pub mod replica;
pub mod store;
#[cfg(test)]
mod tests;
pub mod volume;
mod wire;

pub use condition::Condition;
pub use counters::VolumeCounters;
pub use fail_over::{Takeover, fail_over};
pub use handle::{Halted, Volume, VolumeSpec};
pub use needs::{check_room, missing};
pub use probe::Knock;
pub use replica::{CopySet, Lead, Remembered, Standing};
pub use store::CutReport;
