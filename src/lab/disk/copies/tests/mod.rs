//! What copies promise, against machines that are driven by hand, by chance, and over a simulated
//! network.

mod by_chance;
mod cluster;
mod copy;
mod election;
mod fail_over;
mod head;
mod promotion;
mod shape;
mod simulated;
mod sockets;
mod wires;
mod world;
