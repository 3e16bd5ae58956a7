//! Ctrl-C: the first asks the sweep to stop and keeps what is finished, the second ends at once.

use std::sync::Arc;

use fencepost::exit::Exit;
use scenarios::Progress;

use crate::output::remark;

/// From here on Ctrl-C stops this sweep. Without a handler (a platform that has no signals) Ctrl-C
/// ends the program as ever.
pub(crate) fn stops(progress: &Arc<Progress>) {
    let progress = Arc::clone(progress);
    let installed = ctrlc::set_handler(move || {
        if progress.is_stopped() {
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
        progress.stop();
    });
    if let Err(error) = installed {
        remark(format_args!("warning: Ctrl-C will not keep finished results: {error}"));
    }
}

/// What is said of work that was stopped.
pub(crate) fn kept(finished: u64, all: u64, thing: &str) -> String {
    let things = if all == 1 { thing.to_owned() } else { format!("{thing}s") };
    match finished {
        0 => format!("interrupted before the first of {all} {things} was finished"),
        _ => format!("interrupted: {finished} of {all} {things} finished, and kept"),
    }
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn what_was_stopped_says_what_is_left_of_it() {
        assert_eq!(kept(0, 2, "cell"), "interrupted before the first of 2 cells was finished");
        assert_eq!(kept(0, 1, "cell"), "interrupted before the first of 1 cell was finished");
        assert_eq!(kept(1, 2, "cell"), "interrupted: 1 of 2 cells finished, and kept");
    }
}
