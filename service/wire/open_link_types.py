"""The wire types of open links: addresses by which anybody joins a campaign, and the people who joined."""

from typing import Annotated

from msgspec import Meta

from audiosim.service.callers.open_links import (
    ADDRESS_LIMIT,
    COMPLETION_LIMIT,
    MOST_JUDGMENTS,
    MOST_PEOPLE,
    OpenLink,
    Participant,
)
from audiosim.service.callers.tokens import LONGEST_DAYS, NAME_LIMIT
from audiosim.service.wire.base import Strict, Wire

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
