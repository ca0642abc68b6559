"""The wire types of open links: addresses by which anybody joins a campaign, and the people who joined."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from msgspec import Meta

from audiosim.campaign.decisions import Adjudication
from audiosim.service.access.links import (
    ADDRESS_LIMIT,
    COMPLETION_LIMIT,
    MOST_JUDGMENTS,
    MOST_PEOPLE,
    OpenLink,
    Participant,
)
from audiosim.service.access.tokens import LONGEST_DAYS, NAME_LIMIT, Token
from audiosim.service.types.base import Strict, Wire
from audiosim.service.types.campaign import AboutOut
from audiosim.service.types.judging import Name, RecordOut, Text

# The wire types of judges: reports on them, and setting a judge aside.


class OrderEffectOut(Wire):
    """Effect of order, with its 95 % interval; `by_chance` if the interval includes 0.

    `effect` is one of three. `drift` is the mean change of `count` people's grades from first to last judgment, as a
    share of the scale; `between` is its standard deviation from person to person. `position` is the same from the first
    to the last place of a page of several candidates. `first` is the share of `a` among `count` comparisons without
    ties.
    """

    effect: str
    value: float
    low: float
    high: float
    count: int
    by_chance: bool
    between: float | None
    sentence: str


class JudgesOut(Wire):
    """Reports on all judges, people and machines: the rows that `audiosim judges --format json` prints.

    `order_effects` has the rows of `audiosim judges --order-effects`; none while too few people have answered. `aside`
    has the people set aside, by name, with the number of the log line that did it; the rows leave them out.
    """

    collection: str
    state: int
    judges: list[dict[str, Any]]
    order_effects: list[OrderEffectOut]
    aside: dict[str, RecordOut]


class DisagreementOut(Wire):
    """Pair on which people differ: `grades` by name; `beyond` is a grade less its prediction from their other grades.

    `spread` is 1 if they differ as much as people usually do here; `chance` is the probability of differing at least as
    much.
    """

    query: str
    document: str
    grades: dict[str, float]
    beyond: dict[str, float]
    spread: float
    chance: float


class DisagreementsOut(Wire):
    """Pairs that several people judged, greatest disagreement first."""

    collection: str
    state: int
    pairs: list[DisagreementOut]


class AdjudicationIn(Strict, forbid_unknown_fields=True):
    """Pair to put first in a person's queue."""

    query: Annotated[Name, Meta(min_length=1)]
    document: Annotated[Name, Meta(min_length=1)]
    assessor: Annotated[Name, Meta(min_length=1)]


class AdjudicationOut(Wire):
    """Pair that an organiser gave to a person, with the number and time of the log line that did so.

    `status`: waiting, judged, cannot (they cannot judge it) or set aside (nothing that they say counts). `grade` is
    null until it is judged.
    """

    number: int
    time: str
    query: str
    document: str
    assessor: str
    status: Literal["waiting", "judged", "cannot", "set aside"]
    grade: float | None


class AdjudicationsOut(Wire):
    """Pairs that organisers gave to particular people, in the order of the requests."""

    collection: str
    adjudications: list[AdjudicationOut]

    @classmethod
    def from_domain(cls, collection: str, found: Iterable[Adjudication]) -> "AdjudicationsOut":
        rows = [AdjudicationOut(one.number, one.time, *one.pair, one.assessor, one.status, one.grade) for one in found]
        return cls(collection, rows)


class NamedJudgeIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a judge, and the reason for setting them aside or taking them back."""

    judge: Annotated[Name, Meta(min_length=1)]
    reason: Text = ""


class MovedOut(Wire):
    """Rank and score of a system, with its 95 % interval, with and without a person's judgments."""

    system: str
    rank: int
    score: float
    low: float
    high: float
    rank_without: int
    score_without: float
    low_without: float
    high_without: float


class JudgeEffectOut(Wire):
    """Effect of one judge's judgments on the ranking; `without` them, the model learns anew from the others' judgments.

    `aside`: whether they are set aside now. `pairs_turned` lists the pairs of systems that change places, `turned` is
    their number. Without these judgments, the score of `moved_most` is higher by `moved_by`.
    """

    collection: str
    state: int
    judge: str
    aside: bool
    judgments: int
    about: AboutOut
    measure: str
    confidence: float | None
    turned: int
    best_without: str
    moved_most: str
    moved_by: float
    confidence_without: float | None
    pairs_turned: list[list[str]]
    sentence: str
    systems: list[MovedOut]


LinkName = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
Short = Annotated[str, Meta(max_length=200)]


class OpenLinkIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a new open link, and its conditions for the people who use it.

    At most `people` may join, within `days`, or at any time if not given. `parameter` is the part of the address with a
    person's identifier on another platform, such as PROLIFIC_PID; if given, the link requires it. Each person gives at
    most `judgments` answers. A person who is done sees the text `completion`, and a button that leads to `return_to`.
    After a failed headphone check, they see `screened_out` and `screened_return_to` instead.
    """

    name: LinkName
    people: Annotated[int, Meta(ge=1, le=MOST_PEOPLE)] = 100
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None
    parameter: Annotated[str, Meta(max_length=64)] = ""
    judgments: Annotated[int, Meta(ge=1, le=MOST_JUDGMENTS)] | None = None
    completion: Annotated[str, Meta(max_length=COMPLETION_LIMIT)] = ""
    return_to: Annotated[str, Meta(max_length=ADDRESS_LIMIT)] = ""
    screened_out: Annotated[str, Meta(max_length=COMPLETION_LIMIT)] = ""
    screened_return_to: Annotated[str, Meta(max_length=ADDRESS_LIMIT)] = ""

    def to_domain(self, collection: str) -> OpenLink:
        """The link, without its code."""
        return OpenLink(
            code="",
            name=self.name,
            collection=collection,
            created="",
            people=self.people,
            parameter=self.parameter,
            judgments=self.judgments or 0,
            completion=self.completion,
            return_to=self.return_to,
            screened_out=self.screened_out,
            screened_return_to=self.screened_return_to,
        )


class OpenLinkOut(Wire):
    """An open link: its path, its conditions, and the number of people who have `joined`.

    `ended` is the reason why it admits nobody new; null while it is open.
    """

    name: str
    link: str
    created: str
    expires: str | None
    people: int
    joined: int
    parameter: str
    judgments: int | None
    completion: str
    return_to: str
    screened_out: str
    screened_return_to: str
    ended: str | None

    @classmethod
    def from_domain(cls, link: OpenLink, path: str, ended: str) -> "OpenLinkOut":
        return cls.of(
            link, link=path, expires=link.expires or None, judgments=link.judgments or None, ended=ended or None
        )


class OpenLinksOut(Wire):
    """The open links of a collection, the latest first."""

    collection: str
    links: list[OpenLinkOut]


class ClosingIn(Strict, forbid_unknown_fields=True):
    """Name of the open link to close."""

    name: LinkName


class EntryOut(Wire):
    """Entry by an open link: the `parameter` of the address with the person's identifier, or null.

    `ended` is the reason why the link admits nobody new; null while it is open.
    """

    parameter: str
    ended: str | None


class JoinIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Code of an open link, and the person's `reference` if the link has a parameter for it.

    Without a reference, a person is recognised by `device`, at least 16 random characters stored by their browser.
    """

    code: Short
    device: Annotated[str, Meta(min_length=16, max_length=200)]
    reference: Short = ""


class JoinOut(Wire):
    """Name under which a person judges, and their token; null if the service needs none."""

    name: str
    token: str | None


class CompletionOut(Wire):
    """Completion of a person: the number of `answers`, the `quota` (null: unlimited), and whether they are `done`.

    Once they are done, `completion` is the text to enter on the platform they came from, and `return_to` the address to
    return to; null if there is none. If they are `screened` out by the headphone check, both are the link's texts for
    that case.
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

    `reference` is their identifier on another platform, null if the link requires none. They gave `answers` answers,
    and are `done` once their quota is reached or nothing is left to judge. `screened` is true after a failed headphone
    check.
    """

    name: str
    link: str
    reference: str | None
    created: str
    answers: int
    done: bool
    screened: bool

    @classmethod
    def from_domain(
        cls, one: Participant, link: OpenLink, answers: int, done: bool, screened: bool
    ) -> "ParticipantOut":
        return cls(one.name, link.name, one.reference or None, one.created, answers, done, screened)


class ParticipantsOut(Wire):
    """The people who joined by open links, in order; never exported, and shown only to organisers."""

    collection: str
    participants: list[ParticipantOut]


# The wire types of personal data: everything stored about one person, and its deletion.


class PersonalDataOut(Wire):
    """Everything stored about an assessor: their origin, their invitation, and the log's lines about them.

    `reference` is their identifier on another platform; it is null, as are `link` and `joined`, if they did not join by
    an open link. `invited` and `token_ends` are the times of their token, null if there is none or it never ends. The
    lines include events about them, such as setting them aside.
    """

    collection: str
    assessor: str
    reference: str | None
    link: str | None
    joined: str | None
    invited: str | None
    token_ends: str | None
    log: list[RecordOut]

    @classmethod
    def from_domain(
        cls,
        about: tuple[str, str],
        person: Participant | None,
        link: OpenLink | None,
        token: Token | None,
        log: list[RecordOut],
    ) -> "PersonalDataOut":
        """The personal data, for the wire.

        about  the collection, and their name as an assessor
        """
        return cls(
            *about,
            reference=None if person is None else person.reference or None,
            link=None if link is None else link.name,
            joined=None if person is None else person.created,
            invited=None if token is None else token.created,
            token_ends=None if token is None else token.expires or None,
            log=log,
        )


class ForgetIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Person whose data are to be deleted; an assessor's token names its holder.

    With `set_aside`, which only organisers may send, their answers no longer count.
    """

    assessor: Annotated[str, Meta(max_length=1000)] | None = None
    set_aside: bool = False


class ForgottenOut(Wire):
    """Result of a deletion: number of `answers` left under a name that identifies nobody; whether they `count`."""

    assessor: str
    answers: int
    count: bool
