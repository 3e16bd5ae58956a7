use super::*;
use crate::testing::{paused_at_an_open_resource, small_events, small_header, small_trace};

/// The small trace with a change to its lines.
fn changed(change: impl FnOnce(&mut Vec<String>)) -> String {
    let mut lines: Vec<String> = small_trace().lines().map(str::to_owned).collect();
    change(&mut lines);
    lines.into_iter().map(|line| line + "\n").collect()
}

#[track_caller]
fn expect_error(text: &str, message: &str) {
    let error = read(text).expect_err("this is no trace");
    assert_eq!(error.to_string(), message);
}

#[test]
fn keys_come_in_the_order_of_the_format_and_absent_ones_are_left_out() {
    assert_eq!(small_trace(), include_str!("../../tests/golden/trace.jsonl"));
}

#[test]
fn a_trace_reads_back_as_it_was_written() {
    let text = small_trace();
    let trace = read(&text).expect("it was just written");
    assert_eq!(trace.header, small_header());
    let events: Vec<TraceEvent> =
        trace.lines.iter().map(|line| serde_json::from_str(line).expect("it was just written")).collect();
    assert_eq!(events, small_events());
    let told = paused_at_an_open_resource();
    let footer = TraceFooter::of(told.history.end, told.history.ending, 0x2a, &told.judged());
    assert_eq!(trace.footer, TraceFooter { events: 2, digest: trace.digest.clone(), ..footer });
    assert_eq!(write(&trace.header, &events, &trace.footer), text);
}

#[test]
fn readers_ignore_keys_that_they_do_not_know() {
    let text = changed(|lines| {
        for line in lines {
            *line = line.replacen('{', "{\"later\":[1],", 1);
        }
    });
    let trace = read(&text).expect("an unknown key is no matter");
    assert_eq!(trace.header, small_header());
    assert_eq!(trace.lines.len(), 2);
}

#[test]
fn a_changed_file_has_another_digest_than_its_footer_says() {
    let text = changed(|lines| lines[1] = lines[1].replacen("SET", "GET", 1));
    let trace = read(&text).expect("it is a trace all the same");
    assert_ne!(trace.digest, trace.footer.digest);
    let text = small_trace();
    let trace = read(&text).expect("it was just written");
    assert_eq!(trace.digest, trace.footer.digest);
}

#[test]
fn every_kind_of_verdict_has_its_own_keys() {
    let json = |verdict: &Verdict| serde_json::to_string(&TraceVerdict::of(verdict, &[])).expect("it is plain data");
    assert_eq!(json(&Verdict::Holds), r#"{"verdict":"holds"}"#);
    assert_eq!(json(&Verdict::Inconclusive("so".to_owned())), r#"{"verdict":"inconclusive","why":"so"}"#);
    let vacuous = Verdict::Vacuous(vec!["gc".to_owned(), "ntp".to_owned()]);
    assert_eq!(json(&vacuous), r#"{"verdict":"vacuous","why":"never landed: gc, ntp"}"#);
}

#[test]
fn every_ending_has_a_name_of_its_own() {
    let names = [Ending::Quiet, Ending::Horizon, Ending::Budget, Ending::Stuck].map(ending_name);
    assert_eq!(names, ["quiet", "horizon", "budget", "stuck"]);
}

#[test]
fn an_empty_file_is_no_trace() {
    expect_error("", "line 1: the file is empty; a trace begins with a header line, so record the run again");
}

#[test]
fn what_does_not_begin_with_a_header_is_no_trace() {
    expect_error(
        "name = \"gc-pause\"\n",
        "line 1: this is not the header of a trace (expected ident); give a file that `--out` has written",
    );
    expect_error(
        &changed(|lines| drop(lines.remove(0))),
        "line 1: this is not the header of a trace (missing field `schema`); give a file that `--out` has written",
    );
}

#[test]
fn another_version_of_the_format_is_named() {
    expect_error(
        &changed(|lines| lines[0] = r#"{"schema":"fencepost.trace/2","seeds":[1]}"#.to_owned()),
        "line 1: the file is in format `fencepost.trace/2`, and this program reads `fencepost.trace/1`; \
         use a program that reads it, or record the run again",
    );
}

#[test]
fn a_field_that_is_missing_is_named_at_the_end_of_its_line() {
    for (line, key) in [(1, "seed"), (2, "mono"), (4, "hash")] {
        let text = changed(|lines| lines[line - 1] = lines[line - 1].replacen(&format!("\"{key}\""), "\"what?\"", 1));
        let column = text.lines().nth(line - 1).map_or(0, str::len);
        let place = format!("line {line}, column {column}");
        expect_error(&text, &format!("{place}: missing field `{key}`; restore the line, or record the run again"));
    }
}

#[test]
fn a_line_that_is_no_event_is_shown() {
    expect_error(
        &changed(|lines| lines[2] = lines[2].replacen("\"t\":152000000", "\"t\":\"soon\"", 1)),
        "line 3, column 19: invalid type: string \"soon\", expected u64; restore the line, or record the run again",
    );
    expect_error(
        &changed(|lines| lines[1].truncate(20)),
        "line 2, column 20: EOF while parsing an object; restore the line, or record the run again",
    );
    expect_error(
        &changed(|lines| lines.insert(1, String::new())),
        "line 2, column 1: EOF while parsing a value; restore the line, or record the run again",
    );
}

#[test]
fn a_trace_that_was_cut_off_is_recognised() {
    let cut_off =
        |line| format!("line {line}: the trace ends here without a footer; it was cut off, so record the run again");
    expect_error(&changed(|lines| lines.truncate(1)), &cut_off(1));
    expect_error(&changed(|lines| lines.truncate(3)), &cut_off(3));
    let text = small_trace();
    expect_error(&text[..text.len() - 10], &cut_off(4));
}

#[test]
fn lines_that_were_taken_out_are_missed() {
    expect_error(
        &changed(|lines| drop(lines.remove(1))),
        "line 3: the footer counts 2 events, and the trace has 1; record the run again",
    );
}

#[test]
fn equal_traces_do_not_differ() {
    assert_eq!(first_difference(&small_trace(), &small_trace()), None);
    assert_eq!(first_difference("", ""), None);
}

#[test]
fn the_first_line_that_differs_is_shown() {
    let difference = |line, recorded: Option<&str>, replayed: Option<&str>| {
        let (recorded, replayed) = (recorded.map(str::to_owned), replayed.map(str::to_owned));
        Some(Difference { line, recorded, replayed })
    };
    assert_eq!(first_difference("a\nb\nc\n", "a\nx\ny\n"), difference(2, Some("b"), Some("x")));
    assert_eq!(first_difference("a\n", "a\nb\n"), difference(2, None, Some("b")));
    assert_eq!(first_difference("a\nb\n", "a\n"), difference(2, Some("b"), None));
    assert_eq!(first_difference("a\n", "a"), difference(1, Some("a"), Some("a")));
}
