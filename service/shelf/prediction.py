"""Predictions: for the pairs of a pool in one state of the judgments, or for rows of features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool
from audiosim.features.registry import FEATURES
from audiosim.features.table import check_terms
from audiosim.properties import cached_property
from audiosim.relevance.belief import Belief
from audiosim.relevance.feature_rows import row_probabilities
from audiosim.relevance.model_files import Model
from audiosim.relevance.pair_evidence import evidence_of
from audiosim.selection import Selection
from audiosim.stats.responses.ordinal import expectation, variance

STATUSES = ("predicted", "judged", "unknown")
PREDICTED, JUDGED, UNKNOWN = range(3)
ABSENT = -1
BLOCK = 5_000


@dataclass(frozen=True, eq=False)
class Predicted:
    """Requested rows, with predictions for each.

    name, version  of the estimator; None if it has no version
    judgments      number of judgments used for the predictions
    levels         (l,) grades, rising
    expectation    (m,) expected grade, or the grade of a row that is judged for certain; NaN if unknown
    variance       (m,) of the grade, 0 where it is certain; NaN if unknown
    status         (m,) number of the row's status in STATUSES
    models         names of the models used
    model          (m,) index of the model used for the row; -1 if unknown
    probabilities  (m, l) as predicted, even for a judged row; NaN if unknown
    evidence       combinations of kinds of evidence used, such as output and genre; none if the estimator names none
    spoke          (m,) index of the combination used for the row; -1 if unknown
    state          number of the campaign's state, if its judgments were used; None for others
    gain           (m,) the expectation as a share of the highest grade; NaN if unknown; None for rows of features
    covariance     (m, m) of the grades, NaN in the rows and columns of unknown pairs; None unless asked for
    """

    name: str
    version: str | None
    judgments: int
    levels: Array
    expectation: Array
    variance: Array
    status: Integers
    models: tuple[str, ...]
    model: Integers
    probabilities: Array
    evidence: tuple[tuple[str, ...], ...]
    spoke: Integers
    state: int | None = None
    gain: Array | None = None
    covariance: Array | None = None


@dataclass(frozen=True, eq=False)
class State:
    """One state of the judgments, and the predictions from it.

    pool       n pairs
    name       of the estimator
    version    of the estimator's model, or None
    judgments  number of judgments
    belief     about the n pairs, from these judgments; if a campaign predicts only after several judgments, from its
               last prediction
    number     of the last event in the campaign's log; None if the judgments are not a campaign's
    selection  the campaign's, with the ranking for these predictions, or None
    """

    pool: Pool
    name: str
    version: str | None
    judgments: int
    belief: Belief
    number: int | None = None
    selection: Selection | None = None

    @property
    def stated(self) -> Belief:
        """Belief behind the ranking; the replacement's if the model failed its check."""
        return self.belief if self.selection is None else self.selection.stated_belief

    @property
    def widening(self) -> float:
        """Factor on the deviations of the ranking, from that check."""
        return 1.0 if self.selection is None else self.selection.widening

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of each grade, as the ranking adds them up."""
        return self.stated.variance * self.widening**2

    def _places(self, pairs: Sequence[Pair]) -> Integers:
        """(m,) place of each pair in the pool; looked up in portions, to let other threads run in between."""
        look = self.pool.positions.get
        starts = range(0, len(pairs), BLOCK)
        blocks = [np.fromiter(map(look, pairs[start : start + BLOCK], repeat(ABSENT)), np.int64) for start in starts]
        return np.concatenate([np.empty(0, np.int64), *blocks])

    def of(self, pairs: Sequence[Pair], covariance: bool = False) -> Predicted:
        """The rows of these pairs, in their order; those outside the pool are unknown.

        covariance  True to add the covariance of their grades
        """
        place, stated = self._places(pairs), self.stated
        unknown, spoke = place == ABSENT, stated.spoke
        expectation = np.where(unknown, np.nan, stated.expectation[place])
        return Predicted(
            name=self.name,
            version=self.version,
            judgments=self.judgments,
            levels=stated.levels,
            expectation=expectation,
            variance=np.where(unknown, np.nan, self.variance[place]),
            status=np.where(unknown, UNKNOWN, np.where(stated.judged[place], JUDGED, PREDICTED)),
            models=stated.models,
            model=np.where(unknown, ABSENT, stated.model[place]),
            probabilities=np.where(unknown[:, None], np.nan, stated.probabilities[place]),
            evidence=stated.evidence,
            spoke=np.full(len(place), ABSENT) if spoke is None else np.where(unknown, ABSENT, spoke[place]),
            state=self.number,
            gain=expectation / stated.maximum,
            covariance=self._covariance(place) if covariance else None,
        )

    def _covariance(self, place: Integers) -> Array:
        unknown = place == ABSENT
        found = self.stated.covariance(np.maximum(place, 0)) * self.widening**2
        return np.where(unknown | unknown[:, None], np.nan, found)


def predict_features(model: Model, table: Mapping[str, Array]) -> Predicted:
    """Predictions of a model from rows of features; a row with an unknown feature is unknown, without a fallback.

    table  features, each (m,), NaN where unknown; it must have those of the model, and may have others
    """
    check_terms(list(table))
    count = len(next(iter(table.values()), ()))
    probabilities = row_probabilities(model, table, count)
    unknown = np.isnan(probabilities[:, 0])
    levels = np.array(model.levels)
    return Predicted(
        name=model.name,
        version=model.version,
        judgments=0,
        levels=levels,
        expectation=expectation(probabilities, levels),
        variance=variance(probabilities, levels),
        status=np.where(unknown, UNKNOWN, PREDICTED),
        models=(model.name,),
        model=np.where(unknown, ABSENT, 0),
        probabilities=probabilities,
        evidence=(evidence_of(FEATURES[name] for name in model.features),),
        spoke=np.where(unknown, ABSENT, 0),
    )
