"""Effect of leaving one person out: the ranking from the others' judgments alone."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import audiosim
from audiosim import judges
from audiosim.campaign import DatabaseStore, with_log
from audiosim.campaign.reader import turn_aside
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Pair, PairedComparison, Run
from audiosim.errors import InputError
from audiosim.joint.estimators import JOINT, estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.people.effects import judge_effect
from audiosim.people.judges import Judges
from audiosim.ranking.expected import estimate, expected_scores

CG = parse_measure("CG@3")


@pytest.fixture(scope="module")
def partial():
    """Two systems with separate documents; ann and bob find them equal, cid gives everything to B."""
    queries = [f"q{number}" for number in range(8)]
    runs = tuple(Run(s, {q: tuple(f"{s}{q}{rank}" for rank in range(3)) for q in queries}) for s in "AB")
    said = [
        Judgment(
            *Pair(q, f"{s}{q}{rank}"), {"cid": 100.0 if s == "B" else 0.0}.get(name, 55.0 if s == "A" else 50.0), name
        )
        for q in queries
        for s in "AB"
        for rank in range(3)
        for name in ("ann", "bob", "cid")
    ]
    return Collection("two", "two", FINE, 3, runs, judgments=tuple(said))


def effect(collection, name, **more):
    pool = build_pool(collection, CG.cutoff)
    return judge_effect(expected_scores(CG, pool), estimator_of(pool, JOINT), collection.judgments, name, **more)


@pytest.mark.slow
def test_without_the_one_who_differs_the_systems_change_places(partial):
    found = effect(partial, "cid")
    assert found.judgments == 48
    # All is judged, so that scores are plain means: of A (55 + 55 + 0) / 3, of B (50 + 50 + 100) / 3, as shares.
    np.testing.assert_allclose(found.having.scores.mean, [110 / 300, 200 / 300], rtol=1e-12)
    np.testing.assert_allclose(found.lacking.scores.mean, [0.55, 0.50], rtol=1e-12)
    assert found.change.turned == (("B", "A"),)
    assert found.change.most_changed == ("A", pytest.approx(0.55 - 110 / 300))
    assert [(row["system"], row["rank"], row["rank_without"]) for row in found.rows()] == [("B", 1, 2), ("A", 2, 1)]
    assert found.sentence.startswith("Without cid: 1 pair of systems changes places, A is best in place of B;")


@pytest.mark.slow
def test_it_is_the_ranking_of_the_others_judgments(partial):
    some = replace(partial, judgments=partial.judgments[::2])
    found = effect(some, "ann")
    others = tuple(one for one in some.judgments if one.assessor != "ann")
    for ranking, said in ((found.having, some.judgments), (found.lacking, others)):
        expected = estimate(replace(some, judgments=said), measure=CG)
        # Without somebody, the fit begins at that of everybody, and ends within rounding of the same maximum.
        np.testing.assert_allclose(ranking.scores.mean, expected.scores.mean, rtol=1e-9)
        np.testing.assert_allclose(ranking.scores.covariance, expected.scores.covariance, rtol=1e-7, atol=1e-14)


def test_somebody_who_judged_nothing_has_no_effect_to_show(partial):
    with pytest.raises(InputError, match="^'eve' has judged no pair of two, expected ann, bob, cid$"):
        effect(partial, "eve")


@pytest.mark.slow
def test_reports_say_how_the_ranking_moves_without_those_who_judged_most(partial):
    some = replace(partial, judgments=partial.judgments[:-6])
    found = judges(some, measure=CG, leave_one_out=2)
    rows = {row["judge"]: row["without"] for row in found.to_dict()}
    assert [name for name, row in rows.items() if row is None] == ["cid"]
    assert rows["ann"]["turned"] == 0
    assert set(rows["ann"]) == {"turned", "best_without", "moved_most", "moved_by", "confidence_without"}
    assert found.rows()[0]["best_without"] == "B"
    assert "without" not in Judges.of(build_pool(some), some.judgments).to_dict()[0]


@pytest.mark.slow
def test_without_somebody_their_comparisons_are_left_out_too(partial):
    queries = sorted(partial.runs[0].rankings)
    said = [PairedComparison(q, f"A{q}0", f"B{q}0", "b", "cid") for q in queries]
    said += [PairedComparison(q, f"A{q}1", f"B{q}1", "a", "dan") for q in queries]
    some = replace(partial, judgments=partial.judgments[::5], comparisons=tuple(said))
    for name in ("cid", "dan"):  # who only compared
        found = effect(some, name)
        others = tuple(one for one in some.judgments if one.assessor != name)
        left = tuple(one for one in said if one.assessor != name)
        made = estimate(replace(some, judgments=others, comparisons=left), measure=CG)
        assert found.judgments == len(some.judgments) - len(others)
        assert (found.having.comparisons, found.lacking.comparisons) == (len(said), len(left))
        np.testing.assert_array_equal(found.lacking.scores.mean, made.scores.mean)
    with_dan, without = effect(some, "dan").having.scores.mean, effect(some, "dan").lacking.scores.mean
    assert with_dan[0] - with_dan[1] > without[0] - without[1]  # who preferred A


@pytest.mark.slow
def test_a_person_who_only_compared_is_known_in_any_case_and_may_be_set_aside(partial, tmp_path):
    compared = tuple(PairedComparison(f"q{n}", f"Aq{n}0", f"Bq{n}0", "b", "lea") for n in range(8))
    both = replace(partial, judgments=partial.judgments[::2], comparisons=compared)
    found = audiosim.judge_effect(both, "LEA", measure=CG)
    assert (found.judge, found.judgments, found.comparisons) == ("lea", 0, 8)
    with pytest.raises(InputError, match=r"expected ann, bob, cid, lea; did you mean lea\?$"):
        audiosim.judge_effect(both, "leah", measure=CG)
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with closing(DatabaseStore(url, both.identifier)):
        pass
    assert with_log(url, both).comparisons == compared
    assert turn_aside(url, both, "set_aside", "Lea").event.judge == "lea"
    assert with_log(url, both).comparisons == ()
    with pytest.raises(InputError, match=r"^nobody has judged nothing here"):
        turn_aside(url, both, "set_aside", "nobody")
