//! Places before a row.

use super::*;

#[test]
fn who_gets_the_place_before_a_row_has_its_whole_time_to_wait_once_more() {
    // A limit is for each wait by itself: for the place, and behind it for the transaction that has the row.
    let mut bench = Bench::alone(PgServers::default());
    let [a, b, c] = [(); 3].map(|()| bench.session(PRIMARY));
    let select = "SELECT owner, ends, version, value FROM leases WHERE leases.name = 'a' FOR UPDATE";
    bench.say(a, 0, "INSERT INTO leases (name) VALUES ('a') RETURNING owner, ends, version, value");
    bench.say(a, 0, "BEGIN");
    bench.say(a, 0, select);
    bench.say(b, 0, "SET lock_timeout = 300");
    bench.say(c, 0, "SET lock_timeout = 500");
    assert_eq!(bench.say(b, 0, select), "waits");
    assert_eq!(bench.say(c, 0, select), "waits");
    let began = bench.rig.ms();
    let had = bench.rig.replies.len();
    let given_up = |bench: &mut Bench, nth: usize| {
        let answered = bench.rig.run_until(2_000, |rig| rig.replies.len() > had + nth).expect("it gives up");
        answered - began
    };
    let first = given_up(&mut bench, 0);
    assert!((280..=310).contains(&first), "{first}");
    let second = given_up(&mut bench, 1);
    assert!((780..=820).contains(&second), "{second}: from when it had the place");
}
