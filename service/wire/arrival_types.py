"""The wire types of additions to a served collection."""

from typing import Annotated

from msgspec import Meta, field

from audiosim.corpus.model import Document
from audiosim.service.drafts.draft_files import Kind
from audiosim.service.files.additions import LONGEST_IDENTIFIER, ArrivedDocument, ArrivedJudge, ArrivedRuns
from audiosim.service.wire.base import Strict, Wire

Word = Annotated[str, Meta(min_length=1, max_length=LONGEST_IDENTIFIER)]
MOST_COLUMNS = 32


class DocumentIn(Strict, forbid_unknown_fields=True):
    """Metadata of a document; `more` holds the further columns of documents.tsv."""

    document: Word
    artist: Word | None = None
    genre: Word | None = None
    more: Annotated[dict[Word, Word], Meta(max_length=MOST_COLUMNS)] = field(default_factory=dict)

    def to_domain(self) -> Document:
        """The document, without a sound file."""
        return Document(self.document, self.artist, self.genre, None, self.more)


class DocumentOut(Wire):
    """A document after an addition.

    `seconds` is the length of sound described in the collection's index, null without sound; `note` has cautions, such
    as about clipping.
    """

    collection: str
    document: str
    artist: str | None
    genre: str | None
    more: dict[str, str]
    seconds: float | None
    note: str

    @classmethod
    def from_domain(cls, collection: str, came: ArrivedDocument) -> "DocumentOut":
        known, recording = came.document, came.recording
        return cls(
            collection,
            known.identifier,
            known.artist,
            known.genre,
            dict(known.more),
            None if recording is None else recording.seconds,
            "" if recording is None else recording.note,
        )


class ArrivedSystemOut(Wire):
    """A system whose run was added, its team if given, and the number of queries it answers."""

    system: str
    team: str | None
    queries: int


class RunsOut(Wire):
    """Systems whose runs were added, with the numbers of new pairs in the pool and of pairs no longer retrieved.

    Judgments of the latter stay in the log, and count again when a system retrieves them.
    """

    collection: str
    systems: list[ArrivedSystemOut]
    new: int
    gone: int

    @classmethod
    def from_domain(cls, collection: str, came: ArrivedRuns) -> "RunsOut":
        systems = [ArrivedSystemOut(run.system, came.teams.get(run.system), len(run.rankings)) for run in came.runs]
        return cls(collection, systems, came.new, came.gone)


class JudgeOut(Wire):
    """A machine whose grades were added, with the numbers of pairs it grades, in all and in the pool."""

    collection: str
    judge: str
    grades: int
    graded: int

    @classmethod
    def from_domain(cls, collection: str, came: ArrivedJudge) -> "JudgeOut":
        return cls(collection, came.judge.name, len(came.judge.pairs), came.graded)


class FileOut(Wire):
    """A file added to a served collection: its kind, and one line about the result."""

    name: str
    kind: Kind
    said: str
