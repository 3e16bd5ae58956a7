//! A lock of your own, judged: `cargo test --example my_lock`.
//!
//! This one is what one writes on a first afternoon: `SET NX PX`, released by a plain `DEL`, its
//! deadline counted from the answer, no token.

use fencepost::redis::{Command, Reply, Value};
use fencepost::{Acquired, Authorities, Bench, Connection, Lease, Property, Purpose, Recipe, RedisHost, Release};
use fencepost::{Duration, Trial};

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

    async fn acquire(&self, host: &H) -> Acquired<()> {
        let value = Value::from(host.random(Purpose::Recipe).to_string().as_bytes());
        let px = Some(TTL.as_millis() as i64);
        match self.ask(host, Command::Set { key: self.0.lock, value, nx: true, px }).await {
            Some(Reply::Ok) => Acquired::Granted(Lease {
                proof: (),
                token: None,
                until: Some(host.monotonic() + TTL),
                counted: Authorities::one(self.0.redis[0].node()),
            }),
            Some(_) => Acquired::Denied,
            None => Acquired::Failed,
        }
    }

    async fn release(&self, host: &H, _: &Lease<()>) -> Release {
        match self.ask(host, Command::Del { key: self.0.lock }).await {
            Some(Reply::Int(1)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

#[test]
fn my_lock_loses_updates_when_its_holder_is_paused() {
    let verdict = Trial::of("gc-pause").expect("it is in the catalogue").lock("mine", |b| MyLock(b.clone())).run();
    let open = verdict.cell(&[("resource", "open")]);
    assert_eq!((open.vacuous(), open.broken(Property::NoLostUpdate)), (0, open.seeds()));
}

fn main() {
    println!("This example is a test: cargo test --example my_lock");
}
