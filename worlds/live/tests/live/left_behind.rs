//! Whatever ends the program, its processes end with it, and its folders are gone.

use libtest_mimic::Failed;
use rustix::process::{Signal, kill_process};

use crate::Named;
use crate::program::{CELLS, CLUSTER, CLUSTERS, ENSEMBLE, ENSEMBLES, Program, SHORT};

pub(crate) const TRIALS: [Named; 7] = [
    ("an interrupted run leaves nothing behind", || leaves_nothing(Signal::INT)),
    ("a terminated run leaves nothing behind", || leaves_nothing(Signal::TERM)),
    ("a killed run leaves no process behind", || a_killed_run(SHORT, CELLS)),
    ("an interrupted run leaves no member of a cluster behind", a_cluster),
    ("a killed run leaves no member of a cluster behind", || a_killed_run(CLUSTER, CLUSTERS)),
    ("a killed run leaves no server of an ensemble behind", || a_killed_run(ENSEMBLE, ENSEMBLES)),
    ("a client that dies is found out, and leaves nothing behind", a_client_that_dies),
];

fn leaves_nothing(signal: Signal) -> Result<(), Failed> {
    let mut program = Program::start(SHORT)?;
    program.begins(CELLS)?;
    let children = program.children()?;
    let of = |name: &str| children.iter().filter(|child| child.name.starts_with(name)).count();
    // A server for the one lock and five for the other, and two clients, twice.
    if (of("redis-server"), of("fencepost-live")) != (12, 8) {
        return Err(format!("{} servers, {} clients", of("redis-server"), of("fencepost-live")).into());
    }
    let code = program.end(signal)?;
    if code != Some(130) {
        return Err(format!("exit {code:?}").into());
    }
    for child in &children {
        if !child.ends()? {
            return Err(format!("{} goes on", child.name).into());
        }
    }
    let left: Vec<_> = std::fs::read_dir(program.folder())?.collect();
    if left.is_empty() { Ok(()) } else { Err(format!("left behind: {left:?}").into()) }
}

/// It has no say in its death; the kernel ends what it started. (Its folders stay: nobody is left to remove them.)
fn a_killed_run(args: &[&str], cells: usize) -> Result<(), Failed> {
    let mut program = Program::start(args)?;
    program.begins(cells)?;
    let children = program.children()?;
    // One that stands still is the last to notice anything.
    for child in children.iter().take(3) {
        kill_process(child.pid, Signal::STOP)?;
    }
    program.end(Signal::KILL)?;
    for child in &children {
        if !child.ends()? {
            return Err(format!("{} goes on", child.name).into());
        }
        // Nobody else is left to remove what is in memory.
        let _ = child.folder.as_ref().map(std::fs::remove_dir_all);
    }
    Ok(())
}

fn a_cluster() -> Result<(), Failed> {
    let mut program = Program::start(CLUSTER)?;
    program.begins(CLUSTERS)?;
    let children = program.children()?;
    let members: Vec<_> = children.iter().filter(|child| child.name == "etcd").collect();
    if members.len() != 3 * CLUSTERS || members.iter().any(|member| member.folder.is_none()) {
        return Err(format!("{} members", members.len()).into());
    }
    if members.iter().any(|member| member.folder.as_ref().is_some_and(|folder| !folder.is_dir())) {
        return Err("they work elsewhere".into());
    }
    let code = program.end(Signal::INT)?;
    if code != Some(130) {
        return Err(format!("exit {code:?}").into());
    }
    for child in &children {
        if !child.ends()? {
            return Err(format!("{} goes on", child.name).into());
        }
        if let Some(left) = child.folder.as_ref().filter(|folder| folder.exists()) {
            return Err(format!("left behind: {}", left.display()).into());
        }
    }
    Ok(())
}

fn a_client_that_dies() -> Result<(), Failed> {
    let mut program = Program::start(&[SHORT, &["--cell", "resource=open", "--cell", "lock=redis"]].concat())?;
    program.begins(1)?;
    let children = program.children()?;
    let client = children.iter().find(|child| child.name.starts_with("fencepost-live")).ok_or("it has clients")?;
    kill_process(client.pid, Signal::KILL)?;
    let (code, out, _) = program.finish()?;
    if code != Some(3) || !out.contains("ended before its script did") {
        return Err(format!("exit {code:?}: {out}").into());
    }
    if std::fs::read_dir(program.folder())?.count() > 0 { Err("a folder is left".into()) } else { Ok(()) }
}
