"""The wire types of collections, models and predictions, with their conversion to values and back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, cast

import numpy as np
from msgspec import Meta, field

from audiosim.collection.values import Pair, Scale
from audiosim.errors import InputError
from audiosim.ordinal.model import Model
from audiosim.service.collections.predictions import Predictor
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.base import Wire
from audiosim.stats.arrays import Array

MOST_ROWS = 50_000
MOST_FEATURES = 100

Names = Annotated[list[str], Meta(max_length=MOST_ROWS)]
Numbers = Annotated[list[float], Meta(max_length=MOST_ROWS)]
Values = Annotated[list[float | None], Meta(max_length=MOST_ROWS)]
Status = Literal["predicted", "judged", "unknown"]
Include = Annotated[list[Literal["probabilities"]], Meta(max_length=8)]
IncludeOfPairs = Annotated[list[Literal["probabilities", "covariance"]], Meta(max_length=8)]


class JudgmentsIn(Wire, forbid_unknown_fields=True):
    """Judgments, one per row.

    query     identifier of the query of each row
    document  identifier of the document of each row
    grade     grade of each row, which may be a mean over assessors
    """

    query: Names
    document: Names
    grade: Numbers

    def __post_init__(self) -> None:
        _check_lengths({"query": len(self.query), "document": len(self.document), "grade": len(self.grade)})

    @classmethod
    def from_domain(cls, grades: Mapping[Pair, float]) -> "JudgmentsIn":
        return cls([query for query, _ in grades], [document for _, document in grades], list(grades.values()))

    def to_domain(self, scale: Scale) -> dict[Pair, float]:
        """The grade of each pair; a repeated pair or a grade beyond the scale is an error."""
        grades: dict[Pair, float] = {}
        for pair, grade in zip(_pairs(self.query, self.document), self.grade, strict=True):
            if pair in grades:
                raise InputError(f"judgments: query {pair[0]}, document {pair[1]} occurs twice, expected it once")
            if not scale.levels[0] <= grade <= scale.maximum:
                raise InputError(f"judgments: grade {grade:g} is beyond the {scale.name} scale ({scale})")
            grades[pair] = grade
        return grades


class PredictionsIn(Wire, forbid_unknown_fields=True, omit_defaults=True):
    """The pairs to predict, one per row.

    query      identifier of the query of each row
    document   identifier of the document of each row
    judgments  judgments in place of the campaign's; those of the campaign if not given
    """

    query: Names
    document: Names
    include: IncludeOfPairs = field(default_factory=list)
    judgments: JudgmentsIn | None = None

    def __post_init__(self) -> None:
        _check_lengths({"query": len(self.query), "document": len(self.document)})

    @classmethod
    def from_domain(
        cls,
        pairs: Sequence[tuple[str, str]],
        grades: Mapping[Pair, float] | None,
        probabilities: bool,
        covariance: bool = False,
    ) -> "PredictionsIn":
        asked: dict[Literal["probabilities", "covariance"], bool]
        asked = {"probabilities": probabilities, "covariance": covariance}
        return cls(
            query=[query for query, _ in pairs],
            document=[document for _, document in pairs],
            include=[name for name, wanted in asked.items() if wanted],
            judgments=None if grades is None else JudgmentsIn.from_domain(grades),
        )

    def to_domain(self) -> list[Pair]:
        """The pairs, in their order."""
        return list(_pairs(self.query, self.document))


class PriorIn(Wire, forbid_unknown_fields=True, omit_defaults=True):
    """Judgments from which the model learns first. The caller still conditions on them.

    learned  the judgments; none if not given
    """

    learned: JudgmentsIn | None = None


class FeaturesIn(Wire, forbid_unknown_fields=True, omit_defaults=True):
    """Rows of features to predict from.

    features  columns by name, with a value for each row; null is unknown
    """

    features: Annotated[dict[str, Values], Meta(max_length=MOST_FEATURES)]
    include: Include = field(default_factory=list)

    def __post_init__(self) -> None:
        _check_lengths({name: len(column) for name, column in self.features.items()})

    @classmethod
    def from_domain(cls, features: Mapping[str, Sequence[float | None]], probabilities: bool) -> "FeaturesIn":
        columns = {name: list(column) for name, column in features.items()}
        return cls(columns, ["probabilities"] if probabilities else [])

    def to_domain(self) -> dict[str, Array]:
        """The columns as arrays; NaN is unknown."""
        return {name: np.array(column, dtype=np.float64) for name, column in self.features.items()}


class ModelName(Wire):
    """Name and version of a model.

    name     name of the model
    version  version; models of one version predict the same; null if it has none
    """

    name: str
    version: str | None


class PredictionsOut(Wire, omit_defaults=True):
    """Predictions, row by row as requested; null is unknown.

    A row judged by one person has its grade and the variance 0; if several people judge, expectation and variance are
    of their mean opinion.

    model          model that predicts
    judgments      number of judgments used
    expectation    expected grade of each row
    variance       variance of the grade of each row
    status         "predicted", "judged" or "unknown", for each row
    models         name of the model used for each row, which may be a fallback
    levels         grades of the scale, rising; on request
    probabilities  probability of each level of a single grade, predicted from the other judgments even for a judged
                   row; on request
    evidence       evidence used for each row, such as "output, genre"; genre and artist only if they enter its expected
                   grade before any judgment
    state          number of the last line of the campaign's log that was used; null for judgments from elsewhere
    gain           expectation of each row as a share of the highest grade: weighted sums of gains give the scores of
                   the ranking
    covariance     covariance of the grades: it gives the variance of such sums; on request
    notes          sentences: how many rows another model predicts in place of this one, and why
    """

    model: ModelName
    judgments: int
    expectation: list[float | None]
    variance: list[float | None]
    status: list[Status]
    models: list[str | None]
    levels: list[float] | None = None
    probabilities: list[list[float] | None] | None = None
    evidence: list[str | None] | None = None
    state: int | None = None
    gain: list[float | None] | None = None
    covariance: list[list[float | None]] | None = None
    notes: list[str] = field(default_factory=list)


class ScaleOut(Wire, omit_defaults=True):
    """A scale of grades.

    name    name of the scale
    levels  grades that an assessor may give, rising; omitted in lists of collections, as GET /scales has each once
    """

    name: str
    levels: list[float] | None = None


class CollectionOut(Wire):
    """A collection, as the service knows it.

    identifier  name of its folder, and part of its addresses
    name        title
    scale       scale of its grades
    systems     names of the systems
    queries     number of queries
    pool_hash   digest of the pairs of the pool
    model       model that predicts
    correlated  true if a judgment of one pair informs predictions of others
    """

    identifier: str
    name: str
    scale: ScaleOut
    cutoff: int
    systems: list[str]
    queries: int
    pool: int
    pool_hash: str
    judgments: int
    model: ModelName
    measure: str
    state: int
    correlated: bool = False

    @classmethod
    def from_domain(cls, served: ServedCollection, predictor: Predictor, levels: bool = True) -> "CollectionOut":
        collection, pool, own = served.collection, predictor.pool, predictor.now()
        return cls(
            identifier=collection.identifier,
            name=collection.name,
            scale=ScaleOut(pool.scale.name, list(pool.scale.levels) if levels else None),
            cutoff=pool.cutoff,
            systems=list(pool.systems),
            queries=len(pool.queries),
            pool=len(pool.pairs),
            pool_hash=pool.content_hash,
            judgments=own.judgments,
            model=ModelName(own.name, own.version),
            measure=str(served.campaign.selection.measure),
            state=own.number or 0,
            correlated=own.belief.prior.correlated,
        )


class ModelOut(Wire):
    """An ordinal model: P(grade >= level) is logistic in its threshold plus coefficients times terms.

    A joint model appears as its prediction from a pair's features alone.

    name          name of the model
    levels        grades of the scale, rising
    features      features of a pair
    terms         features, and products of features
    coefficients  coefficient of each term
    thresholds    threshold of each level above the lowest
    fallback      name of the model for pairs with an unknown feature; null for none
    source        judgments that it was fitted to
    """

    name: str
    version: str
    scale: str
    levels: list[float]
    features: list[str]
    terms: list[str]
    coefficients: list[float]
    thresholds: list[float]
    fallback: str | None
    source: str

    @classmethod
    def from_domain(cls, model: Model) -> "ModelOut":
        return cls.of(model, fallback=model.fallback_name)


class HealthOut(Wire, omit_defaults=True):
    """Health of the service.

    status   alive, ready, not ready or starting
    reasons  reasons why it is not ready
    """

    status: Literal["alive", "ready", "not ready", "starting"]
    reasons: list[str] = field(default_factory=list)


class ProblemOut(Wire, rename={"kind": "type"}):
    """A problem, as defined by RFC 9457.

    type        kind of problem, an address
    title       kind of problem in words
    status      status of the answer
    detail      what is wrong, where, and what was expected
    request_id  identifier of the request, which finds it in the log
    """

    kind: str
    title: str
    status: int
    detail: str
    request_id: str


def _check_lengths(lengths: Mapping[str, int]) -> None:
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the columns must be of one length, got {found}")


def _pairs(query: list[str], document: list[str]) -> Iterator[Pair]:
    # A plain tuple equals the Pair of its parts, and is created several times faster.
    return cast("Iterator[Pair]", zip(query, document, strict=True))
