"""How the files of a collection meet its runs: what each holds, and how much of it is about what was retrieved.

A file that meets nothing is a mistake, such as identifiers in another case, and not a file without effect.
"""

from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from audiosim.corpus.model import Judgment, Run
from audiosim.errors import InputError, nearest_name


class Matching:
    """What the runs name, and a line on how each other file meets that."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs

    @cached_property
    def _retrieved(self) -> dict[str, set[str]]:
        """The documents that any system retrieved for each query."""
        found: dict[str, set[str]] = {}
        for run in self._runs:
            for query, documents in run.rankings.items():
                found.setdefault(query, set()).update(documents)
        return found

    @cached_property
    def _documents(self) -> set[str]:
        return set().union(*self._retrieved.values())

    def runs(self, paths: Sequence[Path]) -> str:
        """What the run files hold."""
        where = str(paths[0]) if len(paths) == 1 else f"{paths[0].parent}: {len(paths)} files"
        systems, queries, documents = len(self._runs), len(self._retrieved), len(self._documents)
        return (
            f"{where}: {_some(systems, 'system')}, {_some(queries, 'query')}, {_some(documents, 'document')} retrieved"
        )

    def documents(self, path: Path, known: Names[str], query_documents: Mapping[str, str]) -> str:
        """How many retrieved documents a documents.tsv describes; those of queries alone will do."""
        own = {query_documents.get(query, query) for query in self._retrieved}
        met = len(self._documents & set(known))
        line = f"{path}: {met} of {_some(len(self._documents), 'retrieved document')} have a line"
        return _checked(line, met or len(own & set(known)), self._documents, known)

    def queries(self, path: Path, known: Names[str]) -> str:
        """How many queries of the runs a queries.tsv names."""
        met = len(self._retrieved.keys() & set(known))
        line = f"{path}: {met} of {_some(len(self._retrieved), 'query')} have a line"
        return _checked(line, met, self._retrieved, known)

    def systems(self, path: Path, known: Names[str]) -> str:
        """How many systems a systems.tsv names."""
        systems = [run.system for run in self._runs]
        met = len(set(systems) & set(known))
        return _checked(f"{path}: {met} of {_some(len(systems), 'system')} have a line", met, systems, known)

    def judgments(self, path: Path, judgments: Sequence[Judgment]) -> str:
        """How many judgments are of pairs that a system retrieved."""
        nothing: set[str] = set()
        met = sum(judgment.document in self._retrieved.get(judgment.query, nothing) for judgment in judgments)
        line = f"{path}: {met} of {_some(len(judgments), 'judgment')} are of retrieved pairs"
        queries = {judgment.query: None for judgment in judgments}
        if judgments and not self._retrieved.keys() & queries.keys():
            return _checked(line, met, self._retrieved, queries)
        return _checked(line, met or not judgments, self._documents, {one.document: None for one in judgments})


def _some(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _checked(line: str, met: int, wanted: Names[str], known: Names[str]) -> str:
    """The line, with a name that was probably meant; an error where nothing is met."""
    there = set(known)
    missing = [name for name in wanted if name not in there]
    if not met:
        raise InputError(f"{line}, expected some{_meant(sorted(missing)[:1], known)}")
    folded = {name.casefold() for name in there}
    return line + _meant(sorted(name for name in missing if name.casefold() in folded)[:1], known)


def _meant(missing: Sequence[str], known: Names[str]) -> str:
    near = next(((name, other) for name in missing if (other := nearest_name(name, known))), None)
    return f"; did you mean {near[0]} for {near[1]}?" if near else ""
