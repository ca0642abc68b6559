"""Law of exchange: exporting and importing gives the same campaign; for random campaigns and every reader."""

import json
import tempfile
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from audiosim import Collection, estimate
from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, Event
from audiosim.campaign.archive import backup, restore
from audiosim.campaign.event import write_time
from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import BROAD, FINE, Document, Judgment, Run, contradiction, mean_grades
from audiosim.collection.written import qrels_lines
from audiosim.errors import AudiosimError, InputError
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.imports import WAITING, Delivery, Import, ImportStore, events_of, import_next
from audiosim.service.collections.served import ServedCollection
from audiosim.service.operations.exports import csv_lines, json_lines, judgment_rows, spreadsheet_lines

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FORMS = {"csv": csv_lines, "jsonl": json_lines, "spreadsheet": lambda rows: spreadsheet_lines(rows)[1]}
# Characters with a special meaning: in CSV, in spreadsheets, in lines of text, in Unicode.
SIGNS = "=+-@'\",;#{}\\ ñＡa\u2028\u00a0"
WORDS = st.text(SIGNS, min_size=1, max_size=4).filter(lambda text: text.strip() == text and text != "")
NAMES = st.sampled_from(["ann", "Ann", "\uff21nn", "=bob", "'-eve", ""])
GRADES = st.sampled_from([0.0, 1.0, 2.0])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask", "judge", "judge", "judge", "cannot", "undo", "undo earlier", "import", "set aside", "take back"]
        ),
        NAMES,
        st.integers(0, 11),
        GRADES,
    ),
    max_size=25,
)


@st.composite
def collections(draw):
    """A collection of up to 12 pairs by two systems, some of them judged before, with arbitrary names."""
    names = draw(st.lists(WORDS, min_size=6, max_size=6, unique=True))
    runs = tuple(Run(system, {q: tuple(names[2:]) for q in names[:2]}) for system in ("A", "B"))
    said = draw(st.lists(st.tuples(st.integers(0, 7), NAMES, GRADES), max_size=4))
    own = tuple(Judgment(names[i % 2], names[2 + i // 2], grade, name) for i, name, grade in said)
    assume(contradiction(own) is None)
    scale = draw(st.sampled_from([FINE, BROAD]))
    return Collection("any", "any", scale, 4, runs, {name: Document(name) for name in names[2:]}, judgments=own)


def play(campaign, collection, steps, pairs=None):
    """Carry out the steps that are allowed, a minute apart."""
    pairs = pairs or [(q, d) for q, found in collection.runs[0].rankings.items() for d in found]
    for minute, (kind, name, number, grade) in enumerate(steps):
        pair, time = pairs[number % len(pairs)], write_time(NOW + timedelta(minutes=minute))
        with suppress(AudiosimError):  # nothing to undo, a pair leased to another, or an invalid name
            if kind == "ask":
                campaign.ask(2, name)
            elif kind == "judge":
                details = {"note": "=one\nline", "played_s": 3.5}
                campaign.tell(Event("judgment", time, name, *pair, {collection.scale.name: grade}, details))
            elif kind == "cannot":
                campaign.tell(Event("cannot", time, name, *pair, details={"reason": "@silent"}))
            elif kind == "import":
                campaign.tell_all([Judgment(*pair, grade, name)])
            elif kind == "set aside":
                campaign.set_aside(name, reason="=why")
            elif kind == "take back":
                campaign.take_back(name)
            else:
                answers = campaign.answers(name)
                campaign.undo(name, answers[0].number if answers and kind == "undo earlier" else None)


def served(collection, unasked="mark"):
    return ServedCollection(collection, "uniform", Judging(settings=CampaignSettings(unasked=unasked)))


def sent(body):
    return Import(1, "any", "import-1", "me", write_time(NOW), WAITING, None, 0, ""), body


LAW = settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@LAW
@given(collections(), STEPS, st.sampled_from(["mark", "count"]), st.sampled_from(sorted(FORMS)))
def test_an_export_read_back_is_the_snapshot(collection, steps, unasked, form):
    one = served(collection, unasked)
    play(one.campaign, collection, steps)
    _, judgments = one.campaign.snapshot()
    rows = list(judgment_rows(one.campaign)[1])
    body = "".join(f"{line}\n" for line in FORMS[form](iter(rows))).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.any"
        path.write_bytes(body)
        if not rows:  # the file is empty, or a header alone
            with pytest.raises(InputError):
                read_judgments(path, collection.scale)
            return
        assert read_judgments(path, collection.scale)[1] == judgments
    other = served(replace(collection, judgments=(), runs=tuple(reversed(collection.runs))))
    other.campaign.tell_all(events_of(*sent(body), other))
    found = [
        replace(said, time=before.time) for said, before in zip(other.campaign.judgments(), judgments, strict=True)
    ]
    assert found == list(judgments)
    assert [
        a.time for a, b in zip(other.campaign.judgments(), judgments, strict=True) if b.time and a.time != b.time
    ] == []


@pytest.fixture(scope="module")
def imported():
    """Imports a file into a campaign; returns its end. One store, as making its tables takes as long as an import."""
    with closing(ImportStore(None)) as imports:

        def end(one, body):
            number = imports.add(Delivery.of("any", "me", "", body), body).number
            assert import_next(one, imports, lambda _: False)
            return imports.get("any", number)

        yield end


def exported(one, form):
    return "".join(f"{line}\n" for line in FORMS[form](judgment_rows(one.campaign)[1])).encode()


def carried(one):
    """The rows of an export, without what documentation says is left behind, by the time of the answer.

    A revised judgment of the collection's own stands where the collection has it.
    """
    left = ("leased", "until", "doubt")
    rows = [{name: cell for name, cell in row.items() if name not in left} for row in judgment_rows(one.campaign)[1]]
    return sorted(rows, key=lambda row: (str(row.get("time")), json.dumps(row, default=str)))


SECONDS = st.floats(0, 1e6) | st.integers(0, 100)
NOTES = st.text(SIGNS + '\n\t"nt ', max_size=6)
DETAILS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("seconds", "played_s", "query_played_s", "document_played_s"), SECONDS),
        "note": NOTES,
        "mood": NOTES,
        "form": GRADES,
        "beside": st.integers(1, 9),
        "rushed": st.just(True),
    },
)
ANSWERS = st.lists(
    st.tuples(st.booleans(), NAMES, st.integers(0, 11), GRADES, st.none() | GRADES, DETAILS, NOTES),
    min_size=1,
    max_size=12,
)


def answer(one, answers):
    """Answers with all that an export carries, a minute apart, some of them revised or of pairs handed out before."""
    scale, pairs = one.collection.scale, one.campaign.selection.pool.pairs
    for minute, (grades, name, number, grade, second, details, why) in enumerate(answers):
        time, pair = write_time(NOW + timedelta(minutes=minute)), pairs[number % len(pairs)]
        other = {} if second is None else {"broad" if scale is FINE else "fine": second}
        with suppress(AudiosimError):  # an invalid name, a lease of another person, or no reason
            if grades:
                one.campaign.tell(Event("judgment", time, name, *pair, {scale.name: grade, **other}, details))
            else:
                one.campaign.tell(Event("cannot", time, name, *pair, details={**details, "reason": why}))
            one.campaign.ask(1, name)


@pytest.mark.slow
@LAW
@given(collections(), ANSWERS, st.sampled_from(sorted(FORMS)))
def test_all_that_an_export_holds_comes_back(imported, collection, answers, form):
    one, other = served(collection, "count"), served(collection, "count")
    answer(one, answers)
    assume(judgment_rows(one.campaign)[1])
    assert (imported(other, exported(one, form)).problem, carried(other)) == ("", carried(one))


@pytest.mark.slow
@LAW
@given(collections(), ANSWERS, STEPS, st.sampled_from(["mark", "count"]), st.sampled_from(sorted(FORMS)))
def test_an_export_imported_into_its_own_campaign_changes_nothing(imported, collection, answers, steps, unasked, form):
    one = served(collection, unasked)
    answer(one, answers)
    play(one.campaign, collection, steps)
    log, before = one.campaign.log(), exported(one, form)
    assume(judgment_rows(one.campaign)[1])
    assert imported(one, before).problem == ""
    assert (one.campaign.log(), exported(one, form)) == (log, before)


PLAIN = Collection("any", "any", FINE, 300, (Run("A", {"q": tuple(f"d{number}" for number in range(300))}),))


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("seconds", "soon", "expected a finite number for seconds, found 'soon'"),
        ("played_s", "-1", "expected played_s from 0 to 1000000, got -1"),
        ("document_played_s", "1000001", "expected document_played_s from 0 to 1000000, got 1e+06"),
        ("note", "x" * 4001, "note has 4001 characters, expected at most 4000"),
        ("note", "x\ue000\x07", "note holds the character '\\x07', which is not text"),
        ("broad", "7", "grade 7 is not on the broad scale"),
        ("details", "[1]", "expected an object in details, found [1]"),
        ("details", "{", "not JSON: Expecting property name enclosed in double quotes, expected an object in details"),
        ("details", '{"a": {}}', "expected text, a finite number, true, false or nothing for a, got {}"),
        ("details", json.dumps(dict.fromkeys(map(str, range(34)))), "an event has at most 33 details, got 34"),
    ],
)
def test_of_a_file_with_something_wrong_beside_a_grade_nothing_is_written(imported, column, cell, problem):
    one, quoted = served(PLAIN), cell.replace('"', '""')
    body = f'query,document,fine,{column}\nq,d1,50,\nq,d2,50,"{quoted}"\n'
    file = imported(one, body.encode())
    assert (file.status, one.campaign.log()) == ("failed", [])
    assert file.problem.startswith(f"line 3: {problem}")
    assert "\n" not in file.problem


def test_what_a_file_does_not_say_stays_as_it_is(imported):
    one = served(PLAIN)
    first = b"query,document,fine,assessor,note,seconds\nq,d1,50,ann,slow,12\nq,d2,60,ann,,\n"
    less = b"query,document,fine,assessor\nq,d1,50,ann\nq,d2,60,ann\n"
    json_list = b'[{"query": "q", "document": "d1", "fine": 50, "assessor": "ann", "details": {"note": "slow"}}]'
    for body, lines in ((first, 2), (first, 2), (less, 2), (json_list, 1)):
        assert imported(one, body).written == lines
        assert [event.details for _, event, _ in one.campaign.log()] == [{"note": "slow", "seconds": 12}, {}]
    imported(one, b"query,document,fine,assessor,note\nq,d1,50,ann,fast\nq,d2,61,ann,\n")
    assert [event.details.get("note") for _, event, _ in one.campaign.log()] == ["slow", None, "fast", None]


def test_comparisons_that_are_there_are_not_written_again(imported):
    one = ServedCollection(PLAIN, "joint-fine", Judging())
    head, body = b"query\tdocument_a\tdocument_b\tanswer\tassessor", b"\nq\td1\td2\ta\tann\nq\td1\td3\t=\tann"
    for same in (head + b"\tseconds" + body.replace(b"ann", b"ann\t7"), head + body):
        assert imported(one, same).problem == ""
        assert [event.details["seconds"] for _, event, _ in one.campaign.log() if event.kind == "comparison"] == [7, 7]
    imported(one, head + body.replace(b"=", b"b"))
    assert [event.details["answer"] for _, event, _ in one.campaign.log() if event.kind == "comparison"][2:] == ["b"]


def test_the_last_of_several_lines_on_a_pair_decides_again(imported):
    one, body = served(PLAIN), b"query,document,fine,assessor\nq,d1,50,ann\nq,d1,60,ann\n"
    for _ in range(2):
        imported(one, body)
        assert [event.grades["fine"] for _, event, _ in one.campaign.log()] == [50, 60]
    imported(one, b"query,document,fine,assessor\nq,d1,60,ann\nq,d1,50,ann\n")
    assert [judgment.grade for judgment in one.campaign.judgments()] == [50]


def test_notes_of_a_large_export_come_back(imported):
    one, other = served(PLAIN, "count"), served(PLAIN, "count")
    pairs = one.campaign.selection.pool.pairs
    one.campaign.tell_all(
        Event("judgment", write_time(NOW), "ann", *pair, {"fine": 5.0}, {"note": f"{place}, \n" * 400, "seconds": 2})
        for place, pair in enumerate(pairs)
    )
    body = exported(one, "csv")
    assert len(body) > 2**19  # read by Arrow from there on
    imported(other, body)
    assert carried(other) == carried(one)


@pytest.mark.slow
@LAW
@given(collections(), STEPS)
def test_qrels_are_the_mean_grades_of_the_snapshot(collection, steps):
    one = served(collection)
    play(one.campaign, collection, steps)
    means = mean_grades(one.campaign.judgments())
    try:
        lines = qrels_lines(Judgment(*pair, grade) for pair, grade in means.items())
    except AudiosimError:
        assert any(" " in "".join(pair) or "\u00a0" in "".join(pair) or "\u2028" in "".join(pair) for pair in means)
        return
    fields = [line.split() for line in lines]
    assert {(query, document): float(grade) for query, _, document, grade in fields} == means


@pytest.mark.slow
@settings(LAW, max_examples=15)
@given(collections(), STEPS)
def test_a_backup_restored_is_the_campaign(collection, steps):
    with tempfile.TemporaryDirectory() as folder:
        here, there = (f"sqlite:///{folder}/{name}.db" for name in ("here", "there"))
        with closing(DatabaseStore(here, "any")) as store:
            campaign = Campaign(collection, "uniform", "CG@4", store, CampaignSettings(unasked="mark"))
            play(campaign, collection, steps)
            rows, judgments = list(campaign.log()), (campaign.snapshot(), campaign.aside())
        backup(here, Path(folder) / "monday.jsonl")
        restore(Path(folder) / "monday.jsonl", there)
        with closing(DatabaseStore(there, "any")) as store:
            again = Campaign(collection, "uniform", "CG@4", store, CampaignSettings(unasked="mark"))
            assert (list(again.log()), (again.snapshot(), again.aside())) == (rows, judgments)


def test_rows_of_assessors_who_may_not_listen_say_so():
    names = [f"d{number:02}" for number in range(24)]
    one = served(Collection("any", "any", FINE, 24, (Run("A", {"q": tuple(names)}),)))
    for name, step_s in (("ann", 0.2), ("bob", 20)):
        for number, pair in enumerate(one.campaign.ask(12, name)):
            time = write_time(NOW + timedelta(seconds=number * step_s))
            one.campaign.tell(Event("judgment", time, name, *pair, {"fine": 50.0}))
    _, rows = judgment_rows(one.campaign)
    found = {name: {row.get("doubt") for row in rows if row["assessor"] == name} for name in ("ann", "bob")}
    assert found == {"ann": {"median of 0.2 s from one answer to the next"}, "bob": {None}}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_estimate_on_an_export_says_what_the_service_says(seed, tmp_path):
    demo = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
    collection, rng = replace(Collection.load(demo), judgments=()), np.random.default_rng(seed)
    one = ServedCollection(collection, None, Judging(settings=CampaignSettings(unasked="mark", batch=10)))
    pairs = one.campaign.selection.pool.pairs
    steps = [("ask", "ann", 0, 0.0), ("import", "bob", 1, 40.0)]
    for _ in range(24):
        kind = rng.choice(["import", "import", "judge", "undo"])
        steps.append((kind, rng.choice(["ann", "bob"]), int(rng.integers(len(pairs))), float(rng.integers(100))))
    play(one.campaign, collection, steps, pairs)
    path = tmp_path / "judgments.csv"
    path.write_text("".join(f"{line}\n" for line in csv_lines(judgment_rows(one.campaign)[1])), encoding="utf-8")
    back = Collection.load(demo, judgments=path)
    here = estimate(back, measure=str(one.campaign.selection.measure)).rows()
    there = one.verdicts()[1].ranking.rows()
    assert len(back.judgments) == one.campaign.progress.judgments > 5
    for mine, theirs in zip(here, there, strict=True):
        assert (mine["system"], mine["expectation"]) == (
            theirs["system"],
            pytest.approx(theirs["expectation"], abs=1e-9),
        )
