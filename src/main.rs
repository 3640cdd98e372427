use std::process::ExitCode;

use acklab::error::Result;
use acklab::lab::link::switch;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("acklab: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// `switch` is hidden: acklab starts it itself.
fn dispatch(words: &[String]) -> Result<()> {
    match words.split_first() {
        Some((verb, rest)) if verb == "switch" => switch::serve(rest),
        _ => Ok(()),
    }
}
