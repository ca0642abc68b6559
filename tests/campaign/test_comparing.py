"""Comparisons in campaigns: asked, answered, withdrawn, replayed, kept; their values compared with closed forms."""

import json
import math
import re
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.special import ndtr
from typer.testing import CliRunner

from audiosim import Collection
from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, Event, MemoryStore, with_log
from audiosim.campaign.archive import backup, restore, verify
from audiosim.campaign.timing import COMPARISON, GRADE, SecondsTaken
from audiosim.cli import app
from audiosim.collection.kinds import read_comparisons
from audiosim.collection.values import Judgment, PairedComparison, Run, Scale
from audiosim.collection.written import comparison_lines
from audiosim.errors import InputError, LeaseError
from audiosim.joint.comparisons import NOTHING_COMPARED, Compared
from audiosim.ranking.rules import DoubtAboutDifferences
from audiosim.ranking.values import ComparisonValues, information_left

NOON = "2013-05-01T12:00:00Z"
SCALE = Scale("custom", (0.0, 1.0, 2.0, 3.0, 4.0))
SYSTEMS, QUERIES = 4, 10
ONLY = CampaignSettings(comparisons="only")
OWN = ["ann q2 01 a", "ann q2 12 a", "ann q2 23 a"]
OWN = ["ann q2 01 a", "ann q2 12 a", "ann q2 23 a"]


@pytest.fixture(scope="module")
def collection():
    """Each system retrieves a different document for each query."""
    runs = tuple(Run(f"S{s}", {f"q{q}": (f"q{q}/S{s}",) for q in range(QUERIES)}) for s in range(SYSTEMS))
    return Collection("drawn", "drawn", SCALE, 1, runs)


def compared(query="q1", a="q1/S0", b="q1/S1", answer="a", assessor="ann", seconds=20.0, **more):
    details = {"document_b": b, "answer": answer, "seconds": seconds}
    return Event("comparison", NOON, assessor, query, a, details=details, **more)


def held(campaign):
    return [(one.assessor, one.document_a, one.document_b, one.answer) for one in campaign.comparisons.in_force()[1]]


@pytest.mark.slow
def test_an_answer_counts_until_it_is_revised_or_withdrawn_or_its_author_set_aside(collection):
    campaign = Campaign(collection, measure="CG@1", settings=ONLY)
    before = campaign.ranking.scores.mean
    first = campaign.tell(compared())
    campaign.tell(compared(assessor="bob", answer="="))
    assert held(campaign) == [("ann", "q1/S0", "q1/S1", "a"), ("bob", "q1/S0", "q1/S1", "=")]
    assert campaign.ranking.comparisons == 2
    means = campaign.ranking.scores.mean
    assert means[0] > before[0]
    assert means[1] < before[1]
    # the same two documents, the other way round: a revision
    campaign.tell(compared(a="q1/S1", b="q1/S0", answer="a"))
    assert held(campaign) == [("bob", "q1/S0", "q1/S1", "="), ("ann", "q1/S1", "q1/S0", "a")]
    campaign.undo("ann")
    assert held(campaign)[0] == ("ann", "q1/S0", "q1/S1", "a")
    assert campaign.comparisons.leases("ann") == []  # their first answer counts again
    assert campaign.ranking.scores.mean == pytest.approx(means)
    campaign.set_aside("ann", "olga")
    assert held(campaign) == [("bob", "q1/S0", "q1/S1", "=")]
    campaign.take_back("ann", "olga")
    campaign.undo("ann", first.number)
    campaign.undo("bob")
    assert held(campaign) == []
    assert campaign.ranking.scores.mean == pytest.approx(before)


def test_the_same_answer_sent_again_is_not_written_again(collection):
    campaign = Campaign(collection, measure="CG@1", settings=ONLY)
    first, again = campaign.tell(compared(key="k")), campaign.tell(compared(key="k"))
    assert (again.number, again.replayed) == (first.number, True)
    with pytest.raises(InputError, match="the key 'k' of ann is used for another event"):
        campaign.tell(compared(key="k", answer="b"))


@pytest.mark.slow
def test_a_log_with_comparisons_is_replayed_sealed_backed_up_and_read_back(collection, tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    rng = np.random.default_rng(4)
    # enough for the model to learn from, with some grades in between
    said = [
        compared(f"q{q}", f"q{q}/S{a}", f"q{q}/S{b}", rng.choice(["a", "=", "b"]), f"p{q % 3}")
        for q in range(QUERIES)
        for a, b in [(0, 1), (2, 1), (3, 0)]
    ]
    said[7:7] = [Event("judgment", NOON, "p0", "q0", f"q0/S{s}", {"grade": float(s)}) for s in range(SYSTEMS)]
    store = DatabaseStore(url, collection.identifier)
    campaign = Campaign(collection, measure="CG@1", store=store, settings=ONLY)
    for start in range(0, len(said), 5):
        campaign.tell_all(said[start : start + 5])
    campaign.undo("p1")
    assert [record.event.kind for record in campaign.log()].count("learn") == 2  # at 25, and without the withdrawn one
    again = Campaign(collection, measure="CG@1", store=store, settings=ONLY)
    assert again.confidence == campaign.confidence
    assert again.selection.weights.tolist() == campaign.selection.weights.tolist()
    fresh = Campaign(collection, measure="CG@1", settings=ONLY, store=MemoryStore(), known=campaign.log())
    assert fresh.comparisons.in_force()[1] == campaign.comparisons.in_force()[1]
    file = tmp_path / "comparisons.tsv"
    file.write_text("\n".join(comparison_lines(campaign.comparisons.in_force()[1])))
    assert read_comparisons(file) == campaign.comparisons.in_force()[1] == with_log(url, collection).comparisons
    store.close()
    backup(url, tmp_path / "backup")
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert restore(tmp_path / "backup", other) == verify(url) == verify(other)
    assert with_log(other, collection).comparisons == read_comparisons(file)


@pytest.mark.slow
def test_comparisons_count_in_the_order_in_which_an_export_lists_them(collection):
    """Revisions, repeated answers, undos and people set aside change both orders in the same way."""
    own = tuple(PairedComparison("q2", f"q2/S{n}", f"q2/S{n + 1}", "a", "ann") for n in range(3))
    asked = replace(collection, comparisons=own)
    campaign = Campaign(asked, measure="CG@1", settings=ONLY)

    def order():
        found = campaign.comparisons.in_force()[1]
        fresh = Campaign(asked, measure="CG@1", settings=ONLY, store=MemoryStore(), known=campaign.log())
        assert campaign.selection.comparisons == fresh.selection.comparisons == found
        return [f"{one.assessor} {one.query} {one.document_a[-1]}{one.document_b[-1]} {one.answer}" for one in found]

    first = campaign.tell(compared())
    campaign.tell(compared(assessor="bob"))
    campaign.tell(compared(answer="b"))  # a revision is the last ...
    assert order() == [*OWN, "bob q1 01 a", "ann q1 01 b"]
    campaign.undo("ann")  # ... until it is undone
    assert order() == [*OWN, "ann q1 01 a", "bob q1 01 a"]
    same = campaign.tell(compared())
    assert order() == [*OWN, "bob q1 01 a", "ann q1 01 a"]
    campaign.tell(compared("q2", "q2/S0", "q2/S1", "b"))
    assert order() == [*OWN[1:], "bob q1 01 a", "ann q1 01 a", "ann q2 01 b"]
    campaign.undo("ann")
    campaign.undo("ann", same.number)
    assert order() == [*OWN, "ann q1 01 a", "bob q1 01 a"]
    campaign.set_aside("ann", "olga")
    assert order() == ["bob q1 01 a"]
    campaign.take_back("ann", "olga")
    campaign.undo("ann", first.number)
    assert order() == [*OWN, "bob q1 01 a"]


@pytest.mark.slow
def test_people_are_asked_for_comparisons_that_nobody_holds_and_they_did_not_make(collection):
    campaign = Campaign(collection, measure="CG@1", settings=ONLY)
    first = campaign.comparisons.ask(3, "ann")
    assert len({name for one in first for name in one[1:3]}) == 6
    assert campaign.comparisons.ask(3, "ann") == [
        one._replace(until=again.until) for one, again in zip(first, campaign.comparisons.leases("ann"), strict=True)
    ]
    asked = {(one.query, frozenset(one[1:3])) for one in first}
    others = {(one.query, frozenset(one[1:3])) for one in campaign.comparisons.ask(3, "bob")}
    assert not asked & others
    for one in first:
        campaign.tell(compared(*one[:3]))
    more = {(one.query, frozenset(one[1:3])) for one in campaign.comparisons.ask(20, "ann")}
    assert more
    assert not more & (asked | others)
    sides = [one.document_a < one.document_b for name in "cd" for one in campaign.comparisons.ask(20, name)]
    assert 0 < sum(sides) < len(sides)  # the first document is drawn at random


@pytest.mark.slow
def test_which_document_stands_first_is_drawn_for_each_assessor(collection):
    first, both = set(), set()
    for name in ("ann", "bob", "cid", "dan", "eve"):
        asked = Campaign(collection, measure="CG@1", settings=ONLY).comparisons.ask(20, name)
        first |= {one[:3] for one in asked}
        both |= {(one.query, frozenset(one[1:3])) for one in asked}
    assert len(both) < len(first) < 2 * len(both)


def test_a_comparison_whose_earlier_answer_holds_again_is_not_asked_once_more(collection):
    campaign = Campaign(collection, measure="CG@1", settings=ONLY)
    (one,) = campaign.comparisons.ask(1, "ann")
    for answer in ("a", "b"):
        campaign.tell(compared(*one[:3], answer=answer))
    campaign.undo("ann")
    assert campaign.comparisons.leases("ann") == []
    campaign.undo("ann")
    assert [left[:3] for left in campaign.comparisons.leases("ann")] == [one[:3]]


@pytest.mark.slow
def test_a_withdrawn_comparison_is_asked_again_once_its_lease_has_ended(collection):
    moment = [datetime(2013, 5, 1, 12, tzinfo=UTC)]
    campaign = Campaign(collection, measure="CG@1", settings=ONLY, clock=lambda: moment[0])

    def asked(name):
        return {(one.query, frozenset(one[1:3])) for one in campaign.comparisons.ask(1, name)}

    def all_left():
        """Everything that ann may still be asked once their leases have ended; each is answered."""
        left = set()
        while found := campaign.comparisons.ask(20, "ann"):
            left |= {(one.query, frozenset(one[1:3])) for one in found}
            campaign.tell_all([compared(*one[:3]) for one in found])
        return left

    (said,) = asked("ann")
    (one,) = campaign.comparisons.leases("ann")
    campaign.tell(compared(*one[:3]))
    campaign.undo("ann")
    moment[0] += timedelta(days=30)
    assert campaign.comparisons.leases("ann") == []
    assert said in all_left()


@pytest.mark.slow
def test_the_kind_of_question_that_tells_most_in_a_persons_time_is_asked(collection):
    campaign = Campaign(collection, measure="CG@1", settings=CampaignSettings(comparisons="some"))
    worth = campaign.comparisons.worth("ann")
    assert min(worth.grade, worth.comparison) > 0

    def judged(count, seconds, taken):
        """Answers about the same two documents, so that the remaining questions stay the same."""
        graded = Event("judgment", NOON, "ann", "q0", "q0/S0", {"grade": 2.0}, {"seconds": seconds})
        campaign.tell_all(
            [one for _ in range(count) for one in (graded, compared("q0", "q0/S0", "q0/S1", "=", seconds=taken))]
        )

    judged(40, 600.0, 1.0)
    assert campaign.comparisons.worth("ann").kind == COMPARISON
    assert campaign.comparisons.worth("bob").kind == COMPARISON  # by the pace of people here
    judged(150, 1.0, 600.0)
    assert campaign.comparisons.worth("ann").kind == GRADE
    (one,) = campaign.comparisons.ask(1, "ann")
    assert one.assessor == "ann"
    assert Campaign(collection, measure="CG@1").comparisons.worth("ann") == (GRADE, 0, 0, SYSTEMS * QUERIES)


@pytest.mark.slow
@pytest.mark.parametrize("allowed", ["only", "some"])
def test_the_number_of_questions_left_falls_to_none_as_each_is_answered(collection, allowed):
    # Four documents a query make six comparisons; where grades are asked too, each document can be graded as well.
    campaign = Campaign(collection, measure="CG@1", settings=CampaignSettings(comparisons=allowed))
    everything = 6 * QUERIES + (SYSTEMS * QUERIES if allowed == "some" else 0)
    assert campaign.comparisons.worth("ann").left == everything
    given = 0
    while found := campaign.comparisons.ask(20, "ann"):
        assert campaign.comparisons.worth("ann").left == everything - given
        campaign.tell_all([compared(*one[:3]) for one in found])
        given += len(found)
    assert given == 6 * QUERIES
    assert campaign.comparisons.worth("ann").left == everything - given


@pytest.mark.slow
def test_the_command_says_which_kind_of_question_tells_most_per_second(collection, tmp_path):
    collection.save(tmp_path / "drawn")
    url = f"sqlite:///{tmp_path / 'campaign.db'}"

    def kinds(*more):
        done = CliRunner().invoke(app, ["questions", str(tmp_path / "drawn"), "--format", "json", *more])
        return done, json.loads(done.stdout or "[]")

    usual = {row["kind"]: row["seconds"] for row in kinds()[1]}
    assert usual == {GRADE: 14, COMPARISON: 21}
    with closing(DatabaseStore(url, "drawn")) as store:
        campaign = Campaign(Collection.load(tmp_path / "drawn"), measure="CG@1", store=store)
        graded = Event("judgment", NOON, "ann", "q0", "q0/S0", {"grade": 2.0}, {"seconds": 600.0})
        answers = (graded, compared("q0", "q0/S0", "q0/S1", "=", seconds=1.0))
        campaign.tell_all([one for _ in range(40) for one in answers])
    quick, slow = kinds("--judgments", url, "--measure", "CG@1", "--assessor", "ann")[1]
    assert (quick["kind"], quick["relative"], slow["kind"]) == (COMPARISON, 1, GRADE)
    assert quick["seconds"] < 3
    assert slow["seconds"] > 200
    assert len(quick["documents"]) == 2
    unknown = kinds("--judgments", url, "--assessor", "anne")[0]
    assert (unknown.exit_code, "did you mean ann?" in re.sub(r"[│\s]+", " ", unknown.stderr)) == (2, True)
    assert 0 < slow["relative"] < 0.1
    refused = kinds("--model", "uniform")[0].exception
    assert "kinds of questions need a model that supports comparisons, such as joint, got uniform" in str(refused)


def test_with_everything_judged_no_kind_of_question_is_left(collection, tmp_path):
    pairs = [(query, document) for query, names in collection.runs[0].rankings.items() for document in names]
    judged = tuple(Judgment(*pair, 2.0) for pair in pairs)
    replace(collection, runs=collection.runs[:1], judgments=judged).save(tmp_path / "drawn")
    done = CliRunner().invoke(app, ["questions", str(tmp_path / "drawn"), "--format", "json"])
    assert [row["documents"] for row in json.loads(done.stdout)] == [[], []]
    assert "note: nothing is left to ask" in done.stderr


def test_seconds_begin_with_the_usual_ones_and_follow_kind_and_person():
    seconds = SecondsTaken()
    assert (seconds.expected(GRADE, "ann"), seconds.expected(COMPARISON, "ann")) == (14, 21)
    for _ in range(300):
        seconds.note(compared(seconds=40.0))
        seconds.note(compared(assessor="bob", seconds=10.0))
    assert seconds.expected(COMPARISON, "ann") == pytest.approx(40, rel=0.05)
    assert seconds.expected(COMPARISON, "bob") == pytest.approx(10, rel=0.05)
    assert seconds.expected(COMPARISON, "new") == pytest.approx(20, rel=0.05)  # the geometric mean
    # the pace at one kind informs the pace at the other
    assert seconds.expected(GRADE, "new") == pytest.approx(14 * 20 / 21, rel=0.05)


def test_a_comparison_is_heard_with_the_noise_of_two_grades(collection):
    """No two of these documents have a system in common, so people's tastes for them are independent."""
    selection = Campaign(collection, measure="CG@1", settings=ONLY, store=MemoryStore()).selection
    found, gains = ComparisonValues.of(selection, ~selection.belief.judged), selection.belief.gains
    # The value of a grade falls with its noise variance; an exact grade has only the gain's own variance.
    exact = DoubtAboutDifferences(selection.expected).weights(selection.belief, selection.believed)
    heard = gains.variance * exact / found.grades
    asked = Compared(("",), found.first, found.second, *np.zeros((2, len(found.first)), dtype=np.int64))
    _, variance, _ = selection.estimator.comparison_model(NOTHING_COMPARED).differences_heard(gains, asked)
    for i, j, of in zip(found.first, found.second, variance, strict=True):
        among = gains.among(np.array([i, j]))
        assert of == pytest.approx(heard[i] + heard[j] - 2 * among[0, 1], rel=1e-9)


def test_the_sign_of_a_normal_variable_leaves_two_over_pi_of_its_information():
    assert information_left(np.zeros(1), np.zeros(1)) == pytest.approx(2 / math.pi)
    assert information_left(np.array([-40.0]), np.array([40.0])) == pytest.approx(0)


def test_the_information_left_is_the_variance_explained_by_the_class():
    # brute force: variance of the mean of a standard normal within each of the three classes
    lower, upper = -0.3, 0.9
    grid = np.linspace(-9, 9, 400_001)
    weight = np.exp(-(grid**2) / 2)
    weight /= weight.sum()
    found = 0.0
    for inside in (grid < lower, (grid >= lower) & (grid < upper), grid >= upper):
        found += (weight[inside] @ grid[inside]) ** 2 / weight[inside].sum()
    assert information_left(np.array([lower]), np.array([upper])) == pytest.approx(found, abs=1e-4)
    assert ndtr(upper) > ndtr(lower)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({}, "comparison needs a second document: expected document_b in the details"),
        ({"document_b": "q1/S1"}, "comparison without an answer: expected a, b or = in the details"),
        ({"document_b": "q1/S1", "answer": "c"}, "expected a, b or = as answer, got 'c'"),
        ({"document_b": "q1/S0", "answer": "a"}, "expected two documents to compare, got q1/S0 twice"),
    ],
)
def test_a_malformed_comparison_is_refused(details, message):
    with pytest.raises(InputError, match=message):
        Event("comparison", NOON, "ann", "q1", "q1/S0", details=details)


def test_comparisons_that_cannot_be_are_refused(collection):
    with pytest.raises(InputError, match="comparisons need a model that supports them, such as joint, got uniform"):
        Campaign(collection, "uniform", "CG@1", settings=ONLY)
    with pytest.raises(InputError, match="unknown share of comparisons 'many', expected none, some, only"):
        CampaignSettings(comparisons="many")
    campaign = Campaign(collection, measure="CG@1", settings=CampaignSettings(comparisons="only", unasked="refuse"))
    with pytest.raises(InputError, match="elsewhere"):
        campaign.tell(compared(b="elsewhere"))
    with pytest.raises(LeaseError, match="this comparison for query q1 was never handed to ann: ask for comparisons"):
        campaign.tell(compared())
    with pytest.raises(InputError, match="a lease cannot be recorded"):
        campaign.tell(
            Event("compare", NOON, "ann", "q1", "q1/S0", details={"document_b": "q1/S1"}, until="2013-05-01T13:00:00Z")
        )
    with pytest.raises(InputError, match="the number of comparisons to ask for must be at least 1, got 0"):
        campaign.comparisons.ask(0, "ann")
    with pytest.raises(InputError, match="expected the name of an assessor"):
        campaign.comparisons.ask(1, "")


def test_the_comparisons_of_the_collection_come_before_those_of_the_campaign(collection):
    own = PairedComparison("q2", "q2/S0", "q2/S1", "b", "ann")
    campaign = Campaign(
        Collection("drawn", "drawn", SCALE, 1, collection.runs, comparisons=(own,)), measure="CG@1", settings=ONLY
    )
    campaign.tell(compared())
    assert held(campaign) == [("ann", "q2/S0", "q2/S1", "b"), ("ann", "q1/S0", "q1/S1", "a")]
    campaign.tell(compared("q2", "q2/S0", "q2/S1", "="))
    assert held(campaign) == [("ann", "q1/S0", "q1/S1", "a"), ("ann", "q2/S0", "q2/S1", "=")]
    campaign.undo("ann")
    assert held(campaign)[0] == ("ann", "q2/S0", "q2/S1", "b")


@pytest.mark.parametrize("unasked", ["mark", "refuse"])
def test_a_comparison_is_not_handed_out_again_while_one_of_its_documents_cannot_be_judged(collection, unasked):
    campaign = Campaign(collection, measure="CG@1", settings=replace(ONLY, unasked=unasked))
    (one,) = campaign.comparisons.ask(1, "ann")
    report = Event("cannot", NOON, "ann", one.query, one.document_b, details={"reason": "silent"})
    assert dict(campaign.tell(report).event.details) == {"reason": "silent"}  # it was handed to them
    asked = campaign.comparisons.ask(100, "ann")
    assert asked
    assert (one.query, one.document_b) not in {(other.query, name) for other in asked for name in other[1:3]}
    campaign.undo("ann")
    assert campaign.leases("ann") == []  # not the pair alone, but the comparison again
    assert one[:4] in {other[:4] for other in campaign.comparisons.ask(100, "ann")}
    # a document that was in no comparison of theirs was not handed to them
    shown = {(other.query, name) for other in campaign.comparisons.leases("ann") for name in other[1:3]}
    pair = next(pair for pair in campaign.selection.pool.pairs if tuple(pair) not in shown)
    elsewhere = Event("cannot", NOON, "ann", *pair, details={"reason": "silent"})
    if unasked == "refuse":
        with pytest.raises(LeaseError, match="was never handed to ann"):
            campaign.tell(elsewhere)
    else:
        assert campaign.tell(elsewhere).event.details["unasked"] is True


def test_comparisons_are_valued_once_for_a_person_who_is_told_and_then_handed_the_best(collection, monkeypatch):
    """Handing out changes no belief; an answer does."""
    valued, value = [], ComparisonValues.of
    monkeypatch.setattr(ComparisonValues, "of", lambda *given: valued.append(given) or value(*given))
    campaign = Campaign(collection, measure="CG@1", settings=ONLY)
    queue = campaign.comparisons
    for person in ("ann", "bob"):
        assert queue.worth(person).kind == "comparison"
        assert len(queue.ask(2, person)) == 2
    assert len(valued) == 1
    campaign.tell(compared())
    queue.worth("ann")
    assert len(valued) == 2
