"""A collection: documents, queries, systems, runs and the judgments made so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from audiosim.corpus.model import FINE, Document, Judgment, Pair, Run, Scale
from audiosim.errors import InputError


@dataclass(frozen=True, eq=False)
class Collection:
    """One evaluation; in a folder, the files that the README lists.

    identifier       the folder's name; the service serves it under this
    name             for people
    scale            the grades an assessor may give
    cutoff           how deep a ranking counts when a measure does not say
    runs             one per system, at least one, no two of one system
    documents        what is known of each recording; those without a line are unknown
    query_documents  which document a query is; a query without an entry is the document of the same name
    teams            the team of each system; a system without an entry is a team of its own
    judgments        in the order they were made
    not_artists      values of `artist` that name no artist and count as unknown
    guesses          one sentence for each thing that the files leave open and that was guessed
    """

    identifier: str
    name: str
    scale: Scale
    cutoff: int
    runs: tuple[Run, ...]
    documents: Mapping[str, Document] = field(default_factory=dict)
    query_documents: Mapping[str, str] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)
    judgments: tuple[Judgment, ...] = ()
    not_artists: frozenset[str] = frozenset()
    guesses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.runs:
            raise InputError(f"collection {self.identifier} has no runs")
        names = [run.system for run in self.runs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"collection {self.identifier} has two runs of system {twice}")
        if self.cutoff < 1:
            raise InputError(f"cutoff must be at least 1, got {self.cutoff}")
        for judgment in self.judgments:
            self.scale.check(judgment.grade)

    def artist(self, document: str) -> str | None:
        """The artist of a document, None where unknown."""
        artist = self.documents[document].artist if document in self.documents else None
        return None if artist in self.not_artists else artist

    def genre(self, document: str) -> str | None:
        """The genre of a document, None where unknown."""
        return self.documents[document].genre if document in self.documents else None

    def query_document(self, query: str) -> str:
        """The document that a query is."""
        return self.query_documents.get(query, query)

    def team(self, system: str) -> str:
        """The team behind a system."""
        return self.teams.get(system, system)

    def grades(self) -> dict[Pair, float]:
        """The grade of each judged pair: the mean over its assessors of the last grade each gave it."""
        last: dict[Pair, dict[str, float]] = {}
        for judgment in self.judgments:
            last.setdefault(judgment.pair, {})[judgment.assessor] = judgment.grade
        return {pair: sum(grades.values()) / len(grades) for pair, grades in last.items()}
