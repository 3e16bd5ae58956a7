//! The words of messages: what was expected, and what might be meant.

/// ``one of `a`, `b`, `c` ``.
pub(super) fn expected<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [one, other] => format!("{one} or {other}"),
        many => format!("one of {}", many.join(", ")),
    }
}

/// ``did you mean `word`?``, if one of the candidates is near enough to be a slip of the finger.
pub(super) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A third of the letters: `nodee` is `node`, but `pause` is not `kill`. A word of one or two
    // letters is near to everything, so it must have the right letters in the wrong case.
    let allowed = word.chars().count() / 3;
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

fn distance(word: &str, candidate: &str) -> usize {
    // A word that was cut short is near, however much is missing: `rate` is `rate-ppm`.
    let cut_short = word.len() > 2 && candidate.starts_with(word);
    if cut_short || word.eq_ignore_ascii_case(candidate) { 0 } else { strsim::osa_distance(word, candidate) }
}
