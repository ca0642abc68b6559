"""The joint model behind the service: judgments move other pairs at once, and its learning survives a restart."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import audiosim
from audiosim.campaign import Campaign, DatabaseStore, MemoryStore, judgments_in
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Judgment
from audiosim.joint.estimators import make_estimator
from audiosim.joint.model import JointEstimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.ranking.separation import with_next
from audiosim.ranking.stopping import parse_stopping_rule
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.outlook import History, Outlook
from audiosim.service.collections.predictions import Remembering
from audiosim.service.collections.served import ServedCollection
from benchmarks.synthetic import Design, synthetic_collection

COARSE = "/v1/collections/coarse"
EIGHT = [2, 0, 1, 2, 2, 0, 1, 1]


@pytest.fixture
def database(tmp_path):
    return f"sqlite:///{tmp_path / 'campaign.db'}"


def judge(http, grade, assessor="ann"):
    """Ask for a pair and judge it; returns the pair."""
    (pair,) = http.post(f"{COARSE}/next", json={"assessor": assessor}).json()["pairs"]
    said = {"query": pair["query"], "document": pair["document"], "assessor": assessor, "broad": grade}
    answer = http.post(f"{COARSE}/judgments", json=said)
    assert answer.status_code == 201, answer.text
    return pair["query"], pair["document"]


def get(http, path, **parameters):
    answer = http.get(f"{COARSE}/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def predictions(http, pairs):
    """Predictions of pairs, by the service's columns."""
    body = {"query": [query for query, _ in pairs], "document": [document for _, document in pairs]}
    return http.post(f"{COARSE}/predictions", json={**body, "include": ["probabilities"]}).json()


@pytest.mark.slow
@pytest.mark.parametrize("grade", [0, 2])
def test_a_judgment_moves_what_is_predicted_of_the_other_pairs_of_its_query_at_once(in_process, coarse, grade):
    pool = build_pool(coarse)
    with in_process(create_app([coarse])) as http:
        before = predictions(http, pool.pairs)
        judged = judge(http, grade)
        after = predictions(http, pool.pairs)
    assert (before["state"], after["state"], after["judgments"]) == (0, 2, 1)
    moved = np.subtract(after["expectation"], before["expectation"]) * (grade - 1)
    place = pool.positions[judged]
    assert (after["expectation"][place], after["status"][place]) == (grade, "judged")
    own = pool.query == pool.query[place]
    own[place] = False
    assert own.sum() > 5
    # The first judgment on a scale unknown to the model shows how high grades are in general, and most for these pairs.
    assert moved[own].min() > 0
    assert moved[own].mean() > 1.1 * moved[pool.query != pool.query[place]].mean() > 0
    # A pair's own judgment does not move its own probabilities.
    assert after["probabilities"][place] == pytest.approx(before["probabilities"][place], rel=1e-9)


@pytest.mark.slow
def test_a_campaign_over_http_goes_as_one_in_the_library_and_goes_on_after_a_restart(
    commanded, folders, coarse, tmp_path, database, check_close, wait_until
):
    here = Campaign(coarse, measure="CG@4")
    measures = ("CG@4", "DCG@2", "nDCG@3", "AP@4")
    with commanded(folders[1:], tmp_path / "first", "--db", database) as server, server.client() as http:
        for grade in EIGHT:
            (pair,) = here.ask(assessor="ann")
            assert judge(http, grade) == pair
            here.tell(Judgment(*pair, float(grade), "ann"))
            there = get(http, "ranking")
            now = here.selection
            said = with_next(Verdicts(now.ranking), now.expected, now.belief).to_dict()
            check_close({name: there[name] for name in said}, said)
        wait_until(lambda: get(http, "course")["complete"])
        first = {what: get(http, what) for what in ("ranking", "campaign", "course", "assessors")}
        predicted = predictions(http, build_pool(coarse).pairs)
        rankings = [get(http, "ranking", measure=measure) for measure in measures]
    assert first["ranking"]["model"] == "joint-broad"
    # A ranking by any measure is what `audiosim.estimate` says of the same judgments.
    judged = replace(coarse, judgments=judgments_in(database, coarse))
    for measure, there in zip(measures, rankings, strict=True):
        said = Verdicts(audiosim.estimate(judged, None, measure)).to_dict()
        del said["nearest"], said["sentence"]  # `audiosim.estimate` does not state the effect of more judgments
        check_close({name: there[name] for name in said}, said)
    with commanded(folders[1:], tmp_path / "second", "--db", database) as server, server.client() as http:
        wait_until(lambda: get(http, "course")["complete"])
        for what, said in first.items():
            check_close(get(http, what), said)
        check_close(predictions(http, build_pool(coarse).pairs), predicted)
        assert judge(http, 1) == here.ask()[0]


@pytest.mark.slow
def test_two_servers_on_one_database_agree_but_for_rounding(
    commanded, folders, coarse, tmp_path, database, check_close, wait_until
):
    pairs = build_pool(coarse).pairs
    options = ("--db", database)
    with (
        commanded(folders[1:], tmp_path / "one", *options) as first,
        commanded(folders[1:], tmp_path / "two", *options) as second,
        first.client() as one,
        second.client() as two,
    ):
        # One server learns in small steps, the other catches up at once, so their sums are made in different orders.
        judged = [judge(one, grade, f"a{place}") for place, grade in enumerate(EIGHT)]
        judged += [judge(two, grade, f"b{place}") for place, grade in enumerate(EIGHT[:4])]
        assert len(set(judged)) == 12
        for http in (one, two):
            wait_until(lambda http=http: get(http, "course")["complete"])
        for what in ("ranking", "campaign", "course", "assessors"):
            check_close(get(one, what), get(two, what))
        check_close(predictions(one, pairs), predictions(two, pairs))
        check_close(get(one, "ranking", measure="nDCG@3"), get(two, "ranking", measure="nDCG@3"))


@pytest.fixture(scope="module")
def long():
    """A campaign of 105 judgments, past the first moment of learning: collection, log, campaign and confidences."""
    judged = synthetic_collection(np.random.default_rng(3), Design(6, 3, 12, 5, 30))
    truth, collection, store = judged.grades(), replace(judged, judgments=()), MemoryStore()
    campaign = Campaign(collection, store=store)
    confidences = [campaign.confidence]
    for _ in range(105):
        (pair,) = campaign.ask()
        campaign.tell(Judgment(*pair, truth[pair], "ann"))
        confidences.append(campaign.confidence)
    return collection, store, campaign, confidences


def standard_deviations(campaign):
    estimator = campaign.selection.estimator
    assert isinstance(estimator, JointEstimator)
    return estimator.standard_deviations


@pytest.mark.slow
def test_a_replayed_campaign_has_learned_the_same_sizes(long, check_close):
    collection, store, campaign, _ = long
    again, plain = Campaign(collection, store=store), make_estimator(build_pool(collection), "joint")
    assert again.progress.judged == 105
    check_close(dict(standard_deviations(again)), dict(standard_deviations(campaign)))
    assert (
        max(abs(size - plain.standard_deviations[name]) for name, size in standard_deviations(campaign).items()) > 0.01
    )
    check_close(again.ranking.to_dict(), campaign.ranking.to_dict())
    assert again.ask(10) == campaign.ask(10)


@pytest.mark.slow
def test_a_log_that_others_wrote_in_pieces_teaches_the_same_sizes(long, tmp_path, check_close):
    collection, store, campaign, _ = long
    url = f"sqlite:///{tmp_path / 'log.db'}"
    events = [event for _, event in store.read()]
    with closing(DatabaseStore(url, "long")) as log:
        follower = Campaign(collection, store=log)
        for piece in (events[:60], events[60:99], events[99:101], events[101:]):
            assert log.append_all(piece, log.head.number)
            follower.sync()
        check_close(dict(standard_deviations(follower)), dict(standard_deviations(campaign)))
        check_close(follower.ranking.to_dict(), campaign.ranking.to_dict())


def served(long, stopping_rule="confidence=0.95"):
    collection, store, _, _ = long
    return ServedCollection(collection, None, Judging(stopping_rule=parse_stopping_rule(stopping_rule)), store=store)


@pytest.mark.slow
def test_what_a_campaign_taught_does_not_count_for_other_judgments(long, check_close):
    collection, _, campaign, _ = long
    predictor, pool = served(long).predictor(), build_pool(collection)
    assert np.sum(predictor.own.belief.judged) == 105
    check_close(_expected(predictor.own.belief).tolist(), _expected(campaign.selection.belief).tolist())
    known = {pool.pairs[0]: 80.0, pool.pairs[7]: 10.0}
    given = predictor.given(known).belief
    plain = make_estimator(pool, "joint").predict(pool.spread(known))
    check_close(given.expectation.tolist(), plain.expectation.tolist())


def _expected(belief):
    return np.where(belief.judged, belief.grades, belief.expectation)


@pytest.mark.slow
def test_at_another_cutoff_a_campaign_teaches_too(long, check_close):
    collection, _, campaign, _ = long
    one, known = served(long), replace(collection, judgments=campaign.judgments())
    for measure in ("DCG@4", "nDCG@5"):
        check_close(one.verdicts(measure)[1].ranking.to_dict(), audiosim.estimate(known, None, measure).to_dict())
    pool, grades = build_pool(collection, 6), known.grades()
    own, plain = one.predictor(None, 6).own, make_estimator(pool, "joint")
    first = pool.spread(dict(list(grades.items())[:100]))
    learned = plain.relearned(first).predict(pool.spread(grades))
    check_close(own.belief.expectation.tolist(), learned.expectation.tolist())
    assert not np.allclose(learned.expectation, plain.predict(pool.spread(grades)).expectation, rtol=1e-3)


@pytest.mark.slow
def test_the_course_has_the_confidence_of_each_moment_as_it_was_then(long):
    *_, confidences = long
    course = History(served(long)).course()
    assert [moment.judged for moment in course.moments] == list(range(106))
    np.testing.assert_allclose([moment.confidence for moment in course.moments], confidences, rtol=1e-9)


@pytest.mark.slow
def test_for_what_remains_nothing_is_learned_from_grades_that_were_made_up(long, monkeypatch):
    monkeypatch.setattr("audiosim.joint.moments.FIRST_LEARNING", 60)  # then 120
    one = served(long, "judgments=125")
    monkeypatch.setattr(JointEstimator, "relearned", _learn_nothing)
    assert Outlook(one).remaining.worked_out(seconds=600)[1].counts == (20,) * 10
    selection = replace(one.campaign.selection, learns=True)
    *before, last = map(selection.pool.positions.__getitem__, selection.ask(15))
    for place in before:
        selection = selection.judge(place, 50.0)
    with pytest.raises(AssertionError, match="^learned from 120 judgments$"):
        selection.judge(last, 50.0)


def _learn_nothing(estimator, grades):
    raise AssertionError(f"learned from {np.sum(~np.isnan(grades))} judgments")


@pytest.mark.slow
def test_what_was_learned_is_remembered(long, check_close):
    collection, _, campaign, _ = long
    pool = build_pool(collection)
    joint, grades = make_estimator(pool, "joint"), campaign.selection.grades
    remembering = Remembering(joint)
    learned, expected = remembering.relearned(grades), joint.relearned(grades).predict(grades)
    assert remembering.relearned(grades.copy()) is learned
    check_close(learned.predict(grades).expectation.tolist(), expected.expectation.tolist())
    assert learned.name == "joint-fine"


def test_what_remembers_a_joint_model_is_asked_by_its_rule(small):
    pool = build_pool(small)
    remembering = Remembering(make_estimator(pool, "joint"))
    assert Selection.start(pool, parse_measure("CG@4"), remembering).selection_rule.name == "drawn"


def test_an_estimator_that_learns_nothing_stays_what_it_is(coarse):
    pool = build_pool(coarse)
    grades = np.random.default_rng(0).choice(BROAD.levels, len(pool.pairs))
    plain = make_estimator(pool, "mjud").predict(grades).probabilities
    remembering = Remembering(make_estimator(pool, "mjud"))
    assert np.array_equal(remembering.relearned(grades).predict(grades).probabilities, plain)
