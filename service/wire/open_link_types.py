"""The wire types of open links: addresses by which anybody joins a campaign, and those who did."""

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
from audiosim.service.entrance.exchange import Strict, Wire

LinkName = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
Short = Annotated[str, Meta(max_length=200)]


class OpenLinkIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a new open link, and what holds for the people who come by it.

    At most `people` come, within `days`, or at any time if not given. `parameter` is the part of the address that
    says who somebody is where they come from, such as PROLIFIC_PID: the link then needs it. Each gives at most
    `judgments` answers; who is done is shown the text `completion`, and a button that leads to `return_to`. Who
    failed the headphone check is shown `screened_out` and `screened_return_to` instead.
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
        """The link, still without a code."""
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
    """An open link: its path, what holds for those who come by it, and how many have `joined`.

    `ended` says why nobody new comes in; null while somebody may.
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
    """Name of the open link that is closed."""

    name: LinkName


class EntryOut(Wire):
    """Entry by an open link: the `parameter` of the address that says who they are, or none.

    `ended` says why nobody new comes in; null while somebody may.
    """

    parameter: str
    ended: str | None


class JoinIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Code of an open link, and of the person: their `reference`, where the link has a parameter for it.

    Without a reference they are recognised by `device`, at least 16 characters that their browser draws and keeps.
    """

    code: Short
    device: Annotated[str, Meta(min_length=16, max_length=200)]
    reference: Short = ""


class JoinOut(Wire):
    """Name under which somebody judges, and the token that says so; null where the service needs none."""

    name: str
    token: str | None


class CompletionOut(Wire):
    """Completion of a person: the `answers` they gave, of `quota` (null: any number), and whether they are `done`.

    Once they are, `completion` is the text to hand in where they came from, and `return_to` the address to go back to;
    null where there is none. Where they are `screened` out, having failed the headphone check, both are
    those for that.
    """

    assessor: str
    answers: int
    quota: int | None
    done: bool
    completion: str | None
    return_to: str | None
    screened: bool


class ParticipantOut(Wire):
    """Somebody who came by an open link.

    `reference` is what they are called where they come from, null where the link asks for none. They gave `answers`,
    and are `done` once these are as many as they may give, or nothing is left. Who failed the headphone check is
    `screened` out.
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
    """The people who came by open links, in the order of their coming; in no export, and seen by organisers alone."""

    collection: str
    participants: list[ParticipantOut]
