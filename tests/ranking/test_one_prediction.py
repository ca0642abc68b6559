"""One prediction of a pair, with expectation, variance and probabilities, and the sums of them in the ranking."""

import json

import numpy as np
import pytest

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Document, Judgment, Pair, Run, Scale
from audiosim.joint.estimators import after_judgments, make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking.expected import estimate, expected_scores
from audiosim.ranking.verbs import judged_so_far, predict

SCALES = (FINE, BROAD, Scale("0 1", (0.0, 1.0)), Scale("0 1 2 3", (0.0, 1.0, 2.0, 3.0)))


def drawn(seed, share):
    """A small collection of any scale; a share of its retrieved pairs is judged, in every third one by two people."""
    rng = np.random.default_rng(seed)
    scale, cutoff = SCALES[seed % len(SCALES)], int(rng.integers(1, 6))
    names = [f"d{i}" for i in range(30)]
    known = rng.random(2) < 0.7
    documents = {
        name: Document(name, f"a{rng.integers(9)}" if known[0] else None, f"g{rng.integers(3)}" if known[1] else None)
        for name in names
    }
    queries = names[: int(rng.integers(2, 7))]
    runs = tuple(
        Run(f"s{i}", {query: tuple(rng.permutation([one for one in names if one != query])[:8]) for query in queries})
        for i in range(int(rng.integers(2, 5)))
    )
    pairs = sorted({Pair(query, one) for run in runs for query, top in run.rankings.items() for one in top[:cutoff]})
    low = rng.random() < 0.5  # many irrelevant documents: normal means below the scale
    judgments = [
        Judgment(*pair, float(rng.choice(scale.levels) * (rng.random() > 0.8 if low else 1)), person)
        for pair in rng.permutation(pairs)[: round(share * len(pairs))].tolist()
        for person in ("ann", "bob")[: 1 + (seed % 3 == 2)]
    ]
    return Collection("drawn", "drawn", scale, cutoff, runs, documents, judgments=tuple(judgments))


CASES = [(seed, share) for seed in range(12) for share in (0, 0.3, 0.7)][::2]


def weights(measure, pool):
    """(s, n) dense: the weights of the gains in the mean scores, by the measure's own table of ranks."""
    return expected_scores(measure, pool).weights.toarray()


@pytest.mark.parametrize(("seed", "share"), CASES)
@pytest.mark.parametrize("model", ["joint", "uniform"])
def test_predictions_add_up_to_the_ranking_and_its_variance(seed, share, model):
    collection = drawn(seed, share)
    pool = build_pool(collection)
    found = predict(collection, model, pairs=pool.pairs, covariance=True)
    gains = np.array([row["gain"] for row in found.pairs])
    highest = collection.scale.maximum
    np.testing.assert_allclose([row["expectation"] for row in found.pairs], gains * highest, rtol=1e-12)
    np.testing.assert_array_equal([row["variance"] for row in found.pairs], np.diagonal(found.covariance))
    for name in ("CG", "DCG"):
        measure = parse_measure(f"{name}@{pool.cutoff}")
        ranking, across = estimate(collection, model, measure), weights(measure, pool)
        np.testing.assert_allclose(across @ gains, ranking.scores.mean, rtol=0, atol=1e-9)
        summed = across @ found.covariance @ across.T / highest**2
        np.testing.assert_allclose(summed, ranking.scores.covariance, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("seed", "share"), CASES)
@pytest.mark.parametrize("model", ["joint", "uniform"])
def test_probabilities_have_the_mean_of_the_gain_in_every_measure(seed, share, model):
    collection = drawn(seed, share)
    pool = build_pool(collection)
    belief = judged_so_far(
        after_judgments(pool, make_estimator(pool, model), collection.judgments), collection, pool
    ).stated_belief
    open_ = ~belief.judged
    mean = belief.probabilities @ belief.level_grades
    np.testing.assert_allclose(mean[open_], belief.expectation[open_], rtol=0, atol=1e-11 * belief.maximum)
    assert np.all(belief.expectation[open_] > 0)
    assert np.all(belief.expectation[open_] < belief.maximum)
    np.testing.assert_allclose(belief.probabilities.sum(axis=1), 1, rtol=1e-12)
    # A gain that is a line through the grades, given as any other function, has the same means.
    np.testing.assert_allclose(
        belief.gains_as(lambda grade: grade).mean[open_], belief.on_scale.mean[open_], rtol=0, atol=1e-11
    )


def test_drawn_grades_have_the_mean_and_the_levels_that_are_stated():
    for seed in (0, 1, 3):
        belief = _belief(drawn(seed, 0.5))
        grades = np.empty((4000, len(belief.grades)))
        for rows, own in belief.draw(np.random.default_rng(seed), 4000):
            grades[:, rows] = own
        open_ = ~belief.judged
        error = grades[:, open_].std(axis=0) / np.sqrt(4000)
        off = (grades[:, open_].mean(axis=0) - belief.expectation[open_]) / error
        assert np.abs(off).max() < 5


def _belief(collection):
    pool = build_pool(collection)
    return make_estimator(pool, "joint").predict(pool.spread(collection.grades()))


@pytest.mark.slow
def test_the_command_says_what_the_function_says(run, tmp_path, demo):
    folder, judged = package_files.folder("fixtures") / "demo", tmp_path / "some.qrels"
    judged.write_text("".join(f"{one.query} 0 {one.document} {one.grade:g}\n" for one in demo.judgments[:60]))
    said = predict(Collection.load(folder, judged)).to_dict()
    code, out, _ = run("predict", folder, "--judgments", judged, "--format", "json")
    assert (code, json.loads(out)) == (0, said)
