//! A progress bar for work that takes longer than a second, on a terminal only.
//!
//! Workers count into an atomic; one thread, which has nothing else to do, draws. (Results must not
//! know how long something took: only the bar looks at a clock.)

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::ThreadPool;
use scenarios::Progress;

/// Does the work in the pool, and shows how far it is if it takes long.
pub(crate) fn watched<T: Send>(
    pool: &ThreadPool,
    progress: &Progress,
    runs: u64,
    work: impl FnOnce() -> T + Send,
) -> T {
    let (done, is_done) = channel();
    let mut result = None;
    pool.in_place_scope(|scope| {
        let result = &mut result;
        scope.spawn(move |_| {
            *result = Some(work());
            // The receiver may be gone only if drawing panicked.
            let _ = done.send(());
        });
        if std::io::stderr().is_terminal() && is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let bar = bar(runs);
            while is_done.recv_timeout(BETWEEN_FRAMES) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(progress.runs());
            }
            bar.finish_and_clear();
        }
    });
    result.expect("the scope waits for its work, and a panic in it goes on")
}

fn bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {human_pos} of {human_len} runs, {eta} left");
    ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr())
        .with_style(style.expect("the template is right"))
}

/// How long somebody waits before wanting to know.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN_FRAMES: Duration = Duration::from_millis(100);
