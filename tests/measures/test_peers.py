"""The measures compared with other programs on random runs: the variant of ours that equals each of theirs.

pytrec_eval is trec_eval itself. All compute in double precision, so 1e-12 allows only for sums in another order.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, Run, Scale
from audiosim.measures.scores import judged_runs

SCALE = Scale("five", (0.0, 1.0, 2.0, 3.0, 4.0))
DEPTH = 40
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def drawn() -> Collection:
    """3 systems, 25 queries, 40 documents each of 60, of which 45 are judged; one query has nothing relevant."""
    rng = np.random.default_rng(11)
    documents = [f"d{i:02d}" for i in range(60)]
    queries = [f"q{i}" for i in range(25)]
    judgments = tuple(
        Judgment(query, document, float(rng.choice(5, p=[0.5, 0.2, 0.15, 0.1, 0.05])) * (query != "q7"))
        for query in queries
        for document in rng.permutation(documents)[:45].tolist()
    )
    runs = tuple(
        Run(name, {query: tuple(rng.permutation(documents)[:DEPTH].tolist()) for query in queries}) for name in "ABC"
    )
    return Collection("drawn", "drawn", SCALE, 10, runs, judgments=judgments)


def ours(collection, written):
    """(system, query) -> score, with no gain for unjudged documents."""
    cutoff = int(written.partition("@")[2])
    found = judged_runs(collection, cutoff, "zero").scores(written)
    return {
        (system, query): value
        for system, row in zip(found.systems, found.values.tolist(), strict=True)
        for query, value in zip(found.queries, row, strict=True)
    }


def assert_equal(collection, written, theirs, **close):
    mine = ours(collection, written)
    keys = sorted(theirs)
    assert len(keys) >= len(collection.runs) * 24
    np.testing.assert_allclose([mine[key] for key in keys], [theirs[key] for key in keys], **(close or CLOSE))


def as_dictionaries(collection):
    """Judgments by query, and scores by system and query, descending with the rank."""
    judged = {}
    for judgment in collection.judgments:
        judged.setdefault(judgment.query, {})[judgment.document] = int(judgment.grade)
    runs = {
        run.system: {q: {d: float(len(ds) - i) for i, d in enumerate(ds)} for q, ds in run.rankings.items()}
        for run in collection.runs
    }
    return judged, runs


TREC_EVAL = {
    "P_5": "P@5",
    "map": f"AP(form=original)@{DEPTH}",
    "map_cut_10": "AP(form=original)@10",
    "recip_rank": f"RR@{DEPTH}",
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_20": "nDCG@20",
    "ndcg": "nDCG@999",
}


@pytest.mark.parametrize(("name", "written"), TREC_EVAL.items())
def test_trec_eval_agrees(drawn, name, written):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged, runs = as_dictionaries(drawn)
    wanted = {"P": "P.5", "map_cut": "map_cut.10", "ndcg_cut": "ndcg_cut.5,20"}
    asked = {wanted.get(name.rstrip("0123456789_"), name)}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, asked)
    theirs = {(s, q): values[name] for s, run in runs.items() for q, values in evaluator.evaluate(run).items()}
    assert_equal(drawn, written, theirs)


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("written", ["P(min={})@10", "AP(form=original,min={})@10", "RR(min={})@40"])
def test_trec_eval_agrees_on_what_is_relevant_from_a_level_on(drawn, level, written):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged, runs = as_dictionaries(drawn)
    name, asked = {"P": ("P_10", "P.10"), "AP": ("map_cut_10", "map_cut.10"), "RR": ("recip_rank",) * 2}[
        written.partition("(")[0]
    ]
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {asked}, relevance_level=level)
    theirs = {(s, q): values[name] for s, run in runs.items() for q, values in evaluator.evaluate(run).items()}
    assert_equal(drawn, written.format(level), theirs)


NTCIREVAL = {
    "Q@10": lambda m, x, g: m.QMeasure(x, g, 1.0, cutoff=10),
    "Q(beta=0.3)@10": lambda m, x, g: m.QMeasure(x, g, 0.3, cutoff=10),
    f"Q(form=original)@{DEPTH}": lambda m, x, g: m.QMeasure(x, g, 1.0),
    "AP@10": lambda m, x, g: m.AP(x, g, cutoff=10),
    f"AP(form=original)@{DEPTH}": lambda m, x, g: m.AP(x, g),
    f"RR@{DEPTH}": lambda m, x, g: m.RR(),
    "P@10": lambda m, x, g: m.Precision(10),
    "nDCG@10": lambda m, x, g: m.MSnDCG(x, g, 10),
    "nDCG(form=original)@10": lambda m, x, g: m.nDCG(x, g, 2, 10),
    "nDCG(base=3,form=original)@10": lambda m, x, g: m.nDCG(x, g, 3, 10),
    f"RBP(form=original)@{DEPTH}": lambda m, x, g: m.RBP(x, g, 0.8),
    f"RBP(form=original,p=0.95)@{DEPTH}": lambda m, x, g: m.RBP(x, g, 0.95),
    f"ERR(form=original)@{DEPTH}": lambda m, x, g: m.ERR(x, g),
    "ERR@10": lambda m, x, g: m.nERR(x, g, 10),
}
EXPONENTIAL = ("Q@10", "nDCG@10", f"RBP(form=original)@{DEPTH}", f"ERR(form=original)@{DEPTH}", "ERR@10")


def from_ntcireval(collection, metric, grades):
    labeler = pytest.importorskip("pyNTCIREVAL.labeler")
    judged, _ = as_dictionaries(collection)
    theirs = {}
    for query, labels in judged.items():
        if any(labels.values()):  # otherwise it divides by 0
            label = labeler.Labeler(labels)
            for run in collection.runs:
                with_numbers = metric(label.compute_per_level_doc_num(5), grades)
                theirs[run.system, query] = with_numbers.compute(label.label(run.rankings[query]))
    return theirs


@pytest.mark.parametrize("written", NTCIREVAL)
def test_ntcireval_agrees(drawn, written):
    metrics = pytest.importorskip("pyNTCIREVAL.metrics")
    theirs = from_ntcireval(drawn, lambda x, g: NTCIREVAL[written](metrics, x, g), [1, 2, 3, 4])
    assert_equal(drawn, written, theirs)


@pytest.mark.parametrize("written", EXPONENTIAL)
def test_ntcireval_agrees_on_exponential_gains(drawn, written):
    metrics = pytest.importorskip("pyNTCIREVAL.metrics")
    theirs = from_ntcireval(drawn, lambda x, g: NTCIREVAL[written](metrics, x, g), [1, 3, 7, 15])
    name, _, rest = written.partition("@")
    exponential = f"{name[:-1]},gain=exponential)" if name.endswith(")") else f"{name}(gain=exponential)"
    assert_equal(drawn, f"{exponential}@{rest}", theirs)


RANX = {
    "precision@5": "P@5",
    "map@10": "AP(form=original)@10",
    "mrr": f"RR@{DEPTH}",
    "ndcg@10": "nDCG@10",
    "ndcg_burges@10": "nDCG(gain=exponential)@10",
}


@pytest.mark.slow
def test_ranx_agrees(drawn, ranx):
    # ranx gives RBP in gain units, ours is a share of the highest gain: its grades are made binary for that one.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judged, runs = as_dictionaries(drawn)
        named = [ranx.Run(run, name=system) for system, run in runs.items()]
        for given in (named, {run.name: run for run in named}):
            read = Collection.from_runs(given, ranx.Qrels(judged), scale=drawn.scale)
            assert {run.system: run.rankings for run in read.runs} == {run.system: run.rankings for run in drawn.runs}
            assert read.grades() == drawn.grades()
        for system, run in runs.items():
            one = replace(drawn, runs=tuple(r for r in drawn.runs if r.system == system))
            theirs = ranx.evaluate(
                ranx.Qrels(judged), ranx.Run(run), list(RANX), return_mean=False, make_comparable=True
            )
            order = sorted(judged)
            for name, written in RANX.items():
                assert_equal(one, written, {(system, q): v for q, v in zip(order, theirs[name], strict=True)})
            rbp = ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), "rbp.80", return_mean=False)
            scaled = {(system, q): v / SCALE.maximum for q, v in zip(order, rbp, strict=True)}
            assert_equal(one, f"RBP(form=original)@{DEPTH}", scaled)


def test_ir_measures_agrees(drawn):
    ir_measures = pytest.importorskip("ir_measures")
    judged, runs = as_dictionaries(drawn)
    known = {
        ir_measures.nDCG @ 10: "nDCG@10",
        ir_measures.AP(rel=2) @ 10: "AP(form=original,min=2)@10",
        ir_measures.P(rel=1) @ 5: "P@5",
        ir_measures.RR(rel=3): f"RR(min=3)@{DEPTH}",
    }
    for measure, written in known.items():
        theirs = {
            (system, metric.query_id): metric.value
            for system, run in runs.items()
            for metric in measure.iter_calc(judged, run)
        }
        assert_equal(drawn, written, theirs)
