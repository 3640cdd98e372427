//! Whatever is in a file, nothing panics.

use proptest::prelude::*;

use super::*;

/// What a slip of the hand, or of the mind, may leave in a file.
const PIECES: [&str; 12] = [
    "",
    "=",
    "\"",
    "[",
    "]]",
    "{}",
    "0",
    "-1",
    "\"µ\"",
    "true",
    "[mode]\n",
    "1979-05-27",
];

proptest! {
    #[test]
    fn any_text_gives_a_study_or_mistakes(
        from: prop::sample::Index,
        length in 0usize..30,
        piece in prop::sample::select(&PIECES[..]),
    ) {
        let text = include_str!("../../../../docs/study.md");
        let text = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let letters: Vec<char> = text.chars().collect();
        let start = from.index(letters.len());
        let end = letters.len().min(start + length);
        let damaged: String =
            letters[..start].iter().copied()
                .chain(piece.chars())
                .chain(letters[end..].iter().copied())
                .collect();
        if let Err(error) = read(&damaged) {
            let Error::Mistakes(mistakes) = error else { panic!("{error}") };
            prop_assert!(!mistakes.is_empty());
            prop_assert!(mistakes.iter().all(|mistake| mistake.place.starts_with("study.toml:")));
        }
    }
}
