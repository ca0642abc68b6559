"""The law of one truth: with everything judged, every face states the score of `evaluate` and of ir_measures.

Random collections: judged pairs that no run has within the cutoff, judged queries that no run answers, runs that miss
queries or end early, grades that tie. trec_eval, by ir_measures, is the outside authority.
"""

import numpy as np
import pytest

from audiosim import Collection, compare, estimate, evaluate, simulate
from audiosim.corpus.model import Judgment, Run, Scale
from audiosim.measures.measure import MEASURES

pytestmark = pytest.mark.filterwarnings("ignore:.* will be removed in Python 3.14:DeprecationWarning")
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
FORMS = ("gain=exponential", "ideal=user", "form=original", "min=1")
SAME = {"nDCG@3": "nDCG@3", "P(min=1)@3": "P@3", "AP(form=original,min=2)@3": "AP(rel=2)@3"}


def drawn(seed: int, judged: float = 1.0) -> Collection:
    """3 systems, 5 queries, 12 documents, of which systems retrieve at most 5; every pair is judged, or a share."""
    rng = np.random.default_rng(seed)
    documents, queries = [f"d{i}" for i in range(12)], [f"q{i}" for i in range(5)]
    runs = tuple(
        Run(
            system,
            {
                query: tuple(rng.permutation(documents)[: rng.integers(1, 6)].tolist())
                for query in queries[:4]
                if query == "q0" or rng.random() < 0.9
            },
        )
        for system in "ABC"
    )
    judgments = tuple(
        Judgment(query, document, float(rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])))
        for query in queries
        for document in documents
        if rng.random() < judged
    )
    return Collection("drawn", "drawn", Scale("four", (0.0, 1.0, 2.0, 3.0)), 3, runs, judgments=judgments)


def written_at(cutoff: int) -> list[str]:
    """Every measure, plain and with each of its parameters; those that need `min` for a model always have it."""
    found = []
    for name, definition in MEASURES.items():
        has = {parameter.name for parameter in definition.parameters}
        least = ["min=1"] if "min" in has else []
        for form in ("", *FORMS):
            if not form or (form.partition("=")[0] in has and form != "min=1"):
                inside = ",".join([*least, *([form] if form else [])])
                found.append(f"{name}({inside})@{cutoff}" if inside else f"{name}@{cutoff}")
    return found


def by_system(rows, key):
    return {row["system"]: row[key] for row in rows}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), **CLOSE)


def as_dictionaries(collection):
    judged: dict[str, dict[str, int]] = {}
    for one in collection.judgments:
        judged.setdefault(one.query, {})[one.document] = int(one.grade)
    runs = {
        run.system: {q: {d: float(-place) for place, d in enumerate(ds)} for q, ds in run.rankings.items()}
        for run in collection.runs
    }
    return judged, runs


@pytest.mark.parametrize("model", ["uniform", "joint"])
@pytest.mark.parametrize("seed", range(3))
def test_with_everything_judged_estimate_and_evaluate_state_the_same_score(seed, model):
    collection = drawn(seed)
    for written in written_at(3):
        expected = by_system(evaluate(collection, written).system_rows(), "mean")
        assert_same(by_system(estimate(collection, model, written, draws=2).system_rows(), "expectation"), expected)


def test_with_everything_judged_intervals_about_queries_of_this_kind_are_those_of_evaluate():
    collection = drawn(4)
    for written in written_at(3):
        evaluated = evaluate(collection, written).system_rows()
        stated = estimate(collection, "uniform", written, draws=2, about="queries").system_rows()
        for end in ("low", "high"):
            expected, found = (by_system(rows, end) for rows in (evaluated, stated))
            if "form=original" in written:  # the t-interval, cut at 0
                expected = {system: max(0.0, value) for system, value in expected.items()}
            np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("ideal", ["ordered", "correlated", "independent"])
@pytest.mark.parametrize(("written", "theirs"), SAME.items())
def test_with_everything_judged_the_score_is_that_of_ir_measures(written, theirs, ideal):
    import ir_measures

    for seed in range(20):
        collection = drawn(seed)
        judged, runs = as_dictionaries(collection)
        measure = ir_measures.parse_measure(theirs)
        expected = {name: ir_measures.calc_aggregate([measure], judged, run)[measure] for name, run in runs.items()}
        assert_same(by_system(evaluate(collection, written).system_rows(), "mean"), expected)
        ranking = estimate(collection, "uniform", written, draws=2, ideal=ideal)
        assert_same(by_system(ranking.system_rows(), "expectation"), expected)


@pytest.mark.parametrize("written", ["nDCG@3", "RBP@3", "Q@3"])
def test_comparisons_and_replays_end_at_the_scores_of_evaluate(written):
    collection = drawn(7)
    expected = by_system(evaluate(collection, written).system_rows(), "mean")
    difference = compare(collection, "A", "B", "uniform", written).expectation
    assert difference == pytest.approx(expected["A"] - expected["B"], abs=1e-12)
    played = simulate(collection, "uniform", written, stopping_rule="judgments=999", batch=5)
    assert_same(by_system(played.selection.ranking.system_rows(), "expectation"), expected)
    assert played.curve[-1].error == pytest.approx(0, abs=1e-12)
