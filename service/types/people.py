"""The wire types of open links: addresses by which anybody joins a campaign, and the people who joined."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from audiosim.service.access.links import (
    ADDRESS_LIMIT,
    COMPLETION_LIMIT,
    MOST_JUDGMENTS,
    MOST_PEOPLE,
    OpenLink,
)
from audiosim.service.access.tokens import LONGEST_DAYS, NAME_LIMIT
from audiosim.service.types.base import OfState, Strict, Wire
from audiosim.service.types.campaign import ChangedRankingOut, PairOut, RankedOut
from audiosim.service.types.judging import Name, RecordOut, Text

# The wire types of judges: reports on them, and setting a judge aside.


class OrderEffectOut(Wire):
    """Effect of order, with its 95 % interval.

    effect     "drift" from a person's first judgment to the last, "position" from the first to the last place of a page
               of several candidates, or "first" for the document shown first in comparisons
    value      mean change of grades as a share of the scale; for "first" the share of comparisons, ties left out, that
               prefer it
    count      number of people; for "first" of comparisons
    by_chance  true if the interval includes no effect
    between    standard deviation from person to person; null if it has none
    """

    effect: str
    value: float
    low: float
    high: float
    count: int
    by_chance: bool
    between: float | None
    sentence: str


class JudgesOut(OfState):
    """Reports on all judges, people and machines.

    judges         rows that `audiosim judges --format json` prints
    order_effects  rows of `audiosim order-effects --format json`; none while too few people have answered
    aside          people set aside, by name, with the line of the log that did it; the rows leave them out
    """

    judges: list[dict[str, Any]]
    order_effects: list[OrderEffectOut]
    aside: dict[str, RecordOut]


class DisagreementOut(PairOut):
    """Pair on which people differ.

    grades  grades by person
    beyond  grade of each person less its prediction from their other grades
    spread  1 if they differ as much as people usually do here
    chance  probability of differing at least as much
    """

    grades: dict[str, float]
    beyond: dict[str, float]
    spread: float
    chance: float


class DisagreementsOut(OfState):
    """Pairs that several people judged.

    pairs  the pairs, greatest disagreement first
    """

    pairs: list[DisagreementOut]


class AdjudicationIn(Strict, forbid_unknown_fields=True):
    """Pair to put first in a person's queue."""

    query: Annotated[Name, Meta(min_length=1)]
    document: Annotated[Name, Meta(min_length=1)]
    assessor: Annotated[Name, Meta(min_length=1)]


class AdjudicationOut(PairOut):
    """Pair that an organiser gave to a person.

    number  number of the line of the log that did so
    status  waiting, judged, cannot (they cannot judge it) or set aside (nothing that they say counts)
    grade   their grade; null until it is judged
    """

    number: int
    time: str
    assessor: str
    status: Literal["waiting", "judged", "cannot", "set aside"]
    grade: float | None


class AdjudicationsOut(Wire):
    """Pairs that organisers gave to particular people.

    adjudications  the pairs, in the order of the requests
    """

    collection: str
    adjudications: list[AdjudicationOut]


class NamedJudgeIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Judge to set aside or to take back.

    judge  name of the judge
    """

    judge: Annotated[Name, Meta(min_length=1)]
    reason: Text = ""


class MovedOut(RankedOut):
    """Rank and score of a system, with its 95 % interval, with and without a person's judgments.

    score          score with them
    rank_without   rank without them
    score_without  score without them
    low_without    lower end of the interval without them
    high_without   upper end of the same
    """

    rank_without: int
    score_without: float
    low_without: float
    high_without: float


class JudgeEffectOut(ChangedRankingOut):
    """Effect of one judge's judgments on the ranking; without them, the model learns anew from the others' judgments.

    judge               name of the judge
    aside               true if they are set aside now
    judgments           number of their judgments
    comparisons         number of their comparisons
    best_without        best system without them
    moved_by            score of that system without them, less its score with them
    confidence_without  confidence without them; null if there is nothing to order
    """

    judge: str
    aside: bool
    judgments: int
    comparisons: int
    best_without: str
    confidence_without: float | None
    systems: list[MovedOut]


LinkName = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
Short = Annotated[str, Meta(max_length=200)]


class OpenLinkConditions(Wire, kw_only=True):
    """An open link, and its conditions for the people who use it.

    name                name of the link, for organisers
    people              number of people who may join
    parameter           part of the address with a person's identifier on another platform, such as PROLIFIC_PID; if
                        given, the link requires it
    judgments           most answers of each person; null for no limit
    completion          text that a person sees when they are done
    return_to           address of the button that they see then
    screened_out        text after a failed headphone check instead
    screened_return_to  address of the button after a failed headphone check
    """

    name: LinkName
    people: Annotated[int, Meta(ge=1, le=MOST_PEOPLE)] = 100
    parameter: Annotated[str, Meta(max_length=64)] = ""
    judgments: Annotated[int, Meta(ge=1, le=MOST_JUDGMENTS)] | None = None
    completion: Annotated[str, Meta(max_length=COMPLETION_LIMIT)] = ""
    return_to: Annotated[str, Meta(max_length=ADDRESS_LIMIT)] = ""
    screened_out: Annotated[str, Meta(max_length=COMPLETION_LIMIT)] = ""
    screened_return_to: Annotated[str, Meta(max_length=ADDRESS_LIMIT)] = ""


class OpenLinkIn(OpenLinkConditions, Strict, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Open link to make, and its conditions for the people who use it.

    days       days within which they may join; no limit if not given
    judgments  most answers of each person; no limit if not given
    """

    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None

    def to_domain(self, collection: str) -> OpenLink:
        """The link, without its code."""
        said = msgspec.structs.asdict(self) | {"collection": collection, "judgments": self.judgments or 0}
        del said["days"]
        return OpenLink(code="", created="", **said)


class OpenLinkOut(OpenLinkConditions, kw_only=True):
    """An open link.

    link       path of the link
    joined     number of people who have joined
    parameter  part of the address with a person's identifier on another platform; empty for none
    ended      reason why it admits nobody new; null while it is open
    """

    link: str
    created: str
    expires: str | None
    joined: int
    ended: str | None


class OpenLinksOut(Wire):
    """The open links of a collection.

    links  the links, the latest first
    """

    collection: str
    links: list[OpenLinkOut]


class ClosingIn(Strict, forbid_unknown_fields=True):
    """Open link to close.

    name  name of the link
    """

    name: LinkName


class EntryOut(Wire):
    """Entry by an open link.

    parameter  part of the address with the person's identifier; empty for none
    ended      reason why the link admits nobody new; null while it is open
    """

    parameter: str
    ended: str | None


class JoinIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Person who joins by an open link.

    code       code of the link
    device     at least 16 random characters stored by their browser, which recognise a person without a reference
    reference  the person's identifier on another platform, if the link has a parameter for it
    """

    code: Short
    device: Annotated[str, Meta(min_length=16, max_length=200)]
    reference: Short = ""


class JoinOut(Wire):
    """Person who has joined.

    name   name under which they judge
    token  their token; null if the service needs none
    """

    name: str
    token: str | None


class CompletionOut(Wire):
    """Completion of a person.

    answers     number of their answers
    quota       most answers of a person; null for no limit
    done        true if nothing is left for them to do
    completion  text to enter on the platform they came from, once they are done; null if there is none
    return_to   address to return to, once they are done; null if there is none
    screened    true after a failed headphone check; both are the link's texts for that case
    """

    assessor: str
    answers: int
    quota: int | None
    done: bool
    completion: str | None
    return_to: str | None
    screened: bool


class ParticipantOut(Wire):
    """A person who joined by an open link.

    name       name under which they judge
    link       name of the link
    reference  their identifier on another platform; null if the link requires none
    answers    number of their answers
    done       true once their quota is reached or nothing is left to judge
    screened   true after a failed headphone check
    """

    name: str
    link: str
    reference: str | None
    created: str
    answers: int
    done: bool
    screened: bool


class ParticipantsOut(Wire):
    """The people who joined by open links; never exported, and shown only to organisers.

    participants  the people, in the order of joining
    """

    collection: str
    participants: list[ParticipantOut]


# The wire types of personal data: everything stored about one person, and its deletion.


class PersonalDataOut(Wire):
    """Everything stored about an assessor: their origin, their invitation, and the log's lines about them.

    reference   their identifier on another platform; null if they did not join by an open link
    link        name of the link by which they joined; null likewise
    joined      time at which they joined; null likewise
    invited     time at which their token was made; null if there is none
    token_ends  end of their token; null if there is none or it never ends
    log         lines of the log about them, including events such as setting them aside
    """

    collection: str
    assessor: str
    reference: str | None
    link: str | None
    joined: str | None
    invited: str | None
    token_ends: str | None
    log: list[RecordOut]


class ForgetIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Person whose data are to be deleted.

    assessor   name of the person; a token names its holder
    set_aside  true if their answers no longer count; only organisers may send this
    """

    assessor: Annotated[str, Meta(max_length=1000)] | None = None
    set_aside: bool = False


class ForgottenOut(Wire):
    """Result of a deletion.

    assessor  name under which the answers are left, which identifies nobody
    answers   number of these answers
    count     true if they count
    """

    assessor: str
    answers: int
    count: bool
