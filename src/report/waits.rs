//! Whom a commit waits for, in words.

use crate::analysis::summary::WaitsFor;

/// For a table.
pub fn in_short(whom: &WaitsFor) -> String {
    match whom {
        WaitsFor::Nobody => "nobody".to_owned(),
        WaitsFor::Nearest => "nearest".to_owned(),
        WaitsFor::Kth(k) => format!("nearest but {}", k - 1),
        WaitsFor::Farthest => "farthest".to_owned(),
        WaitsFor::Site(site) => site.clone(),
        WaitsFor::Each => "each".to_owned(),
        WaitsFor::Ring => "ring".to_owned(),
        WaitsFor::OrderAndFarthest => "order, farthest".to_owned(),
        WaitsFor::Undecided => "undecided".to_owned(),
    }
}

/// For a line below it.
pub fn in_words(whom: &WaitsFor) -> String {
    let words = match whom {
        WaitsFor::Nobody => "waits for nobody",
        WaitsFor::Nearest => "waits for the nearest peer (of three nodes: a majority)",
        WaitsFor::Kth(k) => return format!("waits for as many as {k} peers, the nearest ones"),
        WaitsFor::Farthest => "waits for the farthest peer, so for all",
        WaitsFor::Site(site) => {
            return format!("waits for the peer at site {site}, however far the other");
        }
        WaitsFor::Each => "each peer's distance counts alike",
        WaitsFor::Ring => {
            "half of the way round over both peers, so the distance between them counts too"
        }
        WaitsFor::OrderAndFarthest => {
            "each peer's distance counts alike, then the farthest's once more"
        }
        WaitsFor::Undecided => {
            "whom it waits for is undecided: not just one way to wait foretells its latencies"
        }
    };
    words.to_owned()
}
