"""Balanced examples for a new study: pairs of lists to show to people, made from judged documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from audiosim.collection.grading import Grading, find_grading, on_scale
from audiosim.collection.values import Pair, Scale, grouped
from audiosim.errors import InputError, not_judged
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.satisfaction import user_form, user_scores
from audiosim.people.answers import documents, grade_columns
from audiosim.people.preferences import BINS, bins, thousandths
from audiosim.results.plots import Line, draw_curves
from audiosim.results.progress import progress
from audiosim.results.value import Result
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.tables.text import check_output_file, write_text

if TYPE_CHECKING:
    from altair import LayerChart

BATCH = 500  # proposals drawn at once
SHELF = 40  # batches kept, so that one bin can use the proposals that another does not need
ENUMERABLE = 20_000  # largest number of lists of grades for an exhaustive search
STEEPNESS = (0.0, 4.0, 40.0)  # strength of a proposed list's preference for high or low gains


@dataclass(frozen=True, slots=True)
class ScaledMeasure:
    """Scores for balancing the examples: the user-oriented scores of a measure on a scale.

    scale    scale of the grades
    grading  conversion to another scale; None for the scale itself
    """

    measure: Measure
    scale: Scale
    grading: Grading | None = None

    @property
    def label(self) -> str:
        """Name of the scale that the grades are converted to, such as fine, graded-4 or binary-40."""
        return self.scale.name if self.grading is None else self.grading.target.name

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels that the score depends on; only the lowest and the highest for a binary measure."""
        levels = self.scale.levels if self.grading is None else self.grading.target.levels
        binary = any(parameter.name == "min" for parameter in self.measure.definition.parameters)
        return (levels[0], levels[-1]) if binary else levels

    def score(self, grades: Array) -> Array:
        """(...) the scores of lists with these grades, (..., n)."""
        return self.score_levels(grades if self.grading is None else self.grading(grades))

    def score_levels(self, levels: Array) -> Array:
        """(...) the scores of lists with these levels, (..., n)."""
        return user_scores(self.measure, self.scale if self.grading is None else self.grading.target, levels)


class Example(NamedTuple):
    """A query and two lists of documents, best rank first; they may share documents."""

    query: str
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ExampleSet(Result):
    """Examples for a study, and their number in each bin of differences in score.

    examples    distinct examples, even with the lists swapped
    grades      grades of the judged pairs, by name of scale
    criteria    (c) criteria
    counts      (c, 10) examples by the bin of the difference between the two lists
    wanted      number of examples for each criterion and bin
    impossible  (c, 10) True for bins that no two lists of grades can reach, as far as this could be computed
    file        file for people's answers; None: not written
    """

    examples: tuple[Example, ...]
    grades: Mapping[str, Mapping[Pair, float]]
    criteria: tuple[ScaledMeasure, ...]
    counts: Integers
    wanted: int
    impossible: Booleans
    file: str | Path | None = None

    def __repr__(self) -> str:
        short = sum(row["outcome"] == "not found" for row in self.rows())
        return f"{len(self.examples):,} pairs of lists to show people; {short} of {self.counts.size} bins not filled"

    def to_dict(self) -> dict[str, Any]:
        """The number of examples, and the bins, as plain values, ready for JSON."""
        return {"examples": len(self.examples), "bins": self.rows()}

    def plot(self) -> "LayerChart":
        """Examples by the tenth of the difference in score, a line for each criterion."""
        middles = [(place + 0.5) / BINS for place in range(BINS)]
        lines = [
            Line(f"{user_form(one.measure)}, {one.label}", middles, counts.tolist())
            for one, counts in zip(self.criteria, self.counts, strict=True)
        ]
        return draw_curves(lines, "difference in score", "examples")

    def rows(self) -> list[dict[str, Any]]:
        """One row per criterion and bin."""
        return [
            {
                "measure": str(user_form(criterion.measure)),
                "scale": criterion.label,
                "low": place / BINS,
                "high": (place + 1) / BINS,
                "examples": int(self.counts[row, place]),
                "outcome": self._outcome(row, place),
            }
            for row, criterion in enumerate(self.criteria)
            for place in range(BINS)
        ]

    def _outcome(self, row: int, place: int) -> str:
        if self.counts[row, place] >= self.wanted:
            return "filled"
        return "impossible" if self.impossible[row, place] else "not found"

    def lines(self) -> list[str]:
        """The lines of a file for `read_answers`, with an empty column `answer` to fill."""
        cutoff = len(self.examples[0].a) if self.examples else 0
        names = [column for scale in self.grades for column in grade_columns(scale, cutoff)]
        return [
            "\t".join(["answer", "query", *documents(cutoff), *names]),
            *("\t".join(self._fields(example)) for example in self.examples),
        ]

    def _fields(self, example: Example) -> list[str]:
        listed = [*example.a, *example.b]
        grades = [f"{of[Pair(example.query, document)]:g}" for of in self.grades.values() for document in listed]
        return ["", example.query, *listed, *grades]


def balanced_examples(
    grades: Mapping[str, Mapping[Pair, float]],
    criteria: Sequence[ScaledMeasure],
    seed: int | np.random.Generator = 0,
    *,
    cutoff: int = 5,
    wanted: int = 200,
    tries: int = 20_000,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ExampleSet:
    """Pairs of lists such that every criterion has enough examples in every bin of the difference in score.

    grades    grades of the judged pairs, by name of scale; only pairs with a grade on every scale are used
    criteria  measures, each on one of these scales
    seed      seed of all draws, or a generator
    cutoff    length of the lists
    wanted    number of examples for each criterion and bin, at least 1
    tries     number of proposals without a new example after which a bin is given up, at least 1
    progress  called with the number of examples found or given up, and the number wanted

    The emptiest bin gets the next example, which also counts in the bins of all other criteria. Proposals are lists of
    one query's documents, drawn with a random preference for high or low grades. Urbano (2013), section 3.2.1; as
    there, bins that the judgments cannot fill stay incomplete.
    """
    if wanted < 1 or tries < 1:
        raise InputError(f"expected at least 1 example wanted and 1 try, got {wanted} and {tries}")
    shelf = _Shelf(_judged(grades, criteria, cutoff), criteria, cutoff, np.random.default_rng(seed))
    impossible = np.array([_impossible(criterion, cutoff) for criterion in criteria])
    given_up, counts = impossible.copy(), np.zeros((len(criteria), BINS), dtype=np.int64)
    chosen: list[Example] = []
    while (short := ~given_up & (counts < wanted)).any():
        row, place = divmod(int(np.argmin(np.where(short, counts, wanted))), BINS)
        found = shelf.take(row, place, tries)
        if found is None:
            given_up[row, place] = True
        else:
            chosen.append(found[0])
            counts[np.arange(len(criteria)), found[1]] += 1
        progress(int(np.where(given_up, wanted, np.minimum(counts, wanted)).sum()), counts.size * wanted)
    return ExampleSet(tuple(chosen), grades, tuple(criteria), counts, wanted, impossible)


def _impossible(criterion: ScaledMeasure, cutoff: int) -> Booleans:
    """(10,) True for bins that no difference can reach, by exhaustive search; all False if there are too many lists."""
    levels = criterion.levels
    if len(levels) ** cutoff > ENUMERABLE:
        return np.zeros(BINS, dtype=bool)
    every = np.array(list(product(levels, repeat=cutoff)))
    scores = np.unique(thousandths(criterion.score_levels(every)))
    reached = bins(np.abs(scores[:, None] - scores))
    return ~np.isin(np.arange(BINS), reached)


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """The documents of q queries, at most n each, with all their grades.

    documents  documents of each query
    grades     (q, n) grades by name of scale; NaN where a query has fewer documents
    gains      (q, n) mean over the scales of grade / highest grade; NaN likewise
    """

    queries: list[str]
    documents: list[list[str]]
    grades: dict[str, Array]
    gains: Array


def _judged(grades: Mapping[str, Mapping[Pair, float]], criteria: Sequence[ScaledMeasure], cutoff: int) -> _Judged:
    scales = _checked_scales(grades, criteria, cutoff)
    known = set.intersection(*(set(of) for of in grades.values()))
    by_query = grouped(sorted(known))
    enough = {query: listed for query, listed in by_query.items() if len(listed) >= cutoff}
    if not enough:
        raise not_judged(f"no query has {cutoff} documents with a grade on the scale {' and '.join(grades)}")
    tables = {name: _table(enough, grades[name]) for name in scales}
    gains = np.mean([tables[name] / scale.maximum for name, scale in scales.items()], axis=0)
    return _Judged(list(enough), list(enough.values()), tables, gains)


def _checked_scales(
    grades: Mapping[str, Mapping[Pair, float]], criteria: Sequence[ScaledMeasure], cutoff: int
) -> dict[str, Scale]:
    """The scales of the criteria by name, after a check that their grades are valid."""
    scales = {criterion.scale.name: criterion.scale for criterion in criteria}
    if not scales:
        raise InputError("expected at least one measure to balance the examples by")
    for criterion in criteria:
        if criterion.measure.cutoff > cutoff:
            raise InputError(f"{criterion.measure} needs longer lists than {cutoff} documents")
    for name, scale in scales.items():
        if name not in grades:
            raise InputError(f"there are no grades on the {name} scale, only on {', '.join(grades) or 'none'}")
        for pair, grade in grades[name].items():
            if not 0 <= grade <= scale.maximum:
                raise InputError(f"grade {grade:g} of {pair.query} and {pair.document} is not on the {name} scale")
    return scales


def _table(documents: Mapping[str, list[str]], grades: Mapping[Pair, float]) -> Array:
    """(q, n) the grades of the documents of each query; NaN after the last."""
    table = np.full((len(documents), max(map(len, documents.values()))), np.nan)
    for row, (query, listed) in enumerate(documents.items()):
        table[row, : len(listed)] = [grades[Pair(query, document)] for document in listed]
    return table


class _Shelf:
    """Proposed examples with their bins, kept until they are taken or too many."""

    def __init__(
        self, judged: _Judged, criteria: Sequence[ScaledMeasure], cutoff: int, rng: np.random.Generator
    ) -> None:
        self.judged, self.criteria, self.cutoff, self.rng = judged, criteria, cutoff, rng
        self.queries = np.empty(0, dtype=np.int64)
        self.lists = np.empty((0, 2, cutoff), dtype=np.int64)
        self.bins = np.empty((0, len(criteria)), dtype=np.int64)
        self.taken: set[tuple[str, frozenset[tuple[str, ...]]]] = set()

    def take(self, row: int, place: int, tries: int) -> tuple[Example, Integers] | None:
        """An example in this bin, and its bins; None if this many new proposals give none."""
        drawn = 0
        while True:
            for found in np.flatnonzero(self.bins[:, row] == place).tolist():
                example, places = self._example(found), self.bins[found].copy()
                self.bins[found] = -1
                if self._is_new(example):
                    return example, places
            if drawn >= tries:
                return None
            drawn += self._propose(min(BATCH, tries - drawn))

    def _is_new(self, example: Example) -> bool:
        key = (example.query, frozenset([example.a, example.b]))
        if example.a == example.b or key in self.taken:
            return False
        self.taken.add(key)
        return True

    def _example(self, found: int) -> Example:
        query = int(self.queries[found])
        documents = self.judged.documents[query]
        a, b = (tuple(documents[i] for i in listed) for listed in self.lists[found].tolist())
        return Example(self.judged.queries[query], a, b)

    def _propose(self, count: int) -> int:
        """Add new proposals to the shelf, and drop the oldest.

        A list is drawn without replacement with weights exp(lean x gain), where the lean is a normal number times one
        of STEEPNESS. Sorting by falling lean x gain + Gumbel noise is such a draw.
        """
        query = self.rng.integers(len(self.judged.queries), size=count)
        gains = self.judged.gains[query][:, None, :]
        lean = self.rng.normal(size=(count, 2, 1)) * self.rng.choice(STEEPNESS, size=(count, 2, 1))
        keys = lean * gains + self.rng.gumbel(size=(count, 2, gains.shape[2]))
        lists = np.argsort(-keys, axis=2)[:, :, : self.cutoff]  # NaN, where a query has no more documents, sorts last
        places = np.stack([self._places(criterion, query, lists) for criterion in self.criteria], axis=1)
        kept = slice(-SHELF * BATCH, None)
        self.queries = np.concatenate([self.queries, query])[kept]
        self.lists = np.concatenate([self.lists, lists])[kept]
        self.bins = np.concatenate([self.bins, places])[kept]
        return count

    def _places(self, criterion: ScaledMeasure, query: Integers, lists: Integers) -> Integers:
        grades = self.judged.grades[criterion.scale.name][query[:, None, None], lists]
        rounded = thousandths(criterion.score(grades))
        return bins(np.abs(rounded[:, 0] - rounded[:, 1]))


def sample_study(
    collection: object,
    output: str | Path | None = None,
    measures: Sequence[str] = ("CG@5",),
    scales: Sequence[str] = (),
    wanted: Annotated[int, Ge(1)] = 200,
    cutoff: Annotated[int, Ge(1)] = 5,
    *,
    judgments: object = None,
    scale: str | None = None,
    seed: int = 0,
) -> ExampleSet:
    """Choose pairs of lists to show people, from judged documents, so that they cover all differences in score.

    The file has an empty column `answer`: fill it and run `audiosim satisfaction FILE`. Differences in score are listed
    if no two lists can have them, or if too few were found.

    collection  `Collection` or its folder, judged
    output      file for people's answers; None: not written
    scales      artificial scales such as graded-4 to balance over, besides that of the judgments
    wanted      examples for each measure, scale and tenth of difference
    cutoff      length of the lists
    judgments   as for `estimate`, as is scale

    Example: `audiosim study sample demo --judgments demo/truth.qrels --scale graded-4 -o answers.tsv`
    """
    check_output_file(output)
    collection = on_scale(collection, scale, judgments)
    own = collection.scale
    gradings = [None, *(find_grading(name, own) for name in scales if name != own.name)]
    criteria = [ScaledMeasure(as_measure(text), own, grading) for grading in gradings for text in measures]
    with progress("choosing") as show:
        found = balanced_examples(
            {own.name: collection.grades()},
            criteria,
            seed,
            cutoff=cutoff,
            wanted=wanted,
            progress=show,
        )
    if output is not None:
        write_text(Path(output), found.lines())
    return replace(found, file=output)
