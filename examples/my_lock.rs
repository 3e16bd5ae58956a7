//! A lock of your own, judged: `cargo test --example my_lock`, or `cargo run --example my_lock`.
//! What one writes on a first afternoon: `SET NX PX`, plain `DEL`, a deadline counted from the answer.

use fencepost::redis::{Command, Reply, Value};
use fencepost::{Acquired, Authorities, Bench, Connection, Duration, Lease, LockName, Property, Purpose, Recipe};
use fencepost::{RedisHost, Release, Trial};

#[derive(Clone)]
struct MyLock(Bench);

const TTL: Duration = Duration::from_secs(10);

impl MyLock {
    async fn ask<H: RedisHost>(&self, host: &H, command: Command) -> Option<Reply> {
        let connection = host.connect(self.0.redis[0], self.0.call_timeout).await.ok()?;
        connection.call(command, self.0.call_timeout).await.ok()
    }
}

impl<H: RedisHost> Recipe<H> for MyLock {
    type Proof = ();

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<()> {
        let value = Value::from(host.random(Purpose::Recipe).to_string().as_bytes());
        let px = Some(TTL.as_millis() as i64);
        match self.ask(host, Command::set_nx(lock, value, px)).await {
            Some(Reply::Ok) => {
                let counted = Authorities::one(self.0.redis[0].node());
                Acquired::Granted(Lease { proof: (), token: None, until: Some(host.monotonic() + TTL), counted })
            }
            Some(_) => Acquired::Denied,
            None => Acquired::Failed,
        }
    }

    async fn release(&self, host: &H, lock: LockName, _: &Lease<()>) -> Release {
        match self.ask(host, Command::Del { key: lock }).await {
            Some(Reply::Int(1)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

/// In how many of how many seeds it loses an update under `gc-pause`.
fn lost_updates() -> (u64, u64) {
    let trial = Trial::of("gc-pause").expect("it is in the catalogue").lock("mine", |bench| MyLock(bench.clone()));
    let verdict = trial.run();
    let open = verdict.cell(&[("resource", "open")]);
    (open.broken(Property::NoLostUpdate), open.seeds())
}

#[test]
fn my_lock_loses_an_update_in_every_seed() {
    assert_eq!(lost_updates(), (1000, 1000));
}

fn main() {
    println!("updates lost in how many of how many seeds: {:?}", lost_updates());
}
