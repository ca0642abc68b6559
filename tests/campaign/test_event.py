import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from audiosim.campaign.event import NAME_LIMIT, Event, judgment_event, parse_time, write_time
from audiosim.collection.task import DETAILS_LIMIT, TEXT_LIMIT
from audiosim.collection.values import BINARY, BROAD, FINE, Judgment, parse_scale
from audiosim.errors import InputError

NOON, ONE = "2013-05-01T12:00:00Z", "2013-05-01T13:00:00Z"
PAIR = {"query": "q", "document": "d"}


def judgment(**more):
    return Event(**({"kind": "judgment", "time": NOON, "grades": {"fine": 70}, **PAIR} | more))


def test_the_scale_of_the_collection_picks_its_grade():
    both = judgment(grades={"fine": 70, "broad": 2})
    assert (both.judgment_on(FINE).grade, both.judgment_on(BROAD).grade) == (70, 2)
    plain = judgment(grades={"grade": 1})
    assert [plain.grade_on(scale) for scale in (FINE, BINARY, parse_scale([0, 1, 5]))] == [1, 1, 1]


def test_a_judgment_without_a_grade_on_the_scale_or_with_one_off_it_is_refused():
    with pytest.raises(InputError, match="expected a grade on the broad scale, got only fine"):
        judgment().judgment_on(BROAD)
    with pytest.raises(InputError, match="grade 7 is not on the binary scale"):
        judgment(grades={"grade": 7}).judgment_on(BINARY)


@pytest.mark.parametrize(("scale", "grade", "column"), [(FINE, 70, "fine"), (BROAD, 2, "broad"), (BINARY, 1, "grade")])
def test_a_judgment_becomes_an_event_and_back(scale, grade, column):
    given = Judgment("q", "d", grade, "Ann Ö.", NOON)
    event = judgment_event(given, scale, ONE)
    assert event.grades == {column: grade}
    assert event.judgment_on(scale) == given
    assert judgment_event(replace(given, time=""), scale, ONE).time == ONE


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (
            {"kind": "shout"},
            "unknown kind of event 'shout', expected judgment, cannot, repeat, undo, lease, again, learn, pa",
        ),
        ({"time": "noon"}, "expected a time in UTC such as 2013-05-01T12:00:00Z, got 'noon'"),
        ({"time": "2013-05-01T12:00:00"}, "expected a time in UTC .* got '2013-05-01T12:00:00'"),
        ({"time": "2013-05-01T12:00:00+02:00"}, "expected a time in UTC"),
        ({"time": ""}, "expected a time in UTC .* got ''"),
        ({"query": " "}, "judgment needs a query and a document, got ' ' and 'd'"),
        ({"document": ""}, "judgment needs a query and a document, got 'q' and ''"),
        ({"kind": "pause", "grades": {}}, "pause takes no pair, got 'q' and 'd'"),
        ({"grades": {}}, "judgment with 0 grades: a judgment has one or more, the rest none"),
        ({"kind": "cannot", "details": {"reason": "silent"}}, "cannot with 1 grades"),
        ({"grades": {"loud": 1}}, "unknown scale 'loud' of a grade, expected grade, fine, broad"),
        ({"grades": {"fine": 101}}, "grade 101 is not on the fine scale"),
        ({"grades": {"broad": 1.5}}, "grade 1.5 is not on the broad scale"),
        ({"grades": {"fine": True}}, "expected a finite number from 0 for fine, got True"),
        ({"grades": {"fine": "70"}}, "expected a finite number from 0 for fine, got '70'"),
        ({"grades": {"grade": math.nan}}, "expected a finite number from 0 for grade, got nan"),
        ({"grades": {"grade": math.inf}}, "expected a finite number from 0 for grade, got inf"),
        ({"grades": {"grade": -1}}, "expected a finite number from 0 for grade, got -1"),
        ({"kind": "cannot", "grades": {}}, "cannot judge without a reason: expected one in the details"),
        ({"kind": "cannot", "grades": {}, "details": {"reason": " "}}, "cannot judge without a reason"),
        ({"refers": 3}, "judgment refers to 3: undo and learn refer to an event's number, the rest to 0"),
        ({"refers": -3}, "judgment refers to -3"),
        ({"kind": "undo", "grades": {}, "query": "", "document": ""}, "undo refers to 0"),
        ({"kind": "undo", "grades": {}, "query": "", "document": "", "refers": True}, "undo refers to True"),
        ({"until": ONE}, "judgment does not last, got until '2013-05-01T13:00:00Z'"),
        ({"kind": "lease", "grades": {}, "until": ONE}, "a lease needs an assessor"),
        ({"kind": "lease", "grades": {}, "assessor": "a"}, "expected a time in UTC .* got ''"),
        (
            {"kind": "lease", "grades": {}, "assessor": "a", "until": NOON},
            "a lease must end after it begins, got .* to",
        ),
        (
            {"assessor": "a" * (NAME_LIMIT + 1)},
            f"assessor has {NAME_LIMIT + 1} characters, expected at most {NAME_LIMIT}",
        ),
        ({"key": "\ud800"}, r"key holds the character '\\ud800', which is not text"),
        ({"query": "q\0"}, r"query holds the character '\\x00', which is not text"),
        ({"query": "q\n"}, r"query holds the character '\\n', which is not text"),
        ({"document": 7}, "expected text for document, got 7"),
        ({"details": {"note": "a\x1b"}}, r"note holds the character '\\x1b', which is not text"),
        ({"details": {"note": "a" * (TEXT_LIMIT + 1)}}, f"note has {TEXT_LIMIT + 1} characters"),
        (
            {"details": {"seconds": math.nan}},
            "expected text, a finite number, true, false or nothing for seconds, got nan",
        ),
        ({"details": {"n": 2**60}}, "expected text, a finite number, .* for n, got 1152921504606846976"),
        ({"details": {"n": [1]}}, r"expected text, a finite number, .* for n, got \[1\]"),
        ({"details": {7: 1}}, "expected text for the name of a detail, got 7"),
        ({"details": {str(n): n for n in range(99)}}, f"an event has at most {DETAILS_LIMIT} details, got 99"),
    ],
)
def test_an_event_that_breaks_a_rule_is_refused(changed, complaint):
    with pytest.raises(InputError, match=complaint):
        judgment(**changed)


def test_text_in_any_script_and_a_note_of_several_lines_are_taken():
    event = judgment(
        query="поиск\u00a0👩‍🎤", assessor="Ann Ö.", details={"note": "one\n\ttwo", "played_s": 3.5, "again": None}
    )
    assert event.details["note"] == "one\n\ttwo"


def test_an_event_stays_as_it_was_when_what_it_was_made_of_changes():
    grades = {"fine": 70}
    event = judgment(grades=grades)
    grades["fine"] = -1
    assert event.grades == {"fine": 70}


def test_an_event_repeats_another_if_all_but_the_time_is_the_same():
    assert judgment(time=ONE).repeats(judgment())
    assert not judgment(details={"note": "no"}).repeats(judgment())


def test_a_row_has_a_column_for_each_scale_and_is_plain():
    row = judgment(details={"note": "x"}).row()
    assert (row["fine"], row["broad"], row["grade"], row["refers"], row["until"]) == (70, None, None, None, None)
    assert json.loads(json.dumps(row)) == row


def test_times_are_written_in_utc_and_read_back():
    summer = datetime(2013, 5, 1, 14, 0, 0, 123000, tzinfo=timezone(timedelta(hours=2)))
    assert write_time(summer) == "2013-05-01T12:00:00.123Z"
    assert parse_time(write_time(summer)) == summer
    assert parse_time("2013-05-01T12:00:00+00:00") == datetime(2013, 5, 1, 12, tzinfo=UTC)
