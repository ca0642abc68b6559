"""Check of a collection: how its files were read, and what looks like a mistake."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from audiosim.collection.check import inspect
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.evidence import Evidence, EvidenceOf, Key, MachineJudge
from audiosim.collection.facts import RunFacts
from audiosim.collection.layouts import is_file
from audiosim.collection.pool import NO_QUERY_GENRE, NOT_EXPECTED
from audiosim.collection.values import Scale, queries_of, retrieved_by
from audiosim.errors import InputError
from audiosim.results.plots import draw_bars
from audiosim.results.value import Result
from audiosim.text import counted, few

if TYPE_CHECKING:
    from altair import LayerChart

SHOWN = 3  # most names shown of missing files


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """Numbers of documents down to the cutoff, including query documents.

    documents  all of them
    described  with a line in documents.tsv
    artist     with a known artist
    genre      with a known genre
    files      with an existing sound file
    missing    with a sound file that is named but missing
    indexed    in the index of sounds; None without an index
    """

    documents: int
    described: int
    artist: int
    genre: int
    files: int
    missing: int
    indexed: int | None


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Grades of a machine, down to the cutoff.

    judge   its name
    maker   who made it; empty: unspecified
    graded  number of retrieved pairs that it grades
    levels  number of different grades among them
    low     the lowest
    high    the highest
    """

    judge: str
    maker: str
    graded: int
    levels: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EvidenceFacts:
    """Evidence of the user's own: a file of evidence/, further vectors of the index, or a piece given in Python.

    evidence  its name
    about     kind of what it is known of: document, pair or system
    values    numbers known of each
    known     number of those down to the cutoff, query documents included, of which it is known
    of        number of all of those
    """

    evidence: str
    about: EvidenceOf
    values: int
    known: int
    of: int


@dataclass(frozen=True, eq=False)
class CollectionCheck(Result):
    """Contents of a collection as read, and its likely mistakes.

    collection  its name
    scale       scale of the grades
    cutoff      last rank that counts
    queries     number of those that at least half of the systems answer
    runs        facts about each run
    judged      number of retrieved pairs that are judged
    pool        number of retrieved pairs
    comparisons  number of comparisons of two documents of a query
    documents   facts about them
    evidence    facts about each piece of the user's own evidence
    judges      facts about each judging machine
    problems    one sentence per likely mistake
    notes       one sentence per guess or peculiarity
    """

    _index: ClassVar = ("system",)

    collection: str
    scale: Scale
    cutoff: int
    queries: int
    runs: tuple[RunFacts, ...]
    judged: int
    pool: int
    comparisons: int
    documents: DocumentFacts
    evidence: tuple[EvidenceFacts, ...]
    judges: tuple[MachineFacts, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        found = counted(len(self.problems), "problem") if self.problems else "nothing looks wrong"
        systems, queries = counted(len(self.runs), "system"), counted(self.queries, "query")
        counts = f"{systems}, {queries}, {self.judged:,} of {self.pool:,} pairs judged"
        noted = f" ({counted(len(self.notes), 'note')}, in `notes`)" if self.notes else ""
        return "; ".join((f"{self.collection}: {counts}; {found}{noted}", *self.problems))

    def rows(self) -> list[dict[str, Any]]:
        """One row per system: queries, others, depth, alone, same_as, judged; see `RunFacts`."""
        return [asdict(one) for one in self.runs]

    def plot(self) -> "LayerChart":
        """Number of queries that each system answers."""
        return draw_bars([one.system for one in self.runs], [one.queries for one in self.runs], "queries")


def check(collection: str | Path | Collection, *, folder: str | Path | None = None) -> CollectionCheck:
    """Show how a collection was read, and what looks like a mistake.

    Per system: queries answered, median number of results, share of the results that no other system has, share judged.
    Results and documents count down to the cutoff. The command ends with exit code 1 if something looks wrong, so that
    a script can stop.

    collection  `Collection` or its folder; a run that answers too few queries is reported as a problem, not raised as
                an error
    folder      folder of a loaded collection; None: its sound files are not checked

    Examples: `audiosim check demo`

    `audiosim check demo --judgments demo/truth.qrels --format json`
    """
    if not isinstance(collection, Collection | str | Path):
        raise InputError("check takes a folder or a Collection, such as Collection.from_frames(runs, judgments)")
    if not isinstance(collection, Collection):
        folder, collection = collection, Collection.load(collection, partial=True)
    found, unread = inspect(collection), (one.line for one in collection.readings if one.unread)
    pairs = {(query, one) for query, some in retrieved_by(collection.runs, collection.cutoff).items() for one in some}
    guesses = (*collection.guesses, *unread, *found.notes)
    heard = lacking(collection) if any(one.path for one in collection.documents.values()) else ()
    judges = tuple(facts for judge in collection.graders if (facts := _graded(judge, pairs)) is not None)
    genres = {name for name, one in collection.documents.items() if one.genre}
    asked = _asked(collection)
    unused = genres.isdisjoint(asked) and not genres.isdisjoint(one for _, one in pairs)
    genre = [f"genre of documents is {NOT_EXPECTED}: {NO_QUERY_GENRE}"] if unused else []
    wanted = {one for _, one in pairs} | asked
    documents, sounds = _documents(collection, wanted, folder)
    known: dict[EvidenceOf, Set[Key]] = {"document": wanted, "pair": pairs}
    known["system"] = {run.system for run in collection.runs}
    judged = collection.grades().keys()
    beyond, first = len(judged - pairs), f"in its first {counted(collection.cutoff, 'result')}"
    stray = [f"{beyond:,} of {len(judged):,} judged pairs: no system has the document {first}"] if beyond else []
    return CollectionCheck(
        collection=collection.name,
        scale=collection.scale,
        cutoff=collection.cutoff,
        queries=found.queries,
        runs=found.runs,
        judged=len(pairs & judged),
        pool=len(pairs),
        comparisons=len(collection.comparisons),
        documents=documents,
        evidence=tuple(_piece(one, known[one.about]) for one in collection.evidence),
        judges=judges,
        problems=(*found.problems, *sounds, *_silent(judges)),
        notes=(*guesses, *stray, *genre, *heard, *(_taken_for(one, len(pairs)) for one in judges)),
    )


def _graded(judge: MachineJudge, pairs: Set[tuple[str, str]]) -> MachineFacts | None:
    """Facts about a machine; None if it grades no pair down to the cutoff."""
    grades = [grade for pair, grade in judge.grades().items() if pair in pairs]
    if not grades:
        return None
    return MachineFacts(judge.name, judge.settings.maker, len(grades), len(set(grades)), min(grades), max(grades))


def _piece(one: Evidence, known: Set[Key]) -> EvidenceFacts:
    values = one.values.shape[1] if one.is_vector else 1
    return EvidenceFacts(one.name, one.about, values, len(known & {*one.keys}), len(known))


def _silent(judges: Sequence[MachineFacts]) -> list[str]:
    return [
        f"judge {one.judge} gives every pair the grade {one.low:g}, which carries no information"
        for one in judges
        if one.levels < 2
    ]


def _taken_for(one: MachineFacts, pool: int) -> str:
    maker = f", made by {one.maker}" if one.maker else ""
    return f"judge {one.judge} grades {one.graded:,} of {pool:,} pairs from {one.low:g} to {one.high:g}{maker}"


def _asked(collection: Collection) -> set[str]:
    """The documents of the queries; a query without metadata may not be a document."""
    own = {collection.query_document(query) for query in queries_of(collection.runs)}
    return {one for one in own if one in collection.documents or one in collection.query_documents.values()}


def _documents(collection: Collection, wanted: set[str], folder: str | Path | None) -> tuple[DocumentFacts, list[str]]:
    """Facts about documents, and likely mistakes in their sound."""
    known = [collection.documents[one] for one in wanted if one in collection.documents]
    named = sorted(one.path for one in known if one.path and "://" not in one.path) if folder is not None else []
    missing = [path for path in named if not is_file(Path(folder or "") / path)]
    indexed = _indexed(collection.sounds, wanted)
    problems = []
    if missing:
        shown = few(missing, SHOWN)
        problems.append(f"documents.tsv: {len(missing)} of {len(named)} sound files are not there: {shown}")
    if collection.sounds is not None and indexed == 0:
        problems.append(_not_indexed(collection.sounds, wanted))
    facts = DocumentFacts(
        documents=len(wanted),
        described=len(known),
        artist=sum(collection.artist(one.identifier) is not None for one in known),
        genre=sum(one.genre is not None for one in known),
        files=len(named) - len(missing),
        missing=len(missing),
        indexed=indexed,
    )
    return facts, problems


def lacking(found: Collection) -> Iterator[str]:
    """Sentences on what a listening test lacks: a second system, recordings of queries and of results."""
    if len(found.runs) == 1:
        yield "there is only one system: a ranking needs two"
    files, prompts = {name for name, one in found.documents.items() if one.path}, prompts_of(found)
    retrieved = retrieved_by(found.runs, found.cutoff)
    results = set[str]().union(*retrieved.values())
    silent = [query for query in retrieved if found.query_document(query) not in files and query not in prompts]
    for what, count, missing in (
        ("queries have neither a recording nor a prompt", len(retrieved), silent),
        ("results have no recording", len(results), sorted(results - files)),
    ):
        if missing:
            yield f"{len(missing)} of {count} {what}, such as {missing[0]}: nobody can listen to them"


def _not_indexed(sounds: Path, wanted: set[str]) -> str:
    """The mistake of an index that knows none of some documents, with a name of each."""
    from audiosim.sound.index import load_all

    named = min(load_all(sounds)[0].ids, default="no recording")
    return (
        f"sounds.index: none of the documents is in it; it names recordings such as {named}, the runs documents such "
        f"as {min(wanted)}: give documents.tsv a column path with the files, and index that: audiosim extract "
        "documents.tsv"
    )


def _indexed(sounds: Path | None, wanted: set[str]) -> int | None:
    if sounds is None:
        return None
    from audiosim.sound.index import load_all

    return len(wanted.intersection(load_all(sounds)[0].ids))
