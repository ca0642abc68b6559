"""Share that carries over between editions, compared with editions drawn with a known share."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.ordinal.model import EFFECT_NAMES, TREND, Between
from audiosim.simulation.trials import draw_parts
from audiosim.training.joint import EditionPair, Estimates, edition_pairs, learn_carried, of_one_source
from benchmarks.synthetic import Design, synthetic_collection

SPREAD, ERROR = 0.3, 0.1
HELD = Between(dict.fromkeys(TREND, (0.0, SPREAD)), dict.fromkeys(EFFECT_NAMES, (0.5, SPREAD)), ())
NAMES = tuple(dict.fromkeys([*TREND, *EFFECT_NAMES]))


def drawn_pair(rng, share, kinship="edition"):
    """Estimates of two editions whose parameters have this correlation, each with an error."""
    common = rng.normal(0, SPREAD * np.sqrt(share), len(NAMES))
    errors = dict.fromkeys(NAMES, ERROR)
    editions = []
    for name in ("one", "other"):
        own = common + rng.normal(0, SPREAD * np.sqrt(1 - share), len(NAMES)) + rng.normal(0, ERROR, len(NAMES))
        editions.append(Estimates(name, dict(zip(NAMES, own.tolist(), strict=True)), errors))
    return EditionPair(kinship, *editions)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
def test_of_many_editions_the_share_that_they_were_drawn_with_is_found(share):
    rng = np.random.default_rng(0)
    found = learn_carried([drawn_pair(rng, share) for _ in range(150)], HELD)
    # Each of 1,200 parameters gives the logarithm of the variance with an error of sqrt(2): .04 in all.
    assert found["edition"] == pytest.approx(share, abs=0.1)
    assert found["systems"] == pytest.approx(0.5, abs=1e-6)


def test_one_pair_of_editions_moves_little_and_none_nothing():
    none = learn_carried([], HELD)
    assert none == pytest.approx({"systems": 0.5, "edition": 0.5}, abs=1e-6)
    one = learn_carried([drawn_pair(np.random.default_rng(0), 0.9, "systems")], HELD)["systems"]
    assert 0.5 < one < 0.95
    kept = replace(HELD, carried={"systems": 0.9, "edition": 0.4})
    assert learn_carried([], kept) == pytest.approx({"systems": 0.9, "edition": 0.4}, abs=0.01)


def test_a_weight_is_a_power_of_the_likelihood():
    pair = drawn_pair(np.random.default_rng(1), 0.5)
    thirds = [pair._replace(weight=1 / 3)] * 3
    assert learn_carried(thirds, HELD) == pytest.approx(learn_carried([pair], HELD))


def test_kin_are_found_among_collections_and_are_one_source():
    whole = replace(synthetic_collection(np.random.default_rng(3), Design(8, 4, 24, 5, 30)), identifier="a")
    part = draw_parts(whole, 1, np.random.default_rng(0), held_out="queries")[0]
    halves = [replace(of, identifier=name) for of, name in ((part.of(whole), "a"), (part.rest(whole), "b"))]
    pools = [build_pool(half) for half in halves]
    judged = [(pool, pool.spread(half.grades())) for pool, half in zip(pools, halves, strict=True)]
    estimates = [Estimates(name, {}) for name in "ab"]
    (pair,) = edition_pairs(judged, estimates)
    assert (pair.kinship, pair.one.source, pair.other.source) == ("systems", "a", "b")
    assert [one.source for one in of_one_source(estimates, [pair])] == ["a", "a"]
    assert [one.source for one in of_one_source(estimates, [])] == ["a", "b"]
