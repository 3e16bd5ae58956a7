//! `bounds`: within what something must have happened.
//!
//! | key | judges | says |
//! |---|---|---|
//! | `progress` | `progress` | how long somebody may wait for a lock that nobody uses |
//! | `inform` | `holder-informed` | how long a client may go on in a lock that it has lost |
//! | `leak` | `no-leak` | how long a lock is in nobody's use at the end of the run before it is lost for good |
//! | `overtakes` | `fairness` | how often somebody who waits may be overtaken |
//!
//! None has a default: what is soon enough depends on the lease, the retries and the faults. A property
//! without its bound is not judged, and to expect something of it is a mistake.

use host::Duration;
use spec::Bounds;

use super::error::Sink;
use super::expect::Claims;
use super::reader::{Fields, table};
use super::tree::Node;
use super::value::{integer, positive, show};

/// Reads `bounds`. `horizon` and `ttl` are the file's; an unreadable one is `None`.
pub(super) fn bounds(
    fields: &mut Fields<'_>,
    horizon: Option<Duration>,
    ttl: Option<Option<Duration>>,
) -> Option<Bounds> {
    let sink = fields.sink;
    let Some(entry) = fields.get("bounds") else { return Some(Bounds::default()) };
    let within = |sink, node| within_horizon(sink, node, horizon);
    table(sink, &entry.node, "`bounds`", |fields| {
        let progress = fields.maybe("progress", within);
        let inform = fields.maybe("inform", within);
        let leak = fields.maybe("leak", |sink, node| beyond_lease(sink, node, within(sink, node)?, ttl));
        let overtakes = fields.maybe("overtakes", |sink, node| {
            integer(sink, node, "`overtakes` is a whole number", 0, i64::from(u32::MAX)).and_then(|n| n.try_into().ok())
        });
        Some(Bounds { progress: progress?, inform: inform?, leak: leak?, overtakes: overtakes? })
    })
}

/// A bound that a run can pass.
fn within_horizon(sink: &Sink, node: &Node, horizon: Option<Duration>) -> Option<Duration> {
    let bound = positive(sink, node)?;
    match horizon {
        Some(horizon) if bound >= horizon => {
            let message = format!("the run ends after {}: it can never last for so long", show(horizon));
            sink.error(node.site, message);
            None
        }
        _ => Some(bound),
    }
}

/// What a lease still ends is not lost for good.
fn beyond_lease(sink: &Sink, node: &Node, leak: Duration, ttl: Option<Option<Duration>>) -> Option<Duration> {
    match ttl.flatten() {
        Some(ttl) if leak <= ttl => {
            let message = format!("a lease of {} may still end what lasts for no longer than that", show(ttl));
            sink.error(node.site, message);
            None
        }
        _ => Some(leak),
    }
}

/// Refuses what is expected of a property that is not judged, at its place.
pub(super) fn check_claims(sink: &Sink, bounds: &Bounds, claims: &Claims<'_>) {
    for (property, (_, site)) in &claims.properties {
        if let Some(key) = property.bound().filter(|_| !property.is_judged(bounds)) {
            let message = format!("`{}` is not judged without its bound", property.name());
            sink.error_with(*site, message, Some(format!("say `bounds.{key}`")));
        }
    }
}
