"""Wire types of the texts that an organiser may change during a campaign."""

from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from audiosim.campaign.decisions import texts_of
from audiosim.collection.collection import prompts_of
from audiosim.collection.values import Document, queries_of
from audiosim.errors import InputError
from audiosim.report.imprint import LICENCES, MOST_AUTHORS, NAME_LIMIT, WORDS_LIMIT, Imprint
from audiosim.service.collections.additions import LONGEST_IDENTIFIER, ArrivedDocument, ArrivedJudge, ArrivedRuns
from audiosim.service.collections.drafts import Kind
from audiosim.service.collections.publications import PublishedRecord
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.base import OfState, Strict, Wire
from audiosim.service.types.judging import Name, RecordOut, Text

# The wire types of additions to a served collection.


Word = Annotated[str, Meta(min_length=1, max_length=LONGEST_IDENTIFIER)]
MOST_COLUMNS = 32


class DocumentIn(Strict, forbid_unknown_fields=True):
    """Metadata of a document.

    artist  artist, if known
    genre   genre, if known
    more    further columns of documents.tsv
    """

    document: Word
    artist: Word | None = None
    genre: Word | None = None
    more: Annotated[dict[Word, Word], Meta(max_length=MOST_COLUMNS)] = field(default_factory=dict)

    def to_domain(self) -> Document:
        """The document, without a sound file."""
        return Document(self.document, self.artist, self.genre, None, self.more)


class DocumentOut(Wire):
    """A document after an addition.

    artist   artist; null if unknown
    genre    genre; null if unknown
    more     further columns of documents.tsv
    seconds  length of sound described in the collection's index; null without sound
    note     cautions, such as about clipping
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
        recording = came.recording
        return cls.of(
            came.document,
            collection=collection,
            document=came.document.identifier,
            more=dict(came.document.more),
            seconds=None if recording is None else recording.seconds,
            note="" if recording is None else recording.note,
        )


class ArrivedSystemOut(Wire):
    """A system whose run was added.

    team     team of the system; null if not given
    queries  number of queries that it answers
    """

    system: str
    team: str | None
    queries: int


class RunsOut(Wire):
    """Systems whose runs were added.

    Judgments of pairs that are no longer retrieved stay in the log, and count again when a system retrieves them.

    systems  the systems
    new      number of new pairs in the pool
    gone     number of pairs that are no longer retrieved
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
    """A machine whose grades were added.

    judge   name of the machine
    grades  number of pairs that it grades
    graded  number of these in the pool
    """

    collection: str
    judge: str
    grades: int
    graded: int

    @classmethod
    def from_domain(cls, collection: str, came: ArrivedJudge) -> "JudgeOut":
        return cls(collection, came.judge.name, len(came.judge.keys), came.graded)


class FileOut(Wire):
    """A file added to a served collection.

    name  name of the file
    kind  what the file holds, such as runs or judgments
    said  line about the result
    """

    name: str
    kind: Kind
    said: str


# Wire types of publications: an organiser's request to publish, and the list of publications.


AuthorName = Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
LICENCE = f"^({'|'.join(one.replace('.', '[.]') for one in LICENCES)})?$"


class PublicationIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Authors, licence and words of a publication.

    authors  names of the authors
    licence  licence, an SPDX identifier
    words    words of the organiser
    named    true if the bundle has the assessors' names and notes; otherwise they are person-1, person-2 and so on
    """

    authors: Annotated[tuple[AuthorName, ...], Meta(max_length=MOST_AUTHORS)] = ()
    licence: Annotated[str, Meta(pattern=LICENCE)] = ""
    words: Annotated[str, Meta(max_length=WORDS_LIMIT)] = ""
    named: bool = False

    def to_domain(self) -> Imprint:
        """The imprint of the bundle."""
        return Imprint(self.authors, self.licence, self.words)


class PublishedOut(Wire):
    """A publication.

    number     number of the publication
    page       path of its page
    bundle     path of its bundle
    judgments  number of judgments that it is based on
    withdrawn  time of its withdrawal; null while anybody can read it
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
    """The publications of a collection.

    publications  the publications, the latest first
    """

    collection: str
    publications: list[PublishedOut]


class PublicationWithdrawalIn(Strict, forbid_unknown_fields=True):
    """Publication to withdraw.

    number  number of the publication
    """

    number: Annotated[int, Meta(ge=1, le=2**53)]


OF_SCALE = ("scale", "grades", "control", "labels", "steps", "aspect")


class TextsOut(OfState):
    """The texts of a campaign that may be changed while it runs.

    title         title of the collection
    question      question above the clips
    instructions  text before the start
    consent       text to agree to before the start
    language      code of the language of these texts
    languages     codes of languages, separated by commas: only people whose browser asks for one take part
    changed       last line of the log that changed a text; null if none did
    """

    title: str
    question: str
    instructions: str
    consent: str
    language: str
    languages: str
    changed: RecordOut | None

    @classmethod
    def from_domain(cls, one: ServedCollection) -> "TextsOut":
        last = one.campaign.rewording.last
        return cls(
            collection=one.collection.identifier,
            state=one.campaign.number,
            **texts_of(one.collection),
            changed=None if last is None else RecordOut.from_domain(last),
        )


class TextsIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """New texts of a campaign; omitted ones stay.

    The scale and its words are accepted here only to be refused with a reason.

    title         title of the collection
    question      question above the clips
    instructions  text before the start
    consent       text to agree to before the start
    language      code of the language of these texts
    languages     codes of languages, separated by commas: only people whose browser asks for one take part
    scale, grades, control, labels, steps, aspect  refused: a campaign cannot change its scale
    """

    title: Text | UnsetType = UNSET
    question: Text | UnsetType = UNSET
    instructions: Text | UnsetType = UNSET
    consent: Text | UnsetType = UNSET
    language: Text | UnsetType = UNSET
    languages: Text | UnsetType = UNSET
    reason: Text = ""
    scale: Any = UNSET
    grades: Any = UNSET
    control: Any = UNSET
    labels: Any = UNSET
    steps: Any = UNSET
    aspect: Any = UNSET

    @property
    def texts(self) -> dict[str, str]:
        """The texts by name; an error if other fields or no fields are to be changed."""
        said = {name: getattr(self, name) for name in self.__struct_fields__ if name != "reason"}
        given = {name: text for name, text in said.items() if text is not UNSET}
        wrong = [name for name in OF_SCALE if name in given]
        if wrong:
            raise InputError(
                f"{wrong[0]} belongs to the scale, which a campaign cannot change, as its grades are on it: "
                "make another collection"
            )
        if not given:
            raise InputError("expected a text to change: title, question, instructions, consent, language or languages")
        return given


class PromptsOut(OfState):
    """The prompts of a collection.

    prompts  prompts by query
    queries  all queries, with or without a prompt
    """

    prompts: dict[str, str]
    queries: list[str]

    @classmethod
    def from_domain(cls, one: ServedCollection) -> "PromptsOut":
        return cls(
            one.collection.identifier,
            one.campaign.number,
            prompts_of(one.collection),
            list(queries_of(one.collection.runs)),
        )


class PromptIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """The new prompt of a query.

    prompt  the prompt
    """

    query: Annotated[Name, Meta(min_length=1)]
    prompt: Text
    reason: Text = ""

    @property
    def texts(self) -> dict[str, str]:
        """The change by name, as in the log."""
        fields = msgspec.structs.asdict(self)
        return {name: fields[name] for name in ("query", "prompt")}
