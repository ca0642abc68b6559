"""Page of the reference with the JSON keys of every verb's answer.

Keys are those of the recorded answers, tests/answers, or the fields of a verb's result; their meanings are those of the
docstrings of the result and its parts, or else of the same key over HTTP.
"""

import ast
import importlib
import inspect
import json
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from audiosim.cli.verbs import COMMANDS, Group, Verb
from audiosim.results.value import Value
from audiosim.text import field_list, sentence

ANSWERS = Path(__file__).resolve().parents[1] / "tests" / "answers"
WITH_ROWS = ("rows", "to_dict", "pair_rows", "group_rows", "summary")  # methods whose docstrings name keys
BY_NAME = {"definitions", "unknown", "packages", "grades", "beyond", "aspects"}  # their keys are names of the data
ENDS = {
    "_low": "lower end of the 95 % interval of `{}`",
    "_high": "upper end of the 95 % interval of `{}`",
    "_error": "standard error of `{}`",
    "_error_error": "standard error of `{}_error`",
}
# What the docstrings of a result do not say, or say of another key of the same name: by the end of a key's path, after
# the verb's name for whole paths.
FIRST = {
    "a": "the first of the two systems: the better one by expected score, unless they were asked for in another order",
    "b": "the second of them",
    "systems": "a row for each system, the best first",
    "pairs": "a row for each pair of systems",
    "systems.low": "lower end of the 95 % interval of the score",
    "systems.high": "upper end of the 95 % interval of the score",
    "systems.expectation": "expected score by the measure",
    "systems.variance": "variance of the score",
    "systems.error": "standard error of the score; with draws only",
    "systems.top": "probability of being among the best `top_k`",
    "systems.satisfied": "share of the users whom the system satisfies",
    "systems.success": "P(Succ): the probability that most users are satisfied on a new query",
    "systems.users": "number of users of whom to say how many are satisfied",
    "pairs.expectation": "expected difference of the scores, `a` less `b`",
    "pairs.variance": "variance of that difference",
    "pairs.difference": "mean score of `a` less that of `b`",
    "pairs.low": "lower end of the 95 % interval of the difference",
    "pairs.high": "upper end of the 95 % interval of the difference",
    "pairs.confidence": "probability that `a` is better than `b`",
    "confidence": "probability that the order of two systems is right, on average over all pairs of systems",
    "documents.documents": "number of documents down to the cutoff, those of queries included",
    "runs.queries": "number of those queries that it answers",
    "runs.judged": "share of its results that are judged",
    "evidence.judged": "share of the pairs shown to the model",
    "compare expectation": "expected difference of the scores, `a` less `b`",
    "compare low": "lower end of the 95 % interval of the difference",
    "compare high": "upper end of the 95 % interval of the difference",
    "compare confidence": "probability that the one with the higher score is really better",
    "beside.low": "lower end of its 95 % interval",
    "beside.high": "upper end of its 95 % interval",
    "beside.confidence": "probability of the order, about those queries",
    "predict expectation": "expected grade of the pair",
    "predict variance": "variance of the pair's grade",
    "predict gain": "expectation as a share of the highest grade; the scores of `estimate` add up gains",
    "predict levels": "the grades that `probabilities` are of, in their order",
    "predict probabilities": "probability of each of `levels` as a single grade; their mean is the expectation, if "
    "each level counts as the mean of the grades judged in it",
    "predict model": "model that predicted the pair, which may be a fallback",
    "predict evidence": 'evidence used for the pair, such as "output, genre"',
    "about.queries": "`these`, the queries of the collection; or `queries`, any of their kind",
    "plan judgments": "further judgments until the goal, median of the simulated campaigns",
    "plan low": "lower end of the 80 % interval of `judgments`",
    "plan high": "upper end of the 80 % interval of `judgments`",
    "plan hours": "hours until the goal, all people judging at the same time",
    "plan listeners": "number of people judging at the same time",
    "plan unsettled": "pairs of systems that would still be open at the goal",
    "unsettled.queries": "queries of this kind that would separate them, if all were judged; null for over 10,000",
    "unsettled.confidence": "mean confidence in their order at the goal",
    "further.judgments": "number of judgments by then",
    "further.what": "as it is; another 100 judgments; another 100, by another person",
    "further.panel": "confidence about these people",
    "further.panel_width": "mean width of the 95 % intervals of scores about these people",
    "further.listeners": "confidence about listeners at large",
    "further.listeners_width": "mean width of the 95 % intervals about listeners at large",
    "otherwise.low": "lower end of the central 80 % of the drawn worlds",
    "otherwise.high": "upper end of the central 80 % of the drawn worlds",
    "systems.queries": "number of queries that it answers",
    "looks": "a row for each look, in order",
    "looks.best": "the best system by score",
    "looks.swapped": "pairs of systems whose order changed since the look before; null for the first",
    "looks.systems.score": "expected score by the measure",
    "questions kind": "grade or comparison",
    "questions documents": "the document of a grade, or the two of a comparison; empty if none of the kind is left",
    "questions seconds": "expected time of an answer",
    "questions relative": "information per second, as a share of that of the best kind",
    "disagreements spread": "standard deviation of the grades, standardised: 1 where people differ as usual here",
    "join gone": "number of pairs that left the pool with a replaced run",
    "join new": "number of pairs that entered the pool",
    "p": "p-value: the probability of so large a difference by chance",
    "judges kind": "a person or a machine",
    "judges favours": "system that they most surely grade differently, beyond their severity",
    "order-effects low": "lower end of the 95 % interval",
    "order-effects high": "upper end of the 95 % interval",
    "reliability *.queries": "number of queries",
    "agreement.above": "share of splits in which the system that is better on one half is better on the other",
    "agreement": "how far two halves of the queries agree",
    "bins.low": "lower end of the bin",
    "bins.high": "upper end of the bin",
    "bins.pairs": "number of answers in the bin",
    "bins.share": "share of the pairs that are in the right order",
    "bins.stated": "mean confidence in the bin",
    "curve.stated": "mean stated confidence",
    "by_part.stated": "mean stated confidence",
    "clear.stated": "mean stated confidence",
    "goals.stated": "mean stated confidence where judging stopped",
    "goals.reached": "share of the campaigns that met the goal",
    "clear.pairs": "number of such pairs of systems",
    "coverage.queries": "the same for scores on queries of this kind",
    "coverage.systems": "the same for scores on these queries",
    "calibration measure": "measure of the ranking",
    "calibration model": "model that predicts",
    "calibration learn": "features of a model learned for each part",
    "calibration rule": "selection rule that chose the pairs",
    "simulate model": "model that predicts",
    "simulate pool": "number of pairs in the pool",
    "curve.confidence": "stated confidence in the ranking",
    "report.calibration.actual": "mean grade of such rows",
    "report.calibration.expected": "mean expectation of ten groups of rows, from the lowest",
    "report.calibration.rows": "number of rows in the group",
    "report.coverage.actual": "share of sets of that level that hold the grade",
    "report.coverage.nominal": "stated level of the sets",
    "report.effects.drop_one": "likelihood-ratio chi squared of leaving the term out",
    "report.effects.type_two": "the same, without the products that contain the term",
    "report.levels.level": "the grade",
    "report.levels.rows": "number of judged rows with it",
    "report.queries": "number of queries",
    "report.scores.calibration_slope": "slope of the grades on their expectations; 1 is right",
    "report.scores.log_score": "minus the log of the probability of the grade given, on average; lower is better",
    "report.scores.mean_variance": "mean variance of the predictions",
    "report.scores.predictor": "the model, or one it is compared with",
    "report.scores.sample": "rows scored: in sample, held out, or unjudged",
    "robust_standard_error": "standard error that allows for related judgments",
    "standard_error": "standard error of the coefficient",
    "report.components": "the components again, each with its standard error",
    "train training.collections.pairs": "number of pairs in its pool",
    "training.collections.queries": "number of its queries",
    "worth evidence": "a row for each piece of evidence and share judged",
    "evidence.evidence": "the piece of evidence",
    "worth rmse": "error with all evidence, for each share judged",
    "evidence.rmse": "how much the error of held-out grades grows without it",
    "rmse.rmse": "root mean squared error of held-out grades, as a share of the highest grade",
}
# What no docstring of a result says in words for readers of JSON.
WORDS = {
    "accuracy": "share of the pairs of systems that are really in the stated order",
    "agree": "share of the answers that agree with the measure, at this difference",
    "agreement": "how far two samples of the queries agree",
    "alpha": "significance level of the test",
    "bins": "groups of pairs of systems, or of lists, with about the same statement",
    "brier": "mean squared distance of the confidence from 1 for a right order and 0 for a wrong one; lower is better",
    "by_part": "the same for each part of the queries",
    "calibration_error": "mean distance of the stated confidence from the share of right orders, over the bins",
    "checksum": "SHA-256 of the model",
    "claims": "number of pairs of systems with such a confidence",
    "clear": "the same for pairs of systems that differ clearly",
    "coefficient": "value of the coefficient",
    "coverage": "share of 95 % intervals that hold the true value",
    "coverage_50": "share of sets stated with 50 % that hold the grade",
    "coverage_80": "share of sets stated with 80 % that hold the grade",
    "coverage_95": "share of sets stated with 95 % that hold the grade",
    "cubic": "cubic polynomial fitted to the shares of satisfied users",
    "curve": "a row for each number of judgments",
    "dependability": "Phi: how stable the scores are over samples of queries, 0 to 1",
    "differences": "the same of differences of two systems",
    "disagree": "share of the answers that contradict the measure, at this difference",
    "distance_from_agreement": "mean distance from everybody agreeing with the measure",
    "distance_from_no_opposition": "mean distance from nobody contradicting the measure",
    "divergence": "distance of the two descriptions; lower is more similar",
    "drop_one_p": "p-value of leaving this term out of the whole model",
    "endpoint_bias": "distance of the curve from 0 for the lowest score and from 1 for the highest",
    "excess": "stated confidence minus the share of pairs really in the right order; above 0 it is too sure",
    "format": "version of the form of the file",
    "generalizability": "E rho squared: how stable the ranking is over samples of queries, 0 to 1",
    "global_conflict": "share of samples that find the opposite order of two systems significant",
    "goals": "a row for each goal: where judging stopped, and whether the order was right",
    "lists": "number of lists of results in the bin",
    "null_log_likelihood": "log likelihood of a model without features",
    "proximity": "mutual proximity of the two recordings, 0 to 1; higher is more similar",
    "queries_for_dependability": "queries needed for a dependability of .95",
    "queries_for_generalizability": "queries needed for a generalizability of .95",
    "r2": "share of the variance that the curve explains",
    "rates": "conclusions of two samples of the queries, by how they relate",
    "relative_error": "error of scores between systems, for each number of queries",
    "repeats": "number of repetitions",
    "residual": "standard deviation of what the curve leaves unexplained",
    "rmse": "root mean squared difference",
    "robust_p": "p-value from standard errors that allow for related judgments",
    "robust_z": "coefficient divided by a standard error that allows for related judgments",
    "rule": "what chose the pairs",
    "term": "name of the feature, or of a product of features",
    "turns": "number of pairs of systems whose order changed",
    "type_two_p": "p-value of adding this term to all others that do not contain it",
    "up_to": "number of queries in each half, at most",
    "weight": "weight of the pair by the selection rule: how much its judgment matters; compare within one answer only",
    "without": "the ranking without this person: how the scores, the best system and the confidence change",
    "z": "coefficient divided by its standard error",
}


def keys_parts(verbs: Iterable[tuple[str, Verb]], schemas: Mapping[str, Any]) -> list[str]:
    """Parts of the page with the keys of every verb's answer in JSON, and their meanings.

    schemas  those of the service's answers, by name
    """
    parts = [
        "# JSON keys",
        "Written from the program. `--format json` prints these keys, `to_dict()` of a result in Python has them, and "
        "the same quantity has the same key over [HTTP](http.md). A dot leads into an object or into each object of a "
        "list; `*` stands for a name, such as a measure's or a person's. Keys may be absent where they do not apply.",
    ]
    for name, verb in verbs:
        found = keys_of(name, verb, schemas)
        if found:
            rows = [f"| `{key}` | {sentence(words).replace('|', ' or ')} |" for key, words in found.items()]
            parts += [f"## {name}", "\n".join(["| key | meaning |", "|---|---|", *rows])]
    return parts


def keys_of(name: str, verb: Verb, schemas: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a verb's answer, dotted, in its order; their meanings, empty if nothing says it."""
    types = list(_classes(_returned(verb), set()))
    keys = dict.fromkeys(path for answer in recorded().get(name, ()) for path in paths(answer))
    if not keys and types and types[0].to_dict is Value.to_dict:
        keys = dict.fromkeys((one.name,) for one in fields(types[0]) if not one.name.startswith("_"))
    said = _of_http(schemas) | WORDS | _said_by(types)
    return {".".join(key): _for_json(_meaning(name, key, said)) for key in keys}


def _meaning(verb: str, key: tuple[str, ...], said: Mapping[str, str]) -> str:
    whole, last = ".".join(key), key[-1]
    for place in (f"{verb} {whole}", *(".".join(key[start:]) for start in range(len(key)))):
        if place in FIRST:
            return FIRST[place]
    if last == "*":
        return "by name" if len(key) > 1 else "the answer by measure"
    if last in said:
        return said[last]
    return next((words.format(last.removesuffix(end)) for end, words in ENDS.items() if last.endswith(end)), "")


def _for_json(words: str) -> str:
    """Words of a docstring in those of JSON, without shapes of arrays."""
    words = re.sub(r"^\([\w, ]+\) ", "", words)
    for ours, theirs in (("None", "null"), ("True", "true"), ("False", "false")):
        words = re.sub(rf"\b{ours}\b", theirs, words)
    return words


@cache
def recorded() -> dict[str, list[Any]]:
    """The recorded answers in JSON, by verb."""
    sys.path.insert(0, str(ANSWERS))
    from cases import COMMANDS as CASES

    answers, found = json.loads((ANSWERS / "answers.json").read_text(encoding="utf-8")), dict[str, list[Any]]()
    for name, typed, *_ in CASES:
        answer = answers.get(name, {}).get("out")
        if isinstance(answer, list | dict):
            verb = " ".join(typed[: 2 if isinstance(COMMANDS.get(typed[0]), Group) else 1])
            found.setdefault(verb, []).append(answer)
    return found


def paths(answer: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys of an answer, each with those that lead to it; names of the data are `*`."""
    if isinstance(answer, list):
        for one in answer:
            yield from paths(one, above)
    elif isinstance(answer, dict):
        for key, value in answer.items():
            here = (*above, "*" if (above[-1:] and above[-1] in BY_NAME) or "@" in key else key)
            yield here
            yield from paths(value, here)


def _returned(verb: Verb) -> Any:
    module, name = verb.function.split(":")
    function = inspect.unwrap(getattr(importlib.import_module(f"audiosim.{module}"), name))
    return _hints(function).get("return")


def _hints(of: Any) -> dict[str, Any]:
    """Type hints, also of names that their module imports for type checkers alone."""
    return typing.get_type_hints(of, localns=_names_for_checkers(of.__module__))


@cache
def _names_for_checkers(module: str) -> dict[str, Any]:
    nodes = ast.walk(ast.parse(inspect.getsource(importlib.import_module(module))))
    lazy = (node for block in nodes if isinstance(block, ast.If) for node in block.body)
    return {
        alias.name: getattr(importlib.import_module(node.module), alias.name)
        for node in lazy
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _classes(of: Any, seen: set[Any]) -> Iterator[Any]:
    """The dataclasses of a type and of its fields, to any depth."""
    for part in typing.get_args(of):
        yield from _classes(part, seen)
    if inspect.isclass(of) and is_dataclass(of) and of not in seen:
        seen.add(of)
        yield of
        for hint in _hints(of).values():
            yield from _classes(hint, seen)


def _said_by(types: list[Any]) -> dict[str, str]:
    """Words on fields and keys in the docstrings of classes, those of the first class first."""
    found = dict[str, str]()
    for one in types:
        methods = (getattr(one, name, None) for name in WITH_ROWS)
        for docstring in (one.__doc__, *(method.__doc__ for method in methods if method is not None)):
            for names, words in field_list(docstring or "")[1].items():
                found.setdefault(names, words)
    return found


def _of_http(schemas: Mapping[str, Any]) -> dict[str, str]:
    """Words on the properties of the service's answers, by key; those of the first schema that has it."""
    found = dict[str, str]()
    for schema in schemas.values():
        for name, said in schema.get("properties", {}).items():
            if said.get("description"):
                found.setdefault(name, said["description"])
    return found
