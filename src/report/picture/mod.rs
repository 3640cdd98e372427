//! Pictures as SVG: the one way in which anything is drawn, in files and on the page.
//!
//! - `sheet`: a whole picture, as a file of its own or as a part of a page
//! - `plot`: lines and points over two axes; `bars`: bars beside their names
//! - `frame`: the axes of a plot; `scale`: figures to pixels, and round ones to stand at axes
//! - `ink`: colours, dashes, marks; `legend`: what they stand for; `letters`: room for texts
//!
//! No reader needs the colours: lines differ in their dashes too, points in their marks. Texts are
//! texts, in the reader's own font: how wide they are is estimated, and rather too wide.

mod bars;
mod frame;
mod ink;
mod legend;
mod letters;
mod plot;
mod scale;
mod sheet;

pub use bars::{Bar, Bars};
pub use frame::Axis;
pub use plot::{Plot, Point, Series, Span, Upright, Way};
pub use sheet::Picture;

#[cfg(test)]
mod tests;
