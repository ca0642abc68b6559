"""Runs, read and written: what each system retrieved for each query.

Three forms, told apart by what a file holds; a file has one form throughout.

- TREC: `query Q0 document rank score system`. The score orders, greatest first; equal scores are ordered by document,
  greatest first, as trec_eval does it (form_res_rels.c: scores and then strcmp, both falling; double precision as since
  its pull request 38). The rank decides nothing, but the same rank twice in one ranking is an error.
- Lists: `system query document`, best first; a first line with just these words is a header.
- MIREX result files: see `audiosim.corpus.mirex`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from sys import intern

from audiosim.corpus.lines import BYTE_ORDER_MARK, finite, read_lines, write_text
from audiosim.corpus.mirex import Exclusions, is_numbered, is_sparse, read_matrix, read_sparse
from audiosim.corpus.model import Run
from audiosim.errors import FormatError, InputError

Lines = Iterator[tuple[int, str]]
TREC = "query Q0 document rank score system"
LIST = "system query document"
FORMS = f"a TREC run ({TREC}), lines of {LIST}, or a MIREX result file"


@dataclass(slots=True)
class _Ranking:
    """One ranking of a TREC run while it is read."""

    system: str
    query: str
    ranks: set[int] = field(default_factory=set)
    scores: dict[str, float] = field(default_factory=dict)

    def add(self, path: Path, number: int, document: str, rank: str, score: str) -> None:
        try:
            place = int(rank)
        except ValueError:
            raise FormatError(path, number, f"expected a whole number for the rank, found {rank!r}") from None
        if place in self.ranks:
            where = f"the ranking of system {self.system} for query {self.query}"
            raise FormatError(path, number, f"rank {place} is twice in {where}, expected each rank once")
        if document in self.scores:
            raise _twice(path, number, self.system, self.query, document)
        self.ranks.add(place)
        self.scores[intern(document)] = finite(path, number, "score", score)

    def best_first(self) -> tuple[str, ...]:
        pairs = sorted(zip(self.scores.values(), self.scores, strict=True), reverse=True)
        return tuple([document for _, document in pairs])


def read_runs(paths: Iterable[str | Path], exclusions: Exclusions | None = None) -> tuple[Run, ...]:
    """The runs of one file or several, in the order in which they appear; all of a system stands in one file.

    exclusions  for MIREX result files: which queries count, and what cannot be a result of one
    """
    runs: list[Run] = []
    origins: dict[str, Path] = {}
    for path in map(Path, paths):
        for number, run in _read_file(path, exclusions or Exclusions()):
            if run.system in origins:
                raise FormatError(
                    path, number, f"system {run.system} is in {origins[run.system]} already, expected it once"
                )
            origins[run.system] = path
            runs.append(run)
    return tuple(runs)


def _read_file(path: Path, exclusions: Exclusions) -> list[tuple[int, Run]]:
    """Each run of a file with the line on which it starts."""
    lines = read_lines(path, FORMS)
    head = list(islice(lines, 2))
    (number, first), second = head[0], head[1][1] if len(head) > 1 else ""
    lines = chain(head, lines)
    columns = len(first.split())
    if "\t" not in first and is_sparse(second):
        return [(number, read_sparse(path, lines, exclusions))]
    if is_numbered(second) and not _is_trec(first):
        return [(number, read_matrix(path, lines, exclusions))]
    if columns not in (6, 3):
        raise FormatError(path, number, f"expected {FORMS}, found {columns} columns")
    return _read_trec(path, lines) if columns == 6 else _read_list(path, lines)


def _is_trec(line: str) -> bool:
    """Whether a first line is of a TREC run for sure: the name of a matrix may have six words."""
    fields = line.split()
    return len(fields) == 6 and fields[3].isdecimal()


def _read_trec(path: Path, lines: Lines) -> list[tuple[int, Run]]:
    rankings: dict[tuple[str, str], _Ranking] = {}
    starts: dict[str, int] = {}
    for number, text in lines:
        try:
            query, _, document, rank, score, system = text.split()
        except ValueError:
            raise _wrong_columns(path, number, TREC, text) from None
        ranking = rankings.get((system, query))
        if ranking is None:
            # Interned, because millions of lines repeat a few thousand names.
            system, query = intern(system), intern(query)
            ranking = rankings[system, query] = _Ranking(system, query)
            starts.setdefault(system, number)
        ranking.add(path, number, document, rank, score)
    return _runs(starts, {key: ranking.best_first() for key, ranking in rankings.items()})


def _read_list(path: Path, lines: Lines) -> list[tuple[int, Run]]:
    rankings: dict[tuple[str, str], dict[str, None]] = {}
    starts: dict[str, int] = {}
    for number, text in lines:
        fields = text.split()
        if len(fields) != 3:
            raise _wrong_columns(path, number, LIST, text)
        if not starts and fields == LIST.split():
            continue
        system, query, document = map(intern, fields)
        starts.setdefault(system, number)
        ranking = rankings.setdefault((system, query), {})
        if document in ranking:
            raise _twice(path, number, system, query, document)
        ranking[document] = None
    if not starts:
        raise FormatError(path, 1, f"the file ends after its header, expected lines of {LIST}")
    return _runs(starts, {key: tuple(ranking) for key, ranking in rankings.items()})


def _runs(starts: dict[str, int], rankings: dict[tuple[str, str], tuple[str, ...]]) -> list[tuple[int, Run]]:
    by_system: dict[str, dict[str, tuple[str, ...]]] = {system: {} for system in starts}
    for (system, query), documents in rankings.items():
        by_system[system][query] = documents
    return [(starts[system], Run(system, found)) for system, found in by_system.items()]


def _wrong_columns(path: Path, number: int, columns: str, text: str) -> FormatError:
    expected = f"expected {len(columns.split())} columns ({columns}) as on the lines above"
    return FormatError(path, number, f"{expected}, found {len(text.split())}")


def _twice(path: Path, number: int, system: str, query: str, document: str) -> FormatError:
    where = f"the ranking of system {system} for query {query}"
    return FormatError(path, number, f"document {document} is twice in {where}, expected each document once")


def run_lines(runs: Iterable[Run]) -> list[str]:
    """The lines of a TREC run, one system after another; the scores count down to 1."""
    lines = []
    for run in runs:
        for query, documents in _filled(run).items():
            names = [check_word(run.system), check_word(query)]
            for rank, document in enumerate(documents, start=1):
                score = len(documents) - rank + 1
                lines.append(f"{names[1]} Q0 {check_word(document)} {rank} {score} {names[0]}")
    return lines


def _filled(run: Run) -> Mapping[str, tuple[str, ...]]:
    """The rankings of a run; to say that nothing was retrieved a TREC run has no line."""
    empty = [query for query, documents in run.rankings.items() if not documents]
    if empty or not run.rankings:
        where = f"query {empty[0]}" if empty else "any query"
        raise InputError(f"system {run.system} retrieves nothing for {where}: a TREC run cannot say that")
    return run.rankings


def check_word(identifier: str) -> str:
    """The identifier itself, if it can stand in a form that white space parts."""
    if identifier.split() != [identifier] or identifier.startswith(BYTE_ORDER_MARK):
        raise InputError(f"{identifier!r} cannot be written: white space parts the columns of this form, expected none")
    return identifier


def write_run(path: str | Path, runs: Iterable[Run]) -> None:
    """Write a TREC run, of one system or several."""
    write_text(path, run_lines(runs))
