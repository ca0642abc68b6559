"""Plain TREC files, runs and qrels without any settings: audiosim's results equal trec_eval's."""

import re
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import audiosim
from audiosim.measures.scores import judged_files

FOREIGN = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "foreign"
NAMES = ("covid1", "dl2019", "ehealth2013", "ehealth2014", "ted-ende")
MEASURES = {"nDCG@{}": "ndcg_cut_{}", "P@{}": "P_{}", "AP(form=original)@{}": "map_cut_{}"}
# Tolerance for sums of double precision in another order.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def trec_eval(folder, names):
    """Scores of pytrec_eval by measure, system and query, read from the files by splitting lines."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, runs = defaultdict(dict), defaultdict(lambda: defaultdict(dict))
    for line in (folder / "judgments.qrels").read_text("utf-8").splitlines():
        query, _, document, grade = line.split()
        qrels[query][document] = int(grade)
    for line in (folder / "runs.trec").read_text("utf-8").splitlines():
        query, _, document, _, score, system = line.split()
        runs[system][query][document] = float(score)
    families = {re.sub(r"_(\d+)$", r".\1", name) for name in names}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, families)
    return {system: evaluator.evaluate(run) for system, run in runs.items()}


@pytest.fixture(params=NAMES)
def plain(request, tmp_path):
    """A real collection of another kind: only the run file and the qrels."""
    if not (FOREIGN / request.param).is_dir():
        pytest.skip("needs the real collections in ../shared/data, which are not part of the project")
    for name in ("runs.trec", "judgments.qrels"):
        shutil.copy(FOREIGN / request.param / name, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_evaluate_and_estimate_agree_with_trec_eval_to_the_digit(plain):
    collection = audiosim.Collection.load(plain)
    # A precision at k and an ideal of k need k results: trec_eval has those of single cutoffs.
    cutoff = 5 if collection.cutoff == 5 else 1
    theirs = trec_eval(plain, [name.format(cutoff) for name in MEASURES.values()])
    assert audiosim.predict(collection, "uniform").pairs == ()  # everything is judged
    for ours, name in MEASURES.items():
        measure = ours.format(cutoff)
        expected = {system: {q: of[name.format(cutoff)] for q, of in found.items()} for system, found in theirs.items()}
        found = audiosim.evaluate(plain, measure).scores
        wanted = [[expected[system].get(query, 0.0) for query in found.queries] for system in found.systems]
        np.testing.assert_allclose(found.values, wanted, **CLOSE)
        fast = judged_files([plain / "runs.trec"], plain / "judgments.qrels", cutoff).scores(measure)
        wanted = [[expected[system].get(query, 0.0) for query in fast.queries] for system in fast.systems]
        np.testing.assert_allclose(fast.values, wanted, **CLOSE)
    for row in audiosim.estimate(collection, "uniform", f"nDCG@{cutoff}").to_dict()["systems"]:
        mean = np.mean([of[f"ndcg_cut_{cutoff}"] for of in theirs[row["system"]].values()])
        np.testing.assert_allclose(row["expectation"], mean, **CLOSE)


def test_unjudged_and_junk_grades_score_as_in_trec_eval(tmp_path):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(5)
    grades = {f"q{q}": {f"d{d}": int(rng.choice([-2, -1, 0, 1, 2, 3])) for d in range(30)} for q in range(6)}
    runs = {
        system: {q: {f"d{d}": float(rng.random()) for d in rng.permutation(40)[:20]} for q in grades} for system in "ST"
    }
    qrels = [f"{q} 0 {d} {grade}" for q, of in grades.items() for d, grade in of.items()]
    lines = [
        f"{q} Q0 {d} 0 {score!r} {s}" for s, of in runs.items() for q, some in of.items() for d, score in some.items()
    ]
    (tmp_path / "judgments.qrels").write_text("\n".join(qrels) + "\n")
    (tmp_path / "runs.trec").write_text("\n".join(lines) + "\n")
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"P.5", "ndcg_cut.5"})
    for measure, name in (("P@5", "P_5"), ("nDCG@5", "ndcg_cut_5")):
        found = audiosim.evaluate(tmp_path, measure, unjudged="zero").scores
        theirs = {system: evaluator.evaluate(run) for system, run in runs.items()}
        wanted = [[theirs[system][query][name] for query in found.queries] for system in found.systems]
        np.testing.assert_allclose(found.values, wanted, **CLOSE)
