use super::*;

const SERVER: NodeId = NodeId::new(0);
const BEGAN: WallTime = WallTime::from_millis(1_700_000_000_000);

fn ms(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

/// A clock that is so many ms ahead since then.
fn clock(since: u64, ahead: i64) -> Segment {
    let wall = BEGAN.as_nanos() + (since.cast_signed() + ahead) * 1_000_000;
    let (rate, ticking) = (host::Ppm::ZERO, host::Ticking::All);
    Segment { since: ms(since), mono: 0, boot: 0, wall, rate, ticking }
}

fn attempt(client: u16) -> AttemptId {
    AttemptId::new(NodeId::new(client), std::num::NonZeroU32::MIN)
}

fn sent(client: u16, text: &str, at: u64, answered: Option<u64>) -> Sent {
    let (server, port, attempt) = (SERVER, 100 + client, Some(attempt(client)));
    let takes = (text != "raise").then_some("orders".into());
    let call = Call { at: ms(at), call: 0, server, port, attempt, takes, text: text.to_owned() };
    Sent { call, answered: answered.map(ms), served: answered.is_some() }
}

fn ran(client: u16, text: &str, at: u64) -> Heard {
    let wall = WallTime::from_nanos(BEGAN.as_nanos() + i64::try_from(at).expect("it is small") * 1_000_000);
    let port = (client > 0).then_some(100 + client);
    Heard::Told(ms(at + 1_000), Told::Ran { wall, port, text: text.to_owned() })
}

fn changed(how: &str, at: u64) -> Heard {
    Heard::Told(ms(at), Told::Changed { how: how.to_owned(), key: "orders".into() })
}

/// What the history is told, in ms: the owner's client (0: nobody), or `+` and whose lease it was.
fn told(heard: &[Heard], sent: &[Sent]) -> Vec<(u64, String)> {
    let account = owners(SERVER, &[clock(0, 0)], (heard, sent), None);
    assert_eq!(account.doubts, Vec::<String>::new());
    let of = |entry: Entry| {
        let client = |attempt: Option<AttemptId>| attempt.map_or(0, |attempt| attempt.client().index());
        let what = match entry.note {
            Note::Owner { attempt, .. } => client(attempt).to_string(),
            Note::Extended { attempt, .. } => format!("+{}", client(Some(attempt))),
            other => panic!("a server says nothing of this: {other:?}"),
        };
        (entry.at.as_nanos() / 1_000_000, what)
    };
    account.entries.into_iter().map(of).collect()
}

fn doubts(heard: &[Heard], sent: &[Sent]) -> Vec<String> {
    owners(SERVER, &[clock(0, 0)], (heard, sent), None).doubts
}

fn line(at: u64, what: &str) -> (u64, String) {
    (at, what.to_owned())
}

#[test]
fn the_order_is_the_server_s_and_the_instant_lies_between_sending_and_answer() {
    // The first one's answer comes late: its process stood still meanwhile.
    let sent = [sent(1, "set", 10, Some(900)), sent(2, "set", 500, Some(502))];
    let heard = [changed("set", 20), changed("expire", 20), ran(1, "set", 11), changed("expired", 400)];
    let heard = [&heard[..], &[changed("set", 510), ran(2, "set", 700)]].concat();
    assert_eq!(told(&heard, &sent), [line(11, "1"), line(400, "0"), line(502, "2")]);
}

#[test]
fn a_clock_that_reads_what_was_before_the_sending_is_wrong() {
    let heard = [changed("set", 20), ran(1, "set", 3)];
    assert_eq!(told(&heard, &[sent(1, "set", 10, Some(30))]), [line(10, "1")]);
}

#[test]
fn why_a_key_is_gone_is_said() {
    let why = |gone: &[Heard]| {
        let heard = [&[changed("set", 20), ran(1, "set", 11)], gone].concat();
        let sent = [sent(1, "set", 10, Some(12)), sent(2, "del", 30, Some(40))];
        let entries = owners(SERVER, &[clock(0, 0)], (&heard, &sent), None).entries;
        match entries.last().map(|entry| &entry.note) {
            Some(Note::Owner { attempt: None, cause, .. }) => *cause,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(why(&[changed("expired", 50)]), Cause::Expiry);
    assert_eq!(why(&[changed("evicted", 50)]), Cause::Eviction);
    assert_eq!(why(&[changed("del", 35), ran(2, "del", 35)]), Cause::Request(Some(attempt(2))));
}

#[test]
fn the_counter_of_tokens_is_nobody_s() {
    let raised = Heard::Told(ms(20), Told::Changed { how: "set".to_owned(), key: "tokens".into() });
    assert_eq!(told(&[raised, ran(1, "raise", 11)], &[sent(1, "raise", 10, Some(30))]), []);
}

#[test]
fn an_expiry_is_heard_of_late_and_comes_before_what_it_made_room_for() {
    // The server finds the key expired as it runs the second command, whose answer is there before anything is heard.
    let sent = [sent(1, "set", 10, Some(12)), sent(2, "set", 500, Some(502))];
    let heard =
        [changed("set", 20), ran(1, "set", 11), changed("expired", 900), changed("set", 900), ran(2, "set", 501)];
    assert_eq!(told(&heard, &sent), [line(11, "1"), line(501, "0"), line(501, "2")]);
}

#[test]
fn what_a_script_does_is_its_sender_s() {
    let sent = [sent(1, "count", 10, Some(20)), sent(2, "del-if", 30, Some(40))];
    let heard = [
        ran(1, "count", 12),
        ran(0, "exists", 12),
        changed("hincrby", 13),
        ran(0, "hincrby", 13),
        changed("expire", 14),
        ran(0, "pexpire", 14),
        ran(2, "del-if", 32),
        changed("del", 33),
        ran(0, "del", 33),
    ];
    assert_eq!(told(&heard, &sent), [line(13, "1"), line(14, "+1"), line(33, "0")]);
}

#[test]
fn what_is_only_queued_or_refused_has_no_line() {
    let mut queued = sent(1, "set", 10, Some(11));
    queued.served = false;
    let heard = [ran(1, "watch", 9), ran(1, "exec", 13), changed("set", 14), ran(1, "set", 14)];
    let all = [sent(1, "watch", 8, Some(9)), queued, sent(1, "exec", 12, Some(13)), sent(1, "set", 13, Some(15))];
    assert_eq!(told(&heard, &all), [line(14, "1")]);
}

#[test]
fn an_answer_without_a_line_is_a_doubt_and_silence_is_none() {
    let unanswered = sent(1, "set", 10, None);
    assert_eq!(doubts(&[], &[unanswered]).len(), 0);
    let answered = sent(1, "set", 10, Some(11));
    assert_eq!(doubts(&[], std::slice::from_ref(&answered)).len(), 1);
    let later = [answered, sent(1, "get", 12, Some(13))];
    assert_eq!(doubts(&[ran(1, "get", 12)], &later).len(), 1);
    let stranger = [changed("set", 5), ran(9, "set", 5)];
    assert_eq!(doubts(&stranger, &[]).len(), 1);
}

#[test]
fn a_command_that_nobody_answered_counts_if_the_server_tells_of_it() {
    let heard = [changed("set", 12), ran(1, "set", 12)];
    assert_eq!(told(&heard, &[sent(1, "set", 10, None)]), [line(12, "1")]);
}

#[test]
fn a_server_that_is_back_names_whom_it_remembers() {
    let sent = [sent(1, "set", 10, Some(12))];
    let taken = [changed("set", 11), ran(1, "set", 11)];
    let back = |keys: &[&str]| Heard::Back(ms(50), keys.iter().map(|key| (*key).into()).collect());
    let with = [&taken[..], &[back(&["orders"]), changed("expired", 60)]].concat();
    assert_eq!(told(&with, &sent), [line(11, "1"), line(50, "1"), line(60, "0")]);
    let without = [&taken[..], &[back(&[]), changed("expired", 60)]].concat();
    assert_eq!(told(&without, &sent), [line(11, "1")]);
}

#[test]
fn a_clock_that_is_stepped_is_read_by_what_it_was() {
    let ahead = [clock(0, 0), clock(100, 10_000), clock(200, -5_000)];
    let at = |reading: u64, latest| {
        let reading = WallTime::from_nanos(BEGAN.as_nanos() + reading.cast_signed() * 1_000_000);
        true_time(&ahead, reading, ms(latest)).as_nanos() / 1_000_000
    };
    assert_eq!([at(50, 60), at(10_150, 160), at(10_150, 16_000), at(50, 6_000)], [50, 150, 15_150, 5_050]);
    // Nothing was read after it was heard of.
    assert_eq!(at(70, 60), 60);
}

const REPLICA: NodeId = NodeId::new(1);

/// What a replica's account comes to, in ms, if its primary has done that.
fn copied(primary: &[Heard], sent: &[Sent], replica: &[Heard]) -> (Vec<(u64, Note)>, Vec<String>) {
    let stream = owners(SERVER, &[clock(0, 0)], (primary, sent), None).stream;
    let account = owners(REPLICA, &[clock(0, 0)], (replica, sent), Some(&stream));
    (account.entries.into_iter().map(|entry| (entry.at.as_nanos() / 1_000_000, entry.note)).collect(), account.doubts)
}

fn replicated(notes: u32) -> Note {
    Note::Replicated { authority: REPLICA, primary: SERVER, notes }
}

#[test]
fn a_promoted_replica_has_the_owners_of_what_it_had_run() {
    let sent = [sent(1, "set", 10, Some(12)), sent(2, "set", 500, Some(502))];
    let primary = [changed("set", 11), changed("expire", 11), ran(1, "set", 11), changed("expired", 400)];
    let primary = [&primary[..], &[changed("set", 501), ran(2, "set", 501)]].concat();
    let promoted = |at| Heard::Told(ms(at), Told::Leads(vec!["orders".into()]));
    // It has what the first did: its key is not yet gone.
    let (entries, doubts) = copied(&primary, &sent, &[changed("set", 20), changed("expire", 20), promoted(450)]);
    let (authority, key, cause) = (REPLICA, "orders".into(), Cause::Promotion);
    let owner = Note::Owner { authority, key, attempt: Some(attempt(1)), cause };
    let leads = Note::Promoted { authority, instead_of: SERVER };
    assert_eq!((entries, doubts), (vec![(20, replicated(1)), (450, owner), (450, leads.clone())], Vec::new()));
    // It has run that too.
    let (entries, _) =
        copied(&primary, &sent, &[changed("set", 20), changed("expire", 20), changed("del", 410), promoted(450)]);
    assert_eq!(entries, [(20, replicated(1)), (410, replicated(2)), (450, leads.clone())]);
    // What is over on its own clock it has no more.
    let has_none = Heard::Told(ms(450), Told::Leads(Vec::new()));
    let (entries, _) = copied(&primary, &sent, &[changed("set", 20), has_none]);
    assert_eq!(entries.last(), Some(&(450, leads)));
    assert_eq!(entries.len(), 2);
    // What its primary never did is a doubt.
    let (_, doubts) = copied(&primary, &sent, &[changed("del", 20)]);
    assert_eq!(doubts.len(), 1);
}

#[test]
fn a_replica_that_was_started_again_goes_on_with_the_next_change() {
    let sent = [sent(1, "set", 10, Some(12)), sent(2, "set", 500, Some(502))];
    let primary =
        [changed("set", 11), ran(1, "set", 11), changed("expired", 400), changed("set", 501), ran(2, "set", 501)];
    let (entries, doubts) = copied(&primary, &sent, &[Heard::Back(ms(300), Vec::new()), changed("del", 410)]);
    assert_eq!((entries, doubts), (vec![(410, replicated(2))], Vec::new()));
}

#[test]
fn whose_primary_was_started_again_goes_on_with_the_next_change() {
    let sent = [sent(1, "set", 10, Some(12)), sent(2, "set", 500, Some(502))];
    let life = [changed("set", 11), ran(1, "set", 11), Heard::Back(ms(300), Vec::new())];
    let primary = [&life[..], &[changed("set", 501), ran(2, "set", 501), changed("expired", 600)]].concat();
    // It was sent the second's key with all others, and hears of its end alone.
    let (entries, doubts) = copied(&primary, &sent, &[changed("set", 20), changed("del", 610)]);
    assert_eq!((entries, doubts), (vec![(20, replicated(1)), (610, replicated(2))], Vec::new()));
    // What the first life had done is not what the second has.
    let promoted = Heard::Told(ms(700), Told::Leads(vec!["orders".into()]));
    let (entries, _) = copied(&primary, &sent, &[changed("set", 20), changed("set", 510), promoted]);
    let owner =
        entries.iter().find_map(|(_, note)| if let Note::Owner { attempt, .. } = note { Some(*attempt) } else { None });
    assert_eq!(owner, Some(Some(attempt(2))));
}

#[test]
fn a_demoted_primary_has_no_owners() {
    let sent = [sent(1, "set", 10, Some(12))];
    let heard = [
        changed("set", 11),
        ran(1, "set", 11),
        Heard::Told(ms(50), Told::Follows),
        changed("set", 60),
        ran(9, "set", 60),
    ];
    let account = owners(SERVER, &[clock(0, 0)], (&heard, &sent), None);
    let last: Vec<_> = account.entries.into_iter().skip(1).map(|entry| entry.note).collect();
    let (authority, key, cause) = (SERVER, "orders".into(), Cause::Demotion);
    assert_eq!(last, [Note::Owner { authority, key, attempt: None, cause }, Note::Demoted { authority }]);
    assert_eq!(account.doubts, Vec::<String>::new());
}
