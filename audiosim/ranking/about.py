"""Subject of a statement about systems: these queries or queries of this kind, and the people who count."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from audiosim.errors import InputError
from audiosim.results.value import Value
from audiosim.text import did_you_mean

if TYPE_CHECKING:
    from audiosim.joint.people import Who


QueriesMeant = Literal["these", "queries"]
PEOPLE_MEANT = ("panel", "listeners")
EXPECTED = "a statement is about queries and people: expected these or queries, and panel, listeners or a number"
QUERIES_IN_WORDS = {"these": "these queries", "queries": "queries of this kind"}


@dataclass(frozen=True, slots=True)
class About(Value):
    """Subject of a statement about systems, such as a confidence, an interval or a verdict.

    queries    `these`: the collection's own queries, so that missing judgments are the only uncertainty; `queries`: all
               queries of this kind, of which the collection's are a random sample
    listeners  `panel`: mean opinion of the assessors, as if each judged every pair; `listeners`: mean opinion of all
               people like them; or a number: mean opinion of that many people, the assessors included
    """

    queries: QueriesMeant = "these"
    listeners: str = "panel"

    def __post_init__(self) -> None:
        if self.queries not in get_args(QueriesMeant):
            known = " or ".join(get_args(QueriesMeant))
            raise InputError(f"unknown queries {self.queries!r} of a statement, expected {known}")
        if not _are_people(self.listeners):
            known = f"{', '.join(PEOPLE_MEANT)} or a number of people"
            raise InputError(f"unknown listeners {self.listeners!r} of a statement, expected {known}")

    @classmethod
    def parse(cls, words: str | Iterable[str], otherwise: "About | None" = None) -> "About":
        """Subject given by words, at most one per axis: "these" or "queries"; "panel", "listeners" or a number.

        words      such as "queries", ["queries", "listeners"] or "queries+listeners"

        otherwise  subject on axes without a word; `About()` if None
        """
        found = dict((otherwise or cls()).to_dict())
        named: dict[str, str] = {}
        for word in _words_of(words):
            axis = "listeners" if _are_people(word) else "queries"
            if axis == "queries" and word not in get_args(QueriesMeant):
                raise InputError(f"{EXPECTED}; got {word!r}")
            if named.setdefault(axis, word) != word:
                raise InputError(f"a statement is about {named[axis]} or {word}, not both")
        found |= named
        return cls(found["queries"], found["listeners"])

    @property
    def words(self) -> str:
        """The subject in words: "these queries", "queries of this kind", "these queries, listeners at large"."""
        people = {"panel": "", "listeners": ", listeners at large"}
        return QUERIES_IN_WORDS[self.queries] + people.get(self.listeners, f", a panel of {self.listeners}")

    @property
    def written(self) -> str:
        """The subject as one word that `parse` reads, such as "queries+listeners"."""
        people = [] if self.listeners == "panel" else [self.listeners]
        return "+".join([*([] if people and self.queries == "these" else [self.queries]), *people])

    @property
    def whose(self) -> "Who":
        """People whose mean opinion counts."""
        if self.listeners == "panel":
            return "panel"
        return "listeners" if self.listeners == "listeners" else int(self.listeners)


def _words_of(words: object) -> list[str]:
    if isinstance(words, str):
        return words.split("+")
    if not isinstance(words, Iterable):
        raise InputError(f"{EXPECTED}; got {words!r}")
    return [str(word) for word in words]


def _are_people(word: str) -> bool:
    return word in PEOPLE_MEANT or (word.isascii() and word.isdigit() and int(word) > 0)


THESE, OF_THIS_KIND = About("these"), About("queries")


def as_about(about: About | str | Iterable[str], otherwise: About = THESE) -> About:
    """Subject from a value or from words.

    otherwise  subject on axes without a word
    """
    return about if isinstance(about, About) else About.parse(about, otherwise)


# Choices in the computation of expected scores, named as in the options.


# Distribution of a difference between systems: t as in the thesis, normal as in the paper of 2013; see `Ranking`.
DifferenceDistribution = Literal["t", "normal"]

# Form of the ideal ranking, if the measure has one, while judgments are missing; see `RatioScores`.
Ideal = Literal["ordered", "correlated", "independent"]


def check_named(given: object, what: str, known: object) -> None:
    """Raise an error unless a choice is among the known ones, a Literal."""
    *others, last = names = get_args(known)
    if given not in names:
        raise InputError(
            f"unknown {what} {given!r}, expected {', '.join(others)} or {last}{did_you_mean(str(given), names)}"
        )
