"""Write the model files of this folder: published coefficients, and the distributions of all past judgments.

    python models/make_models.py

Sources: J. Urbano, "Evaluation in Audio Music Similarity", PhD thesis, 2013, Table A.1 and section
7.2.1; J. Urbano and M. Schedl, "Minimal test collections for low-cost evaluation of Audio Music
Similarity and Retrieval systems", 2013, Table 7.
"""

from pathlib import Path

import numpy as np
from scipy.optimize import root

from audiosim.ordinal.model import Model, save_model
from audiosim.stats.arrays import Array
from audiosim.stats.ordinal import thresholds_of

HERE = Path(__file__).parent
LEVELS = {"broad": (0.0, 1.0, 2.0), "fine": tuple(float(level) for level in range(5, 100, 10))}
IN_PAPER = {"broad": LEVELS["broad"], "fine": tuple(float(level) for level in range(0, 100, 11))}  # section 4.2.3

THESIS = "Urbano (2013), PhD thesis, Table A.1: fitted to all judgments of MIREX 2007, 2009, 2010 and 2011"
PAPER = (
    "Urbano & Schedl (2013), Table 7: fitted to all judgments of MIREX 2007, 2009, 2010 and 2011; "
    "pTEAM, pART, pGEN are fTEAM, fART, fGEN"
)
PAST = "Urbano (2013), PhD thesis, section 7.2.1: the moments of the judgments of MIREX 2007, 2009, 2010 and 2011; "
FIXED = {
    "broad": "on three levels these fix it",
    "fine": "the histogram is not printed, this is the distribution of most entropy that has them",
}

# name: (source, terms, {scale: (coefficients, thresholds)}, name of the fallback)
PUBLISHED = {
    "mout": (
        THESIS,
        ("fSYS", "OV", "fSYS:OV", "fART", "sGEN", "fGEN", "sGEN:fGEN"),
        {
            "broad": ((-19.7968, -0.3227, 29.6378, 3.2530, 1.8975, 5.4055, -2.9606), (-1.4351, -3.5205)),
            "fine": (
                (-17.4721, 0.1336, 26.4550, 2.9111, 2.0443, 5.4544, -3.4851),
                (-0.5092, -1.2231, -1.7919, -2.2787, -2.7216, -3.1956, -3.8044, -4.6928, -5.9567),
            ),
        },
        "historical",
    ),
    "mjud": (
        THESIS,
        ("fSYS", "aSYS", "aART"),
        {
            "broad": ((0.9789, 1.1964, 7.1813), (-5.2165, -11.9251)),
            "fine": (
                (0.7954, 0.0128, 0.2078),
                (-2.7554, -4.9168, -7.0128, -9.0010, -10.8548, -12.7158, -14.6722, -16.8831, -19.2536),
            ),
        },
        "mout",
    ),
    "loutput": (
        PAPER,
        ("fTEAM", "OV", "fART", "sGEN", "fGEN", "sGEN:fGEN"),
        {
            "broad": ((2.3677, 1.9749, 3.2041, 1.9030, 5.4144, -2.9848), (-3.2513, -5.3349)),
            "fine": (
                (2.2223, 2.0652, 2.9179, 2.0174, 5.4605, -3.4288),
                (-1.7043, -2.6087, -3.2373, -3.7705, -4.2464, -4.8460, -5.5678, -6.6135, -8.4655),
            ),
        },
        "historical",
    ),
    "ljudge": (
        PAPER,
        ("fTEAM", "OV", "aSYS", "aART"),
        {
            "broad": ((2.0900, 0.2420, 1.1490, 7.1853), (-5.5370, -12.2572)),
            "fine": (
                (1.4405, 0.1139, 0.0115, 0.2128),
                (-2.1862, -4.6920, -6.9954, -9.2063, -11.2362, -13.5847, -15.8001, -18.2491, -21.2480),
            ),
        },
        "loutput",
    ),
}

# scale: (mean, variance) of all judgments, section 7.2.1
HISTORICAL = {"broad": (0.8959, 0.6338), "fine": (43.41, 900.4)}


def main() -> None:
    """Write every model file."""
    historical = {scale: historical_model(scale, LEVELS[scale]) for scale in HISTORICAL}
    for name, (source, terms, scales, fallback) in PUBLISHED.items():
        for scale, (coefficients, thresholds) in scales.items():
            levels = (IN_PAPER if source == PAPER else LEVELS)[scale]
            last: str | Model = f"{fallback}-{scale}"
            if fallback == "historical" and levels != LEVELS[scale]:
                last = historical_model(scale, levels)
            save(Model(f"{name}-{scale}", scale, levels, terms, coefficients, thresholds, last, source))
    for model in historical.values():
        save(model)


def historical_model(scale: str, levels: tuple[float, ...]) -> Model:
    """Model of all past judgments on a scale, with some levels."""
    thresholds = thresholds_of(with_moments(np.array(levels), *HISTORICAL[scale])).round(6).tolist()
    return Model(f"historical-{scale}", scale, levels, (), (), tuple(thresholds), None, PAST + FIXED[scale])


def save(model: Model) -> None:
    """Write one model file."""
    save_model(model, HERE / f"{model.name}.json")


def with_moments(levels: Array, mean: float, variance: float) -> Array:
    """The probabilities with the largest entropy, given mean and variance: exp(a l + b l^2), normalised."""
    z = (levels - levels.mean()) / np.ptp(levels)

    def probabilities(parameters: Array) -> Array:
        weight = np.exp(parameters[0] * z + parameters[1] * z**2)
        return weight / weight.sum()

    def misses(parameters: Array) -> list[float]:
        p = probabilities(parameters)
        return [p @ levels - mean, (p @ levels**2 - (p @ levels) ** 2 - variance) / np.ptp(levels)]

    found = root(misses, np.zeros(2), tol=1e-12)
    assert found.success, found.message
    return probabilities(found.x)


if __name__ == "__main__":
    main()
