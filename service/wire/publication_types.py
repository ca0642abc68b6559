"""Wire types of publications: an organiser's request to publish, and the list of publications."""

from typing import Annotated
from urllib.parse import quote

from msgspec import Meta

from audiosim.report.imprint import LICENCES, MOST_AUTHORS, NAME_LIMIT, WORDS_LIMIT, Imprint
from audiosim.service.files.published_records import PublishedRecord
from audiosim.service.wire.base import Strict, Wire

AuthorName = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
LICENCE = f"^({'|'.join(one.replace('.', '[.]') for one in LICENCES)})?$"


class PublicationIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Authors, licence (an SPDX identifier) and words of a publication, each optional.

    If `named` is true, the bundle has the assessors' names and notes; otherwise they are person-1, person-2 and so on.
    """

    authors: Annotated[tuple[AuthorName, ...], Meta(max_length=MOST_AUTHORS)] = ()
    licence: Annotated[str, Meta(pattern=LICENCE)] = ""
    words: Annotated[str, Meta(max_length=WORDS_LIMIT)] = ""
    named: bool = False

    def to_domain(self) -> Imprint:
        """The imprint of the bundle."""
        return Imprint(self.authors, self.licence, self.words)


class PublishedOut(Wire):
    """A publication: its number, the path of its page, and the number of judgments it is based on.

    `withdrawn` is the time of its withdrawal; null while anybody can read it.
    """

    number: int
    page: str
    bundle: str
    time: str
    by: str
    judgments: int
    withdrawn: str | None

    @classmethod
    def from_domain(cls, one: PublishedRecord) -> "PublishedOut":
        page = f"/published/{quote(one.collection, safe='')}/{one.number}/"
        bundle = f"{page}{quote(f'{one.collection}-{one.number}.zip', safe='')}"
        return cls.of(one, page=page, bundle=bundle, withdrawn=one.withdrawn or None)


class PublicationsOut(Wire):
    """The publications of a collection, the latest first."""

    collection: str
    publications: list[PublishedOut]

    @classmethod
    def from_domain(cls, collection: str, found: list[PublishedRecord]) -> "PublicationsOut":
        return cls(collection, [PublishedOut.from_domain(one) for one in found])


class PublicationWithdrawalIn(Strict, forbid_unknown_fields=True):
    """Number of the publication to withdraw."""

    number: Annotated[int, Meta(ge=1, le=2**53)]
