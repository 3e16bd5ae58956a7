//! Waiting for a key to be deleted, as client libraries do: a watch, which is made anew when it breaks.

use host::{Calls, Connection, Duration};

use super::client::Client;
use super::{EtcdHost, EventKind, Key, Keys, Revision, Rpc, Watch};

/// How long a watch that broke waits before it is made anew (`retryConnWait`).
const AGAIN: Duration = Duration::from_millis(500);

/// Watches that key from that revision on until it is deleted.
pub(super) async fn until_deleted<H: EtcdHost>(host: &H, client: &Client<H>, key: Key, mut from: Revision) {
    loop {
        let opened = <H as Calls<Rpc>>::connect(host, client.turn(host), client.timeout()).await;
        if let Ok(stream) = opened {
            let watch = Watch::of(Keys::One(key), Some(from));
            if stream.call(watch.into(), client.timeout()).await.is_ok() {
                while let Some(push) = stream.pushed().await {
                    if push.events.iter().any(|event| matches!(event.kind, EventKind::Delete { .. })) {
                        return;
                    }
                    from = push.header.revision.next();
                }
            }
        }
        host.sleep(AGAIN).await;
    }
}
