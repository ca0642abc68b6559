"""Subject of a statement about systems: the queries that there are or others of their kind, and whose judgments."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from audiosim.errors import InputError

QueriesMeant = Literal["these", "queries"]
ListenersMeant = Literal["panel"]
QUERIES_IN_WORDS = {"these": "these queries", "queries": "queries of this kind"}


@dataclass(frozen=True, slots=True)
class About:
    """Subject of a statement about systems, such as a confidence, an interval or a verdict.

    queries    `these`: the collection's own, so that only judgments that are missing leave a doubt; `queries`: those of
               this kind at large, of which the collection's are a random sample
    listeners  `panel`: relevance as these assessors judge it
    """

    queries: QueriesMeant = "these"
    listeners: ListenersMeant = "panel"

    def __post_init__(self) -> None:
        for name, word, known in (
            ("queries", self.queries, get_args(QueriesMeant)),
            ("listeners", self.listeners, get_args(ListenersMeant)),
        ):
            if word not in known:
                raise InputError(f"unknown {name} {word!r} of a statement, expected {' or '.join(known)}")

    @classmethod
    def parse(cls, words: str | Iterable[str], otherwise: "About | None" = None) -> "About":
        """The subject that some words stand for, at most one of each axis: these or queries, panel.

        otherwise  what holds on an axis that no word is of; `About()` where None
        """
        axes = {"queries": get_args(QueriesMeant), "listeners": get_args(ListenersMeant)}
        found = dict((otherwise or cls()).to_dict())
        named: dict[str, str] = {}
        for word in [words] if isinstance(words, str) else words:
            axis = next((name for name, known in axes.items() if word in known), None)
            if axis is None:
                raise InputError(f"a statement is about these or queries, and panel; got {word!r}")
            if named.setdefault(axis, word) != word:
                raise InputError(f"a statement is about {named[axis]} or {word}, not both")
        found |= named
        return cls(found["queries"], found["listeners"])  # type: ignore[arg-type]

    @property
    def words(self) -> str:
        """The queries in words: "these queries", or "queries of this kind"."""
        return QUERIES_IN_WORDS[self.queries]

    def to_dict(self) -> dict[str, str]:
        """The subject as plain values, ready for JSON."""
        return {"queries": self.queries, "listeners": self.listeners}


THESE, OF_THIS_KIND = About("these"), About("queries")


def as_about(about: About | str | Iterable[str], otherwise: About = THESE) -> About:
    """The subject that a value or some words stand for.

    otherwise  what holds on an axis that no word is of
    """
    return about if isinstance(about, About) else About.parse(about, otherwise)
