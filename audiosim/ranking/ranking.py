"""The systems' expected scores, and the confidence in their order."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from audiosim.joint.check import NOT_CHECKED, ModelCheck
from audiosim.measures.measure import Measure
from audiosim.ranking.about import THESE, About
from audiosim.ranking.scores import SystemScores
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row, cached_property, listed, parts, rows_of
from audiosim.stats.arrays import Array
from audiosim.text import counted

if TYPE_CHECKING:
    from altair import LayerChart


PREDICTED = "predicted, nothing judged"  # correct on average over collections, not on each


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """The systems' expected scores, and the confidence in their order.

    measure       measure of the scores
    model         name of the estimator
    systems       s names, in the order of the moments
    scores        s mean scores over the queries that the ranking is about, with their joint distribution
    judged        number of judged pairs in the pool
    pool          number of pairs in the pool
    check         check of the model against the judgments so far; a failed one widens the scores, see `checked`
    about         queries and people that the scores and their order are about
    judges        number of people who judged; 0 if the model does not distinguish them
    comparisons   number of comparisons of two documents that were used
    fallen        number of unjudged pairs that another model predicts
    notes         sentences on judgments that the measure leaves unused, and on pairs that another model predicts
    _others       makes the ranking about listeners at large, if several judged and this one is about the panel
    _statements   makes the verdicts, whose rows have groups, ranks and probabilities; None: scores alone
    """

    _index: ClassVar = ("system",)
    _shown: ClassVar = ("expectation", "low", "high", "group", "rank_low", "rank_high", "best")

    measure: Measure
    model: str
    systems: tuple[str, ...]
    scores: SystemScores
    judged: int
    pool: int
    check: ModelCheck = NOT_CHECKED
    about: About = THESE
    judges: int = 0
    comparisons: int = 0
    fallen: int = 0
    notes: tuple[str, ...] = ()
    _others: "Callable[[], Ranking] | None" = field(default=None, repr=False)
    _statements: "Callable[[Ranking], Result] | None" = field(default=None, repr=False)

    @cached_property
    def at_large(self) -> "Ranking | None":
        """Ranking about listeners at large; None if only one person judged, or if it is about them already."""
        return None if self._others is None else self._others()

    def __repr__(self) -> str:
        sure, best = spelled_confidence(self.confidence, self.about), self.scores.mean.max()
        of = f"{self.measure} of {counted(len(self.systems), 'system')}, {basis_in_words(self)}"
        whose = f"; the mean opinion of {self.judges} people, who differ in severity and taste" if self._others else ""
        return f"{of}{whose}: {sure}, best {listed(self.leaders)} at {best:.3f}"

    def plot(self) -> "LayerChart":
        """The expected score of each system with its 95 % interval, best on top."""
        rows = score_rows(self)
        low, middle, high = ([row[key] for row in rows] for key in ("low", "expectation", "high"))
        return draw_intervals([row["system"] for row in rows], low, middle, high, f"expected {self.measure}")

    @property
    def leaders(self) -> tuple[str, ...]:
        """The systems with the highest expected score: several if they are equal."""
        return tuple(np.array(self.systems, dtype=object)[self.scores.ranks == 1].tolist())

    @cached_property
    def confidence(self) -> float | None:
        """The confidence in the ranking: the mean over pairs not known to be equal; None where there is none."""
        return self.scores.mean_of_open(self.scores.confidences)

    @property
    def basis(self) -> str | int:
        """Basis of the scores: PREDICTED if nothing is judged, else the number of judged pairs."""
        return self.judged or PREDICTED

    def rows(self) -> list[Row]:
        """One row per system, best first: `score_rows`, and what `statements` adds."""
        return [dict(row) for row in self._rows]

    @cached_property
    def _rows(self) -> list[Row]:
        return score_rows(self) if self._statements is None else self._statements(self).rows()

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems: a, the better one, b, expectation, variance, confidence, and if known equal."""
        scores, (expectation, variance) = self.scores, self.scores.differences
        columns: dict[str, Any] = {"expectation": expectation, "variance": variance}
        columns |= {"confidence": scores.confidences, "equal": scores.tied}
        a, b = ([self.systems[place] for place in places] for places in scores.pairs)
        return rows_of({"a": a, "b": b} | columns)

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain values, ready for JSON; with the number of draws, if grades are drawn."""
        drawn = {} if self.scores.draws is None else {"draws": self.scores.draws}
        return {
            **parts(self, "measure", "model", "judged", "pool"),
            **({"comparisons": self.comparisons} if self.comparisons else {}),
            **drawn,
            "confidence": self.confidence,
            "systems": score_rows(self),
            "pairs": self.pair_rows(),
            "basis": self.basis,
            "about": self.about.to_dict(),
            **self._of_others(),
            **self.check.to_dict(),
            "notes": list(self.notes),
        }

    def _of_others(self) -> dict[str, Any]:
        """Ranking about listeners at large, as plain values; empty if there is none."""
        found = self.at_large
        if found is None:
            return {}
        said = {"confidence": found.confidence, "systems": score_rows(found), "about": found.about.to_dict()}
        return {"judges": self.judges, "at_large": said}


def widened(ranking: Ranking, factor: float) -> Ranking:
    """A ranking with the deviations due to missing judgments multiplied by a factor."""
    return ranking if factor == 1 else replace(ranking, scores=ranking.scores.wider(factor))


def checked(ranking: Ranking, check: ModelCheck) -> Ranking:
    """A ranking with a check of its model; a failed check multiplies all deviations by its factor."""
    return replace(widened(ranking, check.factor), check=check)


def of_this_kind(ranking: Ranking, between: Array) -> Ranking:
    """A ranking about queries of this kind, from one about these queries; see `SystemScores.of_this_kind`."""
    about = replace(ranking.about, queries="queries")
    return replace(ranking, scores=ranking.scores.of_this_kind(between), about=about)


def of_these(ranking: Ranking) -> Ranking:
    """A ranking about these queries alone: missing judgments are the only uncertainty."""
    if ranking.scores.sampling is None:
        return ranking
    return replace(ranking, scores=ranking.scores.of_these, about=replace(ranking.about, queries="these"))


def score_rows(ranking: Ranking) -> list[Row]:
    """One row per system, best first: system, expectation, variance, low, high; error where grades were drawn."""
    scores = ranking.scores
    low, high = scores.interval()
    columns = {"expectation": scores.mean, "variance": scores.variance, "low": low, "high": high}
    columns |= {} if scores.errors is None else {"error": scores.errors}
    names = [ranking.systems[place] for place in scores.order]
    return rows_of({"system": names} | {name: column[scores.order] for name, column in columns.items()})


def basis_in_words(ranking: Ranking) -> str:
    """The basis of the scores in words; called a prediction if nothing is judged."""
    judged, pool = ranking.judged, ranking.pool
    every = "the only pair" if pool == 1 else f"all {pool:,} pairs"
    by = f"{ranking.model} predicts {every}"
    if ranking.fallen:
        by = f"{ranking.model} predicts {pool - judged - ranking.fallen:,} pairs, other models {ranking.fallen:,}"
    if not judged and ranking.comparisons:
        return f"no pair is judged; the order is based on {ranking.comparisons:,} comparisons"
    if not judged:
        return f"{PREDICTED}: {by}"
    if judged == pool:
        return f"{every} judged"
    if ranking.fallen:
        return f"{judged:,} of {pool:,} pairs judged; {by}"
    return f"{judged:,} of {pool:,} pairs judged, the others predicted by {ranking.model}"


def spelled_confidence(confidence: float | None, about: About = THESE) -> str:
    """A confidence in an order of systems and its subject, in words; None: there is nothing to order."""
    if confidence is None:
        return "nothing to order: no two systems differ"
    return f"confidence {confidence:.3f} ({about.words})"


# Changes from one ranking of some systems to another, such as the ranking by another model.


@dataclass(frozen=True, eq=False)
class RankingChange:
    """Two rankings of the same systems, before and after a change.

    word    end of the names of columns about the later ranking
    reason  the change, as the beginning of a sentence
    """

    before: Ranking
    after: Ranking
    word: str
    reason: str

    @property
    def turned(self) -> tuple[tuple[str, str], ...]:
        """Pairs of systems that change places; the previously better one comes first."""
        names, before, after = self.before.systems, self.before.scores.mean, self.after.scores.mean
        pairs = zip(*self.before.scores.pairs, strict=True)
        return tuple((names[a], names[b]) for a, b in pairs if before[a] > before[b] and after[a] < after[b])

    @property
    def most_changed(self) -> tuple[str, float]:
        """System with the largest change of score, and the score after less the score before."""
        changes = self.after.scores.mean - self.before.scores.mean
        place = int(np.argmax(np.abs(changes)))
        return self.before.systems[place], float(changes[place])

    @property
    def sentence(self) -> str:
        """The change in one sentence."""
        (system, change), count = self.most_changed, len(self.turned)
        turned = f"{count} {'pair of systems changes' if count == 1 else 'pairs of systems change'} places"
        ends = self.before, self.after
        best = [listed(ranking.leaders) for ranking in ends]
        words = ["is" if len(ranking.leaders) == 1 else "are" for ranking in ends]
        stays = f"{best[0]} {'stays' if words[0] == 'is' else 'stay'} best"
        first = f"{best[1]} {words[1]} best in place of {best[0]}" if best[0] != best[1] else stays
        moved = f"{change:+.3f}".replace("-", "\N{MINUS SIGN}")
        sure = " to ".join("none" if one.confidence is None else f"{one.confidence:.3f}" for one in ends)
        return (
            f"{self.reason}: {turned if count else 'no two systems change places'}, {first}; "
            f"{system} moves most, by {moved}; confidence on {self.before.about.words} from {sure}."
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per system, in the order before the change: rank and score before and after."""
        columns: dict[str, Any] = {}
        for end, ranking in (("", self.before), (f"_{self.word}", self.after)):
            low, high = ranking.scores.interval()
            columns |= {f"rank{end}": ranking.scores.ranks, f"score{end}": ranking.scores.mean}
            columns |= {f"low{end}": low, f"high{end}": high}
        order = self.before.scores.order
        names = [self.before.systems[place] for place in order]
        return rows_of({"system": names} | {name: column[order] for name, column in columns.items()})

    def summary(self) -> dict[str, Any]:
        """The change in a few plain values."""
        system, change = self.most_changed
        return {
            "turned": len(self.turned),
            f"best_{self.word}": listed(self.after.leaders),
            "moved_most": system,
            "moved_by": change,
            f"confidence_{self.word}": self.after.confidence,
        }

    def to_dict(self) -> dict[str, Any]:
        """The change as plain values, ready for JSON."""
        return {
            **parts(self.before, "about", "measure", "confidence"),
            **self.summary(),
            "pairs_turned": [list(pair) for pair in self.turned],
            "sentence": self.sentence,
            "systems": self.rows(),
        }
