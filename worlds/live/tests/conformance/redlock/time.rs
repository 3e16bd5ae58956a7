//! Leases that end sooner for the one than for the other.

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use fencepost_live::client::LiveHost;
use fencepost_live::servers::redis::{KEEPS_NOTHING, RedisServer};
use host::{Clock, Duration, Host, Part};
use libtest_mimic::Failed;
use models::lock::RedlockLock;
use models::lock::redlock::{Accept, ExtendBy, LeaseStart, Library};
use models::lock::switch::Choice;
use models::recipe::{Acquired, Lease, Recipe, Renewal};
use models::redis::Value;

use super::{ALL, Five, LOCK, ask, denied, granted, lock_on, must, of, play, published};
use crate::common::Outcome;

/// So long that no client's lease runs out meanwhile.
const TTL: Duration = Duration::from_secs(60);
/// So short that one can wait for its end.
const SHORT: Duration = Duration::from_millis(400);

/// Asks for the lock while the servers behind the second stand still, until the lease has run out on those that did not:
/// what it said, and when, on the clock on which it counts.
async fn ask_slowly(five: &Rc<Five>, host: &LiveHost, switches: &RedlockLock) -> Result<Acquired<Value>, Failed> {
    for server in &five.servers[2..] {
        server.pause()?;
    }
    let (own, own_five) = (host.clone(), Rc::clone(five));
    let done = host.spawn(Part::WORKER, async move {
        own_five.until_it_has(&own, 1, true).await?;
        own_five.until_it_has(&own, 1, false).await?;
        for server in &own_five.servers[2..] {
            server.resume()?;
        }
        Ok::<_, Failed>(())
    });
    let answer = ask(host, &lock_on(&ALL, SHORT, switches)).await;
    done.await?;
    Ok(answer)
}

pub(super) fn slower_than_the_lease() -> Outcome {
    play(async || {
        let five = Rc::new(Five::start()?);
        for library in Library::ALL {
            let (switches, host) = (of(*library, SHORT), five.client("A"));
            if switches.accept == Accept::QuorumAlone {
                continue;
            }
            let answer = ask_slowly(&five, &host, &switches).await?;
            must(answer == Acquired::Denied, || format!("{library:?}: {answer:?}"))?;
            five.have(&[None; 5])?;
        }
        Ok(())
    })
}

/// Its lease is over before it has it, on its own clock; or is counted from the answers, when two servers have forgotten
/// it.
pub(super) fn slower_than_the_lease_unlooked_at() -> Outcome {
    play(async || {
        let five = Rc::new(Five::start()?);
        for library in Library::ALL {
            let (switches, host) = (of(*library, SHORT), five.client("A"));
            // Redisson's first lease is longer than all may take to answer: it does not run out.
            if switches.accept != Accept::QuorumAlone || *library == Library::Redisson {
                continue;
            }
            let Acquired::Granted(lease) = ask_slowly(&five, &host, &switches).await? else {
                return Err(format!("{library:?}: it does not look at the clock").into());
            };
            let until = lease.until.ok_or("a lease ends")?;
            let now = switches.clock.clock().read(&host);
            must(switches.lease_from == LeaseStart::Request && until < now, || {
                format!("{library:?}: until {until:?}, and it is {now:?}")
            })?;
        }
        Ok(())
    })
}

/// Who counts on the wall clock is given more than the whole lease; who counts on the monotonic one is not.
pub(super) fn set_back_meanwhile() -> Outcome {
    const BACK: i64 = 60_000;
    play(async || {
        let five = Rc::new(Five::start()?);
        for library in Library::ALL {
            let (switches, host) = (of(*library, TTL), five.client("A"));
            if switches.lease_from == LeaseStart::Reply {
                continue;
            }
            for server in &five.servers[2..] {
                server.pause()?;
            }
            let (own, own_five) = (host.clone(), Rc::clone(&five));
            let done = host.spawn(Part::WORKER, async move {
                own_five.until_it_has(&own, 1, true).await?;
                own.step_wall(-BACK);
                for server in &own_five.servers[2..] {
                    server.resume()?;
                }
                Ok::<_, Failed>(())
            });
            let lease = granted(&host, &lock_on(&ALL, TTL, &switches)).await?;
            done.await?;
            let validity = lease
                .until
                .ok_or("a lease ends")?
                .as_nanos()
                .saturating_sub(switches.clock.clock().read(&host).as_nanos());
            let (validity, whole) = (Duration::from_nanos(validity), TTL.saturating_sub(switches.drift(TTL)));
            match switches.clock.clock() {
                Clock::Wall => must(validity > TTL, || format!("{library:?}: {validity:?} of {TTL:?}"))?,
                _ => must(validity <= whole, || format!("{library:?}: {validity:?} of {whole:?}"))?,
            }
            for place in 0..5 {
                five.until_it_has(&host, place, true).await?;
                five.servers[place].connect()?.ask(&["DEL", LOCK])?;
            }
        }
        Ok(())
    })
}

/// One client has the first three, since the others were down; then those are there again, without its key.
async fn three_of_five(five: &mut Five) -> Result<(LiveHost, Lease<Value>), Failed> {
    five.servers[3].kill()?;
    five.servers[4].kill()?;
    let a = five.client("A");
    let lease = granted(&a, &lock_on(&ALL, TTL, &published(TTL))).await?;
    five.servers[3].start_again()?;
    five.servers[4].start_again()?;
    five.have(&[Some(&lease.proof), Some(&lease.proof), Some(&lease.proof), None, None])?;
    Ok((a, lease))
}

/// A second client is granted what the first still has.
async fn is_granted_twice(five: &Five, (a, lease): (LiveHost, Lease<Value>)) -> Outcome {
    let second = granted(&five.client("B"), &lock_on(&ALL, TTL, &published(TTL))).await?;
    must(lease.until > Some(a.monotonic()), || "the first has its lease still".into())?;
    let (first, second) = (Some(&lease.proof), Some(&second.proof));
    five.have(&[first, first, second, second, second])
}

pub(super) fn without_memory() -> Outcome {
    play(async || {
        let mut five = Five::start()?;
        let first = three_of_five(&mut five).await?;
        five.servers[2].kill()?;
        five.servers[2].start_again()?;
        is_granted_twice(&five, first).await
    })
}

pub(super) fn with_memory() -> Outcome {
    play(async || {
        let mut five = Five::start_with(&[("save", ""), ("appendonly", "yes"), ("appendfsync", "always")])?;
        let (_, lease) = three_of_five(&mut five).await?;
        five.servers[2].kill()?;
        five.servers[2].start_again()?;
        denied(&five.client("B"), &lock_on(&ALL, TTL, &published(TTL))).await?;
        let first = Some(&lease.proof);
        five.have(&[first, first, first, None, None])
    })
}

pub(super) fn a_jump() -> Outcome {
    play(async || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let now = i64::try_from(now)?;
        let mut five = Five::start()?;
        five.servers[2] = RedisServer::start_stopped_at(KEEPS_NOTHING, now)?;
        let first = three_of_five(&mut five).await?;
        // A key is there through the whole ms of its end.
        let end = now + i64::try_from(TTL.as_millis())?;
        let clock = || five.servers[2].clock().ok_or("it has a clock that stands still");
        clock()?.set(end)?;
        denied(&five.client("C"), &lock_on(&ALL, TTL, &published(TTL))).await?;
        clock()?.set(end + 1)?;
        is_granted_twice(&five, first).await
    })
}

pub(super) fn too_late() -> Outcome {
    play(async || {
        let five = Five::start()?;
        for library in Library::ALL {
            let (switches, host) = (of(*library, SHORT), five.client("A"));
            if switches.extend == ExtendBy::CreateIfMissing {
                continue;
            }
            let lock = lock_on(&ALL, SHORT, &switches);
            let lease = granted(&host, &lock).await?;
            for place in 0..5 {
                five.until_it_has(&host, place, false).await?;
            }
            let renewed = lock.renew(&host, LOCK.into(), &lease, Some(TTL)).await;
            must(renewed == Renewal::Refused, || format!("{library:?}: {renewed:?}"))?;
            five.have(&[None; 5])?;
        }
        Ok(())
    })
}

pub(super) fn too_late_and_taken_anew() -> Outcome {
    play(async || {
        let five = Five::start()?;
        let (switches, host) = (of(Library::OtherRedlockRb, SHORT), five.client("A"));
        let lock = lock_on(&ALL, SHORT, &switches);
        let lease = granted(&host, &lock).await?;
        for place in 0..5 {
            five.until_it_has(&host, place, false).await?;
        }
        let renewed = lock.renew(&host, LOCK.into(), &lease, Some(TTL)).await;
        must(matches!(renewed, Renewal::Extended { .. }), || format!("{renewed:?}"))?;
        five.have(&[Some(&lease.proof); 5])
    })
}

/// When it is over on the client's clock, it is not yet on the servers': the allowance is on the safe side.
pub(super) fn the_end_of_a_lease() -> Outcome {
    play(async || {
        let five = Five::start()?;
        let (a, b) = (five.client("A"), five.client("B"));
        let lease = granted(&a, &lock_on(&ALL, SHORT, &published(SHORT))).await?;
        let lock_of_b = lock_on(&ALL, SHORT, &published(SHORT));
        let second = loop {
            if let Acquired::Granted(second) = ask(&b, &lock_of_b).await {
                break second;
            }
            b.sleep(Duration::from_millis(1)).await;
        };
        must(lease.until < Some(b.monotonic()), || "the first has its lease still".into())?;
        must(second.proof != lease.proof, || "each has a value of its own".into())
    })
}
