"""The wire types of comparisons of two documents by their closeness to a query."""

from typing import Annotated, Literal

from msgspec import Meta

from audiosim.campaign import Event
from audiosim.campaign.comparison_ledger import ComparisonLease
from audiosim.campaign.event import RUSHED, Clock, write_time
from audiosim.corpus.model import Pair
from audiosim.service.shelf.aliases import Called
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.base import Strict, Wire
from audiosim.service.wire.judgment_types import MOST_ASKED, Name, Seconds, Text, addresses_of, time_of_answer

HEARD = ("query_played_s", "a_played_s", "b_played_s")
ROUNDED_S = 0.05


class NextComparisonsIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Number of comparisons to answer. Assessors are named by their tokens."""

    assessor: Name | None = None
    count: Annotated[int, Meta(ge=1, le=MOST_ASKED)] = 1


class ComparisonIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Comparison by an assessor: `answer` is a or b for the document closer to the query, = for neither.

    `time` is in ISO 8601, UTC; now if not given. The answer is logged with the seconds taken, and the seconds listened
    to each clip.
    """

    query: Name
    document_a: Name
    document_b: Name
    answer: Literal["a", "b", "="]
    assessor: Name | None = None
    time: Name | None = None
    seconds: Seconds | None = None
    query_played_s: Seconds | None = None
    a_played_s: Seconds | None = None
    b_played_s: Seconds | None = None
    note: Text | None = None

    def to_domain(self, assessor: str, key: str, clock: Clock, listen_s: float, silent: bool = False) -> Event:
        """The event of this comparison.

        key       of the request
        listen_s  least listening time per clip; an answer after less listening is marked
        silent    True if the query is only a prompt in text
        """
        names = ("seconds", *HEARD, "note")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        heard = [getattr(self, name) or 0.0 for name in HEARD]
        listened = {"played_s": round(sum(heard), 3)} if any(heard) else {}
        rushed = {RUSHED: True} if listen_s > 0 and min(heard[silent:]) < listen_s - ROUNDED_S else {}
        details = {"document_b": self.document_b, "answer": self.answer, **said, **listened, **rushed}
        time = time_of_answer(self.time, clock)
        return Event("comparison", time, assessor, self.query, self.document_a, details=details, key=key)


class ComparisonLeaseOut(Wire):
    """A comparison leased to an assessor until a time, with the addresses of its clips; null if there is none.

    Chance decides which document is `a`.
    """

    query: str
    document_a: str
    document_b: str
    until: str
    query_text: str | None
    query_sound: str | None
    query_peaks: str | None
    a_sound: str | None
    a_peaks: str | None
    b_sound: str | None
    b_peaks: str | None

    @classmethod
    def from_domain(cls, served: ServedCollection, lease: ComparisonLease, called: Called) -> "ComparisonLeaseOut":
        a, b = (addresses_of(served, Pair(lease.query, one), called) for one in (lease.document_a, lease.document_b))
        query, document_a, document_b = map(called, lease[:3])
        return cls(
            query,
            document_a,
            document_b,
            until=write_time(lease.until),
            query_text=a["query_text"],
            query_sound=a["query_sound"],
            query_peaks=a["query_peaks"],
            a_sound=a["document_sound"],
            a_peaks=a["document_peaks"],
            b_sound=b["document_sound"],
            b_peaks=b["document_peaks"],
        )


class NextComparisonsOut(Wire):
    """Kind of question that makes best use of an assessor's time: `grade` (request pairs) or `comparison`.

    `grade` and `comparison` are the information per second of the best question of each kind, in the same unit;
    `comparisons` is empty if the kind is `grade`.
    """

    assessor: str
    state: int
    kind: Literal["grade", "comparison"]
    grade: float
    comparison: float
    comparisons: list[ComparisonLeaseOut]
