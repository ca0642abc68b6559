"""Mean opinion of some people about each pair, given judgments, in blocks: a new judgment changes only its own."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.properties import cached_property
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.conditioning import ConditionedBlock, by_number, condition_block


@dataclass(frozen=True, eq=False)
class Opinions:
    """Mean opinion of some people about n pairs before p people judged, and its covariance with their judgments.

    gains   gains of the pairs for listeners at large
    prior   prior of the mean opinion; its last effects are the severities of the p people, the tastes of some of them,
            and a severity and tastes of all others
    parts   (n, s) share of each pair that belongs to the results of each system
    scale   (n,) deviation of each pair
    noise   (p,) variance of each person's noise, in deviations of a pair
    together  variance shared by one person's judgments of a query, likewise
    taste   variance of the tastes that are not separate effects: it counts as noise
    column  (p,) place of each person among the tastes, -1 if not a separate effect
    each    (p,) weight of each person in the mean

    Results for a block are cached with its judgments: the next judgment recomputes only its own block.
    """

    gains: BlockNormal
    prior: BlockNormal
    parts: Array
    scale: Array
    noise: Array
    together: float
    taste: float
    column: Integers
    each: float

    @cached_property
    def _seen(self) -> dict[int, tuple[bytes, ConditionedBlock]]:
        return {}

    def given(self, place: Integers, judge: Integers, gain: Array) -> BlockNormal:
        """Distribution of the mean opinion given judgments (J,): their pairs, judges and gains."""
        if not len(place):
            return self.prior
        block, seen = self.gains.block[place], {}
        for said in by_number(block):
            code = int(block[said[0]])
            # Compared by content, not by identity: each state creates new arrays, mostly with equal parts.
            key = b"".join(of[said].tobytes() for of in (place, judge, gain))
            kept = self._seen.get(code)
            if kept is None or kept[0] != key:
                kept = self._seen[code] = key, self._conditioned(code, place[said], judge[said], gain[said])
            seen[code] = kept[1]
        return self.prior.given(seen)

    def _conditioned(self, block: int, place: Integers, judge: Integers, gain: Array) -> ConditionedBlock:
        """Remainder of a block given the judgments of its pairs."""
        rows, scale = self.gains.blocks[block], self.scale
        order = np.argsort(rows)
        at = order[np.searchsorted(rows, place, sorter=order)]
        within, some = self.gains.within[block], scale[place]
        # Person by query, and noise, are within a query: they stay in the block. Severity and taste cross queries, so
        # they are loadings on shared effects; only the few tastes without an effect of their own become noise.
        same_pair, same_judge = at[:, None] == at, judge[:, None] == judge
        own = within[np.ix_(at, at)] + np.outer(some, some) * same_judge * (
            self.together + same_pair * self.noise[judge]
        )
        own[np.diag_indices_from(own)] += self.taste * (self.parts[place] ** 2).sum(axis=1) * (self.column[judge] < 0)
        # The mean opinion contains 1 / A of each judge's own deviations; a judgment shares exactly that part.
        hit = at[:, None] == np.arange(len(rows))
        across = within[at] + np.outer(some, scale[rows]) * self.each * (self.together + hit * self.noise[judge, None])
        loadings = np.hstack([self.gains.loadings[block][at], self._loadings(place, judge)])
        off = gain - self.prior.mean[place]
        return condition_block(self.prior.within[block], self.prior.loadings[block], across, own, loadings, off)

    def _loadings(self, place: Integers, judge: Integers) -> Array:
        """(k, q) loadings of judgments on severities and tastes."""
        systems, people = self.parts.shape[1], len(self.noise)
        found = np.zeros((len(place), len(self.prior.shared) - len(self.gains.shared)))
        found[np.arange(len(place)), judge] = 1
        for line, column in enumerate(self.column[judge].tolist()):
            if column >= 0:
                start = people + column * systems
                found[line, start : start + systems] = self.parts[place[line]]
        return found
