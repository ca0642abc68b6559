"""Prior uncertainty of the joint model: the part explained by evidence is taken from the components, by hand."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from audiosim.joint.prior import Uncertainty
from audiosim.ordinal.model import load_model

FILE = Path(__file__).parents[2] / "models" / "joint-fine.json"

SIZES = {"query": 3.0, "genre": 4.0, "team": 1.0, "rest": 2.0}
PRIOR = Uncertainty(np.array([0.5, 0.25]), np.eye(1), SIZES, dict.fromkeys(SIZES, 0.1), False)
LAYOUT = SimpleNamespace(scale=np.array([2.0, 4.0]), kernels={})


def after(explained=(), likeness=None):
    """The prior with a column of slope .1, and a kernel if a size is given."""
    regressors = SimpleNamespace(
        columns=np.array([[1.0], [3.0]]),
        slopes=np.array([0.1]),
        covariance=np.array([[0.04]]),
        standard_deviations={} if likeness is None else {"likeness": (likeness, 0.3)},
        kernels={"likeness": None},
        explained=dict(explained),
    )
    return PRIOR.with_evidence(SimpleNamespace(regressors=regressors), LAYOUT)


def test_a_column_moves_the_mean_by_its_slope_in_the_deviations_of_pairs():
    found = after()
    assert found.mean == pytest.approx([0.5 + 2 * 1 * 0.1, 0.25 + 4 * 3 * 0.1])
    assert found.covariance.tolist() == [[1, 0], [0, 0.04]]
    assert found.centre == SIZES


def test_variance_that_columns_explain_is_taken_from_its_components_in_proportion():
    left = after({("query", "genre", "not there"): 10.0}).centre
    assert left == pytest.approx(SIZES | {"query": 3 * 0.6**0.5, "genre": 4 * 0.6**0.5})
    assert left["query"] ** 2 + left["genre"] ** 2 == pytest.approx(9 + 16 - 10)


def test_at_least_half_of_a_deviation_is_left():
    assert after({("query", "genre"): 24.0}).centre == pytest.approx(SIZES | {"query": 1.5, "genre": 2.0})
    assert after(likeness=1.9).centre == pytest.approx(SIZES | {"rest": 1.0, "likeness": 1.9})


def test_variance_that_likenesses_explain_is_taken_from_the_rest():
    found = after(likeness=1.0)
    assert found.centre == pytest.approx(SIZES | {"rest": 3**0.5, "likeness": 1.0})
    assert found.spread == dict.fromkeys(SIZES, 0.1) | {"likeness": 0.3}


@pytest.mark.parametrize("informed", [[True, True, False], [True, False, False]])
def test_elsewhere_the_model_s_sizes_within_a_query_count_where_it_knows_most_pairs(informed):
    written = json.loads(FILE.read_text(encoding="utf-8"))
    known, usual = (
        {name: size for name, (size, _) in of.items()}
        for of in (written["components"], written["between"]["standard_deviations"])
    )
    layout = SimpleNamespace(names=("query", "retrievers", "team", "artist", "rest"), fixed=np.ones((3, 4)))
    prior = SimpleNamespace(mean=np.zeros(3), informed=np.array(informed), layout=layout)
    model = load_model(FILE)
    found = Uncertainty.elsewhere(prior, model, model.between)
    within = known if sum(informed) == 2 else usual
    expected = {name: within[name] for name in ("query", "retrievers", "rest")}
    assert found.centre == expected | {"team": usual["team"], "artist": known["artist"]}
    own = sum(written["trend"]["coefficients"].values())
    others = sum(slope for slope, _ in written["between"]["trend"].values())
    assert found.mean == pytest.approx([own if one else others for one in informed])
    assert found.away
