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
