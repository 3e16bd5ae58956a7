//! The simulator's own recipes, over the host of the live world, on a real ensemble whose leader dies while the lock is held.

use std::cell::{Cell, RefCell};

use fencepost_live::client::{LiveHost, run};
use fencepost_live::servers::zookeeper::{ZkEnsemble, ZkSettings};
use host::{Duration, Either, Host, NodeId, Server, all, first};
use models::lock::zookeeper::{Library, Looks, QueueLock};
use models::recipe::{Acquired, Lease, Recipe, Release};
use models::zookeeper::{CuratorMutex, Way, ZkMutex, Zxid};
use spec::{LockName, Token};

use crate::common::{Named, Outcome};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 2] = [
    ("the documentation's lock, on an ensemble whose leader dies", || {
        contended(|way| ZkMutex::new(way, &switches(Library::Documentation)))
    }),
    ("Curator's lock, on an ensemble whose leader dies", || {
        contended(|way| CuratorMutex::new(way, &switches(Library::Curator)))
    }),
];

const CLIENTS: usize = 3;
/// How often each is to have the lock.
const ROUNDS: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(6);
/// How long whoever has the lock keeps it.
const KEPT: Duration = Duration::from_millis(50);
/// Longer than all of it takes: a session may have to end by itself.
const PATIENT: Duration = Duration::from_secs(60);

/// As the library has it; whoever looks whether the lock is still its own asks a server.
fn switches(library: Library) -> QueueLock {
    QueueLock { looks: Looks::Server, ..QueueLock::of_library(library) }
}

/// What all clients know of.
struct Ring {
    ensemble: RefCell<ZkEnsemble>,
    leader: usize,
    is_taken: Cell<bool>,
    /// The token of each grant, in their order.
    tokens: RefCell<Vec<Token>>,
}

fn contended<L: Recipe<LiveHost>>(lock: impl Fn(Way) -> L) -> Outcome {
    let ensemble = ZkEnsemble::start(3, ZkSettings::SHIPPED)?;
    let ports: Vec<u16> = (0..3).map(|server| ensemble.server(server).port()).collect();
    let leader = ensemble.wait_until_served()?;
    let ring =
        Ring { ensemble: RefCell::new(ensemble), leader, is_taken: Cell::new(false), tokens: RefCell::default() };
    run(async {
        let servers: Vec<Server<_>> = (0..3).map(|server| Server::on(NodeId::new(server))).collect();
        let clients = ["a", "b", "c"].map(|name| {
            let way = Way { ensemble: NodeId::new(0), servers: servers.clone(), timeout: TIMEOUT, objects: None };
            contend(LiveHost::alone(1, name, &ports), lock(way), &ring)
        });
        let judge = LiveHost::alone(2, "judge", &ports);
        match first(all(clients), judge.sleep(PATIENT)).await {
            Either::Left(ended) => ended.into_iter().collect::<Outcome>(),
            Either::Right(()) => Err(format!("not all have had it: {:?}", ring.tokens.borrow()).into()),
        }
    })??;
    let tokens = ring.tokens.into_inner();
    count(&COUNTS.replies, tokens.len() as u64);
    let is_rising = tokens.windows(2).all(|two| two[0] < two[1]);
    let epochs = tokens.iter().map(|token| Zxid(token.0).epoch());
    let epochs = (epochs.clone().min(), epochs.max());
    if tokens.len() == CLIENTS * ROUNDS && is_rising && epochs == (Some(1), Some(2)) {
        return Ok(());
    }
    Err(format!("{} grants, with {tokens:?}", tokens.len()).into())
}

/// Has the lock so often, and nobody else meanwhile.
async fn contend<L: Recipe<LiveHost>>(host: LiveHost, lock: L, ring: &Ring) -> Outcome {
    let orders = LockName::from("orders");
    lock.connect(&host).await;
    for _ in 0..ROUNDS {
        let lease = loop {
            match lock.acquire(&host, orders).await {
                Acquired::Granted(lease) => break lease,
                // It was disconnected meanwhile.
                Acquired::Denied | Acquired::Failed => host.sleep(KEPT).await,
            }
        };
        if ring.is_taken.replace(true) {
            return Err("two have it at once".into());
        }
        keep(&host, &lock, orders, &lease, ring).await?;
        ring.is_taken.set(false);
        while lock.release(&host, orders, &lease).await != Release::Confirmed {
            if !lock.is_still_held(&host, orders, &lease).await {
                break;
            }
        }
    }
    Ok(())
}

/// Has it for a while; whoever has it in the middle of all kills the leader, and has it still.
async fn keep<L: Recipe<LiveHost>>(
    host: &LiveHost,
    lock: &L,
    orders: LockName,
    lease: &Lease<L::Proof>,
    ring: &Ring,
) -> Outcome {
    ring.tokens.borrow_mut().push(lease.token.ok_or("a grant has a token")?);
    if ring.tokens.borrow().len() == CLIENTS * ROUNDS / 2 {
        ring.ensemble.borrow_mut().server_mut(ring.leader).kill()?;
    }
    host.sleep(KEPT).await;
    while !lock.is_still_held(host, orders, lease).await {
        host.sleep(KEPT).await;
    }
    Ok(())
}
