//! Parses the command line, calls the library, prints once, chooses the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match acklab::cli::run(&words) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("acklab: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
