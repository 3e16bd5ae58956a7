//! Objects that are in the ensemble: reading them, and writing them on condition that the writer's node is there.
//!
//! Source: `ZooKeeper.multi`, `Op.check`; the repair of Kafka's zombie controllers, <https://github.com/apache/kafka/pull/5101>.
//!
//! A write is one `multi`: `check` of the owner's node, which is gone with its session, or of the object's version, and
//! `setData`. A read is no part of a `multi` that checks: it is answered by the client's server from what that has, be the
//! owner's node there or not.
//!
//! What is not answered is asked again, also when the session is another by then, as Kafka's controller does
//! (`KafkaZkClient.retryRequestsUntilConnected`): a write that was done and not answered is done twice, if its condition holds.

use host::Duration;
use spec::Version;

use super::client::{Client, Failure};
use super::path::Path;
use super::queue::make_nodes;
use super::{Body, Mode, Multi, Op, OpResult, SetData, Value, ZkError, ZkHost, ZkRequest, names};
use crate::etcd::Errand;
use crate::guard::Guard;
use crate::resource::{Action, Op as GuardedOp, OpReply};

/// Does an operation on an object, as `guard` says. `None`: no clear answer.
pub(super) async fn operate<H: ZkHost>(
    host: &H,
    client: &Client<H>,
    guard: Guard,
    own: Path,
    op: &GuardedOp,
) -> Option<OpReply> {
    let path = names::object(op.object);
    let request = match op.action {
        Action::Read => ZkRequest::GetData { path, watch: false },
        Action::Write { based_on } => ZkRequest::Multi(Box::new(write(guard, own, op, based_on))),
        // The loader refuses what only a resource of its own can do.
        Action::Mark | Action::Ticket | Action::Effect { .. } => return None,
    };
    let mut answer = insist(host, client, &request).await;
    if is_missing(&answer) {
        make_nodes(host, client, [names::DATA.as_str().into(), path], Mode::Persistent).await.ok()?;
        answer = insist(host, client, &request).await;
    }
    match answer.ok()? {
        Body::Data { stat, .. } => Some(OpReply::Version(version(stat.version))),
        Body::Multi { results } => match results.last()? {
            OpResult::Set { stat } => Some(OpReply::Version(version(stat.version))),
            _ => None,
        },
        Body::MultiFailed { .. } => Some(OpReply::Refused),
        _ => None,
    }
}

/// Asks until somebody answers, be it in another session.
async fn insist<H: ZkHost>(host: &H, client: &Client<H>, request: &ZkRequest) -> Result<Body, Failure> {
    loop {
        match client.call(host, request.clone()).await {
            // Who is told at once does not ask at once, or nobody else would run again.
            Err(Failure::ConnectionLoss | Failure::Expired) => host.sleep(Duration::from_millis(1)).await,
            answer => return answer,
        }
    }
}

fn write(guard: Guard, own: Path, op: &GuardedOp, based_on: Option<Version>) -> Multi {
    let path = names::object(op.object);
    let known = based_on.and_then(|version| i32::try_from(version.0).ok()).filter(|_| guard == Guard::Version);
    let set = Op::SetData(SetData { path, data: Value::from(""), version: known });
    // Nobody writes it, so that its version is the first.
    let check = (guard == Guard::OwnerKey).then_some(Op::Check { path: own, version: Some(0) });
    let errand = Errand { op: op.id, object: op.object, based_on };
    Multi { ops: check.into_iter().chain([set]).collect(), errand: Some(errand) }
}

/// Whether the object is not there yet.
fn is_missing(answer: &Result<Body, Failure>) -> bool {
    match answer {
        Err(Failure::Refused(ZkError::NoNode)) => true,
        // What is written is the last of a `multi`; what is checked before it may be missing for good.
        Ok(Body::MultiFailed { at, error: ZkError::NoNode, of }) => at + 1 == *of,
        _ => false,
    }
}

fn version(version: i32) -> Version {
    Version(u64::try_from(version).unwrap_or(0))
}
