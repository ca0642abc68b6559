"""Arguments of Python callers: a collection as a folder, a Collection, or runs and judgments in memory."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from audiosim.collection.collection import Collection
from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.tables.memory import is_frame

Result = TypeVar("Result")
P = ParamSpec("P")


def as_collection(
    collection: object, judgments: object = None, scale: Scale | str | Sequence[float] | None = None
) -> Collection:
    """The collection of any of these forms, with the given judgments.

    collection  a Collection, its folder, or runs in memory: see `collection.kinds` for the forms
    judgments   judgments in memory, or a file; None: the collection's own
    scale       scale of these, or of a folder's; None: the collection's, or guessed
    """
    if isinstance(collection, str | Path):
        return Collection.load(collection, judgments, scale=scale)
    if not isinstance(collection, Collection):
        return Collection.from_frames(collection, judgments, scale=scale)
    return collection if judgments is None else collection.with_judgments(judgments, scale)


def judgments_second(function: Callable[P, Result], place: int = 1) -> Callable[P, Result]:
    """Let callers of a function pass judgments second: `estimate(runs, qrels)`.

    The usual second argument, a model or a measure, may then be named, or follow as the last one:
    `estimate(runs, qrels, model="mout")`, `evaluate(runs, qrels, "CG@5")`.

    place  place of the judgments if others come before, such as the names of two systems
    """
    second, *others = list(signature(function).parameters.values())[place:]
    most = place + 1 + sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in others)

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> Result:
        if len(given) <= place or not _is_judgments(given[place]):
            return function(*given, **named)
        if named.get("judgments") is not None:
            raise InputError("expected judgments once, got them as the second argument and as judgments=")
        usual = () if len(given) > most else (named.pop(second.name, second.default),)
        rearranged = cast(Callable[..., Result], function)
        before, after = given[:place], given[place + 1 :]
        return rearranged(*before, *usual, *after, **{**named, "judgments": given[place]})

    return called


def _is_judgments(given: object) -> bool:
    if isinstance(given, Sequence) and not isinstance(given, str):
        return not given or not isinstance(given[0], str)  # a list of measures is refused elsewhere
    ranx = hasattr(given, "to_dict") and not hasattr(given, "predict")
    return ranx or is_frame(given) or isinstance(given, Mapping)
