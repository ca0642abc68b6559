"""The law of one truth: with everything judged, every face states the score of `evaluate` and of ir_measures.

Random collections: judged pairs that no run has within the cutoff, judged queries that no run answers, runs that miss
queries or end early, grades that tie. trec_eval, by ir_measures, is the outside authority.
"""

import json

import numpy as np
import pytest

from audiosim import Collection, compare, estimate, evaluate, simulate
from audiosim.collection.values import Judgment, Run, Scale
from audiosim.errors import InputError
from audiosim.measures.measure import MEASURES, parse_measure
from audiosim.measures.scores import judged_files

pytestmark = pytest.mark.filterwarnings("ignore:.* will be removed in Python 3.14:DeprecationWarning")
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
FORMS = ("gain=exponential", "ideal=user", "form=original", "rel=1")
# Written as ir_measures writes them, by program: trec_eval in double precision; gdeval prints five digits.
THEIRS = {
    **dict.fromkeys(("P(rel=1)@2", "P(rel=3)@3", "RR(rel=1)@3", "RR(rel=2)@5", "nDCG@3", "nDCG(dcg='log2')@5"), 1e-12),
    **dict.fromkeys(("AP(rel=1)@2", "AP(rel=2)@3", "AP(rel=4)@5"), 1e-12),
    **dict.fromkeys(("nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')@5"), 1e-5),
}


def drawn(seed: int, judged: float = 1.0) -> Collection:
    """3 systems, 5 queries, 12 documents, of which systems retrieve at most 5; every pair is judged, or a share."""
    rng = np.random.default_rng(seed)
    documents, queries = [f"d{i}" for i in range(12)], [str(i) for i in range(5)]
    runs = tuple(
        Run(
            system,
            {
                query: tuple(rng.permutation(documents)[: rng.integers(1, 6)].tolist())
                for query in queries[:4]
                if query == "0" or rng.random() < 0.9
            },
        )
        for system in "ABC"
    )
    judgments = tuple(
        Judgment(query, document, float(rng.choice(5, p=[0.4, 0.2, 0.2, 0.1, 0.1])))
        for query in queries
        for document in documents
        if rng.random() < judged
    )
    return Collection("drawn", "drawn", Scale("five", (0.0, 1.0, 2.0, 3.0, 4.0)), 3, runs, judgments=judgments)


def written_at(cutoff: int) -> list[str]:
    """Every measure, plain and with each of its parameters; those that need `min` for a model always have it."""
    found = []
    for name, definition in MEASURES.items():
        has = {parameter.name for parameter in definition.parameters}
        for form in ("", *FORMS):
            if not form or form.partition("=")[0] in has:
                least = ["min=1"] if "min" in has and form != "rel=1" else []
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
@pytest.mark.parametrize("seed", range(2))
def test_with_everything_judged_estimate_and_evaluate_state_the_same_score(seed, model):
    collection = drawn(seed)
    for written in written_at(3):
        expected = by_system(evaluate(collection, written).rows(), "mean")
        assert_same(by_system(estimate(collection, model, written, draws=2).rows(), "expectation"), expected)


def test_with_everything_judged_intervals_about_queries_of_this_kind_are_those_of_evaluate():
    collection = drawn(4)
    for written in written_at(3):
        evaluated = evaluate(collection, written).rows()
        stated = estimate(collection, "uniform", written, draws=2, about="queries").rows()
        for end in ("low", "high"):
            expected, found = (by_system(rows, end) for rows in (evaluated, stated))
            if "form=original" in written:  # the t-interval, cut at 0
                expected = {system: max(0.0, value) for system, value in expected.items()}
            np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("written", "within"), THEIRS.items())
def test_a_measure_as_ir_measures_writes_it_has_the_number_of_ir_measures(written, within):
    import ir_measures

    measure = ir_measures.parse_measure(written)
    for seed in range(4 if "exp" in written else 8):
        collection = drawn(seed)
        judged, runs = as_dictionaries(collection)
        expected = {name: ir_measures.calc_aggregate([measure], judged, run)[measure] for name, run in runs.items()}
        found = by_system(evaluate(collection, written).rows(), "mean")
        assert found == pytest.approx(expected, abs=within)
        for ideal in ("ordered", "correlated", "independent") if "nDCG" in written else ("ordered",):
            ranking = estimate(collection, "uniform", written, draws=2, ideal=ideal)
            assert_same(by_system(ranking.rows(), "expectation"), found)


# ir_measures gives RBP with `rel` to cwl_eval, which has no cutoff: here it is a loop over the definition,
# (1 - p) sum of p^(i-1) over the relevant ranks, Moffat & Zobel (2008).
@pytest.mark.parametrize(("rel", "p", "cutoff"), [(1, 0.8, 3), (2, 0.5, 5), (4, 0.95, 2)])
def test_rbp_as_ir_measures_writes_it_is_a_sum_over_the_relevant_ranks(rel, p, cutoff):
    for seed in range(20):
        collection = drawn(seed)
        judged, _ = as_dictionaries(collection)
        written, expected = f"RBP(rel={rel}, p={p})@{cutoff}", {}
        for run in collection.runs:
            relevant = [
                (1 - p) * p**place
                for query, documents in run.rankings.items()
                for place, document in enumerate(documents[:cutoff])
                if judged[query][document] >= rel
            ]
            expected[run.system] = sum(relevant) / len(judged)
        assert_same(by_system(evaluate(collection, written).rows(), "mean"), expected)
    with pytest.raises(InputError, match=r"^rel of RBP\(rel=5\)@3 must be at most 4, the highest grade$"):
        estimate(drawn(0), "uniform", "RBP(rel=5)@3")


def test_the_line_under_a_table_says_the_form_and_how_ir_measures_form_is_written(tmp_path, run):
    collection = drawn(2)
    collection.save(tmp_path / "drawn")
    lines = {
        "AP(min=2)@3": "in ir_measures AP divides by the number of relevant documents: AP(rel=2)@3.",
        "AP(rel=2)@3": "or by the cutoff if that is less: AP(min=2)@3.",
        "RBP(p=0.5)@3": "in ir_measures RBP is the sum over relevant documents: RBP(rel=1,p=0.5)@3.",
        "ERR@3": "exponential gains on a scale up to 4: ERR(gain=exponential,form=original)@3.",
    }
    for written, line in lines.items():
        for command in ("evaluate", "estimate"):
            code, said, _ = run(command, tmp_path / "drawn", "--partial", "--measure", written)
            assert code == 0
            assert line in " ".join(said.split())
    assert parse_measure("nDCG@3").form_in_words == parse_measure("P@3").form_in_words == ""


def test_a_measure_without_a_cutoff_takes_the_collection_s_and_unused_judgments_are_counted(tmp_path, run):
    collection = drawn(5)
    collection.save(tmp_path / "drawn")
    inside = {
        (query, document) for one in collection.runs for query, top in one.rankings.items() for document in top[:2]
    }
    unused = sum(one.pair not in inside for one in collection.judgments)
    asked = {
        None: ("CG@3", 0),
        "nDCG": ("nDCG@3", 0),
        "RBP(p=0.5)": ("RBP(p=0.5)@3", 0),
        "P(rel=1)@2": ("P(rel=1)@2", 1),
    }
    for written, (named, counted) in asked.items():
        chosen = [] if written is None else ["--measure", written]
        plain = () if written is None else (written,)
        expected = by_system(evaluate(collection, named).rows(), "mean")
        assert_same(by_system(evaluate(collection, *plain).rows(), "mean"), expected)
        assert_same(by_system(estimate(collection, "uniform", *plain, draws=2).rows(), "expectation"), expected)
        for command in ("evaluate", "estimate"):
            code, said, err = run(command, tmp_path / "drawn", "--partial", "--format", "json", *chosen)
            found = json.loads(said)
            assert (code, found.get("measure", named), named in found or "measure" in found) == (0, named, True)
            line = f"note: {named} leaves {unused} of 60 judgments unused: no system has their documents in its first 2"
            assert counted == 0 or line in err
            assert (" unused" in err) == (counted == 1 or named == "CG@3")
            assert ("only for the ideal ranking" in err) == (" unused" not in err)


def test_the_mean_of_a_run_does_not_depend_on_the_runs_beside_it(tmp_path):
    (tmp_path / "judged.qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n3 0 b 1\n4 0 c 1\n")
    (tmp_path / "a.trec").write_text("".join(f"{query} Q0 a 1 1 A\n" for query in "12349"))
    (tmp_path / "b.trec").write_text("".join(f"{query} Q0 b 1 1 B\n" for query in "13"))
    alone = judged_files([tmp_path / "b.trec"], tmp_path / "judged.qrels", 2, unjudged="zero")
    both = judged_files([tmp_path / "a.trec", tmp_path / "b.trec"], tmp_path / "judged.qrels", 2, unjudged="zero")
    assert (alone.queries, set(both.queries)) == (("1", "3", "2", "4"), set("1234"))
    for written in ("P@1", "nDCG@2", "AP(rel=1)@2", "CG@1"):
        assert alone.scores(written).means[0] == both.scores(written).means[1] == pytest.approx(1 / 4)
    assert alone.notes == ("queries that a system does not answer count 0 for it: B 2 of 4",)
    assert both.notes[1] == "1 query of the runs, such as 9, not judged at all: left out"
    with pytest.raises(InputError, match="^P@3 needs the first 3 results, 2 were read$"):
        alone.scores("P@3")
    (tmp_path / "other.qrels").write_text("1 0 z 1\n")
    with pytest.raises(InputError, match="0 of 1 judgment is of retrieved pairs, expected some"):
        judged_files([tmp_path / "b.trec"], tmp_path / "other.qrels", 2, unjudged="zero")


@pytest.mark.parametrize("written", ["nDCG@3", "RBP@3", "Q@3"])
def test_comparisons_and_replays_end_at_the_scores_of_evaluate(written):
    collection = drawn(7)
    expected = by_system(evaluate(collection, written).rows(), "mean")
    difference = compare(collection, "A", "B", "uniform", written).expectation
    assert difference == pytest.approx(expected["A"] - expected["B"], abs=1e-12)
    played = simulate(collection, "uniform", written, stopping_rule="judgments=999", batch=5)
    assert_same(by_system(played.selection.ranking.rows(), "expectation"), expected)
    assert played.curve[-1].error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("written", ["P(min=1)@3", "CG@3", "nDCG@3"])
def test_a_system_with_one_score_on_every_query_is_compared(written):
    # The variance of its score over queries is 0: rounding must not leave less.
    rng = np.random.default_rng(0)
    for count in (3, 7, 11):
        grades = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
        queries = [f"q{number}" for number in range(count)]
        runs = (
            Run("A", dict.fromkeys(queries, ("a", "b", "c"))),
            Run("B", {query: tuple(rng.permutation(list("abcd"))[:3].tolist()) for query in queries}),
        )
        judgments = tuple(Judgment(query, document, grade) for query in queries for document, grade in grades.items())
        made = Collection("made", "made", Scale("three", (0.0, 1.0, 2.0)), 3, runs, judgments=judgments)
        means = by_system(evaluate(made, written).rows(), "mean")
        assert compare(made, "A", "B", measure=written).expectation == pytest.approx(means["A"] - means["B"], abs=1e-12)
