"""Grades completed from the belief: other evaluators read them, and find the scores of the ranking."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Judgment, Scale
from audiosim.collection.written import qrels_lines
from audiosim.errors import InputError
from audiosim.joint.estimators import make_estimator, taught_by
from audiosim.joint.posterior import Belief
from audiosim.joint.predictions import completed_judgments, drawn_completions
from audiosim.ranking.expected import estimate
from audiosim.ranking.nearest_completion import nearest_completion


def believed(collection):
    pool, grades = build_pool(collection, 5), collection.grades()
    judged = [Judgment(*pair, grade) for pair, grade in grades.items()]
    return pool, taught_by(pool, make_estimator(pool, "joint"), judged).predict(pool.spread(grades))


@pytest.fixture(scope="module")
def partly(demo):
    return replace(demo, judgments=demo.judgments[::4])


def by_others(ranx, runs, grades, cutoff):
    """Mean nDCG of each system by ir_measures, pytrec_eval (trec_eval) and ranx, from lines of qrels and runs."""
    import ir_measures
    import pytrec_eval

    lines = [line.split(" ") for line in grades]
    assert all(len(line) == 4 and line[1] == "0" and line[3] == str(int(line[3])) for line in lines)
    text = "".join(f"{line}\n" for line in grades)
    judged = pytrec_eval.parse_qrel(text.splitlines())
    assert sum(map(len, judged.values())) == len(lines)
    found = []
    for run in runs:
        ranked = {q: {d: float(-i) for i, d in enumerate(top[:cutoff])} for q, top in run.rankings.items()}
        other = pytrec_eval.RelevanceEvaluator(judged, {f"ndcg_cut.{cutoff}"}).evaluate(ranked)
        trec = np.mean([of[f"ndcg_cut_{cutoff}"] for of in other.values()])
        ir = ir_measures.calc_aggregate(
            [ir_measures.parse_measure(f"nDCG@{cutoff}")], list(ir_measures.read_trec_qrels(text)), ranked
        )
        of_ranx = ranx.evaluate(ranx.Qrels(judged), ranx.Run(ranked), f"ndcg@{cutoff}")
        found.append((trec, next(iter(ir.values())), of_ranx))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("judged", [0, 150])
def test_qrels_are_read_by_others_who_find_the_stated_scores(demo, ranx, judged):
    for name in ("ir_measures", "pytrec_eval"):
        pytest.importorskip(name)
    collection = replace(demo, judgments=demo.judgments[:judged])
    pool, belief = believed(collection)
    grades = nearest_completion(belief, pool, np.random.default_rng(0))
    known = belief.judged
    assert grades[known].tolist() == belief.grades[known].tolist()
    found = by_others(ranx, demo.runs, list(qrels_lines(completed_judgments(pool.pairs, grades))), 5)
    np.testing.assert_allclose(found, found[:, :1].repeat(3, axis=1), atol=1e-6)
    for measure, scores in (("nDCG@5", found[:, 0]), ("CG@5", np.asarray(pool.retrieved @ grades) / 100 / 5 / 24)):
        stated = estimate(collection, measure=measure)
        order = [[run.system for run in demo.runs].index(system) for system in stated.systems]
        own = scores[order] if measure == "nDCG@5" else scores
        assert np.all(np.abs(own - stated.scores.mean) <= np.sqrt(stated.scores.variance))


def test_grades_between_those_of_the_scale_become_whole_ones_with_the_same_mean():
    probabilities, grades = np.tile([0.5, 0.5], (400, 1)), np.full(400, 1.3)
    belief = Belief.independent(np.array([0.0, 2.0]), probabilities, grades, 2.0, ("made up",))
    drawn = np.stack(list(drawn_completions(belief, BROAD, 50, np.random.default_rng(0))))
    assert set(drawn.ravel()) == {1.0, 2.0}
    assert drawn.mean() == pytest.approx(1.3, abs=5 * 0.46 / np.sqrt(drawn.size))


def test_qrels_of_a_scale_that_has_other_than_whole_grades_are_refused():
    belief = Belief.independent(np.array([0.0, 0.5]), np.full((2, 2), 0.5), np.full(2, np.nan), 0.5, ("made up",))
    with pytest.raises(InputError, match=r"^qrels hold whole grades, the scale has 0 0\.5$"):
        list(drawn_completions(belief, Scale("halves", (0.0, 0.5)), 1, np.random.default_rng(0)))


@pytest.mark.slow
def test_drawn_files_vary_as_the_ranking_is_unsure(partly):
    pool, belief = believed(partly)
    rng, scores = np.random.default_rng(0), []
    for grades in drawn_completions(belief, pool.scale, 400, rng):
        judged = belief.judged
        assert grades[judged].tolist() == belief.grades[judged].tolist()
        assert set(grades[~judged]) <= set(pool.scale.levels)
        scores.append(np.asarray(pool.retrieved @ grades) / 100 / 5 / len(pool.queries))
    ranking = estimate(partly)
    np.testing.assert_allclose(np.mean(scores, axis=0), ranking.scores.mean, atol=0.01)
    # Levels show only a part of the variation of gains, and have heavier tails: equal up to a fifth.
    np.testing.assert_allclose(np.std(scores, axis=0), np.sqrt(ranking.scores.variance), rtol=0.2)
