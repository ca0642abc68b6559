"""Wire types of operations on tables in the body: runs and judgments in; scores, a ranking or a collection out."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from audiosim.collection.collection import Collection
from audiosim.errors import InputError
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.satisfaction import MOST_USERS
from audiosim.service.collections.served import DEEPEST_CUTOFF
from audiosim.service.process.time_limit import reading_s, within
from audiosim.service.types.base import Wire
from audiosim.service.types.drafts import DraftSettingsIn

Ranks = list[str] | dict[str, float]
OTHERS = ("judgments", "documents", "systems", "queries")  # as in `Collection.from_frames`
NAMELESS = "runs"  # the file of a text that names its systems


class TablesIn(Wire, forbid_unknown_fields=True, omit_defaults=True):
    """Tables of a collection: values, or texts of whole files in any form that a collection's folder accepts.

    runs       results of each system and query: documents, best first, or the score of each document; or the text of
               each system's file; or the text of a file that names its systems
    judgments  grade of each document, by query; or a text
    documents  what is known of each document: artist, genre and further columns; or a text
    queries    the document that is each query's own recording, by query, unless it has the query's name; or a text
    systems    team of each system; or a text
    scale      fine, broad, binary, or levels such as 0-3 or 0,1,2,5; guessed from the grades if not given
    cutoff     depth of the pool; guessed from the runs if not given
    """

    runs: Annotated[dict[str, dict[str, Ranks] | str], Meta(min_length=1)] | str
    judgments: dict[str, dict[str, float]] | str | None = None
    documents: dict[str, dict[str, str]] | str | None = None
    queries: dict[str, str] | str | None = None
    systems: dict[str, str] | str | None = None
    scale: str | None = None
    cutoff: Annotated[int, Meta(ge=1, le=DEEPEST_CUTOFF)] | None = None

    @property
    def collection(self) -> Collection:
        """The collection; texts are read as files."""
        with TemporaryDirectory(prefix="audiosim-") as folder:

            def filed(given: object, name: str) -> object:
                if not isinstance(given, str):
                    return given
                path = Path(folder, name)
                path.write_text(given, encoding="utf-8", newline="")
                return path

            runs = filed(self.runs, NAMELESS)
            if not isinstance(self.runs, str):
                runs = {system: filed(one, f"run {n}") for n, (system, one) in enumerate(self.runs.items(), start=1)}
            others: list[Any] = [filed(getattr(self, name), name) for name in OTHERS]
            try:
                read = partial(Collection.from_frames, runs, *others, scale=self.scale, cutoff=self.cutoff)
                found = within(reading_s(sum(path.stat().st_size for path in Path(folder).iterdir())), read)
            except InputError as error:
                raise InputError(str(error).replace(f"{folder}/", "")) from None
            if any(run.system == NAMELESS for run in found.runs):
                raise InputError('runs: the text names no system, expected {"NAME": text}')
            return replace(found, guesses=tuple(one.replace(f"{folder}/", "") for one in found.guesses))


class MeasuredIn(TablesIn, forbid_unknown_fields=True, omit_defaults=True):
    """Runs and judgments, for one answer: nothing is kept.

    measure  such as nDCG@5; without a cutoff, that of the collection
    """

    measure: Annotated[str, Meta(max_length=200)] = "CG"

    def to_domain(self) -> tuple[Collection, Measure]:
        """The collection, and the measure of its systems."""
        found = self.collection
        return found, as_measure(self.measure, found.cutoff)


class EvaluateIn(MeasuredIn, forbid_unknown_fields=True, omit_defaults=True):
    """Runs and judgments whose systems to score, as by `audiosim evaluate`.

    unjudged  how to treat a retrieved document without a judgment: error, zero (gain 0) or skip (ignore it)
    test      test between systems: t, wilcoxon, sign, bootstrap, permutation or friedman
    users     number of users of whom to say how many are satisfied; none if not given
    success   share of satisfied users above which a result list is a success
    seed      seed of the resamples
    complete  true to keep only systems and queries that are judged down to the cutoff
    """

    unjudged: Literal["error", "zero", "skip"] = "error"
    test: Annotated[str, Meta(max_length=100)] = "t"
    users: Annotated[int, Meta(ge=1, le=MOST_USERS)] | None = None
    success: Annotated[float, Meta(ge=0, le=1)] = 0.5
    seed: Annotated[int, Meta(ge=0, le=2**32)] = 0
    complete: bool = False


class EstimateIn(MeasuredIn, forbid_unknown_fields=True, omit_defaults=True):
    """Runs, and judgments if there are any, whose systems to rank, as by `audiosim estimate`.

    model         name of a published model; the service's usual one if not given
    ideal         ideal ranking of nDCG and RBP while judgments are missing: ordered, correlated or independent
    distribution  distribution of a difference between systems: t or normal
    about         "these" queries or "queries" of this kind; and "panel", "listeners" or a number of people
    top           number K of best systems that the probabilities `top` are about
    """

    model: Annotated[str, Meta(max_length=200)] | None = None
    ideal: Literal["ordered", "correlated", "independent"] = "ordered"
    distribution: Literal["t", "normal"] = "t"
    about: Annotated[list[str], Meta(max_length=3)] = field(default_factory=list)
    top: Annotated[int, Meta(ge=1)] = 3


class NewCollectionIn(TablesIn, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Collection to make from tables.

    name      its identifier: the name of its folder, and part of its addresses
    settings  settings of the collection and its campaign; empty ones are guessed, or taken from the service's settings
    """

    name: Annotated[str, Meta(max_length=200)]
    settings: DraftSettingsIn = field(default_factory=DraftSettingsIn)


class ScoreOut(Wire, omit_defaults=True):
    """Mean score of a system, with 95 % intervals.

    mean                 mean over the queries
    low                  lower end of the interval of the mean; null for a single query
    high                 upper end of the same
    new_query_low        lower end of the interval of the score for a new query
    new_query_high       upper end of the same
    satisfied            expected share of satisfied users
    satisfied_low        lower end of its interval
    satisfied_high       upper end of the same
    success              share of queries with more satisfied users than asked
    users                number of users that the next fields are about
    users_satisfied      expected number of these that are satisfied
    most_satisfied       probability that most of them are
    users_probabilities  probability of each number of satisfied users, from 0 on
    mean_rank            mean rank among the systems, for Friedman's test
    least                lowest score that it could have if everything were judged
    most                 highest score likewise
    """

    system: str
    mean: float
    low: float | None = None
    high: float | None = None
    new_query_low: float | None = None
    new_query_high: float | None = None
    satisfied: float | None = None
    satisfied_low: float | None = None
    satisfied_high: float | None = None
    success: float | None = None
    users: int | None = None
    users_satisfied: float | None = None
    most_satisfied: float | None = None
    users_probabilities: list[float] | None = None
    mean_rank: float | None = None
    least: float | None = None
    most: float | None = None


class TestOut(Wire, omit_defaults=True):
    """Test between two systems.

    a                     the better system, by mean score; with Friedman's test, by mean rank
    b                     the worse system
    difference            score of `a` less that of `b`; with Friedman's test, of their mean ranks
    effect_size           standardised difference; null if there is none
    low                   lower end of the 95 % interval of the difference
    high                  upper end of the same
    p                     p-value; with Friedman's test, adjusted for all pairs by Tukey's HSD
    p_holm                p-value adjusted for all pairs by Holm
    p_benjamini_hochberg  p-value adjusted for all pairs by Benjamini and Hochberg
    """

    a: str
    b: str
    difference: float
    effect_size: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    p_benjamini_hochberg: float | None = None


class FriedmanOut(Wire):
    """Friedman's test of all systems.

    chi_squared  statistic
    freedom      degrees of freedom
    p            p-value
    """

    chi_squared: float
    freedom: int
    p: float


class EvaluationOut(Wire, omit_defaults=True):
    """Scores of systems whose documents are all judged, as printed by `audiosim evaluate`.

    measure   measure of the scores, such as nDCG@5
    queries   number of queries
    test      test between systems; null with a single query or system
    friedman  Friedman's test, where it was asked for
    systems   score of each system, best first
    pairs     tests of all pairs of systems
    guesses   in words, what was guessed as the body left it open, such as the scale or the cutoff of its tables
    """

    measure: str
    queries: int
    test: str | None
    systems: list[ScoreOut]
    pairs: list[TestOut]
    friedman: FriedmanOut | None = None
    guesses: list[str] = field(default_factory=list)
