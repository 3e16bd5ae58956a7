//! The catalogue on real servers: `gc-pause`, with short times, comes out as the file says; and whatever ends the program,
//! nothing is left behind.
//!
//! A server that is not installed is a skip, a visible line, and fails the gate, which runs all this.

mod left_behind;
mod program;

use std::process::ExitCode;

use fencepost_live::servers::etcd::EtcdCluster;
use fencepost_live::servers::postgres::PgServer;
use fencepost_live::servers::redis::RedisServer;
use fencepost_live::servers::zookeeper::ZkEnsemble;
use libtest_mimic::{Arguments, Failed, Trial, run};

use program::{CELLS, CLUSTER, CLUSTERS, ENSEMBLE, ENSEMBLES, Program, SHORT};

fn main() -> ExitCode {
    let is_installed = RedisServer::version().is_ok()
        && EtcdCluster::version().is_ok()
        && ZkEnsemble::version().is_ok()
        && PgServer::version().is_ok();
    let trial = |(name, play): Named| Trial::test(name, play).with_kind("live").with_ignored_flag(!is_installed);
    let own: [Named; 21] = [
        ("a pause of the holder breaks what the file says, and no more", a_pause_of_the_holder),
        ("what real servers cannot be made to do is refused in words", what_cannot_be_done),
        ("a mistake is an error at its place", a_mistake),
        ("who stands still behind its quorum looks at the clock, or does not", behind_its_quorum),
        ("who waits is told of the release", || is_as_expected(&["lost-wakeup", "--cell", "message=heard"], 2)),
        ("a primary is replaced, and clients find the new one", || is_as_expected(&["address-resolved-once"], 2)),
        ("a pause of the holder on a cluster of etcd", || is_as_expected(CLUSTER, CLUSTERS)),
        ("who waits on etcd is let in, though its key is gone", || {
            is_as_expected(&["expired-waiter-granted", "--set", "fault.hang.for=16s"], 6)
        }),
        ("a new leader of etcd gives a lease its whole time again", || {
            is_as_expected(&["leader-change-extends-lease"], 2)
        }),
        ("an answer of etcd that is late is taken for a grant", || {
            is_as_expected(&["grant-reply-late", "--cell", "session=hangs"], 2)
        }),
        ("a member of etcd that was killed comes back with all it had", || {
            is_as_expected(&[concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/leader-killed.toml")], 2)
        }),
        ("what no etcd is here for is refused in words", no_such_etcd),
        ("a pause of the holder on an ensemble of ZooKeeper", || is_as_expected(ENSEMBLE, ENSEMBLES)),
        ("who sorts by whole names is let in by the side of another", || is_as_expected(&["order-by-name"], 2)),
        ("what no ensemble is made to do is refused in words", no_such_ensemble),
        ("a promoted standby of PostgreSQL gives an advisory lock again", || is_as_expected(PROMOTED, 2)),
        ("through a pooler, the session that has the lock is another's", || {
            is_as_expected(&["pg-pooler", "--cell", "case=same-session"], 4)
        }),
        ("what a server of PostgreSQL forgets when it dies, and what it does not", || is_as_expected(RESTARTED, 4)),
        ("a pause of the holder of a row, leased or locked", || is_as_expected(PAUSED_WITH_A_ROW, 4)),
        ("a lease in a row, of which one clock has written the end and another reads it", || {
            is_as_expected(&["lease-row-step", "--cell", "clock=ahead", "--cell", "clock=set-right"], 2)
        }),
        ("what no server of PostgreSQL is made to do is refused in words", no_such_database),
    ];
    let trials = own.into_iter().chain(left_behind::TRIALS).map(trial).collect();
    let conclusion = run(&Arguments::from_args(), trials);
    let is_vacuous = conclusion.num_passed + conclusion.num_failed == 0;
    if is_vacuous { ExitCode::FAILURE } else { conclusion.exit_code() }
}

/// A trial, by its name.
type Named = (&'static str, fn() -> Result<(), Failed>);

fn a_pause_of_the_holder() -> Result<(), Failed> {
    let (code, out, _) = Program::start(&[SHORT, &["--format", "json"]].concat())?.finish()?;
    let found: serde_json::Value = serde_json::from_str(&out)?;
    let cells = found["cells"].as_array().ok_or("it has cells")?;
    let mut seen = 0;
    for cell in cells {
        let params = cell["params"].to_string();
        let lines = cell["properties"].as_array().ok_or("a cell has properties")?;
        let has = |line: &&serde_json::Value, verdict: &str| line["live"] == verdict;
        let broken: Vec<_> = lines.iter().filter(|line| has(line, "broken")).map(|line| &line["property"]).collect();
        let held = lines.iter().filter(|line| has(line, "holds")).count();
        let expected: &[&str] = match params.as_str() {
            r#"[["resource","open"]]"# => &["belief-exclusion", "effect-order", "no-lost-update"],
            r#"[["resource","fence_rw"]]"# => &["belief-exclusion"],
            other => return Err(format!("nobody has argued how {other} comes out").into()),
        };
        if broken != expected || held + broken.len() != lines.len() || cell["doubts"] != serde_json::json!([]) {
            return Err(format!("{} {params}: {cell:#}", cell["lock"]).into());
        }
        seen += 1;
    }
    if seen != CELLS || code != Some(0) {
        return Err(format!("{seen} cells, exit {code:?}").into());
    }
    Ok(())
}

fn behind_its_quorum() -> Result<(), Failed> {
    is_as_expected(&[concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/paused-behind-its-quorum.toml")], 2)
}

/// So many cells are played, and come out as the file says.
fn is_as_expected(args: &[&str], cells: usize) -> Result<(), Failed> {
    let (code, out, complaint) = Program::start(args)?.finish()?;
    if code != Some(0) || !out.contains(&format!("{cells} of {cells} cells as expected")) {
        return Err(format!("exit {code:?}: {out}{complaint}").into());
    }
    Ok(())
}

fn what_cannot_be_done() -> Result<(), Failed> {
    let (code, out, _) = Program::start(&["machine-sleep"])?.finish()?;
    let says = "not to be played on real servers: machine-sleep: the machine cannot be put to sleep";
    if code != Some(3) || !out.contains(says) {
        return Err(format!("exit {code:?}: {out}").into());
    }
    Ok(())
}

fn no_such_etcd() -> Result<(), Failed> {
    let (code, out, _) = Program::start(&["deposed-leader-revokes", "--cell", "version=fixed"])?.finish()?;
    if code != Some(3) || !out.contains("a version of etcd without the faults of 3.4.23") {
        return Err(format!("exit {code:?}: {out}").into());
    }
    Ok(())
}

fn no_such_ensemble() -> Result<(), Failed> {
    let (code, out, _) = Program::start(&["zookeeper-minority"])?.finish()?;
    if code != Some(3) || !out.contains("nobody stands between the processes of this machine") {
        return Err(format!("exit {code:?}: {out}").into());
    }
    Ok(())
}

/// Who cannot reach the primary any more is B alone; to the standby, which stands on the same machine, nobody cuts anything.
const PROMOTED: &[&str] = &[
    "pg-failover-two-holders",
    "--cell",
    "resource-of=open",
    "--set",
    r#"fault.split.cut={ between = ["pg-1", "B"] }"#,
];

/// A number that was only asked for is on disk within 200 ms or not, so that cell may come out either way.
const RESTARTED: &[&str] = &[
    "pg-xid-token",
    "--cell",
    "next=restarted",
    "--cell",
    "token=xid-held",
    "--cell",
    "token=uncommitted-row",
    "--cell",
    "token=sequence",
    "--cell",
    "token=row",
];

const PAUSED_WITH_A_ROW: &[&str] = &[concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/paused-with-a-row.toml")];

fn no_such_database() -> Result<(), Failed> {
    let (code, out, _) = Program::start(&["lease-row-failover"])?.finish()?;
    if code != Some(3) || !out.contains("a lock that is a row, and a standby") {
        return Err(format!("exit {code:?}: {out}").into());
    }
    Ok(())
}

fn a_mistake() -> Result<(), Failed> {
    let (code, _, complaint) = Program::start(&["gc-pause", "--set", "ttl=2sec"])?.finish()?;
    if code != Some(2) || !complaint.contains("unknown unit `sec`") {
        return Err(format!("exit {code:?}: {complaint}").into());
    }
    Ok(())
}
