"""Reports on all judges of a collection: people first, then machines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from audiosim.collection.grading import on_scale
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Judgment, PairedComparison, mean_grades
from audiosim.errors import not_judged
from audiosim.joint.estimators import JOINT, after_judgments, estimator_of
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import Disagreement, JudgeReport, Panel
from audiosim.joint.posterior import Belief
from audiosim.joint.terms import EVIDENCE_KINDS, MACHINE_KIND, EvidenceKind
from audiosim.measures.measure import Measure
from audiosim.ordinal.evidence import machine_grades
from audiosim.people.effects import JudgeEffect, OrderEffect, PlacedGrade, judge_effects, order_effects, position_effect
from audiosim.people.machines import MachineReport, machine_reports
from audiosim.ranking.about import THESE, About
from audiosim.ranking.expected import expected_scores
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row, Value
from audiosim.text import counted

if TYPE_CHECKING:
    from altair import LayerChart

CHECKED = {  # columns by the fields of a SelfCheck
    "repeats": "repeats",
    "within_noise": "noise",
    "within_noise_low": "noise_low",
    "within_noise_high": "noise_high",
    "known": "known",
    "attention": "attention",
    "warnings": "warnings",
}


@dataclass(frozen=True, eq=False)
class Judges(Result):
    """Reports on all judges of a collection.

    people         reports on people, in the order of their first judgments
    machines       reports on machines, in the order of the collection
    effects        effects of people on the ranking, each left out in turn; most active first
    order_effects  drift of all people together, effect of the place on a page of several candidates, and preference for
                   the document shown first; each left out if too few answered
    checks         of people by pairs answered twice and by known pairs, by name: see `SelfCheck`
    """

    _index: ClassVar = ("judge",)

    people: tuple[JudgeReport, ...]
    machines: tuple[MachineReport, ...]
    effects: tuple[JudgeEffect, ...] = ()
    order_effects: tuple[OrderEffect, ...] = ()
    checks: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        pool: Pool,
        judgments: Sequence[Judgment],
        comparisons: Sequence[PairedComparison] = (),
        placed: Sequence[PlacedGrade] = (),
    ) -> "Judges":
        """Reports for a pool; an InputError if neither people nor machines judged.

        placed  grades from pages of several candidates
        """
        people = tuple(reports_on_people(pool, Panel.of(pool, judgments)))
        machines = tuple(reports_on_machines(pool, judgments))
        found = cls(people, machines, order_effects=all_order_effects(people, comparisons, placed))
        if not (found.people or found.machines or found.order_effects):
            raise not_judged(f"no person and no machine has judged a pair of {pool.collection}")
        return found

    def with_effects(
        self,
        measure: Measure,
        pool: Pool,
        judgments: Sequence[Judgment],
        count: int,
        about: About = THESE,
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> "Judges":
        """Reports with the effects of people on a ranking, up to a number of people, the most active first."""
        most = sorted((one for one in self.people if len(self.people) > 1), key=lambda one: -one.judgments)[:count]
        names = [one.judge for one in most if one.judgments]
        if not names:
            return self
        expected, estimator = expected_scores(measure, pool), estimator_of(pool, JOINT)
        found = judge_effects(expected, estimator, judgments, names, about=about, progress=progress)
        return replace(self, effects=tuple(found))

    def __repr__(self) -> str:
        return f"{counted(len(self.people), 'person')} and {counted(len(self.machines), 'machine')} who judge"

    def to_dict(self) -> list[dict[str, Any]]:
        """The reports as plain values, ready for JSON."""
        return [row | self._checked(row["judge"]) for row in self._reported()]

    def rows(self) -> list[dict[str, Any]]:
        """The reports with equal columns, without lists."""
        reported = [{**row, **(row.pop("without", None) or {})} for row in self._reported()]
        rows = [row | self._checked(row["judge"]) for row in reported]
        columns = dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, list))
        return [{key: row.get(key) for key in columns} for row in rows]

    def _reported(self) -> list[dict[str, Any]]:
        effects = {one.judge: one.summary() for one in self.effects}
        people = (one.to_dict() | ({"without": effects.get(one.judge)} if effects else {}) for one in self.people)
        return [*people, *(one.to_dict() for one in self.machines)]

    def _checked(self, name: str) -> dict[str, Any]:
        """Checks of a person, as columns; none without checks."""
        if not self.checks:
            return {}
        if name not in self.checks:
            return dict.fromkeys(CHECKED)
        row = self.checks[name].to_dict()
        return {column: "; ".join(row[key]) if key == "warnings" else row[key] for column, key in CHECKED.items()}

    def plot(self) -> "LayerChart":
        """Plot the severity of each with its interval, except for machines on another scale."""
        known = [(one.judge, one.severity) for one in self.people]
        known += [(one.judge, one.severity) for one in self.machines if one.severity is not None]
        middle, low, high = np.array([severity for _, severity in known], dtype=np.float64).reshape(-1, 3).T
        return draw_intervals([name for name, _ in known], low, middle, high, "severity, as a share of the scale")


def all_order_effects(
    people: Sequence[JudgeReport], comparisons: Sequence[PairedComparison] = (), placed: Sequence[PlacedGrade] = ()
) -> tuple[OrderEffect, ...]:
    """Effects of order that people's judgments, pages and comparisons show; empty if there are too few of each."""
    position = position_effect(placed)
    return (*order_effects(people, comparisons), *([] if position is None else [position]))


def reports_on_people(pool: Pool, panel: Panel) -> list[JudgeReport]:
    """Reports on the people of a panel; empty if nobody judged, or if the model does not learn grades jointly."""
    estimator = estimator_of(pool, JOINT)
    return estimator.judge_reports(panel) if panel.judges and isinstance(estimator, JointEstimator) else []


@dataclass(frozen=True, eq=False)
class OrderEffects(Result):
    """Effects of order that people's answers show; none if too few answered."""

    effects: tuple[OrderEffect, ...]

    def __repr__(self) -> str:
        return "\n".join(one.sentence for one in self.effects) or (
            "Too few judgments and comparisons to estimate effects of order."
        )

    def to_dict(self) -> list[Row]:
        """One row per effect, with its sentence."""
        return [one.to_dict() for one in self.effects]

    def rows(self) -> list[Row]:
        """The same."""
        return self.to_dict()


@dataclass(frozen=True, eq=False)
class Disagreements(Result):
    """Pairs on which people differ most, the greatest disagreement first.

    pairs    at least two people judged each
    highest  highest grade of the scale
    """

    _index: ClassVar = ("query", "document")
    _columns: ClassVar = ("query", "document", "grades", "beyond", "spread", "chance")

    pairs: tuple[Disagreement, ...]
    highest: float

    def __repr__(self) -> str:
        return f"{len(self.pairs)} pairs on which people differ most"

    def to_dict(self) -> list[Row]:
        """One row per pair; grades by name."""
        return [one.to_dict(self.highest) for one in self.pairs]

    def rows(self) -> list[Row]:
        """The same, with the grades as one text."""
        return [row | {key: spelled_grades(row[key]) for key in ("grades", "beyond")} for row in self.to_dict()]


def spelled_grades(grades: Mapping[str, float]) -> str:
    """Grades by name in one line."""
    return ", ".join(f"{name} {grade:.3g}" for name, grade in grades.items())


def disagreements(
    collection: object, *, count: Annotated[int, Ge(1)] = 20, judgments: object = None, scale: str | None = None
) -> Disagreements:
    """List the pairs on which people differ most, given how each of them judges other pairs.

    count      number of pairs; fewer if fewer were judged by two people
    judgments  judgments in memory, or a file; None: the collection's own
    scale      scale of the judgments, as for `estimate`

    Example: `audiosim disagreements demo -n 5 --judgments sqlite:///demo/campaign.db`
    """
    collection = on_scale(collection, scale, judgments)
    pool, found = build_pool(collection), list[Disagreement]()
    panel, estimator = Panel.of(pool, collection.judgments), estimator_of(pool, JOINT)
    if panel.several and isinstance(estimator, JointEstimator):
        found = estimator.disagreements(panel, count)
    return Disagreements(tuple(found), collection.scale.maximum)


def reports_on_machines(pool: Pool, judgments: Sequence[Judgment]) -> list[MachineReport]:
    """Reports on the judging machines, each compared with people's judgments only, not with other machines."""
    machines = machine_grades(pool)
    if not machines:
        return []
    others = [kind for kind in EVIDENCE_KINDS.values() if kind is not MACHINE_KIND]
    alone = {judge.name: replace(pool, judges=(judge,)) for judge in pool.judges}
    beside = [(one.name, _belief(alone[one.name], judgments, [*others, MACHINE_KIND])) for one in machines]
    return machine_reports(pool, _belief(pool, judgments, others), beside)


def _belief(pool: Pool, judgments: Sequence[Judgment], kinds: Sequence[EvidenceKind]) -> Belief:
    estimator = after_judgments(pool, estimator_of(pool, JOINT, kinds), judgments)
    return estimator.predict(pool.spread(mean_grades(judgments)))
