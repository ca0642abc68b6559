"""Pairs on which people differ more than the model expects: candidates for discussion or another judgment.

For the judgments y of a pair, r are the residuals from their prediction by all judgments of other pairs, with
covariance V. Severity, taste and each person's view of the query are removed as far as they are known.
    r = P_SS^-1 (P y)_S,   V = P_SS^-1,   P = C^-1,   S the judgments of the pair

With L the contrasts among k of them, (L r)' (L V L')^-1 L r has the chi-squared distribution with k - 1 degrees of
freedom if people differ as they do elsewhere; its root divided by that of k - 1 is the standardised spread.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from audiosim.arrays import Array
from audiosim.corpus.model import Pair
from audiosim.relevance.judged_rows import JudgedRows


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Disagreement between people on one pair.

    pair    pair of query and document
    grades  grades by name, as shares of the scale
    beyond  excess of each grade over its prediction from that person's other judgments, likewise
    spread  standardised: 1 where they differ as usual here
    chance  probability of at least this much disagreement on a pair if people differ as they do elsewhere
    """

    pair: Pair
    grades: dict[str, float]
    beyond: dict[str, float]
    spread: float
    chance: float

    def to_dict(self, highest: float = 1.0) -> dict[str, Any]:
        """Plain values; grades and `beyond` on the scale.

        highest  highest grade of the scale
        """
        on_scale = [{name: round(highest * of[name], 9) for name in of} for of in (self.grades, self.beyond)]
        said = {"grades": on_scale[0], "beyond": on_scale[1]}
        return {**self.pair._asdict(), **said, "spread": self.spread, "chance": self.chance}


def disagreements(judged: JudgedRows, pairs: tuple[Pair, ...], count: int | None = None) -> list[Disagreement]:
    """Pairs that several people judged, greatest disagreement first.

    pairs  pairs of the pool
    count  largest number returned; None for all
    """
    panel, found = judged.panel, []
    for rows, inverse in judged.inverse.within():
        places = panel.place[rows]
        for place in np.unique(places[np.bincount(places)[places] > 1]).tolist():
            some = np.flatnonzero(places == place)
            covariance = np.asarray(np.linalg.inv(inverse[np.ix_(some, some)]), np.float64)
            off = covariance @ judged.solved[rows[some]]
            names = [panel.judges[code] for code in panel.judge[rows[some]].tolist()]
            spread, chance = standardised_spread(off, covariance)
            grades = dict(zip(names, panel.gain[rows[some]].tolist(), strict=True))
            beyond = dict(zip(names, off.tolist(), strict=True))
            found.append(Disagreement(pairs[place], grades, beyond, spread, chance))
    found.sort(key=lambda one: (one.chance, -one.spread, one.pair))
    return found[:count]


def standardised_spread(off: Array, covariance: Array) -> tuple[float, float]:
    """Spread of k values relative to their covariance (k, k), and the chance of at least as much."""
    k = len(off)
    contrasts = np.linalg.svd(np.ones((1, k)))[2][1:]
    differences = contrasts @ off
    square = float(differences @ np.linalg.solve(contrasts @ covariance @ contrasts.T, differences))
    return float(np.sqrt(square / (k - 1))), float(chdtrc(k - 1, square))
