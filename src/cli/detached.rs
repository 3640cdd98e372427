//! The detached lab.
pub struct Wish { pub mode: String, pub server: Option<String>, pub rtt: String, pub nodes: Option<u32>, pub tls: bool, pub my_cnf: Option<std::path::PathBuf> }
use crate::error::Result;
pub fn up(_: &Wish) -> Result<u8> { Ok(0) }
pub fn exec(_: &str, _: &[String]) -> Result<u8> { Ok(0) }
pub fn sql(_: &str, _: &str) -> Result<u8> { Ok(0) }
pub fn status() -> Result<u8> { Ok(0) }
pub fn down() -> Result<u8> { Ok(0) }
