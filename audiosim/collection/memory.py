"""Conversion of runs, judgments and metadata in memory to the values of a collection.

Runs and judgments may be data frames (pandas, Polars), dicts, objects of ranx, or iterables of ir_measures and
ir_datasets. Nothing here imports these packages: objects are recognised by their attributes.

| given | runs | judgments |
|---|---|---|
| frame | columns system, query, document, and score or rank | query, document, grade; also assessor, time |
| dict | system -> query -> documents, best first, or document -> score | query -> document -> grade |
| ranx | `Run`, several, or system -> `Run` | `Qrels` |
| ir_measures | system -> iterable of `ScoredDoc` | iterable of `Qrel` |

As in TREC runs, scores order documents, highest first, and equal scores by document name, highest first. Without scores
the ranks order them; without both, the order of the rows counts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from numbers import Integral, Real
from typing import Any

from audiosim.collection.kinds import JUNK, UNJUDGED, say_odd
from audiosim.collection.values import Document, Judgment, Pair, Run, Scale
from audiosim.errors import InputError
from audiosim.tables.schema import Say
from audiosim.text import nearest_name, repeated

# Names used by pandas users, PyTerrier, ranx and ir_measures for the same thing; audiosim's own name comes first.
SYSTEM = ("system", "run", "tag", "name")
QUERY = ("query", "query_id", "qid", "q_id", "topic")
DOCUMENT = ("document", "doc_id", "docno", "docid")
SCORE = ("score",)
RANK = ("rank",)
GRADE = ("grade", "relevance", "rel", "label", "score")
RUNS = "a data frame, a dict of system -> query -> documents, or ranx's runs"
PAIRS = "pairs (query, document), or a data frame with these columns"
QRELS = "a data frame, a dict of query -> document -> grade, ranx's Qrels, or ir_measures' qrels"


def runs_in_memory(given: object) -> tuple[Run, ...]:
    """The run of each system, in the order given; see the module for the forms."""
    if isinstance(given, str):
        raise InputError(f"expected runs: {RUNS}; got the text {given!r}")
    if is_frame(given):
        return tuple(Run(system, _ranked(rows)) for system, rows in _by_system(given).items())
    if isinstance(given, Mapping):
        return tuple(Run(system, _rankings(one, system)) for system, one in _named(given.items(), "system").items())
    several = [given] if _is_ranx(given) else _listed(given, RUNS)
    return tuple(one if isinstance(one, Run) else Run(_name(one), _rankings(one, _name(one))) for one in several)


def judgments_in_memory(given: object, scale: Scale | None = None, say: Say = lambda _: None) -> tuple[Judgment, ...]:
    """The judgments, in the order given; see the module for the forms. A missing grade means unjudged.

    scale   scale of the grades; None: a scale that starts at 0
    say     called with a sentence on the treatment of odd grades, which is the same as in files: see `collection.kinds`
    """
    judgments, grades = list(_stated(given)), Counter[float]()
    grades.update(one.grade for one in judgments)
    say_odd(grades, say)
    lowest = 0.0 if scale is None else scale.levels[0]
    return tuple(replace(one, grade=lowest) if one.grade == JUNK else one for one in judgments if one.grade != UNJUDGED)


def _stated(given: object) -> Iterator[Judgment]:
    """The judgments with the given grades."""
    if is_frame(given):
        return _frame_judgments(given)
    plain = given.to_dict() if _is_ranx(given) else given  # type: ignore[attr-defined]
    if isinstance(plain, Mapping):
        rows = [(query, document, grade) for query, some in plain.items() for document, grade in _items(some, query)]
    else:
        listed = _listed(plain, QRELS)
        if listed and isinstance(listed[0], Judgment):
            return _all_judgments(listed)
        rows = [(_field(one, "query_id"), _field(one, "doc_id"), _field(one, "relevance")) for one in listed]
    return _judgments(rows)


def grades_in_memory(given: object) -> dict[Pair, float]:
    """Numbers by pair, from a dict by (query, document), a dict query -> document -> number, or a frame."""
    if is_frame(given):
        columns = _columns(given)
        values = (_values(given, _column(columns, names)) for names in (QUERY, DOCUMENT, GRADE))
        rows: Iterable[tuple[object, object, object]] = zip(*values, strict=True)
    elif isinstance(given, Mapping):
        paired = ((key, value) for key, value in given.items() if isinstance(key, tuple) and len(key) == 2)
        nested = ((key, some) for key, some in given.items() if not (isinstance(key, tuple) and len(key) == 2))
        rows = [(*key, value) for key, value in paired]
        rows += [(query, document, grade) for query, some in nested for document, grade in _items(some, query)]
    else:
        raise InputError(f"expected a data frame or a dict of pairs and grades, got {type(given).__name__}")
    pairs = [
        (Pair(_text(query, "query"), _text(one, "document")), _number(grade, "grade")) for query, one, grade in rows
    ]
    if (twice := repeated(pair for pair, _ in pairs)) is not None:
        raise InputError(f"query {twice.query}, document {twice.document} occurs twice, expected it once")
    return dict(pairs)


def pairs_in_memory(given: object) -> list[Pair]:
    """Pairs, in their order, from a frame with columns query, document or an iterable of (query, document)."""
    if is_frame(given):
        columns = _columns(given)
        rows: Iterable[Any] = zip(
            *(_values(given, _column(columns, names)) for names in (QUERY, DOCUMENT)), strict=True
        )
    else:
        rows = _listed(given, PAIRS)
    found = []
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Iterable) or len(pair := list(row)) != 2:
            raise InputError(f"expected {PAIRS}; got {row!r} for a pair")
        found.append(Pair(_text(pair[0], "query"), _text(pair[1], "document")))
    return found


def documents_in_memory(given: object) -> dict[str, Document]:
    """Documents by identifier, from a frame with a column of documents, a dict document -> columns, or a list.

    `artist`, `genre` and `path` mean the same as in documents.tsv; other columns are kept as text.
    """
    if is_frame(given):
        columns = _columns(given)
        identifiers = [_text(one, "document") for one in _values(given, _column(columns, DOCUMENT))]
        others = [name for name in columns if name not in DOCUMENT]
        cells = [[_known(value) for value in _values(given, name)] for name in others]
        rows = zip(*cells, strict=True) if cells else ((),) * len(identifiers)
        known = [dict(zip(others, row, strict=True)) for row in rows]
        return _unique(_document(one, more) for one, more in zip(identifiers, known, strict=True))
    if isinstance(given, Mapping):
        pairs = ((_text(one, "document"), more) for one, more in given.items())
        return _unique(
            more if isinstance(more, Document) else _document(one, {key: _known(value) for key, value in more.items()})
            for one, more in pairs
        )
    return _unique(_listed(given, "a data frame or a dict of document -> columns"))


def names_in_memory(given: object, key: Sequence[str], value: Sequence[str]) -> dict[str, str]:
    """A name for each identifier, such as the team of each system, from a dict or from a frame with two columns.

    key, value  accepted names of the two columns
    """
    if is_frame(given):
        columns = _columns(given)
        rows: Iterable[tuple[object, object]] = zip(
            _values(given, _column(columns, key)), _values(given, _column(columns, value)), strict=True
        )
    elif isinstance(given, Mapping):
        rows = given.items()
    else:
        raise InputError(f"expected a data frame or a dict of {key[0]} -> {value[0]}, got {type(given).__name__}")
    return {one: named for one, name in _named(rows, key[0]).items() if (named := _known(name)) is not None}


def is_frame(given: object) -> bool:
    """True for a data frame of pandas or Polars."""
    return hasattr(given, "columns") and hasattr(given, "__getitem__") and not isinstance(given, Mapping)


def _is_ranx(given: object) -> bool:
    """True for a `Run` or `Qrels` of ranx; their dicts are not plain until `to_dict` converts them."""
    return hasattr(given, "to_dict") and not hasattr(given, "columns")


def _name(one: object) -> str:
    name = getattr(one, "name", None)
    if not isinstance(name, str) or not name:
        raise InputError(f"a run in a list needs a name, as ranx.Run(..., name='A') has; expected {RUNS}")
    return name


def _listed(given: object, expected: str) -> list[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"expected {expected}; got {type(given).__name__}")
    return list(given)


def _all_judgments(listed: Sequence[object]) -> Iterator[Judgment]:
    for place, one in enumerate(listed):
        if not isinstance(one, Judgment):
            raise InputError(f"expected judgments only, got {type(one).__name__} at place {place} of the list")
        yield one


def _by_system(frame: Any) -> dict[str, list[tuple[str, str, float | None]]]:
    columns = _columns(frame)
    systems = [_text(one, "system") for one in _values(frame, _column(columns, SYSTEM))]
    found: dict[str, list[tuple[str, str, float | None]]] = {}
    for system, row in zip(systems, _rows(frame), strict=True):
        found.setdefault(system, []).append(row)
    return found


def _rankings(one: object, system: object) -> dict[str, tuple[str, ...]]:
    """The rankings of one system, in any form."""
    if isinstance(one, Run):
        return dict(one.rankings)
    if is_frame(one):
        return _ranked(_rows(one))
    plain = one.to_dict() if _is_ranx(one) else one  # type: ignore[attr-defined]
    if isinstance(plain, Mapping):
        return {query: _best_first(some, query) for query, some in _named(plain.items(), "query").items()}
    scored = _listed(plain, f"query -> documents for system {system}, a data frame or ScoredDocs")
    return _ranked(
        (_text(_field(row, "query_id"), "query"), _text(_field(row, "doc_id"), "document"), _number(row.score, "score"))
        for row in scored
    )


def _best_first(some: object, query: object) -> tuple[str, ...]:
    if isinstance(some, Mapping):
        scored = [(_number(score, "score"), _text(document, "document")) for document, score in some.items()]
        return tuple(document for _, document in sorted(scored, reverse=True))
    if isinstance(some, str) or not isinstance(some, Iterable):
        raise InputError(f"expected the documents of query {query}, best first, or document -> score; got {some!r}")
    return tuple(_text(document, "document") for document in some)


def _rows(frame: Any) -> list[tuple[str, str, float | None]]:
    """Query, document and sort key of each row: the score, the negated rank, or None."""
    columns = _columns(frame)
    queries = [_text(one, "query") for one in _values(frame, _column(columns, QUERY))]
    documents = [_text(one, "document") for one in _values(frame, _column(columns, DOCUMENT))]
    by: Iterator[float | None] = repeat(None)
    if (score := _found(columns, SCORE)) is not None:
        by = (_number(one, "score") for one in _values(frame, score))
    elif (rank := _found(columns, RANK)) is not None:
        by = (-_number(one, "rank") for one in _values(frame, rank))
    return [(query, document, value) for query, document, value in zip(queries, documents, by, strict=False)]


def _ranked(rows: Iterable[tuple[str, str, float | None]]) -> dict[str, tuple[str, ...]]:
    """The documents of each query, best first."""
    found: dict[str, list[tuple[float | None, str]]] = {}
    for query, document, by in rows:
        found.setdefault(query, []).append((by, document))
    for some in found.values():
        if some[0][0] is not None:
            some.sort(key=lambda one: (one[0] or 0.0, one[1]), reverse=True)
    return {query: tuple(document for _, document in some) for query, some in found.items()}


def _frame_judgments(frame: Any) -> Iterator[Judgment]:
    columns = _columns(frame)
    names = [_column(columns, QUERY), _column(columns, DOCUMENT), _column(columns, GRADE)]
    beside = [_values(frame, name) if name in columns else repeat(None) for name in ("assessor", "time", "aspect")]
    rows = list(zip(*(_values(frame, name) for name in names), strict=True))
    yield from _judgments(rows, *beside)


def _judgments(
    rows: Sequence[tuple[Any, Any, Any]],
    assessors: Iterable[object] = repeat(None),
    times: Iterable[object] = repeat(None),
    aspects: Iterable[object] = repeat(None),
) -> Iterator[Judgment]:
    for (query, document, grade), assessor, time, aspect in zip(rows, assessors, times, aspects, strict=False):
        value = None if _known(grade) is None else _number(grade, f"grade of document {document}")
        if value is not None:
            names = _text(query, "query"), _text(document, "document")
            yield Judgment(*names, value, _known(assessor) or "", _known(time) or "", _known(aspect) or "")


def _items(some: object, query: object) -> Iterable[tuple[Any, Any]]:
    if not isinstance(some, Mapping):
        raise InputError(f"expected document -> grade for query {query}, got {type(some).__name__}")
    return some.items()


def _document(identifier: str, columns: Mapping[str, str | None]) -> Document:
    more = {key: value for key, value in columns.items() if value is not None}
    return Document(identifier, more.pop("artist", None), more.pop("genre", None), more.pop("path", None), more)


def _unique(documents: Iterable[Document]) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for one in documents:
        if found.setdefault(one.identifier, one) is not one:
            raise InputError(f"document {one.identifier} is described twice, expected it once")
    return found


def _columns(frame: Any) -> list[str]:
    return [str(name) for name in frame.columns]


def _found(columns: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _column(columns: Sequence[str], names: Sequence[str]) -> str:
    name = _found(columns, names)
    if name is None:
        hint = next((f"; did you mean {own}?" for own in names if nearest_name(own, columns)), "")
        raise InputError(f"expected a column {names[0]}, found {', '.join(columns) or 'none'}{hint}")
    return name


def _values(frame: Any, name: str) -> list[Any]:
    values: list[Any] = frame[name].to_list()
    return values


def _field(row: object, name: str) -> object:
    try:
        return getattr(row, name)
    except AttributeError:
        raise InputError(f"expected rows with {name}, as ir_measures has them; got {type(row).__name__}") from None


def _text(value: object, what: str) -> str:
    """An identifier: a whole number, or a text, without white space around it."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InputError(f"expected a text or a whole number as identifier of a {what}, got {value!r}")
    return str(value).strip()


def _named(pairs: Iterable[tuple[object, Any]], what: str) -> dict[str, Any]:
    """Values by identifier; an identifier that occurs twice, such as 1 and "1", is an error."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if (identifier := _text(name, what)) in found:
            raise InputError(f"{what} {identifier} occurs twice, expected it once")
        found[identifier] = value
    return found


def _known(value: object) -> str | None:
    """A table value as text, without white space around it; None where missing."""
    missing = value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
    return None if missing else str(value).strip() or None


def _number(value: object, what: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or value != value:
        raise InputError(f"expected a number as {what}, got {value!r}")
    return float(value)
