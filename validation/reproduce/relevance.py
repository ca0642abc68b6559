"""Models of relevance: the worked examples of the appendices, and the errors on the judgments of MIREX 2011.

The models fitted without 2011 are not published. These are fitted to all years including 2011, so the errors of the
output-based ones are a little smaller than printed.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from audiosim.collection.pool import Pool, build_pool
from audiosim.ordinal.features import columns
from audiosim.ordinal.model import load_model, uniform_model
from audiosim.stats.arrays import Array
from audiosim.stats.ordinal import expectation, variance
from reproduce.data import mirex_2011
from reproduce.own_judgment import own_columns
from reproduce.row import THESIS, PrintedRow

# model: source, features, E and Var of the worked example, on the Broad scale
WORKED = {
    "mout-broad": (f"{THESIS}, Appendix A", {"fSYS": 0.25}, 1.7486, 0.2552),
    "loutput-broad": ("Urbano & Schedl (2013), Appendix", {"fTEAM": 0.25}, 1.6577, 0.3233),
}
REFITTED = "The model fitted without 2011 is not published; the published one was also fitted to 2011."
SHARED_FEATURES = {"OV": 0.8053, "fART": 0.0217, "sGEN": 1.0, "fGEN": 0.8478}
# model: source, unit of its numbers in grades, RMSE and mean variance on the Fine scale of 2011 with their decimals
ERRORS = {
    "mout-fine": (f"{THESIS}, Table 7.1", 100.0, (0.2501, 4), (0.0545, 4)),
    "mjud-fine": (f"{THESIS}, Table 7.1", 100.0, (0.0957, 4), (0.007, 4)),
    "loutput-fine": ("Urbano & Schedl (2013), Table 2", 1.0, (25.2, 1), (561, 0)),
    "ljudge-fine": ("Urbano & Schedl (2013), Table 2", 1.0, (9.36, 2), (72, 0)),
    "uniform": ("Urbano & Schedl (2013), Table 2", 1.0, (29.6, 1), (850, 0)),
}


def errors_on_mirex_2011(folder: Path) -> Iterator[PrintedRow]:
    """Tables 7.1 of the thesis and 2 of the paper, the columns of 2011 on the Fine scale.

    aSYS and aART include the pair's own judgment; the printed numbers cannot be reproduced otherwise.
    """
    collection = mirex_2011(folder)
    pool = build_pool(collection, 5) if collection else None
    grades = pool.spread(collection.grades()) if pool and collection else None
    for name, (source, unit, *printed) in ERRORS.items():
        found = (None, None) if pool is None or grades is None else _errors(name, pool, grades)
        for what, power, (number, digits), value in zip(("RMSE", "mean variance"), (1, 2), printed, found, strict=True):
            computed = None if value is None else value / unit**power
            yield PrintedRow(source, f"2011, {name}: {what}", number, computed, digits, REFITTED)


def _errors(name: str, pool: Pool, grades: Array) -> tuple[float, float]:
    """RMSE and mean variance, in grades, of a model's predictions for pairs with known features."""
    model = uniform_model(pool.scale) if name == "uniform" else load_model(name)
    table = columns(pool, grades, model.features) | own_columns(pool, grades, model.features)
    probabilities, levels = model.probabilities(table, len(grades)), np.array(model.levels)
    known = ~np.isnan(probabilities[:, 0])
    errors = expectation(probabilities[known], levels) - grades[known]
    return float(np.sqrt(np.mean(errors**2))), float(variance(probabilities[known], levels).mean())


def relevance_examples(_: Path) -> Iterator[PrintedRow]:
    """The worked examples of both appendices, which continue with probabilities rounded to four decimals."""
    for name, (source, features, mean, spread) in WORKED.items():
        model = load_model(name)
        table = {key: np.array([value]) for key, value in (SHARED_FEATURES | features).items()}
        probabilities, levels = model.probabilities(table, 1).round(4), np.array(model.levels)
        yield PrintedRow(source, f"{name}: expectation", mean, float(expectation(probabilities, levels)[0]), 4)
        yield PrintedRow(source, f"{name}: variance", spread, float(variance(probabilities, levels)[0]), 4)
