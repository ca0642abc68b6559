"""Effects of evidence in a joint model: slopes of its columns, and effects shared by documents similar in it.

    deviations += columns slopes  +  likenesses,   slopes ~ N(means, covariance)

in standard deviations of a grade. Judgments correct the slopes exactly, from the first one on, like all other effects;
the variances of the likenesses are learned again with the others. Each kind of evidence brings its columns and the
prior of its slopes: see `evidence_kind`.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np

from audiosim.arrays import Integers
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import AudiosimError, InputError
from audiosim.messages import one_line
from audiosim.relevance.belief import Belief
from audiosim.relevance.evidence_kind import EvidenceKind, Regressors, beside, no_regressors
from audiosim.relevance.evidence_registry import EVIDENCE_KINDS, OWN_KINDS
from audiosim.relevance.pair_evidence import METADATA_KINDS, Kinds, combinations
from audiosim.relevance.random_effects import layout_of
from audiosim.stats.normal.layout import Layout

CUTOFF = 5  # cutoff of the default measure


@dataclass(frozen=True, eq=False)
class EvidenceEffects:
    """The effects of a pool's evidence, before any judgment.

    regressors  regressors of all kinds together
    """

    regressors: Regressors

    @classmethod
    def of(cls, pool: Pool, layout: Layout, kinds: Iterable[EvidenceKind] | None = None) -> "EvidenceEffects":
        """The effects of a pool's evidence, for the pool's layout.

        kinds  kinds of evidence; None for all kinds known in this process
        """
        some = EVIDENCE_KINDS.values() if kinds is None else kinds
        found = (_regressors(kind, pool, layout) for kind in some)
        return cls(reduce(beside, (one for one in found if one is not None), no_regressors(len(pool.pairs))))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the informative pieces of evidence."""
        return self.regressors.names

    @property
    def standard_deviations(self) -> Mapping[str, tuple[float, float]]:
        """Median size of each likeness and kind of effect, and the standard deviation of its logarithm."""
        return self.regressors.standard_deviations

    def onto(self, layout: Layout) -> Layout:
        """The layout with likenesses and effects added to its components, and the columns added after its trend."""
        brought = self.regressors
        trend = np.hstack([layout.fixed, brought.columns * layout.scale[:, None]])
        kernels, shared = {**brought.kernels, **layout.kernels}, {**layout.shared, **brought.shared}
        return replace(layout, kernels=kernels, shared=shared, trend=trend)

    def spoken(self, ordinal: Belief) -> tuple[tuple[Kinds, ...], Integers]:
        """Evidence used for each pair: output, the evidence of the ordinal model, and each piece of evidence; see
        `speaking.combinations`.
        """
        of_models = [set(kinds) for kinds in ordinal.evidence]
        kinds = [kind for kind in METADATA_KINDS if any(kind in of for of in of_models)]
        spoke = np.array([[kind in of for kind in kinds] for of in of_models], dtype=np.bool_)[ordinal.model]
        always = np.ones((len(spoke), 1), dtype=np.bool_)
        return combinations(("output", *kinds, *self.names), np.hstack([always, spoke, self.regressors.known]))


def _regressors(kind: EvidenceKind, pool: Pool, layout: Layout) -> Regressors | None:
    """Regressors of a kind for a pool; an error in a plugin's code becomes one line."""
    if kind.name in OWN_KINDS:
        return kind.regressors(pool, layout.blocks)
    try:
        return kind.regressors(pool, layout.blocks)
    except Exception as error:  # a plugin's code may raise anything
        raise InputError(f"evidence {kind.name}: raises {one_line(error)}") from error


def prepare_closeness(folder: Path) -> None:
    """Precompute the closeness that a joint model of a collection needs, and store it beside the index of its sounds.

    folder  folder of the collection

    Its first ranking is then as fast as any other. Does nothing if the folder holds no readable collection: the
    error appears when it is read later. For pools at cutoffs other than the collection's and 5, it stores the
    references of the comparison.
    """
    with suppress(AudiosimError):
        collection = Collection.load(folder, judgments="none")
        if collection.sounds is None:
            return
        for cutoff in dict.fromkeys((collection.cutoff, CUTOFF)):
            pool = build_pool(collection, cutoff)
            EvidenceEffects.of(pool, layout_of(pool, np.ones(len(pool.pairs)), metadata=False))
