//! The workload on madsim, as its users write programs: endpoints, bytes, tasks on nodes.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use madsim::net::Endpoint;
use madsim::rand::{Rng, thread_rng};
use madsim::runtime::Runtime;
use madsim::time::{TimeHandle, sleep};

use crate::{Size, Work};

const TTL: Duration = Duration::from_secs(10);
const REQUESTS: u64 = 0;
const REPLIES: u64 = 1;
const ACQUIRE: u8 = 0;
const RELEASE: u8 = 1;
const OK: u8 = 1;

/// What programs on several nodes count together.
#[derive(Default)]
struct Counts {
    grants: AtomicU64,
    events: AtomicU64,
}

/// One run.
pub(crate) fn run(seed: u64, size: Size) -> Work {
    let mut config = madsim::Config::default();
    config.net.send_latency = Duration::from_micros(200)..Duration::from_millis(2);
    let runtime = Runtime::with_seed_and_config(seed, config);
    let counts = Arc::new(Counts::default());
    let server = SocketAddr::new(address(0), 1);
    let simulated = runtime.block_on(async {
        let serving = runtime.create_node().ip(server.ip()).build();
        serving.spawn(serve(server, Arc::clone(&counts)));
        let start = |client| {
            let node = runtime.create_node().ip(address(client + 1)).build();
            node.spawn(play(server, size.rounds, Arc::clone(&counts)))
        };
        let clients: Vec<_> = (0..size.clients).map(start).collect();
        for client in clients {
            client.await.expect("a client comes to its end");
        }
        let simulated = TimeHandle::current().elapsed();
        // A task that lives when the runtime is dropped is never freed.
        runtime.handle().kill(serving.id());
        sleep(Duration::from_millis(1)).await;
        simulated
    });
    let [grants, events] = [&counts.grants, &counts.events].map(|count| count.load(Ordering::Relaxed));
    Work { grants, events, simulated }
}

fn address(node: u16) -> IpAddr {
    let [high, low] = node.to_be_bytes();
    IpAddr::from([10, 0, high, low + 1])
}

async fn serve(address: SocketAddr, counts: Arc<Counts>) {
    let endpoint = Endpoint::bind(address).await.expect("the address is free");
    let mut lock: Option<(u64, Duration)> = None;
    let time = TimeHandle::current();
    let mut request = [0; 9];
    loop {
        let (_, from) = endpoint.recv_from(REQUESTS, &mut request).await.expect("the network is up");
        let (kind, owner) = (request[0], u64::from_le_bytes(request[1..].try_into().expect("eight bytes")));
        let now = time.elapsed();
        lock.take_if(|(_, expires)| *expires <= now);
        let ok = match kind {
            ACQUIRE if lock.is_none() => {
                lock = Some((owner, now + TTL));
                counts.grants.fetch_add(1, Ordering::Relaxed);
                true
            }
            ACQUIRE => false,
            _ => lock.take_if(|(whose, _)| *whose == owner).is_some(),
        };
        counts.events.fetch_add(1, Ordering::Relaxed);
        endpoint.send_to(from, REPLIES, &[u8::from(ok)]).await.expect("the network is up");
    }
}

async fn play(server: SocketAddr, rounds: u32, counts: Arc<Counts>) {
    let endpoint = Endpoint::bind("0.0.0.0:1").await.expect("the address is free");
    let ask = async |kind: u8, owner: u64| {
        let mut request = [kind; 9];
        request[1..].copy_from_slice(&owner.to_le_bytes());
        endpoint.send_to(server, REQUESTS, &request).await.expect("the network is up");
        let mut reply = [0];
        endpoint.recv_from(REPLIES, &mut reply).await.expect("the network is up");
        counts.events.fetch_add(1, Ordering::Relaxed);
        reply[0] == OK
    };
    let wait = async |longest: u64| {
        let time = thread_rng().gen_range(1_000_000..longest);
        sleep(Duration::from_nanos(time)).await;
        counts.events.fetch_add(1, Ordering::Relaxed);
    };
    // The server has bound its address by then.
    sleep(Duration::from_millis(2)).await;
    for _ in 0..rounds {
        let owner = loop {
            let owner = thread_rng().r#gen();
            if ask(ACQUIRE, owner).await {
                break owner;
            }
            wait(50_000_000).await;
        };
        wait(20_000_000).await;
        ask(RELEASE, owner).await;
    }
}
