"""Share of a model's knowledge that carries over to kin, from collections with several judged editions."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.relevance.between import EFFECT_NAMES, TREND, Between
from audiosim.relevance.kinship import KIN, Kinship, kinship_of
from audiosim.relevance.provenance import source_of
from audiosim.training.between_collections import Estimates

HELD = 0.5  # prior share that carries over
WORTH = 2.0  # weight of the prior in observations; together with HELD, this is a uniform distribution
EDGES = np.linspace(0, 1, 101)
SHARES = (EDGES[1:] + EDGES[:-1]) / 2


class EditionPair(NamedTuple):
    """Estimates from two editions of one collection.

    kinship  "systems" or "edition"
    weight   1, or less if several pairs are drawn from the same judgments
    """

    kinship: Kinship
    one: Estimates
    other: Estimates
    weight: float = 1.0


def learn_carried(pairs: Sequence[EditionPair], between: Between) -> dict[str, float]:
    """Share that carries over, by kinship: its posterior mean.

        one - other ~ N(0, 2 (1 - share) T^2 + e_one^2 + e_other^2)  for each parameter,
        share ~ Beta(WORTH held, WORTH (1 - held))

    T is the standard deviation between collections, and e the standard errors. The prior is that of `between`, or HELD
    if it has none. With at most one pair the share stays near the prior, and kin are expected to differ much.
    """
    found: dict[str, float] = {}
    for kinship in KIN:
        held = between.carried.get(kinship, HELD)
        likely = np.log(np.diff(betainc(WORTH * held, WORTH * (1 - held), EDGES)))
        likely += sum(pair.weight * _likelihood(pair, between) for pair in pairs if pair.kinship == kinship)
        chances = np.exp(likely - likely.max())
        found[kinship] = float(chances @ SHARES / chances.sum())
    return found


def _likelihood(pair: EditionPair, between: Between) -> Array:
    """(shares,) log-likelihood of each of SHARES, up to a constant."""
    total = np.zeros(len(SHARES))
    # The bands of consensus keep their prior, so `consensus` here is the slope.
    spreads = {name: between.spread(name) for name in EFFECT_NAMES} | {name: between.trend[name][1] for name in TREND}
    for name, spread in spreads.items():
        if name in pair.one.errors and name in pair.other.errors:
            noise = pair.one.errors[name] ** 2 + pair.other.errors[name] ** 2
            deviation = np.sqrt(2 * (1 - SHARES) * spread**2 + noise)
            difference = (pair.one.values[name] - pair.other.values[name]) / deviation
            total -= difference**2 / 2 + np.log(deviation)
    return total


def edition_pairs(judged: Sequence[tuple[Pool, Array]], estimates: Sequence[Estimates]) -> list[EditionPair]:
    """The pairs of kin among some collections; see `kinship`.

    judged     pools with their grades (pairs,), NaN where unjudged
    estimates  estimates from each pool
    """
    sources = [source_of(pool, grades) for pool, grades in judged]
    found = []
    for one, other in combinations(range(len(judged)), 2):
        kinship = kinship_of(judged[other][0], [sources[one]])
        if kinship in KIN:
            found.append(EditionPair(kinship, estimates[one], estimates[other]))
    return found


def of_one_source(estimates: Sequence[Estimates], pairs: Sequence[EditionPair]) -> list[Estimates]:
    """The estimates, with kin merged into one source, named after the first of them."""
    names = {one.source: one.source for one in estimates}
    for pair in pairs:
        names[pair.other.source] = names[pair.one.source]
    return [replace(one, source=names[one.source]) for one in estimates]
