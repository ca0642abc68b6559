"""Settings by which a campaign is run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from audiosim.corpus.model import Pair
from audiosim.errors import InputError
from audiosim.expected.about import THESE, About
from audiosim.expected.ranking import DifferenceDistribution
from audiosim.selection import SelectionRule

LEASE_S = 1800.0
UNASKED = ("count", "mark", "refuse")
CANNOT_LIMIT = 2
PATIENCE_S = 10.0
MOST_CHECKED = 0.5


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """Settings by which a campaign is run.

    batch         after how many judgments the estimator is asked again, at least 1
    lease_s       how long a pair that was asked for stays with its assessor, in seconds
    twice         share of the pairs that a second assessor judges too, in [0, 1]
    cannot_limit  a pair that so many assessors cannot judge leaves the queue
    rule          what makes a pair worth judging, as for `Selection.start`
    seed          draws the pairs to judge twice, and what the selection draws
    learn_later   whether the estimator learns anew when `Campaign.teach` says so, not before `tell` returns
    patience_s    how long to wait for others who write, before a BusyError
    unasked       what is made of a judgment of a pair that its assessor was never handed: "count" it, "mark" it, so
                  that it is kept but nothing rests on it, or "refuse" it
    adopt         whether to go on with a log that was written about another collection
    distribution  of a difference between systems: "t", or "normal" as in the paper of 2013
    about         which queries the ranking is about
    whole_queries whether a query that somebody has begun is left to them, while they are here and others have more
    second_opinions  whether pairs that others judged are handed out where that tells more than a pair which nobody has
                  judged, and until the noise of people is known to a quarter; see `OpinionValues`
    repeats       share of what each assessor answers that is a pair which they judged before, in [0, 0.5]
    known         share that is a pair whose grade is known, likewise
    known_grades  grades of these pairs, on the collection's scale
    """

    batch: int = 1
    lease_s: float = LEASE_S
    twice: float = 0.0
    cannot_limit: int = CANNOT_LIMIT
    rule: str | SelectionRule | None = None
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

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise InputError(f"batch must be at least 1, got {self.batch}")
        if self.lease_s <= 0:
            raise InputError(f"a lease must last longer than 0 seconds, got {self.lease_s:g}")
        if not 0 <= self.twice <= 1:
            raise InputError(f"the share of pairs judged twice must be in [0, 1], got {self.twice:g}")
        for name, share in (("repeats", self.repeats), ("known", self.known)):
            if not 0 <= share <= MOST_CHECKED:
                raise InputError(f"the share of {name} must be in [0, {MOST_CHECKED:g}], got {share:g}")
        if self.known and not self.known_grades:
            raise InputError("a share of known pairs needs the grades that are known")
        if self.cannot_limit < 1:
            raise InputError(f"cannot_limit must be at least 1, got {self.cannot_limit}")
        if self.unasked not in UNASKED:
            raise InputError(f"unknown way with unasked judgments {self.unasked!r}, expected {', '.join(UNASKED)}")
