"""Settings of a campaign."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from audiosim.collection.values import Pair
from audiosim.errors import InputError, check_count
from audiosim.ranking import SelectionRule
from audiosim.ranking.about import THESE, About, DifferenceDistribution
from audiosim.text import choices

LEASE_S = 1800.0
UNASKED = ("count", "mark", "refuse")
COMPARISONS = ("none", "some", "only")
CANNOT_LIMIT = 2
PATIENCE_S = 10.0
MOST_CHECKED = 0.5
MOST_BESIDE = 8


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """Settings of a campaign.

    batch         number of judgments after which the estimator predicts again, at least 1
    lease_s       length of a lease, in seconds
    twice         share of the pairs that a second assessor also judges, in [0, 1]
    cannot_limit  number of assessors unable to judge a pair after which it leaves the queue
    selection_rule  as of `Selection.start`
    seed          seed for the pairs to judge twice and the draws of the selection
    learn_later   True if the estimator learns when `Campaign.teach` is called, not before `tell` returns
    patience_s    time to wait for other writers before a BusyError
    unasked       treatment of a judgment of a pair never handed to its assessor: "count" it, "mark" it, so that it is
                  kept but ignored, or "refuse" it
    adopt         True to continue a log of another collection
    distribution  distribution of a difference between systems: "t", or "normal" as in the 2013 paper
    about         queries that the ranking is about
    whole_queries True to reserve a query for the person who began it, while they are active and other queries remain
    second_opinions  True to hand out pairs judged by others where that is more informative than an unjudged pair, and
                  until people's noise is known to a quarter; see `OpinionValues`
    comparisons   comparisons among the questions: "none", "some" if they give more information per second than grades,
                  or "only"; for models that support comparisons
    candidates    largest number of pairs of one query that are handed out together, as candidates on one page,
                  in [1, 8]; 1: pairs of any queries, as many as requested
    repeats       share of each assessor's answers that are about pairs they judged before, in [0, 0.5]
    known         share about pairs with a known grade, likewise
    known_grades  grades of these pairs, on the collection's scale
    """

    batch: int = 1
    lease_s: float = LEASE_S
    twice: float = 0.0
    cannot_limit: int = CANNOT_LIMIT
    selection_rule: str | SelectionRule | None = None
    seed: int = 0
    learn_later: bool = False
    patience_s: float = PATIENCE_S
    unasked: str = "count"
    adopt: bool = False
    distribution: DifferenceDistribution = "t"
    about: About = THESE
    whole_queries: bool = True
    second_opinions: bool = False
    repeats: float = 0.0
    known: float = 0.0
    known_grades: Mapping[Pair, float] = field(default_factory=dict)
    comparisons: str = "none"
    candidates: int = 1

    def __post_init__(self) -> None:
        check_count("batch", self.batch)
        if self.lease_s < 0.001:  # a log keeps times in milliseconds
            raise InputError(f"a lease must last .001 seconds at least, got {self.lease_s:g}")
        if not 0 <= self.twice <= 1:
            raise InputError(f"the share of pairs judged twice must be in [0, 1], got {self.twice:g}")
        for name, share in (("repeats", self.repeats), ("known", self.known)):
            if not 0 <= share <= MOST_CHECKED:
                raise InputError(f"the share of {name} must be in [0, {MOST_CHECKED:g}], got {share:g}")
        if self.known and not self.known_grades:
            raise InputError("a share of known pairs needs their known grades")
        if self.cannot_limit < 1:
            raise InputError(f"cannot_limit must be at least 1, got {self.cannot_limit}")
        if not 1 <= self.candidates <= MOST_BESIDE:
            raise InputError(f"the number of candidates on a page must be in [1, {MOST_BESIDE}], got {self.candidates}")
        if self.comparisons not in COMPARISONS:
            raise InputError(
                f"unknown share of comparisons {self.comparisons!r}, expected {choices(self.comparisons, COMPARISONS)}"
            )
        if self.unasked not in UNASKED:
            raise InputError(
                f"unknown treatment of unasked judgments {self.unasked!r}, expected {choices(self.unasked, UNASKED)}"
            )
