import json
from pathlib import Path

import numpy as np
import pytest

from audiosim.measures.measure import parse_measure
from audiosim.ranking.stopping import Correction, corrected_deviation, corrections

KNOWN = {
    "CG": Correction((0.01, 0.02, 0.05), (0.004, 0.01, 0.012)),
    "nDCG": Correction((0.02, 0.04), (0.003, 0.009)),
}


@pytest.mark.parametrize(
    ("measure", "error", "deviation"),
    [
        ("CG@5", 0.01, 0.004),
        ("CG@5", 0.05, 0.012),
        ("CG@5", 0.015, 0.007),  # half-way between .004 and .01
        ("CG@5", 0.03, 0.01 + 0.002 / 3),
        ("CG@5", 0.001, 0.0004),  # below: in proportion to the lowest
        ("CG@5", 0.1, 0.024),  # above: in proportion to the highest
        ("CG(gain=exponential)@7", 0.01, 0.004),  # by the name of the measure, with any parameters
        ("nDCG@5", 0.03, 0.006),
        ("P@5", 0.02, 0.003),  # nothing was learned for P: the smaller of .01 and .003
        ("P@5", 0.01, 0.0015),
    ],
)
def test_the_deviation_lies_between_those_learned(measure, error, deviation):
    assert corrected_deviation(parse_measure(measure), error, KNOWN) == pytest.approx(deviation, rel=1e-12)


def test_inside_what_was_learned_it_is_numpy_s_interpolation():
    rng = np.random.default_rng(2)
    errors, deviations = np.sort(rng.random(9)), np.sort(rng.random(9))
    known = {"DCG": Correction(tuple(errors.tolist()), tuple(deviations.tolist()))}
    for error in rng.uniform(errors[0], errors[-1], 30):
        found = corrected_deviation(parse_measure("DCG@5"), error, known)
        assert found == pytest.approx(np.interp(error, errors, deviations), rel=1e-12)


def test_what_is_shipped_is_what_the_file_says():
    path = Path(__file__).resolve().parents[2] / "models" / "stopping" / "correction.json"
    written = json.loads(path.read_text(encoding="utf-8"))["measures"]
    assert {name: (of.errors, of.deviations) for name, of in corrections().items()} == {
        name: (tuple(of["errors"]), tuple(of["deviations"])) for name, of in written.items()
    }
    for name, of in written.items():
        assert of["errors"] == sorted(of["errors"])
        assert corrected_deviation(parse_measure(f"{name}@5"), of["errors"][0]) == of["deviations"][0]
