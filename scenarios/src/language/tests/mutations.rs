//! No text makes the loader panic: it is loaded, or refused with a reason and a place.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};

use super::*;
use crate::catalogue;

/// One slip of somebody who edits a file.
#[derive(Clone, Debug)]
enum Slip {
    Delete { at: usize, length: usize },
    Insert { at: usize, text: String },
    DeleteLine(usize),
    RepeatLine(usize),
    SwapLines(usize, usize),
    SwapWords(usize, usize),
}

fn slip() -> impl Strategy<Value = Slip> {
    let at = any::<usize>();
    let text = prop_oneof![
        "[a-z\\-]{1,6}",
        "\\PC{1,3}",
        "[\\[\\]{}=\"'.,#\n0-9-]{1,3}",
        Just("\"99999999999999h\"".to_owned()),
        Just("{ from = \"0s\", to = \"1s\", step = \"1ns\" }".to_owned()),
        Just("9223372036854775807".to_owned()),
    ];
    prop_oneof![
        (at, 1..9_usize).prop_map(|(at, length)| Slip::Delete { at, length }),
        (at, text).prop_map(|(at, text)| Slip::Insert { at, text }),
        at.prop_map(Slip::DeleteLine),
        at.prop_map(Slip::RepeatLine),
        (at, at).prop_map(|(a, b)| Slip::SwapLines(a, b)),
        (at, at).prop_map(|(a, b)| Slip::SwapWords(a, b)),
    ]
}

impl Slip {
    fn make(&self, text: &str) -> String {
        let letters: Vec<char> = text.chars().collect();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let within = |at: usize, count: usize| at % count.max(1);
        match self {
            Self::Delete { at, length } => {
                let at = within(*at, letters.len());
                letters[..at].iter().chain(letters.iter().skip(at + length)).collect()
            }
            Self::Insert { at, text } => {
                let at = within(*at, letters.len());
                letters[..at].iter().copied().chain(text.chars()).chain(letters[at..].iter().copied()).collect()
            }
            Self::DeleteLine(at) => {
                let at = within(*at, lines.len());
                lines.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, line)| *line).collect()
            }
            Self::RepeatLine(at) => {
                let at = within(*at, lines.len());
                lines.iter().enumerate().flat_map(|(i, line)| vec![*line; if i == at { 2 } else { 1 }]).collect()
            }
            Self::SwapLines(a, b) => swapped(lines, *a, *b),
            Self::SwapWords(a, b) => swapped(text.split_inclusive([' ', '\n']).collect(), *a, *b),
        }
    }
}

fn swapped(mut pieces: Vec<&str>, a: usize, b: usize) -> String {
    let count = pieces.len().max(1);
    if !pieces.is_empty() {
        pieces.swap(a % count, b % count);
    }
    pieces.concat()
}

/// Every field is set, since the defaults read the environment.
fn config() -> Config {
    Config {
        cases: 2_000,
        failure_persistence: None,
        source_file: None,
        test_name: None,
        max_local_rejects: 1,
        max_global_rejects: 1,
        max_flat_map_regens: 1,
        max_shrink_time: 0,
        max_shrink_iters: 1_000,
        max_default_size_range: 100,
        result_cache: proptest::test_runner::basic_result_cache,
        verbose: 0,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(7),
        _non_exhaustive: (),
    }
}

#[test]
fn slips_in_a_file_of_the_catalogue_never_make_it_panic() {
    let texts: Vec<_> = catalogue::all().into_iter().map(|entry| entry.text).collect();
    let strategy = (any::<prop::sample::Index>(), prop::collection::vec(slip(), 1..5));
    each(&strategy, |(text, slips)| {
        let slipped = slips.iter().fold((*text.get(&texts)).to_owned(), |text, slip| slip.make(&text));
        check_places(&slipped, &[])
    });
    for slip in ["", "\u{feff}", "\0", "=", "[[[", "a.b.c.d=1\n[a]\nb=2"] {
        check_places(slip, &[]);
    }
}

#[test]
fn slips_in_arguments_never_make_it_panic() {
    let text = file("[fault.gc]\npause = \"A\"\nfor = \"1s\"\n[matrix.case]\na = { client.B.off = true }\n");
    let argument = (any::<prop::sample::Index>(), prop::collection::vec(slip(), 0..3));
    let argument = argument.prop_map(|(argument, slips)| {
        slips.iter().fold((*argument.get(&ARGUMENTS)).to_owned(), |text, slip| slip.make(&text))
    });
    each(&prop::collection::vec(argument, 1..3), |arguments| check_places(&text, arguments));
}

/// Arguments as they are typed, with quotes and without.
const ARGUMENTS: [&str; 16] = [
    "seeds=10",
    "ttl=5s",
    "ttl = \"5s\"",
    "lock=redis",
    "lock.redis.token=incr-in-script",
    "resource='fence_rw'",
    "fault.gc.for=15s",
    "fault.gc.when={ point = \"about-to-write\", nth = 2 }",
    "fault.\"gc\".when.point=granted",
    "client.A.policy=naive",
    "client.A.do=[\"acquire\", { sleep = \"1s\" }]",
    "client.C={ count = 2 }",
    "node.A.rate-ppm=-500",
    "title=ein Täst → 日本",
    "matrix.case.a.client.B.off=false",
    "matrix.\"fault.gc.for\"={ from = \"1s\", to = \"2s\", step = \"500ms\" }",
];

/// Runs many cases; some of them must be accepted, and some refused.
fn each<S: Strategy>(strategy: &S, accepts: impl Fn(&S::Value) -> bool) {
    let (loaded, refused) = (Cell::new(0), Cell::new(0));
    let result = TestRunner::new(config()).run(strategy, |case| {
        let count = if accepts(&case) { &loaded } else { &refused };
        count.set(count.get() + 1);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(loaded.get() > 100 && refused.get() > 100, "slips of one kind only: {loaded:?}, {refused:?}");
}

/// Whatever is wrong has a place in one of the texts, and can be shown. Whether nothing is.
fn check_places(text: &str, arguments: &[String]) -> bool {
    let overrides: Vec<_> = arguments.iter().map(Override::new).collect();
    let Err(errors) = load("slipped.toml", text, &overrides) else { return true };
    assert!(!errors.errors().is_empty());
    for error in errors.errors() {
        let (text, span) = (&errors.texts()[error.text].content, &error.span);
        assert!(text.get(span.clone()).is_some(), "{error:?}");
        assert!(error.text == 0 || *text == arguments[error.text - 1], "{error:?}");
    }
    assert!(errors.to_string().lines().count() >= 5 * errors.errors().len());
    assert!(errors.coloured().len() > errors.to_string().len());
    false
}
