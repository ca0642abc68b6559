"""The 26 published mappings of artificial scales work, and agree with numbers printed elsewhere in the thesis.

Urbano (2013): Table 4.3 has the cubics; Table 3.2 the bias of the shares they were fitted to, at the lowest and the
highest bin; Table 4.2 the root mean square residual of the fits. A misread digit would separate the first table from
the others: a cubic's bias may differ from the printed one by its residual at two of its ten points, at most sqrt(10)
times its root mean square each; in fact it differs by less than twice that root mean square.
"""

import numpy as np
import pytest

from audiosim.evaluation.evaluation import evaluate
from audiosim.measures.satisfaction import published_mapping, user_form

# (scale, measure): bias of Table 3.2, residual of Table 4.2
PRINTED = {
    ("graded-4", "CG@5"): (0.1232, 0.0254),
    ("graded-4", "CG(gain=exponential)@5"): (0.1297, 0.0339),
    ("graded-4", "DCG@5"): (0.1248, 0.0176),
    ("graded-4", "DCG(gain=exponential)@5"): (0.1347, 0.02),
    ("graded-4", "Q@5"): (0.1296, 0.0229),
    ("graded-4", "Q(gain=exponential)@5"): (0.1409, 0.0206),
    ("graded-4", "RBP@5"): (0.1239, 0.0229),
    ("graded-4", "RBP(gain=exponential)@5"): (0.1355, 0.0242),
    ("graded-4", "GAP@5"): (0.128, 0.0208),
    ("graded-5", "CG@5"): (0.111, 0.0183),
    ("graded-5", "CG(gain=exponential)@5"): (0.13, 0.0315),
    ("graded-5", "DCG@5"): (0.1215, 0.0155),
    ("graded-5", "DCG(gain=exponential)@5"): (0.14, 0.0281),
    ("graded-5", "Q@5"): (0.1304, 0.0205),
    ("graded-5", "Q(gain=exponential)@5"): (0.1425, 0.0233),
    ("graded-5", "RBP@5"): (0.1195, 0.0188),
    ("graded-5", "RBP(gain=exponential)@5"): (0.1397, 0.0252),
    ("graded-5", "GAP@5"): (0.1189, 0.0262),
    ("binary-20", "P@5"): (0.1515, 0.0034),
    ("binary-20", "AP@5"): (0.1562, 0.0402),
    ("binary-20", "DCG@5"): (0.1515, 0.0325),
    ("binary-20", "RBP@5"): (0.1515, 0.0275),
    ("binary-40", "P@5"): (0.1494, 0.0141),
    ("binary-40", "AP@5"): (0.1513, 0.0267),
    ("binary-40", "DCG@5"): (0.1494, 0.0346),
    ("binary-40", "RBP@5"): (0.1494, 0.038),
}


@pytest.mark.parametrize(("scale", "measure"), PRINTED)
def test_a_published_cubic_has_the_bias_that_is_printed_of_the_shares_it_was_fitted_to(scale, measure):
    bias, residual = PRINTED[scale, measure]
    low, high = published_mapping(user_form(measure), scale).probability(np.array([0.05, 0.95]))
    found = np.sqrt(((low - 0.05) ** 2 + (0.95 - high) ** 2) / 2)
    assert found == pytest.approx(bias, abs=2 * residual)


def test_all_of_them_together_are_closer_than_each_needs_to_be():
    apart = []
    for (scale, measure), (bias, _) in PRINTED.items():
        low, high = published_mapping(user_form(measure), scale).probability(np.array([0.05, 0.95]))
        apart.append(np.sqrt(((low - 0.05) ** 2 + (0.95 - high) ** 2) / 2) - bias)
    # Errors of single cubics have either sign: their mean is that of 26, each within about .02.
    assert abs(np.mean(apart)) < 0.01


def level_of(*thresholds):
    """Level of each grade: 101 i / n to the nearest grade, as the 34 and 67 of three levels in section 3.1.2."""
    return lambda grades: sum(grades >= threshold for threshold in thresholds)


FOUR, FIVE = level_of(25, 51, 76), level_of(20, 40, 61, 81)
# scale, measure: gain of a grade over the highest, the coefficients of Table 4.3
BY_HAND = {
    ("graded-4", "CG@5"): (lambda g: FOUR(g) / 3, (0.2162, -0.1609, 2.151, -1.3492)),
    ("graded-4", "CG(gain=exponential)@5"): (lambda g: (2 ** FOUR(g) - 1) / 7, (0.1879, 0.6952, 0.5243, -0.5204)),
    ("graded-5", "CG@5"): (lambda g: FIVE(g) / 4, (0.1895, -0.0282, 1.9266, -1.2236)),
    ("graded-5", "CG(gain=exponential)@5"): (
        lambda g: (2 ** FIVE(g) - 1) / 15,
        (0.1734, 1.1467, -0.3836, -0.0491),
    ),
    ("binary-20", "P@5"): (lambda g: g >= 20, (0.1541, 0.1227, 0.0152, 0.5589)),
    ("binary-40", "P@5"): (lambda g: g >= 40, (0.2352, -0.3261, 1.5421, -0.5807)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "measure"), PRINTED)
def test_every_mapping_answers_through_evaluate_and_the_plain_ones_as_by_hand(mirex2011, scale, measure):
    found = evaluate(mirex2011, measure, scale=scale)
    assert found.satisfied is not None
    assert found.success is not None
    if (scale, measure) not in BY_HAND:
        return
    gain, coefficients = BY_HAND[scale, measure]
    grades = mirex2011.grades()
    runs = {run.system: run for run in mirex2011.runs}
    for row in found.rows():
        lists = runs[row["system"]].rankings.items()
        scores = [np.mean([gain(grades[query, one]) for one in documents[:5]]) for query, documents in lists]
        shares = sum(factor * np.array(scores) ** power for power, factor in enumerate(coefficients))
        assert row["satisfied"] == pytest.approx(shares.mean(), abs=1e-12)
