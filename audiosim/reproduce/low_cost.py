"""Chapter 8 of the thesis, MIREX 2011 on the Fine scale: rankings and scores from few judgments.

The public files lack the metadata of 23 documents, and the model that was fitted without 2011 is not published: numbers
come close, not equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import build_pool
from audiosim.expected.estimation import expected_scores
from audiosim.expected.ratio import Ideal
from audiosim.measures.measure import parse_measure
from audiosim.relevance.estimators import estimator_of
from audiosim.reproduce.data import mirex_2011
from audiosim.reproduce.row import THESIS, PrintedRow
from audiosim.selection import Selection, StoppingRule
from audiosim.selection.stopping import Confidence, Error
from audiosim.simulate import Replay, replay


@dataclass(frozen=True, slots=True)
class Printed:
    """Numbers that the thesis prints of one measure.

    start    Table 8.1: confidence, accuracy and tau, nothing judged
    judged   Table 8.3: judgments until a mean confidence of .95
    error    Table 8.5: mean absolute error of the scores where judging stops at +-.05, uncorrected; nothing is judged
    settled  Table 8.6: judgments and error where it stops at +-.05, corrected
    """

    start: tuple[float, float, float]
    judged: int
    error: float
    settled: tuple[int, float]


CHAPTER_8 = {
    "CG@5": Printed((0.934, 0.935, 0.869), 123, 0.024, (539, 0.017)),
    "DCG@5": Printed((0.926, 0.928, 0.856), 181, 0.025, (521, 0.019)),
    "nDCG@5": Printed((0.925, 0.902, 0.804), 516, 0.184, (1275, 0.046)),
    "RBP@5": Printed((0.927, 0.935, 0.869), 560, 0.184, (1283, 0.046)),
}
GOAL = 0.05


def rankings_of_mirex_2011(folder: Path) -> Iterator[PrintedRow]:
    """Tables 8.1 and 8.3: the ranking without judgments, and with as many as it takes to a confidence of .95."""
    collection = mirex_2011(folder)
    for name, printed in CHAPTER_8.items():
        found = (
            _campaign(collection, name, "differences", Confidence(0.95, floor=0), "independent") if collection else None
        )
        first = found.curve[0] if found else None
        computed = (first.confidence, first.accuracy, 2 * first.accuracy - 1) if first else (None, None, None)
        for what, number, value in zip(("confidence", "accuracy", "tau"), printed.start, computed, strict=True):
            yield PrintedRow(f"{THESIS}, Table 8.1", f"2011, {name}: {what}, nothing judged", number, value, 3)
        judged = float(found.selection.judged) if found else None
        yield PrintedRow(f"{THESIS}, Table 8.3", f"2011, {name}: judgments until .95", printed.judged, judged, 0)


def scores_of_mirex_2011(folder: Path) -> Iterator[PrintedRow]:
    """Tables 8.5 and 8.6: how far off the scores are where judging stops at an expected error of .05.

    The correction is the one that comes with audiosim, learned on simulated campaigns with its own form of the ideal
    ranking; the thesis's is only drawn.
    """
    collection = mirex_2011(folder)
    for name, printed in CHAPTER_8.items():
        plain = (
            _campaign(collection, name, "scores", Error(GOAL, corrected=False), "independent") if collection else None
        )
        corrected = _campaign(collection, name, "scores", Error(GOAL), "ordered") if collection else None
        yield from _stopped(f"{THESIS}, Table 8.5", f"2011, {name}, +-.05", (0, printed.error), plain)
        yield from _stopped(f"{THESIS}, Table 8.6", f"2011, {name}, +-.05 corrected", printed.settled, corrected)


def _stopped(source: str, what: str, printed: tuple[int, float], found: Replay | None) -> Iterator[PrintedRow]:
    last = found.curve[-1] if found else None
    yield PrintedRow(source, f"{what}: judgments", printed[0], float(last.judged) if last else None, 0)
    yield PrintedRow(source, f"{what}: mean absolute error", printed[1], last.error if last else None, 3)


def _campaign(collection: Collection, measure: str, rule: str, stop: StoppingRule, ideal: Ideal) -> Replay:
    """Campaign as in chapter 8, predictions renewed after every 20 judgments."""
    pool = build_pool(collection, 5)
    expected = expected_scores(parse_measure(measure), pool, ideal)
    selection = Selection.start(pool, expected, estimator_of(pool, "mjud"), batch=20, rule=rule)
    return replay(selection, pool.spread(collection.grades()), stop)
