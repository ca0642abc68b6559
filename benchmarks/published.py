"""Published numbers beside those computed here: how many agree to every printed digit, those that differ, and fits.

    python benchmarks/published.py [DIR]

DIR is the folder of the public data, by default ../shared/data beside the checkout. Counts and differences are those of
`make reproduce`, fits those of `audiosim fits`.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from figures import Figures

from audiosim import Collection
from audiosim.measures.scores import scores
from audiosim.stats.distributions import FITS, fit_distributions

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
sys.path.insert(0, str(ROOT / "validation"))
from reproduce import PrintedRow, rows  # noqa: E402

# Urbano (2013), Table 4.4, Fine: mean omega on 53 systems of four years, 50 queries fitted, in the order of FITS.
PRINTED_FITS = {
    "CG@5": (0.5071, 0.5602, 0.4808, 0.5260),
    "DCG@5": (0.5120, 0.5671, 0.4844, 0.5262),
    "Q(ideal=user)@5": (0.5304, 0.6044, 0.4928, 0.5277),
    "RBP(ideal=user)@5": (0.5106, 0.5646, 0.4843, 0.5264),
    "GAP(ideal=user)@5": (0.5246, 0.6182, 0.4822, 0.5273),
}


def counted(found: Sequence[PrintedRow]) -> list[list[str | float]]:
    """Numbers by source, and how many agree to every digit."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in found:
        counts[row.source][0] += 1
        counts[row.source][1] += row.agrees
    return [
        *([source, *count] for source, count in counts.items()),
        ["all", *map(sum, zip(*counts.values(), strict=True))],
    ]


def fits(collection: Collection) -> list[list[str | float]]:
    """Mean omega of every distribution, printed and found on one of the four years."""
    table: list[list[str | float]] = []
    for measure, printed in PRINTED_FITS.items():
        means = fit_distributions(scores(collection, measure).values, np.random.default_rng(0)).means()
        table.append([measure, *(f"{old:.2f}, {means[name]:.2f}" for name, old in zip(FITS, printed, strict=True))])
    return table


def main() -> None:
    """Keep the tables."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    found = list(rows(data))
    differ = [
        [row.source, row.quantity, row.printed, round(row.computed, row.digits + 1)]
        for row in found
        if not row.agrees and row.computed is not None
    ]
    with Figures("published") as figures:
        figures.table("published numbers", ["source", "numbers", "agree to every digit"], counted(found))
        figures.table("numbers that differ", ["source", "quantity", "printed", "here"], differ)
        title = "mean omega on four years, printed, and on MIREX 2011"
        figures.table(title, ["", *FITS], fits(Collection.load(data / "mirex2011")))


if __name__ == "__main__":
    main()
