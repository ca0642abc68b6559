"""Comparison of a collection's files with its runs: the number of a file's names that occur in the runs.

A file without any common name is a mistake, such as identifiers in another case; it is always reported.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Names
from pathlib import Path
from typing import NamedTuple

from audiosim.corpus.coded_judgments import judged_keys, judged_names
from audiosim.corpus.evidence_files import Evidence, Key, spelled
from audiosim.corpus.judge_files import MachineJudge, check_favoured
from audiosim.corpus.mirex import file_identifier
from audiosim.corpus.model import Judgment, Pair, PairedComparison, Run, retrieved_by
from audiosim.corpus.rankings import Retrieved, contained
from audiosim.errors import InputError
from audiosim.messages import nearest_name
from audiosim.properties import cached_property


class Reading(NamedTuple):
    """A line on a file's contents and their overlap with the runs; `doubtful` if a name looks misspelt."""

    line: str
    doubtful: bool = False


def check_judgments(runs: Sequence[Run], judgments: Sequence[Judgment], source: str | Path) -> None:
    """Raise an error if no judgment is about a pair that a system retrieved.

    source  file of the judgments, or a word for judgments in memory
    """
    for one in judgments:
        if any(one.document in run.rankings.get(one.query, ()) for run in runs):
            return
    Matching(runs).judgments(Path(source), judgments)


class Matching:
    """Names in the runs, and a line on the overlap of each other file with them."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs

    @cached_property
    def _pairs(self) -> Retrieved:
        return Retrieved.of([run.rankings for run in self._runs])

    @cached_property
    def _retrieved(self) -> dict[str, set[str]]:
        """The documents that any system retrieved for each query."""
        return self._pairs.by_query()

    @property
    def _queries(self) -> dict[str, None]:
        return dict.fromkeys(self._pairs.queries)

    @property
    def _documents(self) -> frozenset[str]:
        return self._pairs.documents

    def runs(self, paths: Sequence[Path]) -> Reading:
        """Contents of the run files."""
        where = str(paths[0]) if len(paths) == 1 else f"{paths[0].parent}: {len(paths)} files"
        systems, queries, documents = len(self._runs), len(self._queries), len(self._documents)
        counts = (_some(systems, "system"), _some(queries, "query"), _some(documents, "document"))
        return Reading(f"{where}: {', '.join(counts)} retrieved")

    def documents(self, path: Path, known: Names[str], query_documents: Mapping[str, str]) -> Reading:
        """Number of retrieved documents that a documents.tsv describes; describing only query documents is enough."""
        own = {query_documents.get(query, query) for query in self._queries}
        met = len(self._documents & set(known))
        line = f"{path}: {met} of {_some(len(self._documents), 'retrieved document')} have a line"
        return _checked(line, met or len(own & set(known)), self._documents, known)

    def queries(self, path: Path, known: Mapping[str, str]) -> Reading:
        """Number of queries of the runs that a queries.tsv names."""
        met = len(self._queries.keys() & set(known))
        line = f"{path}: {met} of {_some(len(self._queries), 'query')} have a line"
        if not met and self._queries.keys() & set(known.values()):
            raise InputError(f"{line}, expected some; the columns look swapped")
        return _checked(line, met, self._queries, known)

    def systems(self, path: Path, known: Mapping[str, str]) -> Reading:
        """Number of systems that a systems.tsv names."""
        systems = [run.system for run in self._runs]
        met = len(set(systems) & set(known))
        line = f"{path}: {met} of {_some(len(systems), 'system')} have a line"
        if not met and set(systems) & set(known.values()):
            raise InputError(f"{line}, expected some; the columns look swapped")
        return _checked(line, met, systems, known)

    def judgments(self, path: Path, judgments: Sequence[Judgment]) -> Reading:
        """Number of judgments of pairs that a system retrieved."""
        there, places = self._pairs, len(self._pairs.queries) * len(self._pairs.names)
        met = int(contained(judged_keys(there, judgments), there.keys, places).sum())
        line = f"{path}: {met} of {_some(len(judgments), 'judgment')} are of retrieved pairs"
        queries, documents = judged_names(judgments)
        if not met and self._swapped(queries, documents):
            raise InputError(f"{line}, expected some; query and document look swapped")
        if judgments and not self._queries.keys() & queries.keys():
            return _checked(line, met, self._queries, queries)
        return _checked(line, met or not judgments, self._documents, documents)

    def comparisons(self, path: Path, comparisons: Sequence[PairedComparison]) -> Reading:
        """Number of comparisons of two retrieved documents."""
        nothing: set[str] = set()
        both = ({one.document_a, one.document_b} <= self._retrieved.get(one.query, nothing) for one in comparisons)
        met = sum(both)
        line = f"{path}: {met} of {_some(len(comparisons), 'comparison')} are of two retrieved documents"
        queries = {one.query: None for one in comparisons}
        if not self._queries.keys() & queries.keys():
            return _checked(line, met, self._queries, queries)
        documents = {document: None for one in comparisons for document in (one.document_a, one.document_b)}
        return _checked(line, met, self._documents, documents)

    def _swapped(self, queries: Iterable[str], documents: Iterable[str]) -> bool:
        """True if some queries are documents of the runs, and some documents are their queries."""
        return not self._documents.isdisjoint(queries) and not self._queries.keys().isdisjoint(documents)

    def evidence(self, piece: Evidence) -> Reading:
        """Number of retrieved documents, retrieved pairs or systems that a piece of evidence covers.

        It may cover only unretrieved documents, if documents.tsv names them.
        """
        pairs = ((query, document) for query, some in self._retrieved.items() for document in some)
        wanted: Mapping[str, Callable[[], set[Key]]] = {
            "document": lambda: set(self._documents),
            "pair": lambda: set(pairs),
            "system": lambda: {run.system for run in self._runs},
        }
        there, known = wanted[piece.about](), set(piece.keys)
        noun = piece.about if piece.about == "system" else f"retrieved {piece.about}"
        line = f"{piece.source}: evidence {piece.name} is of {len(there & known)} of {_some(len(there), noun)}"
        meant = _meant_in(sorted(map(spelled, there - known)), set(map(spelled, known - there)), str.casefold)
        return Reading(line + meant, bool(meant))

    def judge(self, judge: MachineJudge) -> Reading:
        """Number of retrieved pairs that a machine judged."""
        there = {Pair(query, one) for query, some in self._retrieved.items() for one in some}
        line = f"{judge.source}: judge {judge.name} grades {len(there.intersection(judge.pairs))} of"
        return Reading(f"{line} {_some(len(there), 'retrieved pair')}")


def check_met(
    runs: Sequence[Run],
    documents: Names[str],
    teams: Names[str],
    evidence: Sequence[Evidence],
    judges: Sequence[MachineJudge],
) -> None:
    """Raise an error if a piece of evidence or a judge covers nothing named in runs or documents.tsv.

    documents, teams  names in a collection with these runs
    """
    if not evidence and not judges:
        return
    pairs = {(query, document) for query, some in retrieved_by(runs).items() for document in some}
    known: dict[str, set[Key]] = {
        "pair": set(pairs),
        "document": {*(document for _, document in pairs), *documents},
        "system": {run.system for run in runs},
    }
    for piece in evidence:
        if known[piece.about].isdisjoint(piece.keys):
            where = "" if piece.source is None else f"{piece.source}: "
            wanted = "" if not known[piece.about] else f", expected such as {spelled(min(known[piece.about]))}"
            raise InputError(
                f"{where}evidence {piece.name}: the collection knows none of its {len(piece.keys)} {piece.about}s, "
                f"such as {spelled(piece.keys[0])}{wanted}"
            )
    check_favoured(judges, {*teams, *(run.system for run in runs)})
    for judge in judges:
        if pairs.isdisjoint(judge.pairs):
            where = "" if judge.source is None else f"{judge.source}: "
            raise InputError(
                f"{where}judge {judge.name}: no system retrieved any of its {len(judge.pairs)} pairs, such as "
                f"{spelled(judge.pairs[0])}, expected such as {spelled(min(pairs))}"
            )


def _some(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _checked(line: str, met: int, wanted: Names[str], known: Names[str]) -> Reading:
    """The reading, with a suggestion for a misspelt name; an error if nothing matches."""
    there = set(known)
    missing = sorted(name for name in wanted if name not in there)
    meant = _meant_in(missing, there, str.casefold)
    if not met:
        meant = meant or _meant_in(missing, there, _stem) or _meant_in(missing[:1], there, None)
        raise InputError(f"{line}, expected some{meant}")
    return Reading(line + meant, bool(meant))


def _stem(name: str) -> str:
    return file_identifier(name).casefold()


def _meant_in(missing: Sequence[str], known: set[str], folded: Callable[[str], str] | None) -> str:
    """A question that suggests a known name for the first missing one that differs in case or form only, or little."""
    if folded is None:
        pairs = ((name, nearest_name(name, known)) for name in missing)
    else:
        names = {folded(other): other for other in known} if missing else {}
        pairs = ((name, names.get(folded(name))) for name in missing)
    return next((f"; did you mean {name} for {other}?" for name, other in pairs if other), "")
