//! Who gets how many of the five, and what is left behind.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use fencepost_live::client::LiveHost;
use models::lock::redlock::{Library, NodeError, Unlock};
use models::lock::switch::Choice;
use models::recipe::{Acquired, Recipe, Release};
use models::redis::Value;

use super::{ALL, Five, LOCK, TTL, ask, granted, lock_on, must, of, play, published};
use crate::common::Outcome;

/// The lease is as long as its library says, counted from the clock that it read first: no sooner than it was asked, and no
/// later than the first server had its key.
pub(super) fn with_all_five() -> Outcome {
    play(async || {
        let five = Five::start()?;
        for library in Library::ALL {
            let (switches, host) = (of(*library, TTL), five.client("A"));
            let lock = lock_on(&ALL, TTL, &switches);
            let now = || switches.clock.clock().read(&host);
            let asked = now();
            let lease = granted(&host, &lock).await?;
            let had = now();
            let until = lease.until.ok_or("a lease ends")?;
            let promised = TTL.saturating_sub(switches.drift(TTL));
            must((asked + promised..=had + promised).contains(&until), || {
                format!("{library:?}: until {until:?}, asked at {asked:?}, granted at {had:?}, promised {promised:?}")
            })?;
            match library {
                Library::Published
                | Library::RedlockRb
                | Library::RedlockPy
                | Library::OtherRedlockRb
                | Library::NodeRedlock => {
                    must(promised.as_millis() == 10_000 - 102, || format!("{library:?}: {promised:?}"))?;
                }
                Library::Redsync => must(promised.as_millis() == 10_000 - 100, || format!("{promised:?}"))?,
                Library::Redisson => must(promised == TTL, || format!("{promised:?}"))?,
            }
            // Who is content with a quorum may not have heard the others yet.
            for place in 0..5 {
                five.until_it_has(&host, place, true).await?;
            }
            five.have(&[Some(&lease.proof); 5])?;
            must(lock.release(&host, LOCK.into(), &lease).await == Release::Confirmed, || "it is given back".into())?;
            five.have(&[None; 5])?;
        }
        Ok(())
    })
}

pub(super) fn two_down() -> Outcome {
    play(async || {
        let mut five = Five::start()?;
        five.servers[1].kill()?;
        five.servers[3].kill()?;
        for library in Library::ALL {
            let (switches, host) = (of(*library, TTL), five.client("A"));
            let lock = lock_on(&ALL, TTL, &switches);
            let answer = ask(&host, &lock).await;
            let is_as_argued = match (&answer, switches.on_error) {
                (Acquired::Granted(_), NodeError::CountsAsNo) => true,
                // An exception: the caller has no lock, and three servers have its key.
                (Acquired::Failed, NodeError::Raised) => true,
                _ => false,
            };
            must(is_as_argued, || format!("{library:?}: {answer:?}"))?;
            for place in [0, 2, 4] {
                five.until_it_has(&host, place, true).await?;
                five.servers[place].connect()?.ask(&["DEL", LOCK])?;
            }
        }
        Ok(())
    })
}

pub(super) fn three_down() -> Outcome {
    play(async || {
        let mut five = Five::start()?;
        for place in [0, 1, 3] {
            five.servers[place].kill()?;
        }
        for library in Library::ALL {
            let (switches, host) = (of(*library, TTL), five.client("A"));
            let lock = lock_on(&ALL, TTL, &switches);
            let gives_back = switches.unlock == Unlock::Everywhere;
            let answer = ask(&host, &lock).await;
            // One that gives nothing back between two tries may be taken for the owner of what it has.
            let expected = if gives_back { Acquired::Denied } else { Acquired::Failed };
            must(answer == expected, || format!("{library:?}: {answer:?}"))?;
            for place in [2, 4] {
                must(five.value(place)?.is_some() != gives_back, || format!("{library:?}: what it left on {place}"))?;
                five.servers[place].connect()?.ask(&["DEL", LOCK])?;
            }
        }
        Ok(())
    })
}

pub(super) fn another_has_three() -> Outcome {
    play(async || {
        let five = Five::start()?;
        let other = Value::from("another's");
        for place in [0, 2, 4] {
            five.servers[place].connect()?.ask(&["SET", LOCK, "another's", "NX", "PX", "60000"])?;
        }
        for library in Library::ALL {
            let (switches, host) = (of(*library, TTL), five.client("A"));
            let lock = lock_on(&ALL, TTL, &switches);
            let answer = ask(&host, &lock).await;
            must(!matches!(answer, Acquired::Granted(_)), || format!("{library:?}: {answer:?}"))?;
            for place in [0, 2, 4] {
                must(five.value(place)?.as_deref() == Some(other.as_bytes()), || {
                    format!("{library:?}: {place} is intact")
                })?;
            }
            let gives_back = switches.unlock == Unlock::Everywhere;
            for place in [1, 3] {
                must(five.value(place)?.is_some() != gives_back, || format!("{library:?}: what it left on {place}"))?;
                five.servers[place].connect()?.ask(&["DEL", LOCK])?;
            }
        }
        Ok(())
    })
}

/// Each client stands still as soon as it has asked for its share, and again when it has asked everybody: whoever went on
/// would give back what another then takes.
pub(super) fn a_split() -> Outcome {
    play(async || {
        let five = Five::start()?;
        let hosts = ["A", "B", "C"].map(|name| five.client(name));
        let locks =
            [[0, 1, 2, 3, 4], [2, 3, 4, 0, 1], [3, 4, 0, 1, 2]].map(|order| lock_on(&order, TTL, &published(TTL)));
        let [a, b, c] = &mut std::array::from_fn(|i| Box::pin(ask(&hosts[i], &locks[i])));
        until_sent(a, &hosts[0], 2).await?;
        until_sent(c, &hosts[2], 2).await?;
        for place in [0, 1, 3, 4] {
            five.until_it_has(&hosts[0], place, true).await?;
        }
        // The one that is left.
        until_sent(b, &hosts[1], 5).await?;
        until_sent(a, &hosts[0], 5).await?;
        until_sent(c, &hosts[2], 5).await?;
        let shares = five.values()?;
        must(
            shares[0] == shares[1] && shares[3] == shares[4] && shares[0] != shares[2] && shares[2] != shares[3],
            || format!("two, two and one: {shares:?}"),
        )?;
        for client in [a, b, c] {
            let answer = client.await;
            must(answer == Acquired::Denied, || format!("nobody wins: {answer:?}"))?;
        }
        five.have(&[None; 5])
    })
}

/// Lets a client go on until it has sent so many commands; from then on it stands still.
async fn until_sent(
    client: &mut (impl Future<Output = Acquired<Value>> + Unpin),
    host: &LiveHost,
    commands: u64,
) -> Outcome {
    poll_fn(|cx| {
        if host.sent() < commands
            && let Poll::Ready(answer) = Pin::new(&mut *client).poll(cx)
        {
            return Poll::Ready(Err(format!("it was to go on for longer: {answer:?}").into()));
        }
        if host.sent() < commands { Poll::Pending } else { Poll::Ready(Ok(())) }
    })
    .await
}

pub(super) fn a_stale_release() -> Outcome {
    play(async || {
        let five = Five::start()?;
        let (a, b) = (five.client("A"), five.client("B"));
        let lock = lock_on(&ALL, TTL, &published(TTL));
        let stale = granted(&a, &lock).await?;
        for server in &five.servers {
            server.connect()?.ask(&["DEL", LOCK])?;
        }
        let lock_of_b = lock_on(&ALL, TTL, &published(TTL));
        let held = granted(&b, &lock_of_b).await?;
        must(lock.release(&a, LOCK.into(), &stale).await == Release::Refused, || "it is nobody's to give back".into())?;
        five.have(&[Some(&held.proof); 5])
    })
}
