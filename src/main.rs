//! Calls the library and chooses the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("drive") => exit(acklab::load::driver::serve(
            std::io::stdin(),
            std::io::stdout(),
        )),
        _ => ExitCode::SUCCESS,
    }
}

fn exit(result: acklab::error::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
