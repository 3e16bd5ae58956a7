//! The words of messages: what was expected, what might be meant, what there is.
//!
//! There are two kinds of words. A word of the *language* is listed nowhere but in messages, so they list
//! all that fit, unless the right one is known anyway and the list is long. A *name* is somebody's own (a
//! fault, an axis); the others of its kind are listed if the right one is not known and they are few.

use super::error::Sink;
use super::tree::Site;

/// The most words that are listed when there is something better to say.
const FEW: usize = 8;
/// The most words that are listed when there is nothing better to say.
const MANY: usize = 16;

/// What a word that `owner` does not have might mean, to be put after a message: the word that is nearly
/// the same, or else all that the owner has, if they are few.
///
/// ```
/// # use scenarios::language::instead;
/// let known = ["open", "fence_rw"];
/// assert_eq!(instead("opne", "the axis", &known), "; did you mean `open`?");
/// assert_eq!(instead("closed", "the axis", &known), "; the axis has: `open`, `fence_rw`");
/// assert_eq!(instead("closed", "the axis", &[]), "; the axis has none");
/// ```
#[must_use]
pub fn instead(word: &str, owner: &str, known: &[&str]) -> String {
    match (did_you_mean(word, known.iter().copied()), known) {
        (Some(meant), _) => format!("; {meant}"),
        (None, []) => format!("; {owner} has none"),
        (None, few) if few.len() <= MANY => format!("; {owner} has: {}", quoted(few.iter().copied()).join(", ")),
        (None, _) => String::new(),
    }
}

/// Reports a name of somebody's own that is none of those there are; `message` says so.
pub(super) fn no_such_name<'a>(
    sink: &Sink,
    site: Site,
    message: &str,
    name: &str,
    there: impl IntoIterator<Item = &'a str>,
) {
    let there: Vec<_> = there.into_iter().collect();
    match did_you_mean(name, there.iter().copied()) {
        Some(meant) => sink.error_with(site, message, Some(meant)),
        None => sink.error_listing(site, message, instead(name, "it", &there), None),
    }
}

/// Reports a word of the language that is none of `words`; `message` says so, `introduced` leads over to
/// the words.
pub(super) fn no_such_word(
    sink: &Sink,
    site: Site,
    message: &str,
    meant: Option<&str>,
    introduced: &str,
    words: &[&str],
) {
    let list = if meant.is_some() && words.len() > FEW {
        String::new()
    } else {
        format!("{introduced} {}", expected(words.iter().copied()))
    };
    sink.error_listing(site, message, list, meant.map(question));
}

/// ``one of `a`, `b`, `c` ``.
pub(super) fn expected<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = quoted(words);
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [one, other] => format!("{one} or {other}"),
        many => format!("one of {}", many.join(", ")),
    }
}

/// ``did you mean `word`?``, if one of the candidates is near enough to be a slip of the finger.
pub(super) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(question)
}

/// The candidate that is near enough to be meant by a slip of the finger.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the letters: `nodee` is `node`, but `pause` is not `kill`. A word of one or two
    // letters is near to everything, so it must have the right letters in the wrong case.
    let allowed = word.chars().count() / 3;
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn question(meant: &str) -> String {
    format!("did you mean `{meant}`?")
}

fn distance(word: &str, candidate: &str) -> usize {
    // A word that was cut short is near, however much is missing: `rate` is `rate-ppm`.
    let cut_short = word.len() > 2 && candidate.starts_with(word);
    if cut_short || word.eq_ignore_ascii_case(candidate) || is_turned_round(word, candidate) {
        0
    } else {
        strsim::osa_distance(word, candidate)
    }
}

/// Whether it is the same words in another order: `clock-step` is `step-clock`.
fn is_turned_round(word: &str, candidate: &str) -> bool {
    let sorted = |text: &str| {
        let mut parts: Vec<String> = text.split('-').map(str::to_owned).collect();
        parts.sort_unstable();
        parts
    };
    word.contains('-') && word.len() == candidate.len() && sorted(word) == sorted(candidate)
}

fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words.into_iter().map(|word| format!("`{word}`")).collect()
}
