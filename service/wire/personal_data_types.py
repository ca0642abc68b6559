"""The wire types of personal data: everything stored about one person, and its deletion."""

from typing import Annotated

from msgspec import Meta

from audiosim.service.callers.open_links import OpenLink, Participant
from audiosim.service.callers.tokens import Token
from audiosim.service.wire.base import Strict, Wire
from audiosim.service.wire.judgment_types import RecordOut


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
