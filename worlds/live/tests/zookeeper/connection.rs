//! The connection over which the models' own clients speak to real servers, with the host of the live world.

use fencepost_live::client::{LiveHost, ZkConnection, run};
use fencepost_live::servers::zookeeper::{ZkEnsemble, ZkSettings};
use host::{CallError, Calls, ConnectError, Connection, Duration, NodeId, Server, all};
use libtest_mimic::Failed;
use models::zookeeper::{
    Body, Connect, Credentials, EventKind, Millis, Mode, ZkError, ZkEvent, ZkReply, ZkRequest, Zxid,
};

use crate::common::{Named, Outcome};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 3] = [
    ("a host's connection: answers in their order, and events before", || alone(answers_in_their_order)),
    ("a host's connection: closed by its server", || alone(closed_by_its_server)),
    ("a host's connection: closed by a call that waits too long", || alone(closed_by_a_call)),
];

/// Longer than anything here takes.
const PATIENT: Duration = Duration::from_secs(20);
const SERVER: Server<ZkRequest> = Server::on(NodeId::new(0));

fn alone(play: impl AsyncFnOnce(&LiveHost, &mut ZkEnsemble) -> Outcome) -> Outcome {
    let mut ensemble = ZkEnsemble::start(1, ZkSettings::SHIPPED)?;
    let host = LiveHost::alone(1, "client", &[ensemble.server(0).port()]);
    run(play(&host, &mut ensemble))?
}

fn must(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    count(&COUNTS.replies, 1);
    if holds { Ok(()) } else { Err(what().into()) }
}

async fn begin(host: &LiveHost, session: Option<Credentials>) -> Result<(ZkConnection, ZkReply), Failed> {
    let line = host.connect(SERVER, PATIENT).await.map_err(|error| format!("{error:?}"))?;
    let connect = Connect { last_seen: Zxid::default(), timeout: Millis(40_000), session };
    let reply = ask(&line, ZkRequest::Connect(Box::new(connect))).await?;
    Ok((line, reply))
}

async fn begun(host: &LiveHost) -> Result<(ZkConnection, Credentials), Failed> {
    match begin(host, None).await? {
        (line, ZkReply::Connected(begun)) => Ok((line, begun.session)),
        (_, other) => Err(other.to_string().into()),
    }
}

async fn ask(line: &ZkConnection, request: ZkRequest) -> Result<ZkReply, Failed> {
    Ok(line.call(request, PATIENT).await.map_err(|error| format!("{error:?}"))?)
}

fn exists(path: &str) -> ZkRequest {
    ZkRequest::Exists { path: path.into(), watch: true }
}

async fn answers_in_their_order(host: &LiveHost, _: &mut ZkEnsemble) -> Outcome {
    let ((line, _), (other, _)) = (begun(host).await?, begun(host).await?);
    // All at once: each finds what those before it have done.
    let asked = [
        exists("/L"),
        ZkRequest::create("/L".into(), "".into(), Mode::Persistent),
        exists("/L"),
        ZkRequest::create("/L".into(), "".into(), Mode::Persistent),
        ZkRequest::Ping,
    ];
    let mut errors = Vec::new();
    for reply in all(asked.map(|request| line.call(request, PATIENT))).await {
        let answer = reply.ok().and_then(ZkReply::into_answer).ok_or("it is answered")?;
        errors.push(answer.outcome.err());
    }
    let expected = [Some(ZkError::NoNode), None, None, Some(ZkError::NodeExists), None];
    must(errors == expected, || format!("{errors:?}"))?;
    ask(&other, ZkRequest::create("/x".into(), "".into(), Mode::Persistent)).await?;
    ask(&other, ZkRequest::Delete(models::zookeeper::Delete { path: "/L".into(), version: None })).await?;
    ask(&line, ZkRequest::Ping).await?;
    let event = |kind| Some(ZkEvent { kind, path: "/L".into() });
    // They have come before what has seen them: nobody waits for them here.
    for expected in [event(EventKind::Created), event(EventKind::Deleted)] {
        let heard = line.pushed().await;
        must(heard == expected, || format!("{heard:?}"))?;
    }
    Ok(())
}

async fn closed_by_its_server(host: &LiveHost, ensemble: &mut ZkEnsemble) -> Outcome {
    let (line, session) = begun(host).await?;
    let ended = ask(&line, ZkRequest::CloseSession).await?.into_answer();
    must(ended.is_some_and(|answer| answer.outcome == Ok(Body::Nothing)), || "it is answered".to_owned())?;
    must(line.pushed().await.is_none() && !line.is_open(), || "it is closed behind that".to_owned())?;
    let (late, reply) = begin(host, Some(session)).await?;
    must(reply == ZkReply::Expired && late.pushed().await.is_none(), || format!("{reply}"))?;
    let ahead = host.connect(SERVER, PATIENT).await.map_err(|error| format!("{error:?}"))?;
    let connect = Connect { last_seen: Zxid::new(9, 0), timeout: Millis(40_000), session: None };
    let reply = ahead.call(ZkRequest::Connect(Box::new(connect)), PATIENT).await;
    must(reply == Err(CallError::Closed), || format!("{reply:?}"))?;
    let (line, _) = begun(host).await?;
    ensemble.server_mut(0).kill()?;
    must(line.pushed().await.is_none(), || "its server is dead".to_owned())?;
    let reply = line.call(ZkRequest::Ping, PATIENT).await;
    must(reply == Err(CallError::Closed), || format!("{reply:?}"))?;
    let refused = host.connect(SERVER, PATIENT).await.err();
    must(refused == Some(ConnectError::Refused), || format!("{refused:?}"))
}

async fn closed_by_a_call(host: &LiveHost, ensemble: &mut ZkEnsemble) -> Outcome {
    let (line, session) = begun(host).await?;
    ensemble.server_mut(0).pause()?;
    let calls = [(ZkRequest::Ping, PATIENT), (exists("/"), Duration::from_millis(200))];
    let replies = all(calls.map(|(request, timeout)| line.call(request, timeout))).await;
    must(replies == [Err(CallError::Closed), Err(CallError::TimedOut)], || format!("{replies:?}"))?;
    must(!line.is_open(), || "it is closed for all".to_owned())?;
    ensemble.server_mut(0).resume()?;
    let (line, reply) = begin(host, Some(session)).await?;
    must(matches!(reply, ZkReply::Connected(_)) && line.is_open(), || format!("{reply}"))
}
