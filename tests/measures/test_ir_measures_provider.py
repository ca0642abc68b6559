import shutil

import numpy as np
import pytest

from audiosim.corpus.model import Scale
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.measures.scores import score

ir_measures = pytest.importorskip("ir_measures")

from audiosim.measures.ir_measures_provider import register  # noqa: E402

QRELS = {"1": {"a": 2, "b": 0, "c": 1, "d": 4, "x": -1}, "2": {"a": 1, "b": 3}, "3": {"a": 1}}
RUN = {"1": {"x": 9.0, "d": 8.0, "b": 8.0, "c": 7.0, "new": 6.0}, "2": {"b": 2.0, "a": 1.0}, "9": {"a": 1.0}}
# By hand: trec_eval ranks d before b with an equal score; x and new are not judged; query 9 is not in the qrels.
GRADES = {"1": [0.0, 4, 0, 1, 0], "2": [3.0, 1], "3": []}
JUDGED = {"1": [4.0, 2, 1, 0], "2": [3.0, 1], "3": [1.0]}
FIVE = Scale("five", (0.0, 1.0, 2.0, 3.0, 4.0))


def by_hand(written):
    measure = parse_measure(written)
    return {q: float(score(measure, FIVE, np.array(GRADES[q], dtype=float), np.array(JUDGED[q]))) for q in GRADES}


@pytest.mark.parametrize(
    ("name", "parameters", "written"),
    [
        ("Q", {}, "Q@5"),
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
