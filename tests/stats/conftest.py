"""Score matrices, and R's results for them: tests/reference/inference.R wrote both files."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

REFERENCE = Path(__file__).resolve().parents[1] / "reference"


def rows(name):
    with (REFERENCE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def score_matrices():
    """(systems, queries) by name: untied, fifty and many have no ties; ties and many_ties have some, and zeros."""
    found = defaultdict(list)
    for row in rows("inference_data.csv"):
        found[row["data"]].append((int(row["system"]), int(row["query"]), float(row["score"])))
    matrices = {}
    for name, cells in found.items():
        matrices[name] = np.full((1 + max(cell[0] for cell in cells), 1 + max(cell[1] for cell in cells)), np.nan)
        for system, query, score in cells:
            matrices[name][system, query] = score
    return matrices


@pytest.fixture(scope="session")
def r():
    """R's values, by pair and by (data, quantity)."""
    found = defaultdict(dict)
    for row in rows("inference.csv"):
        found[row["data"], row["quantity"]][row["pair"]] = float(row["value"])
    return found


@pytest.fixture(scope="session")
def random_gaussians():
    """Draws means (n, d), and covariances (n, d, d) with eigenvalues within 10 ** +-decades."""

    def draw(rng, n, d, decades=1.0, spread=3.0):
        turns = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
        scales = 10 ** rng.uniform(-decades, decades, (n, 1, d))
        return spread * rng.standard_normal((n, d)), (turns * scales) @ np.swapaxes(turns, 1, 2)

    return draw
