"""Chapter 6 of the thesis: stability of the ranking of MIREX 2011."""

from collections.abc import Iterator
from pathlib import Path

from audiosim.evaluation.reliability import reliability
from reproduce.data import mirex_2011
from reproduce.row import THESIS, PrintedRow

# measure on the Fine scale: Table 6.1, shares of systems, queries and residual; Table 6.2, E rho^2 and the queries
# for .95; Table 6.3, Phi and the queries for .95; MIREX 2011
CHAPTER_6 = {
    "CG@5": (0.184, 0.511, 0.304, 0.9838, 32, 0.9576, 85),
    "DCG@5": (0.186, 0.501, 0.314, 0.9834, 33, 0.9580, 84),
    "nDCG@5": (0.219, 0.412, 0.369, 0.9834, 33, 0.9655, 68),
    "Q@5": (0.214, 0.405, 0.381, 0.9825, 34, 0.9646, 70),
    "RBP@5": (0.217, 0.413, 0.370, 0.9833, 33, 0.9653, 69),
    "GAP@5": (0.226, 0.419, 0.355, 0.9845, 30, 0.9669, 66),
    "P(min=40)@5": (0.167, 0.464, 0.369, 0.9784, 42, 0.9526, 95),
    "AP(min=40)@5": (0.174, 0.452, 0.375, 0.9789, 41, 0.9546, 91),
}
# by key of a reliability study: table, quantity, printed decimals
STABILITY = {
    "system": ("6.1", "variance of systems", 3),
    "query": ("6.1", "variance of queries", 3),
    "residual": ("6.1", "residual variance", 3),
    "generalizability": ("6.2", "E rho^2", 4),
    "queries_for_generalizability": ("6.2", "queries for E rho^2 = .95", 0),
    "dependability": ("6.3", "Phi", 4),
    "queries_for_dependability": ("6.3", "queries for Phi = .95", 0),
}


def stability_of_mirex_2011(folder: Path) -> Iterator[PrintedRow]:
    """Chapter 6 of the thesis, the rows of 2011 for Fine and for l_min = 40."""
    collection = mirex_2011(folder)
    for name, printed in CHAPTER_6.items():
        study = reliability(collection, name).to_dict() if collection else {}
        for number, (key, (table, what, digits)) in zip(printed, STABILITY.items(), strict=True):
            yield PrintedRow(f"{THESIS}, Table {table}", f"2011, {name}: {what}", number, study.get(key), digits)
