"""Plan of a training."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date as calendar_date

from audiosim.errors import ArgumentError, InputError, of_argument
from audiosim.ordinal.features import AUDIO, FEATURES, check_terms, factors, needs_judgments
from audiosim.text import repeated
from audiosim.training.examples import AT_HOME

# Notes on a training, kept in its report.


class Notes:
    """Sentences for the report, also shown when they are added."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.said: list[str] = []
        self._say = say

    def add(self, *sentences: str) -> None:
        for sentence in sentences:
            self.said.append(sentence)
            self._say(sentence)


LISTS = {
    "output": ("fSYS", "OV", "fSYS:OV", "fART", "sGEN", "fGEN", "sGEN:fGEN"),
    "teams": ("fTEAM", "OV", "fART", "sGEN", "fGEN", "sGEN:fGEN"),
    "judgment": ("fSYS", "aSYS", "aART"),
    "audio": tuple(feature.name for feature in AUDIO),
}
JOINT = "joint"


@dataclass(frozen=True)
class Plan:
    """Plan of a training.

    terms         features and products a:b
    name          name of the model
    folds         number of folds of queries for validation; 0 for none
    eliminate     level of significance for backward elimination; None for none
    fallback      name or file of the model for pairs with an unknown feature; None: the historical one of the
                  same levels, or if none is published, the shares of the levels here
    date          date of the training, ISO 8601
    judged        shares, in [0, 1), of each held-out query that are judged in further rounds of the validation
    seed          seed of the draws of these judgments
    joint         True to also model the correlation of judgments; the terms must then not use judgments
    """

    terms: tuple[str, ...]
    name: str = "trained"
    folds: int = 10
    eliminate: float | None = None
    fallback: str | None = None
    date: str | None = None
    judged: tuple[float, ...] = ()
    seed: int = 0
    joint: bool = False

    def __post_init__(self) -> None:
        if not self.terms:
            raise ArgumentError("features", "the list of features is empty")
        if (twice := repeated(self.terms)) is not None:
            raise ArgumentError("features", f"feature {twice} is given twice, expected it once")
        with of_argument("features"):
            check_terms(self.terms, lists=[*LISTS, JOINT])
        if self.folds < 0 or self.folds == 1:
            raise ArgumentError("folds", f"expected at least 2 folds, or 0 for none, got {self.folds}")
        if self.eliminate is not None and not 0 < self.eliminate < 1:
            raise ArgumentError(
                "eliminate", f"the level of elimination must be between 0 and 1, got {self.eliminate:g}"
            )
        readers = sorted(name for name in self.features if needs_judgments([name]))
        if self.joint and readers:
            raise InputError(f"a joint model reads the judgments itself: {readers[0]} must not be among its features")
        if self.date is not None:
            _check_date(self.date)
        if self.judged:
            self._check_judged()

    def _check_judged(self) -> None:
        out = next((share for share in self.judged if not 0 <= share < 1), None)
        if out is not None:
            raise ArgumentError("judged", f"a judged share must be from 0 to below 1, got {out:g}")
        if self.seed < 0:
            raise InputError(f"the seed must be 0 or more, got {self.seed}")
        if not self.folds:
            raise InputError("judged shares need folds, as they are shares of held-out queries")
        if not self.joint and not any(FEATURES[name].reads in AT_HOME for name in self.features):
            raise InputError("judged shares have no effect: no feature uses the judgments of its own query")

    @property
    def features(self) -> set[str]:
        """The features that the terms multiply."""
        return {name for term in self.terms for name in factors(term)}


def parse_terms(text: str) -> tuple[str, ...]:
    """The terms in a list such as `output`, `fSYS,fGEN,fSYS:fGEN` or `output,aSYS`; names of LISTS are expanded.

    `joint` is not a term, see `is_joint`; by itself it means `teams`.
    """
    words = [word for word in _words(text) if word != JOINT] or (["teams"] if is_joint(text) else [])
    return tuple(term for word in words for term in LISTS.get(word, (word,)))


def is_joint(text: str) -> bool:
    """True if a list of features includes `joint`: the model then also has the correlation of judgments."""
    return JOINT in _words(text)


def plan_of(features: str) -> Plan:
    """The plan with a list of features, and defaults otherwise."""
    return Plan(parse_terms(features), joint=is_joint(features))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _check_date(text: str) -> None:
    try:
        calendar_date.fromisoformat(text)
    except ValueError:
        raise ArgumentError("date", f"expected a date such as 2011-10-24, got {text!r}") from None
