//! The whole history as text: a line for each note, and for each time that a fault struck or ended.
//!
//! ```text
//! →    10.214 s  worker-2  granted, token 34, until 20.213 s
//! !    15.152 s  worker-1  `gc` ends (pause)
//! ```
//!
//! An arrow marks what a verdict rests on, an exclamation mark a fault. All that stands in a line is
//! noted in the history, but for the errors that servers answered with. Only two things are left out: what the width cuts off, and the single tries
//! of a client that asks and is denied again and again while nothing else happens; they are one line.

use std::collections::{BTreeMap, BTreeSet};

use host::{AttemptId, NodeId, SimTime};
use spec::{Cause, Entry, History, LockName, Mode, Note, Property, Verdict};

use crate::run::{JudgedRun, ServerError, StruckFault};
use crate::words::{Names, fails, node_name, node_names, promised_end, seconds};

/// The timeline, each line at most `width` letters wide. Arrows mark what the verdict on that property
/// rests on, if it is broken.
#[must_use]
pub fn timeline(run: &JudgedRun<'_>, property: Option<Property>, width: usize) -> Vec<String> {
    let verdict = property.and_then(|property| run.judgement.verdicts.get(&property));
    let marked = verdict.and_then(Verdict::evidence).map_or(&[][..], |evidence| &evidence.entries);
    let mut moments: Vec<Moment> = run.faults.iter().flat_map(|fault| strikes(run.history, fault)).collect();
    let mut seen = Seen::default();
    let notes = run.history.entries.iter().enumerate().map(|(i, entry)| {
        let text = said(run, &seen, entry);
        seen.take(&entry.note);
        Moment {
            at: entry.at,
            rank: Rank::Note,
            mark: if marked.contains(&i) { '→' } else { ' ' },
            place: node_name(run.history, entry.node).to_owned(),
            text,
            asking: asking(&entry.note),
        }
    });
    // An error that arrives at the instant of a note is what the note is about.
    moments.extend(run.errors.iter().map(|error| told_off(run.history, error)));
    moments.extend(notes);
    // Stable: the notes of one instant stay in their order.
    moments.sort_by_key(|moment| (moment.at, moment.rank));
    let moments = folded(&moments);
    let letters = |text: &str| text.chars().count();
    let times: Vec<String> = moments.iter().map(|moment| seconds(moment.at)).collect();
    let time = times.iter().map(|time| letters(time)).max().unwrap_or(0);
    let place = moments.iter().map(|moment| letters(&moment.place)).max().unwrap_or(0);
    let line = |(moment, at): (&Moment, &String)| {
        cut(&format!("{} {at:>time$}  {:<place$}  {}", moment.mark, moment.place, moment.text), width)
    };
    moments.iter().zip(&times).map(line).collect()
}

/// One line to be.
#[derive(Clone)]
struct Moment {
    at: SimTime,
    rank: Rank,
    mark: char,
    place: String,
    text: String,
    asking: Option<Asking>,
}

/// A part of a try that came to nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asking {
    Asks(NodeId),
    /// The server says why not.
    Fails(NodeId),
    Denied(NodeId),
}

impl Asking {
    const fn client(self) -> NodeId {
        match self {
            Self::Asks(client) | Self::Fails(client) | Self::Denied(client) => client,
        }
    }
}

const fn asking(note: &Note) -> Option<Asking> {
    match note {
        Note::Attempting { attempt, .. } => Some(Asking::Asks(attempt.client())),
        Note::Denied { attempt } => Some(Asking::Denied(attempt.client())),
        _ => None,
    }
}

/// The moments, with the tries of a client that is denied again and again as one.
fn folded(moments: &[Moment]) -> Vec<Moment> {
    let mut lines = Vec::new();
    let client = |moment: &Moment| moment.asking.map(Asking::client);
    for run in moments.chunk_by(|one, next| client(one).is_some() && client(one) == client(next)) {
        let parts: Vec<_> = run.chunk_by(|_, next| !matches!(next.asking, Some(Asking::Asks(_)))).collect();
        for alike in parts.chunk_by(|one, next| reasons(one).is_some() && reasons(one) == reasons(next)) {
            let ([first, .., last], Some(reasons)) = (alike, reasons(alike[0])) else {
                lines.extend(alike.iter().copied().flatten().cloned());
                continue;
            };
            let (times, end) = (alike.len(), seconds(last[last.len() - 1].at));
            let each = if reasons.is_empty() { "" } else { "; each time " };
            let text = format!("asks and is denied, {times} times until {end}{each}{}", reasons.join(", and "));
            lines.push(Moment { text, ..first[0].clone() });
        }
    }
    lines
}

/// Why a try was denied, as far as the server has said it. `None`: it is no try that came to nothing.
fn reasons(part: &[Moment]) -> Option<Vec<&str>> {
    let [asks, between @ .., denied] = part else { return None };
    let is_try = matches!((asks.asking, denied.asking), (Some(Asking::Asks(_)), Some(Asking::Denied(_))));
    let reason = |moment: &Moment| matches!(moment.asking, Some(Asking::Fails(_)));
    (is_try && between.iter().all(reason)).then(|| between.iter().map(|moment| moment.text.as_str()).collect())
}

/// An error with which a server answered.
fn told_off(history: &History, error: &ServerError) -> Moment {
    Moment {
        at: error.at,
        rank: Rank::Note,
        mark: ' ',
        place: node_name(history, error.client).to_owned(),
        text: fails(history, error),
        asking: Some(Asking::Fails(error.client)),
    }
}

/// The order at one instant: who wakes does so before acting, and a fault that strikes at a milestone
/// strikes after the note.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    End,
    Note,
    Strike,
}

fn strikes(history: &History, fault: &StruckFault<'_>) -> Vec<Moment> {
    let StruckFault { name, what, nodes, from, until, landed, .. } = fault;
    let place = match nodes.as_slice() {
        [node] => node_name(history, *node).to_owned(),
        _ => String::new(),
    };
    let whom = if nodes.len() > 1 { format!(" {}", node_names(history, nodes)) } else { String::new() };
    let idle = if *landed { "" } else { ", where nothing was in use" };
    let moment = |at, rank, text| Moment { at, rank, mark: '!', place: place.clone(), text, asking: None };
    let mut moments = vec![moment(*from, Rank::Strike, format!("`{name}` strikes{whom} ({what}){idle}"))];
    if let Some(until) = until.filter(|until| until != from) {
        moments.push(moment(until, Rank::End, format!("`{name}` ends ({what})")));
    }
    moments
}

/// What was said before, as far as later lines are worded by it.
#[derive(Default)]
struct Seen {
    /// Who asked to share the lock.
    sharing: BTreeSet<AttemptId>,
    /// The last owner of a key, as a server had it.
    owners: BTreeMap<(NodeId, LockName), Option<AttemptId>>,
}

impl Seen {
    fn take(&mut self, note: &Note) {
        match note {
            Note::Attempting { attempt, mode: Mode::Shared, .. } => _ = self.sharing.insert(*attempt),
            Note::Owner { authority, key, attempt, .. } => _ = self.owners.insert((*authority, *key), *attempt),
            _ => {}
        }
    }

    /// Of a server that is back: whether it has that owner still, or once more after it had given the lock away.
    fn adverb(&self, authority: NodeId, key: LockName, owner: AttemptId) -> &'static str {
        match self.owners.get(&(authority, key)) {
            Some(last) if *last == Some(owner) => "still ",
            Some(_) => "again ",
            None => "",
        }
    }
}

fn said(run: &JudgedRun<'_>, seen: &Seen, Entry { at, node, note }: &Entry) -> String {
    let (history, node) = (run.history, *node);
    let names = Names::among(history, []);
    let of = |attempt: &Option<AttemptId>| names.of_any(*attempt);
    match note {
        Note::Attempting { attempt, lock, mode, .. } => {
            let what = if *mode == Mode::Shared { "to share" } else { "for" };
            format!("asks {what} `{lock}` (attempt {})", attempt.ordinal())
        }
        Note::Granted { token, until, counted, .. } => {
            let token = token.map_or_else(String::new, |token| format!(", token {}", token.0));
            let until = until.map_or_else(|| "without an end".to_owned(), |until| promised_end(history, node, until));
            let counted = if counted.len() > 1 { format!(", by {} servers", counted.len()) } else { String::new() };
            format!("granted{token}, {until}{counted}")
        }
        Note::Denied { .. } => "denied".to_owned(),
        Note::Failed { .. } => "failed: no clear answer".to_owned(),
        Note::GaveUp { .. } => "gives up".to_owned(),
        Note::Renewing { .. } => "is about to renew".to_owned(),
        Note::Renewed { until, .. } => format!("renewed, {}", promised_end(history, node, *until)),
        Note::RenewalFailed { .. } => "renewal failed".to_owned(),
        Note::ToldOfLoss { .. } => "learns that the lock is lost".to_owned(),
        Note::Checked { op, .. } => format!("decides on op {}", op.0),
        Note::Left { op, .. } => format!("op {} leaves", op.0),
        Note::Releasing { .. } => "begins to release".to_owned(),
        Note::Released { .. } => "released".to_owned(),
        Note::ReleaseRefused { .. } => "release refused, or not answered".to_owned(),
        Note::Ended { .. } => "ends its section".to_owned(),
        Note::Owner { key, attempt: None, cause, .. } => {
            let why = match cause {
                Cause::Request(by) => format!("as {} asked", of(by)),
                Cause::Expiry => "as its lease is over".to_owned(),
                Cause::SessionEnd => "as its session, or its transaction, is over".to_owned(),
                Cause::Eviction => "evicted".to_owned(),
                Cause::Restart => "lost in a restart".to_owned(),
                Cause::Promotion => "lost in a promotion".to_owned(),
                Cause::Demotion => "as another server decides".to_owned(),
            };
            format!("`{key}` has no owner now, {why}")
        }
        Note::Owner { authority, key, attempt: Some(attempt), cause } => {
            let adverb = if *cause == Cause::Restart { seen.adverb(*authority, *key, *attempt) } else { "" };
            let shares = if seen.sharing.contains(attempt) { ", who shares it" } else { "" };
            format!("`{key}` is {adverb}owned by {} (attempt {}){shares}", names.of(*attempt), attempt.ordinal())
        }
        // Another member has said so before.
        Note::Applied { index, key, .. } => format!("has applied entry {index} as well, about `{key}`"),
        Note::Acted { index, object, .. } => format!("has applied entry {index} as well, about `{object}`"),
        Note::Disagreed { key, attempt, .. } => {
            format!("makes something else of it: `{key}` is owned by {}", of(attempt))
        }
        Note::DiskLost { .. } if run.is_restored(node, *at) => "is back, its disk as the backup had it".to_owned(),
        Note::DiskLost { .. } => "is back, its disk without what was not synced".to_owned(),
        Note::Extended { key, attempt, by, .. } => {
            let whom = if *by == Some(*attempt) { String::new() } else { format!(", as {} asked", of(by)) };
            format!("extends the lease on `{key}` of {} (attempt {}){whom}", names.of(*attempt), attempt.ordinal())
        }
        Note::Promoted { instead_of, .. } => format!("takes the place of {}", node_name(history, *instead_of)),
        Note::Demoted { .. } => "decides no more".to_owned(),
        Note::Replicated { primary, notes, .. } => {
            format!("has what {} did up to its change of owners {notes}", node_name(history, *primary))
        }
        Note::Unreplicated { .. } => "waits for a replica before it answers, and none is connected".to_owned(),
        Note::Read { attempt, op, object, version } => {
            format!("{} reads `{object}` (op {}): v{}", of(attempt), op.0, version.0)
        }
        Note::Wrote { attempt, op, object, based_on, replaced } => {
            let based = based_on.map_or_else(|| "blindly".to_owned(), |version| format!("based on v{}", version.0));
            let (who, op, old) = (of(attempt), op.0, replaced.0);
            format!("{who} writes `{object}` (op {op}): v{old} to v{}, {based}", old.saturating_add(1))
        }
        Note::Marked { attempt, op, object } => format!("{} marks `{object}` (op {})", of(attempt), op.0),
        Note::Passed { attempt, op, object } => {
            format!("{} passes the check of `{object}` (op {})", of(attempt), op.0)
        }
        Note::Refused { attempt, op, object } => format!("{} is refused `{object}` (op {})", of(attempt), op.0),
        Note::Effected { attempt, op, effect } => format!("{} does `{effect}` (op {})", of(attempt), op.0),
    }
}

/// The line, cut off at that many letters.
fn cut(line: &str, width: usize) -> String {
    let line = line.trim_end();
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests;
