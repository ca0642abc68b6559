"""The wire types of personal data: all that is stored about one person, and its deletion."""

from typing import Annotated

from msgspec import Meta

from audiosim.service.callers.open_links import OpenLink, Participant
from audiosim.service.callers.tokens import Token
from audiosim.service.entrance.exchange import Strict, Wire
from audiosim.service.wire.judgment_types import RecordOut


class PersonalDataOut(Wire):
    """All that is stored about somebody who judges: where they come from, their invitation, and their lines of the log.

    `reference` is what they are called where they come from; it, `link` and `joined` are null where they came by no
    open link. `invited` and `token_ends` are the times of their token; null where there is none, or it has no end.
    The log keeps what is said about them, too, such as that they were set aside.
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
        """The data.

        about  the collection, and the name under which they judge
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
    """Person whose data are deleted; an assessor's token says who.

    With `set_aside`, which organisers alone may say, their answers no longer count.
    """

    assessor: Annotated[str, Meta(max_length=1000)] | None = None
    set_aside: bool = False


class ForgottenOut(Wire):
    """Consequence of a deletion: so many `answers` stay under a name that is nobody's, and `count` or not."""

    assessor: str
    answers: int
    count: bool
