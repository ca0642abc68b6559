"""Wrong arguments of Python functions cause one-line errors that state the expected and the given value."""

import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import audiosim
from audiosim.collection.values import Results
from audiosim.errors import InputError
from audiosim.measures.satisfaction import number_satisfied
from audiosim.training.examples import deal

DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "demo"
RUNS = {"A": {"q1": ["d3", "d1"]}, "B": {"q1": {"d1": 0.9, "d2": 0.4}}}


@pytest.fixture(scope="module")
def demo():
    return audiosim.Collection.load(DEMO)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: audiosim.Collection.load(3), r"^expected the folder of a collection, got 3$"),
        (
            lambda _: audiosim.Collection.load(DEMO, judgments=[1]),
            r"^judgments: row 0: expected a data frame, .* or ir_measures' qrels; got 1$",
        ),
        (
            lambda _: audiosim.Collection.load(DEMO, scale=3),
            r"^unknown scale 3, expected fine, broad, binary or a list",
        ),
        (
            lambda _: audiosim.Collection.load(DEMO, scale="3-0"),
            r"^the levels of scale 3-0 must rise, expected the low",
        ),
        (
            lambda _: audiosim.Campaign("demo"),
            r"^expected a collection, such as Collection.load\(folder\), got 'demo'$",
        ),
        (
            lambda _: audiosim.parse_measure(None),
            r"^unknown measure None, expected a name and a cutoff such as CG@5; the names are P, AP",
        ),
        (lambda c: audiosim.estimate(c, model=3), r"^expected a model's name or file, or an estimator, got 3$"),
        (
            lambda c: audiosim.estimate(c, about=3.5),
            r"^a statement .*: expected these or queries, .*; got 3\.5$",
        ),
        (
            lambda c: audiosim.estimate(c, about=[3.5]),
            r"^a statement .*: expected these or queries, .*; got '3\.5'$",
        ),
        (lambda c: audiosim.estimate(c, ideal="best"), r"^unknown ideal 'best', expected ordered, correlated or indep"),
        (lambda c: audiosim.estimate(c, distribution="f"), r"^unknown distribution 'f', expected t or normal$"),
        (
            lambda c: audiosim.estimate(c, measure="ERR@5", draws="9"),
            r"^the number of draws must be a whole number of at least 2, got '9'$",
        ),
        (lambda _: number_satisfied(np.array(0.5), 10**12), r"^expected 1 to 10,000 users, got 1000000000000$"),
        (
            lambda c: audiosim.calibration(c, parts=10**12),
            r"^the number of repeats must be 1 to 10,000, got 1000000000",
        ),
        (lambda _: deal(np.arange(9), 10**12), r"^9 queries with judgments are too few for 1000000000000 folds$"),
        (
            lambda c: audiosim.predict(c, pairs=[("q01", "gone")]),
            r"^nothing is known of document gone: no run, metadata",
        ),
        (lambda c: audiosim.predict(c, pairs=[("gone", "d001")]), r"^nothing is known of query gone: no run, metadata"),
        (
            lambda c: audiosim.predict(c, pairs=[("q01",)]),
            r"^pairs: row 0: expected pairs \(query, document\), .*; got \('q01',\)",
        ),
        (
            lambda c: audiosim.predict(c, pairs=["ab"]),
            r"^pairs: row 0: expected pairs \(query, document\), .*; got 'ab'$",
        ),
        (
            lambda c: audiosim.predict(c, pairs=[("q01", np.nan)]),
            r"^pairs: row 0: the document is empty, expected an identifier",
        ),
        (lambda c: audiosim.Campaign(c).ask(2.5), r"pairs to ask for must be a whole number of at least 1, got 2\.5$"),
        (
            lambda c: audiosim.Campaign(c).selection.ask(2.5),
            r"^the number of pairs to ask for must be a whole number of at least 1, got 2\.5$",
        ),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line(demo, call, message):
    with pytest.raises(InputError, match=message):
        call(demo)


def test_judgments_of_nothing_retrieved_are_refused(demo, tmp_path):
    with pytest.raises(InputError, match=r"^judgments: 0 of 1 judgment is of retrieved pairs, expected some; did you"):
        audiosim.Collection.from_runs(RUNS, {"q1": {"D1": 2}})
    with pytest.raises(
        InputError,
        match=r"^judgments: 0 of 1 judgment is of retrieved pairs, expected some, such as q01, found such as q$",
    ):
        audiosim.estimate(demo, judgments={"q": {"d": 2}})
    (tmp_path / "other.qrels").write_text("q 0 d 2\n")
    with pytest.raises(InputError, match=r"other\.qrels: 0 of 1 judgment is of retrieved pairs, expected some"):
        audiosim.estimate(demo, judgments=tmp_path / "other.qrels")


def test_pairs_may_be_a_frame(demo):
    frame = pd.DataFrame({"docno": ["d044", "d070"], "qid": ["q03", "q01"]})
    assert (
        audiosim.predict(demo, "mout", pairs=frame).rows()
        == audiosim.predict(demo, "mout", pairs=[("q03", "d044"), ("q01", "d070")]).rows()
    )


def test_a_campaign_tells_what_it_is(demo):
    campaign = audiosim.Campaign(demo)
    (pair,) = campaign.ask()
    campaign.tell(audiosim.Judgment(*pair, grade=70))
    assert repr(campaign) == "Campaign of Demo: synthesised music, open: 1 of 600 pairs judged"


@pytest.mark.parametrize("ridge", [-1.0, np.nan, np.inf, "a"])
def test_a_ridge_that_is_no_penalty_is_refused(ridge):
    with pytest.raises(InputError, match=r"^ridge must be a finite number, 0 or more, got "):
        audiosim.OrdinalRegression(ridge=ridge).fit([[1.0], [2.0], [3.0], [2.5]], [0, 1, 1, 0])


def test_the_order_of_categories_is_not_lost_by_sorting():
    features = [[1.0], [2.0], [3.0], [2.5], [1.5]]
    named = pd.Series(pd.Categorical(["low", "mid", "high", "mid", "low"], ["low", "mid", "high"], ordered=True))
    with pytest.raises(
        InputError, match=r"^the categories of y are ordered low < mid < high, but levels sort as high <"
    ):
        audiosim.OrdinalRegression(ridge=1).fit(features, named)
    fitted = audiosim.OrdinalRegression(ridge=1).fit(features, named.cat.codes)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.coef_[0] > 0
    numbers = pd.Series(pd.Categorical([0, 1, 2, 1, 0], [0, 1, 2], ordered=True))
    assert audiosim.OrdinalRegression(ridge=1).fit(features, numbers).coef_ == pytest.approx(fitted.coef_)


def test_a_cutoff_beyond_all_ranks_is_the_last_one(demo):
    assert Results.of(demo.runs, 2**80).rank.tolist() == Results.of(demo.runs).rank.tolist()


GRADES = {"q1": {"d3": 2, "d1": 0, "d2": 1}}
TAKING = {
    "estimate": lambda scale: audiosim.estimate(RUNS, GRADES, scale=scale).scores.mean.tolist(),
    "predict": lambda scale: audiosim.predict(RUNS, judgments=GRADES, scale=scale).rows(),
    "next_pairs": lambda scale: audiosim.next_pairs(RUNS, judgments=GRADES, scale=scale).rows(),
    "compare": lambda scale: audiosim.compare(RUNS, "A", "B", judgments=GRADES, about="these", scale=scale).to_dict(),
    "plan": lambda scale: audiosim.plan(RUNS, judgments=GRADES, campaigns=1, scale=scale).to_dict(),
    "kinds_of_question": lambda scale: audiosim.kinds_of_question(RUNS, judgments=GRADES, scale=scale).rows(),
    "evaluate": lambda scale: audiosim.evaluate(RUNS, GRADES, scale=scale).scores.values.tolist(),
    "history": lambda scale: audiosim.history(RUNS, judgments=GRADES, scale=scale),
    "train": lambda scale: audiosim.train(RUNS, judgments=GRADES, scale=scale),
    "judge_effect": lambda scale: audiosim.judge_effect(RUNS, "ann", judgments=GRADES, scale=scale),
}


# Answers of people have their own scale; the collections of `prior` are judged on it.
ALONE = {"satisfaction", "read_answers"}
WITH_JUDGMENTS = [
    name
    for name in audiosim.__all__
    if inspect.isfunction(function := getattr(audiosim, name))
    if {"judgments", "scale"} & set(inspect.signature(function).parameters)
    if name not in ALONE
]


@pytest.mark.parametrize("name", WITH_JUDGMENTS)
def test_the_scale_of_judgments_is_given_beside_them_as_to_the_command(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taking = TAKING.get(name, lambda scale: getattr(audiosim, name)(RUNS, judgments=GRADES, scale=scale))
    with pytest.raises(InputError, match=r"grade 2 is not on the binary scale"):
        taking("binary")


def test_worth_and_train_take_judgments_beside_the_collection():
    assert {"worth", "train", "estimate", "history", "write_report"} < set(WITH_JUDGMENTS)
    qrels = DEMO / "truth.qrels"
    whole = audiosim.Collection.load(DEMO, qrels)
    for given in (DEMO, [DEMO]):
        trained = audiosim.train(given, judgments=qrels)
        assert trained.model.coefficients == audiosim.train(whole).model.coefficients
    quick = {"judged": [0], "replays": False}
    assert audiosim.worth(DEMO, judgments=qrels, **quick).rows() == audiosim.worth(whole, **quick).rows()


@pytest.mark.parametrize("given", [RUNS, audiosim.Collection.from_frames(RUNS), DEMO])
def test_an_unknown_scale_is_answered_with_all_kinds_of_scales(given):
    known = r"fine, broad, binary, graded-N \(N levels\), binary-M \(relevant from M on\) or a list of levels"
    with pytest.raises(InputError, match=rf"^unknown scale 'good', expected {known}$"):
        audiosim.estimate(given, scale="good")


@pytest.mark.parametrize("given", [RUNS, audiosim.Collection.from_frames(RUNS), DEMO])
@pytest.mark.parametrize(("scale", "highest"), [("0-2", 2), ("0,2,4", 4), ("fine", 100)])
def test_scores_are_shares_of_the_highest_grade_of_the_scale_given(given, scale, highest):
    """With everything judged CG is the mean grade divided by the highest: here of one pair, or of those of the demo."""
    lines = (DEMO / "truth.qrels").read_text("utf-8").split("\n") if given == DEMO else []
    cut = [(*line.split()[:3:2], 2 * (int(line.split()[3]) > 50)) for line in lines if line]
    grades = pd.DataFrame(cut, columns=["query", "document", "grade"]) if cut else {"q1": {"d3": 2, "d1": 2, "d2": 2}}
    found = audiosim.estimate(given, judgments=grades, scale=scale).scores.mean
    whole = audiosim.estimate(given, judgments=grades, scale="0-2").scores.mean
    assert found == pytest.approx(whole * 2 / highest)
    assert cut or found == pytest.approx([2 / highest] * 2)
