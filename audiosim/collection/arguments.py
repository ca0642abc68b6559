"""Arguments of Python callers: a collection as a folder, a Collection, or runs and judgments in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from audiosim.collection.aspects import MEAN, Aspects
from audiosim.collection.collection import Collection
from audiosim.collection.facts import NO_SCALE, check_judgments
from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import JudgmentSequence, Scale, as_scale, have_aspects
from audiosim.errors import InputError
from audiosim.tables.memory import is_frame
from audiosim.tables.table import Say

Argument = TypeVar("Argument")
Result = TypeVar("Result")
P = ParamSpec("P")


def as_collection(
    collection: object, judgments: object = None, scale: Scale | str | Sequence[float] | None = None
) -> Collection:
    """The collection of any of these forms, with the given judgments.

    collection  a Collection, its folder, or runs in memory: see `collection.kinds` for the forms
    judgments   judgments in memory, or a file; None: the collection's own
    scale       scale of a folder's judgments or of judgments in memory; None: the folder's, or guessed
    """
    if isinstance(collection, str | Path):
        if judgments is None or isinstance(judgments, str | Path):
            return Collection.load(collection, judgments, scale=scale)
        collection = Collection.load(collection, "none", scale=scale)
    if not isinstance(collection, Collection):
        said: list[str] = []
        if isinstance(judgments, str | Path):
            scale, judgments = _from(judgments, None if scale is None else as_scale(scale), said.append)
        made = Collection.from_frames(collection, judgments, scale=scale)
        return replace(made, guesses=(*said, *made.guesses))
    if judgments is None:
        return collection
    # A scale that was only assumed, as there were no judgments, is guessed from those that come now.
    assumed = NO_SCALE in collection.guesses
    given = None if assumed else collection.scale if collection.aspects is None else collection.aspects.scale
    said = []
    found, judged = _from(judgments, given, said.append)
    check_judgments(collection.runs, judged, judgments if isinstance(judgments, str | Path) else "judgments")
    if assumed and judged and found is not None:
        guesses = tuple(one for one in collection.guesses if one != NO_SCALE)
        collection = replace(collection, scale=found, guesses=guesses)
    return _judged(replace(collection, guesses=(*collection.guesses, *said)), judged)


def _from(judgments: object, scale: Scale | None, say: Say) -> tuple[Scale | None, JudgmentSequence]:
    none = isinstance(judgments, str | Path) and str(judgments) == "none"
    return (scale, ()) if none else read_judgments(judgments, scale, say)


def _judged(collection: Collection, judgments: JudgmentSequence) -> Collection:
    """A collection with other judgments, divided by aspect if they have any."""
    before, task = collection.aspects, collection.assessor_task
    if not have_aspects(judgments):
        return collection.judged_by(judgments)
    scale, aspect = (collection.scale, MEAN) if before is None else (before.scale, before.aspect)
    aspects = Aspects.of(scale, judgments, () if task is None else task.aspects, aspect)
    return replace(collection, judgments=aspects, scale=aspects.seen_on)


def judgments_in_place_of(second: Argument, judgments: object, usual: Argument) -> tuple[Argument, object]:
    """The second argument and the judgments; callers may pass judgments second: `estimate(runs, qrels)`.

    second  model or measure, or judgments in memory
    usual   default for the second argument, used if judgments were passed in its place
    """
    if not _is_judgments(second):
        return second, judgments
    if judgments is not None:
        raise InputError("expected judgments once, got them as the second argument and as judgments=")
    return usual, second


def judgments_second(function: Callable[P, Result]) -> Callable[P, Result]:
    """Let callers of a function pass judgments second: `estimate(runs, qrels)`.

    The usual second argument, a model or a measure, may then be named, or follow as the last one:
    `estimate(runs, qrels, model="mout")`, `evaluate(runs, qrels, "CG@5")`.
    """
    second, *others = list(signature(function).parameters.values())[1:]
    most = 2 + sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in others)

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> Result:
        if len(given) < 2 or not _is_judgments(given[1]):
            return function(*given, **named)
        if named.get("judgments") is not None:
            raise InputError("expected judgments once, got them as the second argument and as judgments=")
        usual = () if len(given) > most else (named.pop(second.name, second.default),)
        rearranged = cast(Callable[..., Result], function)
        return rearranged(given[0], *usual, *given[2:], **{**named, "judgments": given[1]})

    return called


def _is_judgments(given: object) -> bool:
    if isinstance(given, Sequence) and not isinstance(given, str):
        return not given or not isinstance(given[0], str)  # a list of measures is refused elsewhere
    ranx = hasattr(given, "to_dict") and not hasattr(given, "predict")
    return ranx or is_frame(given) or isinstance(given, Mapping)
