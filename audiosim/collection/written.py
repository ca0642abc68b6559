"""The lines of a collection's files, as `audiosim.collection.kinds` reads them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from audiosim.collection.evidence import MachineJudge
from audiosim.collection.kinds import COMPARED, DOCUMENT_COLUMNS, columns_of
from audiosim.collection.values import Document, Judgment, PairedComparison, Run
from audiosim.errors import InputError
from audiosim.tables.text import BYTE_ORDER_MARK, csv_line, shortest, write_text


def document_lines(documents: Iterable[Document]) -> list[str]:
    """The lines of a documents.tsv; columns that are empty for all documents are left out."""
    filled = list(map(columns_of, documents))
    columns = dict.fromkeys(column for row in filled for column in row)
    header = [column for column in DOCUMENT_COLUMNS if column in columns]
    header += [column for column in columns if column not in header]
    return [tsv_line(header), *(tsv_line([row.get(column, "") for column in header]) for row in filled)]


def query_lines(query_documents: Mapping[str, str]) -> list[str]:
    """The lines of a queries.tsv."""
    return [tsv_line(pair) for pair in [("query", "document"), *query_documents.items()]]


def system_lines(teams: Mapping[str, str]) -> list[str]:
    """The lines of a systems.tsv."""
    return [tsv_line(pair) for pair in [("system", "team"), *teams.items()]]


def tsv_line(values: Sequence[str]) -> str:
    """One line of a table; an InputError if a value would break it, or the first is not an identifier."""
    for value in values:
        if "\t" in value or "\n" in value or "\r" in value:
            raise InputError(f"{value!r} cannot be written to a table: it contains a tab or a line end")
    if not values[0] or values[0] != values[0].strip() or values[0].startswith(BYTE_ORDER_MARK):
        raise InputError(f"{values[0]!r} cannot be written to a table: expected an identifier")
    return "\t".join(values)


def comparison_lines(comparisons: Iterable[PairedComparison]) -> list[str]:
    """The lines of a comparisons.tsv."""
    rows = [
        (one.query, one.document_a, one.document_b, one.answer, one.assessor, _spelled(one.seconds))
        for one in comparisons
    ]
    return [tsv_line(row) for row in [COMPARED, *rows]]


def _spelled(seconds: float | None) -> str:
    return "" if seconds is None else str(shortest(seconds))


def judge_lines(judge: MachineJudge) -> list[str]:
    """The lines of a judge's table."""
    rows = ((*pair, str(shortest(grade))) for pair, grade in judge.grades().items())
    return [tsv_line(row) for row in [("query", "document", "grade"), *rows]]


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


def qrels_lines(judgments: Iterable[Judgment]) -> list[str]:
    """The lines of TREC qrels, which cannot hold an assessor, a time or a second grade of a pair."""
    judgments = tuple(judgments)
    if not fits_qrels(judgments):
        raise InputError("qrels hold one grade per pair, no assessor and no time: write these judgments as CSV")
    return [f"{check_word(j.query)} 0 {check_word(j.document)} {shortest(j.grade)}" for j in judgments]


def fits_qrels(judgments: Sequence[Judgment]) -> bool:
    """True if qrels can hold these judgments without loss."""
    nameless = not any(judgment.assessor or judgment.time or judgment.aspect for judgment in judgments)
    return nameless and len({judgment.pair for judgment in judgments}) == len(judgments)


def judgments_csv_lines(judgments: Iterable[Judgment]) -> list[str]:
    """The lines of a judgments.csv: query, document, grade, assessor, time, and aspect if there are any."""
    judgments = tuple(judgments)
    several = any(judgment.aspect for judgment in judgments)
    lines = [csv_line(["query", "document", "grade", "assessor", "time", *(["aspect"] if several else [])])]
    for judgment in judgments:
        _check_written(judgment)
        fields = [judgment.query, judgment.document, str(shortest(judgment.grade)), judgment.assessor, judgment.time]
        lines.append(csv_line([*fields, *([judgment.aspect] if several else [])]))
    return lines


def _check_written(judgment: Judgment) -> None:
    for value in (judgment.query, judgment.document, judgment.assessor, judgment.time):
        if "\n" in value or "\r" in value:
            raise InputError(f"{value!r} cannot be written: it contains a line end")
        if value != value.strip():
            raise InputError(f"{value!r} cannot be written: readers would trim it")
    if not judgment.query or not judgment.document:
        raise InputError(f"query {judgment.query!r} and document {judgment.document!r} cannot be written: one is empty")


def write_judgments_csv(path: str | Path, judgments: Iterable[Judgment]) -> None:
    """Write judgments as CSV, with assessor and time."""
    write_text(path, judgments_csv_lines(judgments))
