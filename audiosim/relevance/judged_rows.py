"""Judgments of a panel with their covariance under the model, for reports on people and pairs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.properties import cached_property
from audiosim.relevance.judge_noise import JudgeNoise, judge_noise
from audiosim.relevance.judges import Panel
from audiosim.stats.normal.block_covariances import BlockCovariances, BlockInverse
from audiosim.stats.normal.layout import Layout


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Judgments of a panel, their expectations, and their covariance C.

    rows        layout of the J judgments, the trend among its effects
    deviations  deviations of all components of that layout, by name
    panel       the judges and their judgments
    off         (J,) y, judgments less the mean of each before any was made
    unit        deviation of a pair, as a share of the scale; noise is a multiple of it
    parts       (n, s) share of each pair that belongs to the results of each system
    """

    rows: Layout
    deviations: Mapping[str, float]
    panel: Panel
    off: Array
    unit: float
    parts: Array

    @cached_property
    def noise(self) -> JudgeNoise:
        """Noise of each person."""
        return judge_noise(self.rows, self.deviations, self.panel, self.off)

    @cached_property
    def inverse(self) -> BlockInverse:
        """C^-1, with each person's own noise."""
        rows = replace(self.rows, times=self.noise.times[self.panel.judge])
        return BlockCovariances.of(rows).inverse(np.array([self.deviations[name] ** 2 for name in rows.names]))

    @cached_property
    def solved(self) -> Array:
        """(J,) C^-1 y."""
        return self.inverse.solve(self.off[:, None])[:, 0]

    @property
    def person(self) -> Array:
        """(J, p) 1 where the judgment is the person's."""
        return np.eye(len(self.panel.judges))[self.panel.judge]

    @property
    def progress(self) -> Array:
        """(J, p) place of each judgment among those of the same person, from -1/2 for the first to 1/2 for the last.

        0 in other people's columns, and for a single judgment.
        """
        found = np.zeros((len(self.off), len(self.panel.judges)))
        for code in range(len(self.panel.judges)):
            own = np.flatnonzero(self.panel.judge == code)
            if len(own) > 1:
                found[own, code] = np.arange(len(own)) / (len(own) - 1) - 0.5
        return found


def most_telling(panel: Panel, most: int) -> Panel:
    """At most `most` judgments of a panel: the latest on pairs with several judges, then the first of the others.

    They are returned in the order of judging.
    """
    shared = np.bincount(panel.place)[panel.place] > 1 if len(panel.place) else np.empty(0, dtype=np.bool_)
    several: Integers = np.flatnonzero(shared)[-most:]
    rest = np.flatnonzero(~shared)[: most - len(several)]
    kept = np.sort(np.concatenate([several, rest]))
    return Panel(panel.judges, panel.place[kept], panel.judge[kept], panel.gain[kept])
