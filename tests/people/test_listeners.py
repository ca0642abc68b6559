import json
import math
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, mean_absolute_error, root_mean_squared_error

from audiosim.campaign import Campaign, Event
from audiosim.collection.values import BROAD, FINE, Judgment, Pair, parse_scale
from audiosim.people.agreement import agreement

NOON = "2013-05-01T12:00:00Z"


def graded(rows, name="fine"):
    """Grades by pair, assessor and scale; each row has an assessor's grades of the same pairs, None if missing."""
    pairs = [Pair("q", f"d{place}") for place in range(len(next(iter(rows.values()))))]
    return {
        pair: {assessor: {name: float(said[place])} for assessor, said in rows.items() if said[place] is not None}
        for place, pair in enumerate(pairs)
    }


@pytest.mark.parametrize("scale", [FINE, BROAD, parse_scale([0, 1, 5, 20])], ids=lambda scale: scale.name)
def test_two_assessors_agree_as_sklearn_has_it(scale):
    rng = np.random.default_rng(3)
    rows = {name: rng.choice(scale.levels, 60).tolist() for name in ("ann", "bob", "cid")}
    found = agreement(graded(rows, "grade"), scale).scales[0]
    assert (found.scale, found.pairs) == (scale.name, 60)
    places = {name: np.searchsorted(scale.levels, said) for name, said in rows.items()}
    for two, (first, second) in zip(found.assessors, combinations(rows, 2), strict=True):
        assert (two.first, two.second, two.pairs) == (first, second, 60)
        for weights in ("quadratic", "linear"):
            labels = list(range(len(scale.levels)))
            expected = cohen_kappa_score(places[first], places[second], labels=labels, weights=weights)
            assert getattr(two, f"kappa_{weights}") == pytest.approx(expected, abs=1e-12)
        gains = [np.array(rows[name]) / scale.maximum for name in (first, second)]
        assert two.rmse == pytest.approx(root_mean_squared_error(*gains), abs=1e-12)
        assert two.mae == pytest.approx(mean_absolute_error(*gains), abs=1e-12)
    assert found.rmse == pytest.approx(np.mean([two.rmse for two in found.assessors]), abs=1e-12)
    assert found.kappa_linear == pytest.approx(np.mean([two.kappa_linear for two in found.assessors]), abs=1e-12)


def test_the_means_weigh_assessors_by_the_pairs_they_share():
    # Differences of ann and bob: 10 on three pairs; of ann and cid: 50 on one.
    rows = {"ann": [10, 20, 30, 0], "bob": [20, 30, 40, None], "cid": [None, None, None, 50]}
    found = agreement(graded(rows), FINE)
    (fine,) = found.scales
    assert (found.pairs, fine.pairs, [two.pairs for two in fine.assessors]) == (4, 4, [3, 1])
    assert fine.rmse == pytest.approx((3 * 0.1 + 0.5) / 4)
    assert fine.mae == pytest.approx((3 * 0.1 + 0.5) / 4)


def test_perfect_agreement_is_one_and_without_error():
    fine = agreement(graded({"ann": [1, 2, 3], "bob": [1, 2, 3]}), FINE).scales[0]
    assert (fine.alpha_ordinal, fine.alpha_interval, fine.kappa_quadratic, fine.kappa_linear) == (1, 1, 1, 1)
    assert (fine.rmse, fine.mae) == (0, 0)


def test_what_is_undefined_is_not_a_number_and_none_in_the_plain_form():
    constant = agreement(graded({"ann": [5, 5], "bob": [5, 5]}), FINE)
    (fine,) = constant.scales
    assert math.isnan(fine.kappa_quadratic)
    assert math.isnan(fine.alpha_ordinal)
    assert fine.rmse == 0
    plain = constant.to_dict()["scales"]["fine"]
    assert (plain["kappa_linear"], plain["alpha_interval"], plain["assessors"][0]["kappa_quadratic"]) == (None,) * 3
    nothing = agreement(graded({"ann": [5, None], "bob": [None, 5]}), FINE).to_dict()
    assert nothing["pairs"] == 0
    assert [nothing["scales"]["fine"][figure] for figure in ("rmse", "kappa_linear", "alpha_ordinal")] == [None] * 3
    assert json.loads(json.dumps(nothing, allow_nan=False)) == nothing


def test_a_campaign_compares_all_scales_that_two_assessors_used(tiny):
    campaign = Campaign(tiny, "mjud", "CG@2")
    for (assessor, shift), document in product([("ann", 0), ("bob", 20)], "abc"):
        place = "abc".index(document)
        grades = {"fine": 10 * place + shift, "broad": place}
        campaign.tell(Event("judgment", NOON, assessor, "q1", document, grades))
    campaign.tell(Judgment("q1", "d", 1.0, "cid"))
    campaign.tell(Judgment("q1", "a", 40.0, "bob"))
    found = campaign.agreement()
    assert (found.pairs, [scale.scale for scale in found.scales]) == (3, ["fine", "broad"])
    fine, broad = found.scales
    assert fine.mae == pytest.approx((0.4 + 0.2 + 0.2) / 3)
    # The revision has no Broad grade, so two pairs are left.
    assert (broad.pairs, broad.kappa_quadratic, broad.mae) == (2, 1, 0)
