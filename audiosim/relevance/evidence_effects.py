"""Effects of evidence in a joint model: a slope for each piece, and what documents that are alike in it share.

    deviations += sum over pieces of  slope e  +  likeness,   slope ~ N(centre, spread^2),  e as in `features.evidence`

in standard deviations of a grade. Judgments correct the slopes exactly, from the first one on, as they do all other
effects; the variances of the likenesses are learned anew with the others.

What holds for sound is learned where both sound and relevance are known: the demo (slope .49 +- .08 where nothing else
is known of a document, .24 +- .05 beside genre and artist) and 96 clips of eight games (.33 +- .03), see
`benchmarks/evidence.py`. The spread is that of collections, not of these estimates. Of other evidence nothing is held
but that it may count as much, in either direction.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import AudiosimError
from audiosim.features.evidence import SOUND_EVIDENCE, angles_of, evidence_columns
from audiosim.relevance.belief import Belief
from audiosim.relevance.random_effects import layout_of, sound_kernels
from audiosim.relevance.speaking import ORDER, in_words
from audiosim.stats.layout import Layout
from audiosim.stats.proximity import nearest_correlation

SLOPES: Mapping[str, tuple[float, float]] = {
    SOUND_EVIDENCE: (0.33, 0.2)
}  # mean and standard deviation over collections
PRIOR_DEVIATIONS: Mapping[str, tuple[float, float]] = {
    SOUND_EVIDENCE: (0.3, 0.3)
}  # median, and standard deviation of the logarithm
CUTOFF = 5  # of the measure that is meant where none is named
OWN_SLOPE = (0.0, 0.2)
OWN_SIZE = (0.15, 0.3)


@dataclass(frozen=True, eq=False)
class EvidenceEffects:
    """The effects of a pool's evidence, before anything is judged.

    names    of the k pieces that say something
    columns  (n, k) what each says of each pair, in standard deviations; 0 where it says nothing
    known    (n, k) whether it does
    kernels  by name: for each block how alike its documents are; of sound, and of vectors
    """

    names: tuple[str, ...]
    columns: Array
    known: Booleans
    kernels: Mapping[str, tuple[Array, ...]]

    @classmethod
    def of(cls, pool: Pool, layout: Layout) -> "EvidenceEffects":
        """Those of a pool, of which this is the layout."""
        found = evidence_columns(pool)
        names = tuple(column.name for column in found)
        empty = np.empty((len(pool.pairs), 0))
        kernels = {}
        if SOUND_EVIDENCE in names:
            kernels[SOUND_EVIDENCE] = sound_kernels(pool, layout.blocks)
        for piece in pool.evidence:
            if piece.is_vector and piece.name in names:
                angles = angles_of(pool, piece)
                kernels[piece.name] = tuple(nearest_correlation(angles.likeness(rows)) for rows in layout.blocks)
        return cls(
            names,
            np.column_stack([empty, *(column.values for column in found)]),
            np.column_stack([empty.astype(np.bool_), *(column.known for column in found)]),
            kernels,
        )

    @property
    def slopes(self) -> Array:
        """(k, 2) mean and standard deviation of each slope over collections."""
        return np.array([SLOPES.get(name, OWN_SLOPE) for name in self.names]).reshape(-1, 2)

    @property
    def standard_deviations(self) -> dict[str, tuple[float, float]]:
        """Median size of each likeness, and the standard deviation of its logarithm, over collections."""
        return {name: PRIOR_DEVIATIONS.get(name, OWN_SIZE) for name in self.kernels}

    def onto(self, layout: Layout) -> Layout:
        """The layout with the likenesses among its components, and the columns after those of its trend."""
        trend = np.hstack([layout.fixed, self.columns * layout.scale[:, None]])
        return replace(layout, kernels={**self.kernels, **layout.kernels}, trend=trend)

    def spoken(self, ordinal: Belief) -> tuple[tuple[str, ...], Integers]:
        """Evidence that spoke for each pair: output, what an ordinal model knew of it, and each piece of evidence; see
        `speaking.in_words`.
        """
        of_models = [set(words.split(", ")) for words in ordinal.evidence]
        kinds = [kind for kind in ORDER[1:] if kind != SOUND_EVIDENCE and any(kind in of for of in of_models)]
        spoke = np.array([[kind in of for kind in kinds] for of in of_models], dtype=np.bool_)[ordinal.model]
        return in_words(
            ("output", *kinds, *self.names), np.hstack([np.ones((len(spoke), 1), dtype=np.bool_), spoke, self.known])
        )


def prepare_closeness(folder: Path) -> None:
    """Compute the closeness that a joint model of a collection needs, and keep it beside the index of its sounds.

    folder  of the collection

    Its first ranking then takes as long as any. Does nothing where the folder holds no collection that can be read:
    whoever reads it is told what is wrong. Of pools at other cutoffs than the collection's and 5, what the recordings
    are compared with is kept.
    """
    with suppress(AudiosimError):
        collection = Collection.load(folder, judgments="none")
        if collection.sounds is None:
            return
        for cutoff in dict.fromkeys((collection.cutoff, CUTOFF)):
            pool = build_pool(collection, cutoff)
            EvidenceEffects.of(pool, layout_of(pool, np.ones(len(pool.pairs)), metadata=False))
