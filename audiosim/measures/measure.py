"""Measures by name: parsing of text, and the measures of audiosim and of installed packages."""

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from audiosim.collection.values import Scale
from audiosim.errors import InputError, of_argument
from audiosim.measures import binary, cascade, cumulative, levels
from audiosim.measures.definition import (
    FORM,
    GAIN,
    IDEAL,
    MINIMUM,
    NAME,
    Definition,
    Measure,
    Parameter,
    ParameterValue,
    judged_ideal,
)
from audiosim.measures.lists import GradedLists, discounted, share_of
from audiosim.plugins import ExtensionPoint, an_instance
from audiosim.stats.arrays import Array
from audiosim.stats.inference.ties import at_ends
from audiosim.text import repeated

__all__ = [
    "FORM",
    "GAIN",
    "IDEAL",
    "MEASURES",
    "MINIMUM",
    "WRITTEN",
    "Definition",
    "Measure",
    "Parameter",
    "ParameterValue",
    "as_measure",
    "judged_ideal",
    "parse_measure",
    "with_cutoff",
]

# Spellings of ir_measures for parameters that mean the same here.
SPELLINGS = {("nDCG", "dcg", "log2"): ("gain", "linear"), ("nDCG", "dcg", "exp-log2"): ("gain", "exponential")}
NAMES = rf"{NAME}(?:[ _-]{NAME})*"
WRITTEN = re.compile(rf"(?P<name>{NAMES})(\((?P<parameters>[^()]*)\))? *@ *(?P<cutoff>[0-9]{{1,6}})")
MEASURES: Mapping[str, Definition] = {
    definition.name: definition
    for module in (binary, cumulative, cascade, levels)
    for definition in vars(module).values()
    if isinstance(definition, Definition)
}
# What other tools call these measures, in small letters without spaces, underscores and hyphens.
ELSEWHERE = {
    **dict.fromkeys(("precision", "prec"), "P"),
    **dict.fromkeys(("map", "mapcut", "averageprecision", "meanaverageprecision"), "AP"),
    "ndcgcut": "nDCG",
    **dict.fromkeys(("mrr", "reciprank", "reciprocalrank", "meanreciprocalrank"), "RR"),
}
# Measures of other tools that audiosim lacks, and what is nearest to them.
RECALL = "recall is no measure here; AP(rel=1) and nDCG also count relevant documents missed"
HIT_RATE = "hit rate is no measure here; RR also asks for one hit"
WHOLE = "it counts the whole ranking and is no measure here; AP, with a cutoff such as AP@5, is nearest"
ABSENT = (
    dict.fromkeys(("r", "recall"), RECALL)
    | dict.fromkeys(("success", "hit", "hits", "hitrate", "hr"), HIT_RATE)
    | dict.fromkeys(("bpref", "rprec", "infap", "gmmap"), WHOLE)
)
# A cutoff as trec_eval writes it, ndcg_cut_5 or P.10, or as people do, precision at 10 or P 10.
CUT = re.compile(rf"(?P<name>{NAMES}?)(?:[._]| +at +| +)(?P<cutoff>[0-9]{{1,6}})")
MEASURE_POINT = ExtensionPoint(
    "audiosim.measures", "measure", lambda: MEASURES, an_instance(Definition, "a Definition of a measure")
)


def as_measure(measure: str | Measure, cutoff: int | None = None) -> Measure:
    """A measure, parsed if given as text; a text without a cutoff gets this one."""
    if isinstance(measure, Measure):
        return measure
    with of_argument("measure"):
        if not isinstance(measure, str):
            raise InputError(f"expected one measure such as 'CG@5', got {measure!r}")
        return parse_measure(with_cutoff(measure, cutoff))


def with_cutoff(text: str, cutoff: int | None) -> str:
    """The text of a measure, with this cutoff if it has none: CG is CG@10 in a collection with cutoff 10.

    A cutoff as trec_eval or people write it is understood: ndcg_cut_5, ndcg_cut.5 and ndcg at 5 are nDCG@5.
    """
    if "@" in text or text in MEASURE_POINT.names():
        return text if cutoff is None or "@" in text else f"{text}@{cutoff}"
    if (parts := CUT.fullmatch(text)) is not None:
        return f"{_named(parts['name']).name}@{parts['cutoff']}"
    # What is no measure keeps its spelling, for the error.
    return text if cutoff is None or not WRITTEN.fullmatch(f"{text}@{cutoff}") else f"{text}@{cutoff}"


def parse_measure(text: str) -> Measure:
    """The measure in a text such as CG@5 or RBP(p=0.5,ideal=user)@10: one of audiosim's or of an installed package."""
    parts = WRITTEN.fullmatch(with_cutoff(text, None)) if isinstance(text, str) else None
    if parts is None:
        if isinstance(text, str) and re.fullmatch(NAMES, text):
            raise InputError(f"measure {text!r} has no cutoff, expected one such as {_named(text).name}@5")
        known = ", ".join(MEASURE_POINT.names())
        raise InputError(f"unknown measure {text!r}, expected a name and a cutoff such as CG@5; the names are {known}")
    definition = _named(parts["name"])
    name = definition.name
    chosen = [SPELLINGS.get((name, *one), one) for one in _parse_parameters(text, parts["parameters"])]
    if (twice := repeated(parameter for parameter, _ in chosen)) is not None:
        raise InputError(f"{text}: {twice} is written twice, expected it once")
    return Measure(definition, int(parts["cutoff"]), tuple(chosen))


def _named(name: str) -> Definition:
    """The measure with this name; failing that, audiosim's with it in any case, or with the name other tools use."""
    plain = re.sub("[ _-]", "", name).lower()
    own = {known.lower(): known for known in MEASURES} | ELSEWHERE
    if name in MEASURES or name in MEASURE_POINT.names():
        return MEASURE_POINT.find(name)
    try:
        return MEASURE_POINT.find(own.get(plain, name))
    except InputError as error:
        if plain not in ABSENT:
            raise
        raise InputError(f"{error}; {ABSENT[plain]}") from None


def _parse_parameters(text: str, written: str | None) -> list[tuple[str, str]]:
    parameters = []
    for part in [] if written is None else written.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise InputError(f"{text}: expected parameters such as gain=exponential in brackets, got {part.strip()!r}")
        parameters.append((name, value.strip("'\"")))
    return parameters


# Scores of rankings from grades, for all forms of every measure.


def score(measure: Measure, scale: Scale, grades: Array, judged: Array) -> Array:
    """(...,) scores of rankings, all at once.

    scale   scale of the grades
    grades  (..., n) grade at each rank, best rank first; NaN where nothing was retrieved, as after rank n
    judged  (..., m) grades of all judged documents of the query, best first, 0 after the last; its shape may be that of
            the queries alone, (q, m) for grades (s, q, n)
    """
    found = as_defined(measure, scale, grades, judged)
    return at_ends(found) if measure.bounded else found


def as_defined(measure: Measure, scale: Scale, grades: Array, judged: Array) -> Array:
    """Scores as the definition of a measure returns them: of any type if it breaks the contract."""
    lists = grades[..., : measure.cutoff]
    if measure.definition.score is not None:
        return measure.definition.score(measure, scale, lists, judged)
    return _weighted(GradedLists(measure, scale, lists, judged))


def _weighted(of: GradedLists) -> Array:
    """(...,) score of a measure that defines only the weights of its ranks, 0 to 1.

        sum over i <= k of  g_i w_i / sum over i <= k of  best_i w_i

    where best is the gain of the highest grade at every rank or, for a relative measure, that of the ideal ranking.
    """
    weights = of.measure.rank_weights
    assert weights is not None, "a definition has a score or weights of ranks"
    best = of.gain(of.judged) if of.measure.relative else np.full(of.cutoff, of.highest)
    return share_of(discounted(of.gains, weights), discounted(best, weights))


def beyond_in_words(measure: Measure, scale: Scale, beyond: int, judged: int, what: str = "judgments") -> str:
    """A sentence on judgments of documents that are in no ranking: unused, or part of the ideal ranking alone.

    beyond  number of these
    """
    counts, place = f"{beyond:,} of {judged:,} {what}", f"in its first {measure.cutoff} results"
    use = f"uses {counts} only for the ideal ranking" if has_judged_ideal(measure, scale) else f"leaves {counts} unused"
    return f"{measure} {use}: no system has their documents {place if measure.cutoff > 1 else 'as its first result'}"


RELEVANT = 0.4  # share of the highest grade: the binary scale that works best, Urbano (2013), section 3.3.1


def usual_minimum(scale: Scale, above: float) -> float:
    """The grade from which on to count results as relevant: nearest to RELEVANT of the highest, above another one."""
    possible = np.array([grade for grade in scale.levels if grade > above])
    return float(possible[np.argmin(np.abs(possible - RELEVANT * scale.maximum))])


@lru_cache(maxsize=64)  # a service is asked about any number of measures
def has_judged_ideal(measure: Measure, scale: Scale) -> bool:
    """True if scores depend on judged documents that are not in the ranking."""
    lists = np.array(scale.levels[1:])[:, None]
    most = np.concatenate([np.full((len(lists), measure.cutoff), scale.maximum), lists], axis=1)
    return not np.array_equal(score(measure, scale, lists, lists), score(measure, scale, lists, most))
