"""The example of docs/joint.md: by hand in fractions, by the model's own classes, and as printed on the page."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from audiosim.measures.measure import parse_measure
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.rules import DoubtAboutDifferences
from audiosim.ranking.scores import SystemScores
from audiosim.stats.normal.block_normal import BlockNormal

PAGE = Path(__file__).parents[2] / "docs" / "joint.md"
FOUND = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]) / 2  # by A, B and C


@pytest.fixture
def gains():
    """The four pairs after the first was judged with the highest grade."""
    within = np.full((2, 2), 0.02) + np.diag([0.04, 0.04])
    before = BlockNormal(
        np.full(4, 0.5),
        (np.array([0, 1]), np.array([2, 3])),
        (within, within),
        (np.ones((2, 1)), np.ones((2, 1))),
        np.array([[0.01]]),
    )
    assert before.among(np.arange(4)) == pytest.approx(
        np.array([[7, 3, 1, 1], [3, 7, 1, 1], [1, 1, 7, 3], [1, 1, 3, 7]]) / 100
    )
    return before.condition(0, 1.0)


def printed(table):
    """The rows of the page's table with this head, by their first cell."""
    lines = PAGE.read_text(encoding="utf-8").split(f"{table}\n")[1].split("\n\n")[0].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: [float(cell) for cell in cells] for name, *cells in rows}


def test_pairs_are_as_in_fractions_and_on_the_page(gains):
    mean = [
        Fraction(1),
        Fraction(1, 2) + Fraction(3, 7) / 2,
        Fraction(1, 2) + Fraction(1, 7) / 2,
        Fraction(1, 2) + Fraction(1, 7) / 2,
    ]
    variance = [
        Fraction(0),
        Fraction(7, 100) - Fraction(9, 700),
        Fraction(7, 100) - Fraction(1, 700),
        Fraction(7, 100) - Fraction(1, 700),
    ]
    assert gains.mean == pytest.approx([float(one) for one in mean], abs=1e-12)
    assert gains.variance == pytest.approx([float(one) for one in variance], abs=1e-12)
    page = printed("| | pair 1 | pair 2 | pair 3 | pair 4 |")
    assert page["expected, after"] == pytest.approx([float(one) for one in mean], abs=5e-4)
    assert page["variance, after"] == pytest.approx([float(one) for one in variance], abs=5e-5)


def test_systems_are_as_in_fractions_and_on_the_page(gains):
    scores = gains.project(sparse.csr_array(FOUND))
    assert scores.mean == pytest.approx([11 / 14, 11 / 14, 9 / 14], abs=1e-12)
    ranking = Ranking(
        parse_measure("CG@1"), "by hand", ("A", "B", "C"), SystemScores(scores.mean, scores.covariance, 2, 4), 1, 4
    )
    by_hand = {  # expected, variance
        ("A", "B"): (Fraction(0), Fraction(2, 100)),
        ("A", "C"): (Fraction(1, 7), Fraction(6, 175)),
        ("B", "C"): (Fraction(1, 7), Fraction(1, 70)),
    }
    first, second = ranking.scores.pairs
    difference, variance = ranking.scores.differences
    page = printed("| | expected | variance | confidence |")
    for a, b, off, width, sure in zip(first, second, difference, variance, ranking.scores.confidences, strict=True):
        names = tuple(sorted((ranking.systems[a], ranking.systems[b])))
        expected, spread = by_hand[names]
        confidence = 0.5 + math.atan(expected / math.sqrt(spread)) / math.pi
        assert (abs(off), width, sure) == pytest.approx((float(expected), float(spread), confidence), abs=1e-12)
        exact = (expected, spread, confidence)
        assert page[f"{names[0]} less {names[1]}"] == pytest.approx([float(one) for one in exact], abs=6e-4)
    assert ranking.confidence == pytest.approx(0.662, abs=6e-4)


def test_worths_are_as_by_hand_and_on_the_page(gains):
    """Sums over the differences of f(z)^2 / variance times the squared covariance with a pair, over its variance."""
    weights = sparse.csr_array(FOUND)
    of = gains.project(weights)
    scores = SystemScores(of.mean, of.covariance, 2, 4)
    ranking = Ranking(parse_measure("CG@1"), "by hand", ("A", "B", "C"), scores, 1, 4)
    left = np.array([[40 / 7, 4 / 7, 4 / 7], [4 / 7, 48 / 7, 20 / 7], [4 / 7, 20 / 7, 48 / 7]]) / 100  # pairs 2 to 4
    worth = np.zeros(3)
    for row, expected in (([0, 0.5, -0.5], 0), ([-0.5, 0.5, -0.5], 1 / 7), ([-0.5, 0, 0], 1 / 7)):
        covariance = left @ row
        variance = row @ covariance
        worth += math.exp(-(expected**2) / variance) / (2 * math.pi * variance) * covariance**2 / np.diagonal(left)
    found = DoubtAboutDifferences.of(None, FOUND @ gains.among(np.arange(4)), gains.variance, ranking)
    assert found[1:] == pytest.approx(worth, rel=1e-9)
    assert printed("| | pair 2 | pair 3 | pair 4 |")["worth"] == pytest.approx(worth, abs=5e-4)
