//! A progress bar for work that takes longer than a second, on a terminal only.
//!
//! Workers count into an atomic; one thread, which has nothing else to do, draws, and takes what the work
//! has to say meanwhile. (Results must not know how long something took: only the bar looks at a clock.)

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::ThreadPool;
use scenarios::Progress;

/// What work reports while it goes on.
enum News<M> {
    Message(M),
    Done,
}

/// Where work reports what is finished.
pub(crate) struct Reporter<M>(Sender<News<M>>);

impl<M> Reporter<M> {
    /// Reports something, in the order in which it is to be told.
    pub(crate) fn report(&self, message: M) {
        // The receiver may be gone only if telling or drawing panicked.
        let _ = self.0.send(News::Message(message));
    }
}

/// Does the work in the pool, tells what it reports, and shows how far it is if it takes long.
pub(crate) fn watched<T: Send, M: Send>(
    pool: &ThreadPool,
    progress: &Progress,
    runs: u64,
    work: impl FnOnce(&Reporter<M>) -> T + Send,
    tell: impl FnMut(M),
) -> T {
    let (sender, news) = channel();
    let mut result = None;
    pool.in_place_scope(|scope| {
        let result = &mut result;
        scope.spawn(move |_| {
            let reporter = Reporter(sender);
            *result = Some(work(&reporter));
            let _ = reporter.0.send(News::Done);
        });
        follow(&news, progress, runs, tell);
    });
    result.expect("the scope waits for its work, and a panic in it goes on")
}

/// Tells and draws until the work is done, or has panicked.
fn follow<M>(news: &Receiver<News<M>>, progress: &Progress, runs: u64, mut tell: impl FnMut(M)) {
    let mut bar: Option<ProgressBar> = None;
    let mut wait = if std::io::stderr().is_terminal() { PATIENCE } else { Duration::MAX };
    loop {
        match news.recv_timeout(wait) {
            Ok(News::Message(message)) => match &bar {
                Some(bar) => bar.suspend(|| tell(message)),
                None => tell(message),
            },
            Ok(News::Done) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                wait = BETWEEN_FRAMES;
                bar.get_or_insert_with(|| new_bar(runs)).set_position(progress.runs());
            }
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {human_pos} of {human_len} runs, {eta} left");
    ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr())
        .with_style(style.expect("the template is right"))
}

/// How long somebody waits before wanting to know.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN_FRAMES: Duration = Duration::from_millis(100);
