import shutil

import numpy as np
import pytest

from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure, score

ir_measures = pytest.importorskip("ir_measures")

from audiosim.measures.ir_measures import register  # noqa: E402

QRELS = {"1": {"a": 2, "b": 0, "c": 1, "d": 4, "x": -1}, "2": {"a": 1, "b": 3}, "3": {"a": 1}}
RUN = {"1": {"x": 9.0, "d": 8.0, "b": 8.0, "c": 7.0, "new": 6.0}, "2": {"b": 2.0, "a": 1.0}, "9": {"a": 1.0}}
# By hand: trec_eval ranks d before b with an equal score; x and new are not judged; query 9 is not in the qrels.
GRADES = {"1": [0.0, 4, 0, 1, 0], "2": [3.0, 1], "3": []}
JUDGED = {"1": [4.0, 2, 1, 0], "2": [3.0, 1], "3": [1.0]}
FIVE = Scale("five", (0.0, 1.0, 2.0, 3.0, 4.0))
EIGHT = Scale("eight", (*FIVE.levels, 5.0, 6.0, 7.0))


def by_hand(written, scale=FIVE):
    measure = parse_measure(written)
    return {q: float(score(measure, scale, np.array(GRADES[q], dtype=float), np.array(JUDGED[q]))) for q in GRADES}


@pytest.mark.parametrize(
    ("name", "parameters", "written"),
    [
        ("Q", {}, "Q@5"),
        ("GAP", {}, "GAP@5"),
        ("GAP", {"thresholds": "1:0.5/3:0.5"}, "GAP(thresholds=1:0.5/3:0.5)@5"),
        ("Q", {"beta": 0.5, "gain": "exponential"}, "Q(gain=exponential,beta=0.5)@5"),
        ("GAP", {"max_rel": 4}, "GAP@5"),
        ("ADR", {"form": "original"}, "ADR(form=original)@5"),
        ("EDCG", {"ideal": "user"}, "EDCG(ideal=user)@5"),
    ],
)
def test_users_of_ir_measures_get_our_measures(name, parameters, written):
    register()
    measure = ir_measures.measures.registry[name](**parameters) @ 5
    found = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], QRELS, RUN)}
    assert found == pytest.approx(by_hand(written))
    assert ir_measures.calc_aggregate([measure], QRELS, RUN)[measure] == pytest.approx(np.mean(list(found.values())))


@pytest.mark.parametrize("parameters", [{}, {"thresholds": "5:0.5/7:0.5"}, {"thresholds": "uniform"}])
def test_relevances_that_do_not_occur_are_thresholds_too(parameters):
    register()
    measure = ir_measures.measures.registry["GAP"](max_rel=7, **parameters) @ 5
    found = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], QRELS, RUN)}
    assert found == pytest.approx(by_hand(f"GAP(thresholds={parameters.get('thresholds', 'uniform')})@5", EIGHT))


def test_the_highest_relevance_may_be_any_number_up_to_the_limit_of_scales():
    register()
    gap, qrels = ir_measures.measures.registry["GAP"]() @ 5, {"1": {"a": 10**9, "b": 5 * 10**8}}
    # F is 1 for a and 0.5 for b, best is 1.5; 1/1.5 (min(1, 1)/1 + (min(1, .5) + min(.5, .5))/2) = 1
    assert ir_measures.calc_aggregate([gap], qrels, {"1": {"a": 2.0, "b": 1.0}})[gap] == pytest.approx(1)
    with pytest.raises(InputError, match=r"may go up to 1e\+09, got 2e\+09"):
        ir_measures.calc_aggregate([gap], {"1": {"a": 2 * 10**9}}, RUN)
    with pytest.raises(InputError, match="the cutoff of Q must be at most 999,999, got 1000000000000"):
        ir_measures.calc_aggregate([ir_measures.measures.registry["Q"]() @ 10**12], QRELS, RUN)


def test_our_err_is_that_of_gdeval():
    provider = register()
    err = ir_measures.ERR @ 3
    found = {metric.query_id: metric.value for metric in provider.iter_calc([err], QRELS, RUN)}
    assert found == pytest.approx(by_hand("ERR(gain=exponential,form=original)@3"))
    if shutil.which("perl"):
        theirs = {metric.query_id: metric.value for metric in ir_measures.gdeval.iter_calc([err], QRELS, RUN)}
        assert found == pytest.approx(theirs, abs=5e-6)  # it prints five decimals


def test_to_register_again_changes_nothing():
    assert register() is register()
    assert ir_measures.DefaultPipeline.providers.count(register()) == 1


def test_a_highest_relevance_below_one_in_the_qrels_is_refused():
    register()
    measure = ir_measures.measures.registry["GAP"](max_rel=3) @ 5
    with pytest.raises(InputError, match="max_rel of GAP.* must be at least 4, the highest in the qrels, got 3"):
        list(ir_measures.iter_calc([measure], QRELS, RUN))
