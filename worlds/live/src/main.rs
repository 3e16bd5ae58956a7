//! `fencepost-live`: arguments, exit codes, and what this program starts itself for.

mod args;
mod compare;

use std::error::Error;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Parser;
use fencepost::exit::Exit;
use fencepost_live::servers::etcd::EtcdCluster;
use fencepost_live::servers::postgres::PgServer;
use fencepost_live::servers::redis::RedisServer;
use fencepost_live::servers::zookeeper::ZkEnsemble;
use fencepost_live::{Source, client, servers};
use models::lock::Service;
use scenarios::language::{LoadErrors, Override, load};
use scenarios::{Cell, Scenario, Unselected, catalogue, selected};

use args::{Cli, Inner, PlayArgs};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match cli.inner {
        None => run(&cli.play),
        Some(Inner::Client { parent }) => client::play(parent).map(|()| Exit::AsExpected).map_err(Failure::Internal),
        Some(Inner::Guard { parent, command }) => guard(parent, &command).map_err(Failure::Internal),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit().into()
        }
    }
}

/// Why nothing was played.
#[derive(Debug)]
enum Failure {
    Scenario(LoadErrors),
    Usage(String),
    Unselected(Unselected),
    /// There is no server to play on.
    NoServer(String),
    Write(String),
    Internal(String),
}

impl Failure {
    const fn exit(&self) -> Exit {
        match self {
            Self::Scenario(_) | Self::Usage(_) | Self::Unselected(Unselected::NotThere(_)) => Exit::Usage,
            Self::Unselected(Unselected::Nothing(_)) => Exit::NothingSelected,
            Self::NoServer(_) => Exit::Inconclusive,
            Self::Write(_) => Exit::CannotWrite,
            Self::Internal(_) => Exit::Internal,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(errors) => errors.fmt(f),
            Self::Unselected(why) => write!(f, "error: {why}"),
            Self::Usage(why) | Self::NoServer(why) | Self::Write(why) | Self::Internal(why) => {
                write!(f, "error: {why}")
            }
        }
    }
}

impl Error for Failure {}

fn run(args: &PlayArgs) -> Result<Exit, Failure> {
    let (source, scenario) = read(args)?;
    let cells = selected(&scenario, &args.locks, &args.cells).map_err(Failure::Unselected)?;
    let version = versions(cells.iter().map(|cell| &scenario.cells[*cell]))?;
    let show = compare::Show { args, scenario: &scenario, version };
    let said = std::io::stdout();
    compare::play(&source, &show, &cells, &mut said.lock())
}

/// What is installed of the servers on which these cells stand.
fn versions<'c>(cells: impl Iterator<Item = &'c Cell>) -> Result<String, Failure> {
    let services: Vec<_> = cells.map(|cell| &cell.service).collect();
    let programs = [
        ("redis-server", RedisServer::version as Version, is_redis as fn(&Service) -> bool),
        ("etcd-server", EtcdCluster::version, |service| matches!(service, Service::Etcd(_))),
        ("postgresql-15", PgServer::version, |service| matches!(service, Service::Postgres(_))),
        ("zookeeper", ZkEnsemble::version, |service| matches!(service, Service::ZooKeeper(_))),
    ];
    let needed = programs.into_iter().filter(|(.., of)| services.iter().any(|service| of(service)));
    let needed = needed.map(|(package, version, _)| (package, version));
    let versions = needed.map(|(package, version)| {
        version().map_err(|error| {
            Failure::NoServer(format!("{package} cannot be run ({error}); on Debian: apt-get install {package}"))
        })
    });
    Ok(versions.collect::<Result<Vec<_>, _>>()?.join(", "))
}

const fn is_redis(service: &Service) -> bool {
    matches!(service, Service::Redis(_) | Service::Sentinel(_))
}

/// Asks a program for its version.
type Version = fn() -> std::io::Result<String>;

/// The scenario, and what a client's process reads of it.
fn read(args: &PlayArgs) -> Result<(Source, Scenario), Failure> {
    let name = args.scenario.clone().unwrap_or_default();
    let path = Path::new(&name);
    let is_path = path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1;
    let (file, text) = if is_path {
        let text = std::fs::read_to_string(path);
        (name.clone(), text.map_err(|error| Failure::Usage(format!("cannot read {name}: {error}")))?)
    } else {
        let entry = catalogue::find(&name).map_err(|error| Failure::Usage(format!("{error}; a path ends in .toml")))?;
        (entry.file.to_owned(), entry.text.to_owned())
    };
    let set: Vec<Override> = args.set.iter().map(Override::new).collect();
    let scenario = load(&file, &text, &set).map_err(Failure::Scenario)?;
    Ok((Source { file, text, set: args.set.clone() }, scenario))
}

/// Becomes that program, which is killed when its parent ends.
fn guard(parent: u32, command: &[String]) -> Result<Exit, String> {
    servers::die_with(parent)?;
    let [program, args @ ..] = command else { return Err("no program to guard".to_owned()) };
    Err(format!("{program}: {}", Command::new(program).args(args).exec()))
}
