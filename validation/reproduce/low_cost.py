"""Chapter 8 of the thesis, MIREX 2011 on the Fine scale: rankings and scores from few judgments.

The public files lack the metadata of 23 documents, and the model fitted without 2011 is not published, so these numbers
are close to the printed ones, not equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection, StoppingRule, parse_stopping_rule
from audiosim.ranking.about import Ideal
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.stopping import Error
from audiosim.simulation.replay import Replay, ReplayMoment, moment, replay, true_scores
from reproduce.data import mirex_2011
from reproduce.row import THESIS, PrintedRow


@dataclass(frozen=True, slots=True)
class Printed:
    """Numbers printed in the thesis for one measure.

    start    Table 8.1: quantities of MOMENT, nothing judged
    judged   Table 8.3: judgments until a mean confidence of .95
    then     Table 8.3: accuracy, tau and RMSE of the differences at that moment
    plain    Table 8.5: judgments, mean absolute error of the scores and rho at the stop at +-.05, uncorrected
    settled  Table 8.6: the same at the stop at +-.05, corrected
    """

    start: tuple[float, float, float, float, float, float]
    judged: int
    then: tuple[float, float, float]
    plain: tuple[int, float, float]
    settled: tuple[int, float, float]


CHAPTER_8 = {
    "CG@5": Printed(
        (0.934, 0.935, 0.869, 0.041, 0.967, 0.030),
        123,
        (0.935, 0.869, 0.030),
        (0, 0.024, 0.967),
        (539, 0.017, 0.971),
    ),
    "DCG@5": Printed(
        (0.926, 0.928, 0.856, 0.042, 0.965, 0.032),
        181,
        (0.889, 0.778, 0.029),
        (0, 0.025, 0.965),
        (521, 0.019, 0.967),
    ),
    "nDCG@5": Printed(
        (0.925, 0.902, 0.804, 0.034, 0.944, 0.185),
        516,
        (0.948, 0.895, 0.021),
        (0, 0.184, 0.944),
        (1275, 0.046, 0.971),
    ),
    "RBP@5": Printed(
        (0.927, 0.935, 0.869, 0.034, 0.967, 0.185),
        560,
        (0.961, 0.922, 0.022),
        (0, 0.184, 0.967),
        (1283, 0.046, 0.975),
    ),
}
# Reasons why none of these numbers is reproduced exactly.
MODEL = "The model fitted without 2011 is not published, and the public files lack the metadata of 23 documents."
ORDER = f"{MODEL} Pairs are therefore judged in another order."
CORRECTION = (
    "The thesis gives its correction only as a figure, with a plot for each scale. With audiosim's, the criterion is "
    "met before anything is judged."
)
ERROR = 0.05
SETTLED = parse_stopping_rule("confidence(floor=0)=0.95")
MOMENT = ("confidence", "accuracy", "tau", "RMSE of differences", "rho", "RMSE of scores")
PAPER = "Urbano & Schedl (2013)"
# Table 5: L_output on the Fine scale of 2011, nothing judged, normal differences
PAPER_5 = {"confidence": 0.942, "accuracy": 0.948, "tau": 0.895}
# Table 3: judgments until a mean confidence of .95, then L_judge every 20 judgments; accuracy and tau at that moment
PAPER_3 = (120, 0.941, 0.882)


def rankings_of_mirex_2011(folder: Path) -> Iterator[PrintedRow]:
    """Tables 8.1 and 8.3: the ranking without judgments, and the judgments needed for a confidence of .95."""
    collection = mirex_2011(folder)
    for name, printed in CHAPTER_8.items():
        found = _campaign(collection, name, "differences", SETTLED, "independent") if collection else None
        first, last = (_figures(found.curve[place] if found else None) for place in (0, -1))
        for what, number in zip(MOMENT, printed.start, strict=True):
            yield PrintedRow(
                f"{THESIS}, Table 8.1", f"2011, {name}: {what}, nothing judged", number, first[what], 3, MODEL
            )
        judged = float(found.selection.judged) if found else None
        yield PrintedRow(f"{THESIS}, Table 8.3", f"2011, {name}: judgments until .95", printed.judged, judged, 0, ORDER)
        for what, number in zip(("accuracy", "tau", "RMSE of differences"), printed.then, strict=True):
            yield PrintedRow(f"{THESIS}, Table 8.3", f"2011, {name}: {what} there", number, last[what], 3, ORDER)


def _figures(seen: ReplayMoment | None) -> dict[str, float | None]:
    """The numbers of a moment by their names in the thesis."""
    if seen is None:
        return dict.fromkeys(MOMENT)
    values = (
        seen.confidence,
        seen.accuracy,
        2 * seen.accuracy - 1,
        seen.rmse_differences,
        seen.rho,
        seen.rmse,
    )
    return dict(zip(MOMENT, values, strict=True))


def paper_without_judgments(folder: Path) -> Iterator[PrintedRow]:
    """Table 5 of the paper, the row of 2011 on the Fine scale."""
    collection = mirex_2011(folder)
    found: dict[str, float | None] = dict.fromkeys(MOMENT)
    if collection:
        pool = build_pool(collection, 5)
        start = Selection.start(
            pool, parse_measure("CG@5"), estimator_of(pool, "loutput"), distribution="normal", checks=False
        )
        found = _figures(moment(start, true_scores(start, pool.spread(collection.grades()))))
    for what, number in PAPER_5.items():
        yield PrintedRow(f"{PAPER}, Table 5", f"2011, AG@5: {what}, nothing judged", number, found[what], 3, MODEL)


def paper_with_judgments(folder: Path) -> Iterator[PrintedRow]:
    """Table 3 of the paper, the row of 2011 on the Fine scale."""
    collection, last = mirex_2011(folder), None
    if collection:
        pool = build_pool(collection, 5)
        start = Selection.start(
            pool,
            parse_measure("CG@5"),
            estimator_of(pool, "ljudge"),
            batch=20,
            selection_rule="differences",
            distribution="normal",
            checks=False,
        )
        last = replay(start, pool.spread(collection.grades()), SETTLED).curve[-1]
    found, judged = _figures(last), float(last.judged) if last else None
    yield PrintedRow(f"{PAPER}, Table 3", "2011, AG@5: judgments until .95", PAPER_3[0], judged, 0, ORDER)
    for what, number in zip(("accuracy", "tau"), PAPER_3[1:], strict=True):
        yield PrintedRow(f"{PAPER}, Table 3", f"2011, AG@5: {what} there", number, found[what], 3, ORDER)


def scores_of_mirex_2011(folder: Path) -> Iterator[PrintedRow]:
    """Tables 8.5 and 8.6: errors of the scores when judging stops at an expected error of .05.

    The correction is audiosim's, learned on simulated campaigns with its own form of the ideal ranking. The thesis
    gives its correction only as a figure, with a plot for each scale.
    """
    collection = mirex_2011(folder)
    for name, printed in CHAPTER_8.items():
        plain = (
            _campaign(collection, name, "scores", Error(ERROR, corrected=False, floor=0), "independent")
            if collection
            else None
        )
        corrected = _campaign(collection, name, "scores", Error(ERROR, floor=0), "ordered") if collection else None
        yield from _stopped(f"{THESIS}, Table 8.5", f"2011, {name}, +-.05", printed.plain, plain, MODEL)
        yield from _stopped(
            f"{THESIS}, Table 8.6", f"2011, {name}, +-.05 corrected", printed.settled, corrected, CORRECTION
        )


def _stopped(
    source: str, what: str, printed: tuple[int, float, float], found: Replay | None, cause: str
) -> Iterator[PrintedRow]:
    last = found.curve[-1] if found else None
    yield PrintedRow(source, f"{what}: judgments", printed[0], float(last.judged) if last else None, 0, cause)
    yield PrintedRow(source, f"{what}: mean absolute error", printed[1], last.error if last else None, 3, cause)
    yield PrintedRow(source, f"{what}: rho", printed[2], last.rho if last else None, 3, cause)


def _campaign(collection: Collection, measure: str, rule: str, stop: StoppingRule, ideal: Ideal) -> Replay:
    """Campaign as in chapter 8: predictions are updated after every 20 judgments."""
    pool = build_pool(collection, 5)
    expected = expected_scores(parse_measure(measure), pool, ideal)
    selection = Selection.start(pool, expected, estimator_of(pool, "mjud"), batch=20, selection_rule=rule, checks=False)
    return replay(selection, pool.spread(collection.grades()), stop)
