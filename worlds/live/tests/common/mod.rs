//! What the conformance of every kind of server has in common.

use libtest_mimic::Failed;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestError, TestRng, TestRunner};

/// A trial, by its name.
pub(crate) type Named = (&'static str, fn() -> Outcome);

/// How a trial ends.
pub(crate) type Outcome = Result<(), Failed>;

/// Draws so many sequences, the same from the same seed, and makes one that fails smaller in so many tries at most. Every
/// field is set: what is left out, the library reads from the environment.
pub(crate) fn runner(seed: u8, cases: u32, tries: u32) -> TestRunner {
    let config = Config {
        cases,
        max_local_rejects: 65_536,
        max_global_rejects: 1_024,
        max_flat_map_regens: 1_000_000,
        failure_persistence: None,
        source_file: None,
        test_name: None,
        max_shrink_time: 60_000,
        max_shrink_iters: tries,
        max_default_size_range: 100,
        verbose: 0,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed.into()),
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]))
}

/// What a sequence that was answered otherwise comes to. The log in it is that of the shortest that was found.
pub(crate) fn why<T>(error: TestError<T>) -> Failed {
    match error {
        TestError::Fail(why, _) | TestError::Abort(why) => why.to_string().into(),
    }
}
