"""The worked examples of the appendices of thesis and paper: what a model says of one pair."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from audiosim.relevance.published import load_model
from audiosim.reproduce.row import THESIS, PrintedRow
from audiosim.stats.ordinal import expectation, variance

# model: source, features, E and Var of the worked example, on the Broad scale
WORKED = {
    "mout-broad": (f"{THESIS}, Appendix A", {"fSYS": 0.25}, 1.7486, 0.2552),
    "loutput-broad": ("Urbano & Schedl (2013), Appendix", {"fTEAM": 0.25}, 1.6577, 0.3233),
}
SHARED_FEATURES = {"OV": 0.8053, "fART": 0.0217, "sGEN": 1.0, "fGEN": 0.8478}


def relevance_examples(_: Path) -> Iterator[PrintedRow]:
    """The worked examples of both appendices, which go on with probabilities of four decimals."""
    for name, (source, features, mean, spread) in WORKED.items():
        model = load_model(name)
        table = {key: np.array([value]) for key, value in (SHARED_FEATURES | features).items()}
        probabilities, levels = model.probabilities(table, 1).round(4), np.array(model.levels)
        yield PrintedRow(source, f"{name}: expectation", mean, float(expectation(probabilities, levels)[0]), 4)
        yield PrintedRow(source, f"{name}: variance", spread, float(variance(probabilities, levels)[0]), 4)
