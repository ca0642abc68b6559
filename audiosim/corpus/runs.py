"""Reading and writing of runs: the documents that each system retrieved for each query.

The form is recognised from the file's contents; a file has one form throughout.

- TREC: `query Q0 document rank score system`. The score orders, highest first; equal scores are ordered by document,
  highest first, as in trec_eval (form_res_rels.c: scores and then strcmp, both falling; double precision since
  its pull request 38). As there, the rank is not used; a repeated rank within a ranking is noted.
- Lists: `system query document`, best first; a first line with just these words is a header.
- MIREX result files: see `audiosim.corpus.mirex`.
- JSON as written by ranx: {"q1": {"d1": 0.9, "d2": 0.4}}, scores by query and document; ordered like TREC runs.

A system is named by its tag. If several files share a tag for rankings of the same queries, their file names name the
systems, as `system_from="file"` does throughout: the name without `.gz` and without a suffix of letters.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from sys import intern
from typing import Literal, get_args

from audiosim.corpus.identifiers import Say
from audiosim.corpus.lines import BYTE_ORDER_MARK, Lines, columns_hint, finite, read_lines, whole, write_text
from audiosim.corpus.mirex import Exclusions, is_numbered, is_sparse, read_matrix, read_sparse
from audiosim.corpus.model import Run
from audiosim.corpus.nested_judgments import ranx_values
from audiosim.corpus.trec_runs import read_plain
from audiosim.errors import FormatError, InputError
from audiosim.messages import quoted

SystemFrom = Literal["file", "tag"]
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
    last: tuple[int, float] | None = None
    rising: int = 0
    falling: int = 0
    level: int = 0

    def add(self, path: Path, number: int, document: str, rank: str, score: str) -> bool:
        """Add a line; True if its rank is new."""
        place = whole(path, number, "rank", rank)
        if document in self.scores:
            raise _twice(path, number, self.system, self.query, document)
        value = self.scores[intern(document)] = finite(path, number, "score", score)
        if self.last is not None and place > self.last[0]:
            self.rising += value > self.last[1]
            self.falling += value < self.last[1]
            self.level += value == self.last[1]
        self.last = place, value
        fresh = place not in self.ranks
        self.ranks.add(place)
        return fresh

    def best_first(self) -> tuple[str, ...]:
        pairs = sorted(zip(self.scores.values(), self.scores, strict=True), reverse=True)
        return tuple([document for _, document in pairs])


def read_runs(
    paths: Iterable[str | Path],
    exclusions: Exclusions | None = None,
    system_from: SystemFrom | None = None,
    say: Say = lambda _: None,
) -> tuple[Run, ...]:
    """The runs of one file or several, in order of appearance; each system is in one file.

    exclusions   for MIREX result files: valid queries, and documents that cannot be results
    system_from  source of system names; None: the tag, or the file if several files share a tag
    say          called with one sentence on each peculiarity that is not an error
    """
    if system_from not in (None, *get_args(SystemFrom)):
        raise InputError(f"system_from must be file or tag, got {system_from!r}")
    files = [Path(path) for path in paths]
    plain = {
        path: [(line, Run(tag, rankings)) for line, tag, rankings in systems]
        for path, systems in read_plain(files).items()
    }
    found = [
        _Found(path, *one)
        for path in files
        for one in (plain[path] if path in plain else _read_file(path, exclusions or Exclusions(), say))
    ]
    shared = {tag for tag, count in Counter(one.run.system for one in found).items() if count > 1}
    by_file = {one.path for one in found if system_from == "file" or (system_from is None and one.run.system in shared)}
    if shared and system_from is None:
        _check_other_rankings(found)
        say(f"{len(by_file)} files share the tag {min(shared)}: their systems are named by their files")
    _check_single([one for one in found if one.path in by_file])
    return _unique([one.named_by_file() if one.path in by_file else one for one in found])


@dataclass(frozen=True, slots=True)
class _Found:
    """A run, its file, and the line on which it starts."""

    path: Path
    line: int
    run: Run

    def named_by_file(self) -> "_Found":
        name = Path(self.path.name.removesuffix(".gz"))
        # Only an ending in letters is a suffix: the 2 of KL.2 distinguishes two systems.
        return _Found(
            self.path, self.line, Run(name.stem if name.suffix[1:].isalpha() else name.name, self.run.rankings)
        )


def _check_other_rankings(found: Sequence[_Found]) -> None:
    """Raise an error if files with one tag rank different queries: they look like parts of one run."""
    first: dict[str, _Found] = {}
    for one in found:
        other = first.setdefault(one.run.system, one)
        if other is not one and not one.run.rankings.keys() & other.run.rankings.keys():
            raise _again(one, other, "one system in one file, or --system-from file if they are two systems")


def _check_single(found: Sequence[_Found]) -> None:
    """Check that a file that names its system holds only one."""
    first: dict[Path, _Found] = {}
    for one in found:
        other = first.setdefault(one.path, one)
        if other is not one and other.run.system == one.run.system:
            raise _again(one, other, "it once")
        if other is not one:
            both = f"the file holds systems {other.run.system} and {one.run.system}"
            raise FormatError(one.path, one.line, f"{both}, expected one if files name the systems")


def _unique(found: Sequence[_Found]) -> tuple[Run, ...]:
    first: dict[str, _Found] = {}
    for one in found:
        if (other := first.setdefault(one.run.system, one)) is not one:
            raise _again(one, other, "it once, or --system-from file if they are two systems")
    return tuple(one.run for one in found)


def _again(one: _Found, other: _Found, expected: str) -> FormatError:
    return FormatError(one.path, one.line, f"system {one.run.system} is in {other.path} already, expected {expected}")


def _read_file(path: Path, exclusions: Exclusions, say: Say) -> list[tuple[int, Run]]:
    """Each run of a file with the line on which it starts."""
    lines = read_lines(path, FORMS)
    head = list(islice(lines, 2))
    (number, first), second = head[0], head[1][1] if len(head) > 1 else ""
    lines = chain(head, lines)
    columns = len(first.split())
    if first.strip() == "{" or (first.lstrip().startswith("{") and ":" in first and first.rstrip()[-1] in "{}"):
        return [(number, _read_ranx(path, lines))]
    if "\t" not in first and is_sparse(second):
        return [(number, read_sparse(path, lines, exclusions))]
    if is_numbered(second) and not _is_trec(first):
        return [(number, read_matrix(path, lines, exclusions))]
    if columns not in (6, 3):
        hint = columns_hint(first, "tabs or spaces") or _spaces(columns > 6)
        raise FormatError(path, number, f"expected {FORMS}, found {columns} columns{hint}")
    if first.startswith("#") and columns != len(TREC.split()) and _is_trec(second):
        raise FormatError(path, number, f"expected a TREC run ({TREC}) from the first line on, found {quoted(first)}")
    return _read_trec(path, lines, say) if columns == 6 else _read_list(path, lines)


def _read_ranx(path: Path, lines: Lines) -> Run:
    """The run of a JSON file of scores by query and document, as written by ranx; the file's name is the system's."""
    rankings: dict[str, _Ranking] = {}
    system = path.name.removesuffix(".gz").removesuffix(".json")
    for place, (query, document, score) in enumerate(ranx_values(path, lines)):
        rankings.setdefault(query, _Ranking(system, query)).add(path, 1, document, str(place), score)
    return Run(system, {query: ranking.best_first() for query, ranking in rankings.items()})


def _is_trec(line: str) -> bool:
    """True if a first line certainly belongs to a TREC run; the name line of a matrix may also have six words."""
    fields = line.split()
    return len(fields) == 6 and fields[3].isdecimal()


def _read_trec(path: Path, lines: Lines, say: Say) -> list[tuple[int, Run]]:
    rankings: dict[tuple[str, str], _Ranking] = {}
    starts: dict[str, int] = {}
    repeated: list[int] = []
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
        if not ranking.add(path, number, document, rank, score):
            repeated.append(number)
    if repeated:
        many = f"{len(repeated)} lines repeat a rank of their ranking"
        said = many if len(repeated) > 1 else "the line repeats a rank of its ranking"
        say(f"{path}:{repeated[0]}: {said}; scores decide, as in trec_eval")
    for system, number in starts.items():
        own = [ranking for ranking in rankings.values() if ranking.system == system and ranking.last is not None]
        if any(one.rising for one in own) and not any(one.falling for one in own):
            say(
                f"{path}:{number}: the scores of system {system} rise with the rank, as distances do: the last rank "
                f"counts as best, as in trec_eval; give similarities, such as negative distances"
            )
        if any(one.level for one in own) and not any(one.rising or one.falling for one in own):
            say(
                f"{path}:{number}: all scores of system {system} for a query are equal: documents are ordered by name, "
                f"the last first, and ranks do not count, as in trec_eval; give scores that fall with the rank"
            )
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
        if not starts and set(fields) == set(LIST.split()):
            raise FormatError(path, number, f"the columns are {' '.join(fields)}, expected them as {LIST}")
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
    wanted, found = len(columns.split()), len(text.split())
    expected = f"expected {wanted} columns ({columns}) as on the lines above"
    return FormatError(
        path, number, f"{expected}, found {found}{_spaces(found > wanted and found != len(TREC.split()))}"
    )


def _spaces(more: bool) -> str:
    return "; a name with a space counts as two columns" if more else ""


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
    """The rankings of a run; an error if one is empty, which a TREC run cannot express."""
    empty = [query for query, documents in run.rankings.items() if not documents]
    if empty or not run.rankings:
        where = f"query {empty[0]}" if empty else "any query"
        raise InputError(f"system {run.system} retrieves nothing for {where}, which a TREC run cannot express")
    return run.rankings


def check_word(identifier: str) -> str:
    """The identifier, checked to contain no white space."""
    if identifier.split() != [identifier] or identifier.startswith(BYTE_ORDER_MARK):
        raise InputError(f"{identifier!r} cannot be written: white space separates columns here, expected none")
    return identifier


def write_run(path: str | Path, runs: Iterable[Run]) -> None:
    """Write a TREC run of one or more systems, creating its folder if need be."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(path, run_lines(runs))
