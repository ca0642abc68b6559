"""Subject of a statement about systems: the queries that there are or others of their kind, and whose judgments."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from audiosim.errors import InputError
from audiosim.relevance.judges import Who

QueriesMeant = Literal["these", "queries"]
PEOPLE_MEANT = ("panel", "listeners")
QUERIES_IN_WORDS = {"these": "these queries", "queries": "queries of this kind"}


@dataclass(frozen=True, slots=True)
class About:
    """Subject of a statement about systems, such as a confidence, an interval or a verdict.

    queries    `these`: the collection's own, so that only judgments that are missing leave a doubt; `queries`: those of
               this kind at large, of which the collection's are a random sample
    listeners  `panel`: relevance as those who judged have it, each of them judging every pair; `listeners`: as people
               like them have it in the mean; or a number of people, those who judged among them
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
        """The subject that some words stand for, at most one of each axis: these or queries, panel, listeners or N.

        words      such as "queries", ["queries", "listeners"] or "queries+listeners"

        otherwise  what holds on an axis that no word is of; `About()` where None
        """
        found = dict((otherwise or cls()).to_dict())
        named: dict[str, str] = {}
        for word in words.split("+") if isinstance(words, str) else words:
            axis = "listeners" if _are_people(word) else "queries"
            if axis == "queries" and word not in get_args(QueriesMeant):
                raise InputError(
                    f"a statement is about these or queries, and panel, listeners or a number of people; got {word!r}"
                )
            if named.setdefault(axis, word) != word:
                raise InputError(f"a statement is about {named[axis]} or {word}, not both")
        found |= named
        return cls(found["queries"], found["listeners"])  # type: ignore[arg-type]

    @property
    def words(self) -> str:
        """The subject in words: "these queries", "queries of this kind", "these queries, listeners at large"."""
        people = {"panel": "", "listeners": ", listeners at large"}
        return QUERIES_IN_WORDS[self.queries] + people.get(self.listeners, f", a panel of {self.listeners}")

    @property
    def written(self) -> str:
        """The subject as `parse` reads it, in one word, such as "queries+listeners"."""
        people = [] if self.listeners == "panel" else [self.listeners]
        return "+".join([*([] if people and self.queries == "these" else [self.queries]), *people])

    @property
    def whose(self) -> Who:
        """People whose mean opinion is meant."""
        if self.listeners == "panel":
            return "panel"
        return "listeners" if self.listeners == "listeners" else int(self.listeners)

    def to_dict(self) -> dict[str, str]:
        """The subject as plain values, ready for JSON."""
        return {"queries": self.queries, "listeners": self.listeners}


def _are_people(word: str) -> bool:
    return word in PEOPLE_MEANT or (word.isascii() and word.isdigit() and int(word) > 0)


THESE, OF_THIS_KIND = About("these"), About("queries")


def as_about(about: About | str | Iterable[str], otherwise: About = THESE) -> About:
    """The subject that a value or some words stand for.

    otherwise  what holds on an axis that no word is of
    """
    return about if isinstance(about, About) else About.parse(about, otherwise)
