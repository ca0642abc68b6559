"""Figures of benchmarks/calibration.py: its tables in results.json, and its plots."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from figures import Figures

from audiosim.ranking.stopping import CHECKED
from audiosim.report.simulate import draw_bins, draw_course

STOPS = ("confidence=0.9", "confidence=0.95")
COVERAGE = ("systems", "differences")


def keep_figures(found: Mapping[str, dict[str, Any]], part: str, at: Sequence[int]) -> None:
    """Keep the results at some moments in results.json, the collection with the largest error first.

    If pools have fewer pairs, a cell gives their number.
    """
    order = sorted(found, key=lambda name: most_off(found[name]), reverse=True)
    head = ["", *(f"{judged} judged" for judged in at)]
    named = {name: f"{name}, {found[name]['repeats']} parts" for name in order}

    def told(name: str, cell: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
        for judged, row in zip(at, found[name]["curve"], strict=True):
            yield cell(row) if row["judged"] >= judged else f"all {row['judged']:.0f}"

    def rows(cell: Callable[[Mapping[str, Any]], str]) -> list[list[str]]:
        return [[named[name], *told(name, cell)] for name in order]

    with Figures("calibration", part) as figures:
        for title, key in (("stated less true confidence", "excess"), ("expected less true scores", "bias")):
            figures.table(title, head, rows(partial(_with_error, key)))
        figures.table("true confidence", head, rows(partial(_with_error, "accuracy")))
        figures.table("95 % intervals that hold a system's score, a difference", head, rows(_held))
        if len(found) == 1:
            figures.table("all of it", head, _of_one_collection(found[order[0]]["curve"]))
        stop_rows = [[named[name], *map(_stop, found[name]["goals"])] for name in order]
        figures.table("right where judging stops, after so many judgments", ["", *STOPS], stop_rows)


def _of_one_collection(curve: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    keys = {
        "stated confidence": "stated",
        "true": "accuracy",
        "stated less true": "excess",
        "calibration error": "calibration_error",
        "expected less true scores": "bias",
    }
    cells = [[said, *(_with_error(key, row) for row in curve)] for said, key in keys.items()]
    return [*cells, ["95 % intervals that hold a system's score, a difference", *map(_held, curve)]]


def most_off(of: Mapping[str, Any]) -> float:
    """Largest difference of stated and true confidence from CHECKED judgments on."""
    return max((abs(row["excess"]) for row in of["curve"] if row["judged"] >= CHECKED), default=0.0)


def _with_error(key: str, row: Mapping[str, Any]) -> str:
    sign = "+" if key in {"excess", "bias"} else ""
    error = row.get(f"{key}_error")
    return f"{row[key]:{sign}.3f}" + ("" if error is None else f" ± {error:.3f}")


def _held(row: Mapping[str, Any]) -> str:
    found = row["coverage"]
    return ", ".join(f"{found[kind]:.2f} ± {found.get(f'{kind}_error') or 0:.2f}" for kind in COVERAGE)


def _stop(row: Mapping[str, Any]) -> str:
    if not row["reached"]:
        return "reached by none"
    error = "" if row.get("accuracy_error") is None else f" ± {row['accuracy_error']:.3f}"
    return f"{row['accuracy']:.3f}{error} after {row['judged']:.0f} ({row['reached']} parts)"


def plot(found: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Draw stated and true confidence on each collection with two standard errors, the largest error first."""
    import matplotlib.pyplot as plt  # imported late: runs without a drawing start faster

    order = sorted(found, key=lambda name: most_off(found[name]), reverse=True)
    rows = -(-len(order) // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(9, 2.6 * rows), sharex=True, sharey=True, squeeze=False)
    for axis, name in zip(axes.flat, order, strict=False):
        curve = found[name]["curve"]
        judged = [row["judged"] for row in curve]
        for key, color in (("stated", "tab:blue"), ("accuracy", "tab:orange")):
            error = [2 * (row.get(f"{key}_error") or 0) for row in curve]
            label = "true" if key == "accuracy" else key
            axis.errorbar(judged, [row[key] for row in curve], error, color=color, marker="o", ms=3, label=label)
        axis.set_title(name, fontsize=9)
        axis.set_xscale("symlog", linthresh=50)
        axis.set_xticks(judged, [f"{count:.0f}" for count in judged])
    for axis in axes[-1]:
        axis.set_xlabel("judged pairs")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def plot_home(found: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Draw bins of confidence, and stated and true confidence by the number of judgments, for one collection."""
    import matplotlib.pyplot as plt  # as above

    (of,) = found.values()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4))
    draw_bins(of["curve"], left)
    draw_course(of["curve"], right)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
