"""Our measures for users of the package ir_measures:

    import ir_measures
    from audiosim.measures.ir_measures import register

    register()
    ir_measures.calc_aggregate([ir_measures.parse_measure("Q(beta=0.5)@5")], qrels, run)

ir_measures does not discover providers, so call `register` once. It adds Q, GAP, ADR and EDCG with their parameters,
and computes the ERR of ir_measures, which is gdeval's.

An unjudged document gains 0, as in all of ir_measures. Equal scores are ordered as in trec_eval.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import ir_measures
from ir_measures import measures, providers
from ir_measures.providers.base import Any as AnyValue
from ir_measures.util import TYPE_QREL, TYPE_RUN, QrelsConverter, RunConverter

from audiosim.collection.values import CodedJudgments, Pair, Scale
from audiosim.errors import InputError
from audiosim.measures.measure import MEASURES, Measure
from audiosim.measures.scores import JudgedRuns, grades_of

GDEVAL_HIGHEST = 4
INFO = measures.ParamInfo


def _parameters(name: str) -> dict[str, measures.ParamInfo]:
    """Parameters of one of our measures, in the form of ir_measures."""
    own = {
        parameter.name: INFO(
            dtype=str if parameter.choices or parameter.pattern else (int, float), desc=parameter.expected
        )
        for parameter in MEASURES[name].parameters
    }
    highest = INFO(dtype=int, desc="highest relevance of the scale; the highest in the qrels if not provided")
    return {"cutoff": INFO(dtype=int, required=True, desc="last rank that counts"), **own, "max_rel": highest}


def _added(name: str, words: str, text: str) -> type[measures.Measure]:
    """One of our measures, in the form of ir_measures."""
    known = {"__name__": name, "NAME": name, "PRETTY_NAME": words, "SHORT_DESC": text}
    return type(f"_{name}", (measures.Measure,), known | {"SUPPORTED_PARAMS": _parameters(name)})


ADDED = (
    _added("Q", "Q-measure", "Average precision for graded relevance: precision blended with cumulative gain."),
    _added(
        "GAP",
        "Graded Average Precision",
        "Expected average precision over users with different thresholds of relevance.",
    ),
    _added("ADR", "Average Dynamic Recall", "Recall of the documents due so far, averaged over ranks."),
    _added("EDCG", "Expected Discounted Cumulative Gain", "Expected gain of the document at which a user stops."),
)


class AudiosimProvider(providers.Provider):  # type: ignore[misc]
    """Computes Q, GAP, ADR, EDCG and ERR."""

    NAME = "audiosim"
    SUPPORTED_MEASURES: ClassVar = [kind(cutoff=AnyValue(required=True)) for kind in (*ADDED, measures._ERR)]

    def _evaluator(self, wanted: Iterable[measures.Measure], qrels: TYPE_QREL) -> "_Evaluator":
        return _Evaluator(list(wanted), QrelsConverter(qrels).as_dict_of_dict())


class _Evaluator(providers.Evaluator):  # type: ignore[misc]
    def __init__(self, wanted: list[measures.Measure], qrels: dict[str, dict[str, int]]) -> None:
        super().__init__(wanted, set(qrels))
        self.judged = {
            query: {document: float(grade) for document, grade in grades.items() if grade >= 0}
            for query, grades in qrels.items()
        }

    def _iter_calc(self, run: TYPE_RUN) -> Iterator[ir_measures.Metric]:
        retrieved = RunConverter(run).as_dict_of_dict()
        rankings = {query: _best_first(found) for query, found in retrieved.items() if query in self.judged}
        given = {Pair(query, one): grade for query in rankings for one, grade in self.judged[query].items()}
        coded = CodedJudgments.of(given)
        deepest = max(measure["cutoff"] for measure in self.measures)
        queries, grades, judged = grades_of("qrels", [rankings], coded, deepest, "zero")
        for measure in self.measures:
            runs = JudgedRuns(_scale(measure, self.judged), ("run",), queries, grades, judged, deepest)
            values = runs.scores(_ours(measure, runs.scale)).values[0].tolist()
            for query, value in zip(queries, values, strict=True):
                yield ir_measures.Metric(query_id=query, measure=measure, value=value)


def _best_first(scores: dict[str, float]) -> tuple[str, ...]:
    return tuple(sorted(scores, key=lambda document: (scores[document], document), reverse=True))


def _scale(measure: measures.Measure, judged: dict[str, dict[str, float]]) -> Scale:
    """The relevances, of all whole ones from 0 to the highest, that the qrels or the measure name."""
    found = int(max((grade for grades in judged.values() for grade in grades.values()), default=1))
    least = GDEVAL_HIGHEST if measure.NAME == "ERR" else 1
    highest = measure.params.get("max_rel", max(found, least))
    if found > highest:
        raise InputError(f"max_rel of {measure} must be at least {found}, the highest in the qrels, got {highest}")
    named = {float(part.partition(":")[0]) for part in _thresholds(measure).split("/") if ":" in part}
    given = {grade for grades in judged.values() for grade in grades.values()}
    levels = {0.0, float(highest), *given, *(level for level in named if level.is_integer() and level <= highest)}
    return Scale("qrels", tuple(sorted(levels)))


def _thresholds(measure: measures.Measure) -> str:
    return str(measure.params.get("thresholds", "uniform"))


def _ours(measure: measures.Measure, scale: Scale) -> Measure:
    """Our name for a measure of ir_measures; gdeval's ERR has exponential gains and no ideal ranking.

    scale  some of the whole relevances: uniform thresholds between two of them are taken together at the higher one
    """
    chosen = {name: value for name, value in measure.params.items() if name not in ("cutoff", "max_rel")}
    if measure.NAME == "ERR":
        chosen = {"gain": "exponential", "form": "original"}
    if measure.NAME == "GAP" and _thresholds(measure) == "uniform":
        steps = zip(scale.levels, scale.levels[1:], strict=False)
        chosen["thresholds"] = "/".join(f"{high!r}:{(high - low) / scale.maximum!r}" for low, high in steps)
    return Measure(MEASURES[measure.NAME], measure["cutoff"], tuple(chosen.items()))


def register() -> AudiosimProvider:
    """Register our measures with ir_measures and its default pipeline; calling it again changes nothing."""
    known = providers.registry.get(AudiosimProvider.NAME)
    if isinstance(known, AudiosimProvider):
        return known
    for kind in ADDED:
        measures.register(kind())
    provider = AudiosimProvider()
    providers.register(provider)
    ir_measures.DefaultPipeline.providers.append(provider)
    return provider
