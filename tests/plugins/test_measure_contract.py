"""Violations of the contract of measures are reported; all measures that keep it pass."""

from itertools import count

import numpy as np
import pytest

from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.measures.measure import (
    GAIN,
    IDEAL,
    MEASURES,
    MINIMUM,
    Definition,
    Measure,
    Parameter,
    judged_ideal,
    score,
)
from audiosim.ranking.contract import check_measure

CALLS = count()


def rng():
    return np.random.default_rng(3)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MEASURES))
def test_audiosim_s_own_measures_keep_the_contract_in_all_their_forms(name):
    check_measure(MEASURES[name], rng())


def mean(grades):
    return np.nan_to_num(grades).sum(axis=-1)


def first(measure, scale, grades, judged):
    """The gain of the first document: valid, but not part of audiosim."""
    padded = np.pad(grades, [(0, 0)] * (grades.ndim - 1) + [(0, 1)])
    return np.nan_to_num(padded[..., 0]) / scale.maximum


def share(measure, scale, grades, judged):
    """The share of the best five judged documents' grades; it may fall when a grade rises, yet keeps the contract."""
    best = judged[..., :5].sum(axis=-1)
    return np.divide(mean(grades), best, out=np.zeros(grades.shape[:-1]), where=best + 0 * mean(grades) > 0)


@pytest.mark.parametrize("score", [first, share])
def test_a_measure_of_one_s_own_keeps_the_contract(score):
    check_measure(Definition("MINE", (MINIMUM,), score), rng())


def falling(measure):
    return 1 - np.arange(measure.cutoff) / measure.cutoff


def falling_share(measure, scale, grades, judged):
    """The sum of 5/5, 4/5, ... of each gain, over the most it can be at cutoff 5."""
    padded = np.pad(np.nan_to_num(grades), [(0, 0)] * (grades.ndim - 1) + [(0, 5)])[..., :5]
    return np.asarray(padded @ [1.0, 0.8, 0.6, 0.4, 0.2] / (3 * scale.maximum))


def one(measure):
    return [1.0]


def too_few(measure):
    return np.ones(measure.cutoff - 1)


def rising(measure):
    return np.arange(float(measure.cutoff))


def alike(measure):
    return np.ones(measure.cutoff)


def steep(measure, scale, grades, judged):
    """Equal at every rank for a single document, yet not a sum."""
    return np.asarray((mean(grades) / (5 * scale.maximum)) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "definition",
    [
        Definition("MINE", (GAIN,), rank_weights=falling),
        Definition("MINE", (GAIN, IDEAL), rank_weights=falling, relative=judged_ideal),
        Definition("MINE", (), falling_share, falling),
    ],
)
def test_a_measure_that_is_a_weighted_sum_needs_no_more_than_its_weights(definition):
    check_measure(definition, rng())


def test_the_score_that_follows_from_weights_is_the_weighted_sum():
    mine = Measure(Definition("MINE", rank_weights=falling), 5)
    grades = np.array([[3.0, 1, 2], [0, np.nan, np.nan]])
    # (3 + 0.8 + 1.2) over 3 times the largest of 3
    assert score(mine, Scale("four", (0.0, 1.0, 2.0, 3.0)), grades, np.zeros((2, 0))) == pytest.approx([5 / 9, 0])


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (Definition("MINE", (), first, one), "rank_weights must be an array of 5 float64, got list"),
        (
            Definition("MINE", (), first, too_few),
            r"rank_weights must be an array of 5 float64, got \(4,\)",
        ),
        (
            Definition("MINE", (), first, rising),
            r"rank_weights must be finite, 0 or more, the first above 0, got \[0. 1. 2. 3. 4.\]",
        ),
        (
            Definition("MINE", (), falling_share, alike),
            "documents must score in proportion to rank_weights, got 0.26.* instead of 0.33.*",
        ),
        (
            Definition("MINE", (IDEAL,), falling_share, falling, judged_ideal),
            "scores must be the sum of gains weighted by rank_weights, got .* instead of .*",
        ),
        (
            Definition("MINE", (), steep, alike),
            "scores must be the sum of gains weighted by rank_weights, got .* instead of .*",
        ),
    ],
)
def test_weights_that_are_not_those_of_the_score_are_told(definition, message):
    with pytest.raises(InputError, match=f"^MINE.*@5 on the fine scale: {message}$"):
        check_measure(definition, rng())


def test_a_form_on_two_levels_that_scores_otherwise_is_told():
    with pytest.raises(
        InputError, match="^MINE@5 on the binary scale: on two levels it must have the scores of P, got "
    ):
        check_measure(Definition("MINE", (), first, two_levels=MEASURES["P"]), rng())


def as_list(measure, scale, grades, judged):
    return first(measure, scale, grades, judged).tolist()


def as_integers(measure, scale, grades, judged):
    return (grades > 0).any(axis=-1) * 1


def of_all(measure, scale, grades, judged):
    return np.asarray(first(measure, scale, grades, judged).mean())


def without_care(measure, scale, grades, judged):
    return grades[..., 0] / scale.maximum


def not_finite(measure, scale, grades, judged):
    with np.errstate(invalid="ignore"):
        return np.asarray(mean(grades) / mean(judged))


def unbounded(measure, scale, grades, judged):
    return mean(grades)


def negative(measure, scale, grades, judged):
    return -first(measure, scale, grades, judged)


def generous(measure, scale, grades, judged):
    return first(measure, scale, grades, judged) / 2 + 0.5


def constant(measure, scale, grades, judged):
    return np.zeros(grades.shape[:-1])


def drawn(measure, scale, grades, judged):
    return first(measure, scale, grades, judged) * (1 + next(CALLS) % 2) / 2


def changing(measure, scale, grades, judged):
    grades[np.isnan(grades)] = 0
    return first(measure, scale, grades, judged)


def relative_to_others(measure, scale, grades, judged):
    own = first(measure, scale, grades, judged)
    return own / max(own.max(initial=0), 1e-9)


def by_length(measure, scale, grades, judged):
    return first(measure, scale, grades, judged) / max(grades.shape[-1], 1)


def by_judged(measure, scale, grades, judged):
    return first(measure, scale, grades, judged) / max(judged.shape[-1], 1)


def of_levels_only(measure, scale, grades, judged):
    levels = {level: level / scale.maximum for level in scale.levels}
    return np.array([levels[g] for g in np.nan_to_num(np.atleast_1d(grades.ravel()[:1]))]).reshape(grades.shape[:-1])


def in_one_form(measure, scale, grades, judged):
    if measure.word("way") == "up":
        raise KeyError("up")
    return first(measure, scale, grades, judged)


def three_axes(measure, scale, grades, judged):
    if grades.ndim == 4 and judged.ndim == 4:
        return first(measure, scale, grades, judged)[..., ::-1]
    return first(measure, scale, grades, judged)


def by_place(measure, scale, grades, judged):
    own = first(measure, scale, grades, judged)
    return own / np.arange(1, own.shape[-1] + 1) if own.ndim else own


def by_query(measure, scale, grades, judged):
    own = first(measure, scale, grades, judged)
    return own * (np.arange(own.shape[-1]) % 2) if own.ndim > 2 else own


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (as_list, "MINE@5 on the fine scale: score must return an array of float64, got float"),
        (as_integers, "MINE@5 on the fine scale: score must return an array of float64, got int64"),
        (of_all, r"MINE@5 on the fine scale: scores of grades \(3, 4, 1\) must be \(3, 4\), got \(\)"),
        (
            without_care,
            r"MINE@5 on the fine scale: score raises IndexError: .*, for grades \(0,\) and judged \(9,\)",
        ),
        (not_finite, "MINE@5 on the fine scale: scores must be finite, got nan"),
        (unbounded, "MINE@5 on the fine scale: scores must be 0 to 1 with default parameters, got 500"),
        (negative, "MINE@5 on the fine scale: scores must be 0 to 1 with default parameters, got -1"),
        (generous, "MINE@5 on the fine scale: a list in which nothing was retrieved must score 0, got 0.5"),
        (constant, "MINE@5 on the fine scale: the highest grade at every rank must score more than 0, got 0"),
        (drawn, "MINE@5 on the fine scale: two scores of the same rankings differ"),
        (changing, "MINE@5 on the fine scale: score changes the arrays passed to it"),
        (
            relative_to_others,
            "MINE@5 on the fine scale: rankings must have the same scores together as one by one, got .*",
        ),
        (by_place, "MINE@5 on the fine scale: rankings must have the same scores together as one by one, got .*"),
        (
            by_query,
            "MINE@5 on the fine scale: the order of the queries must not matter, nor one more axis, got .*",
        ),
        (three_axes, "MINE@5 on the fine scale: judged may also have an axis of draws, got .* instead of .*"),
        (
            by_length,
            "MINE@5 on the fine scale: ranks without a document and zeros after the judged ones must change nothing, "
            "got .*",
        ),
        (by_judged, "MINE@5 on the fine scale: ranks without a document and zeros after the judged ones .*"),
        (of_levels_only, "MINE@5 on the fine scale: score raises .*"),
        (in_one_form, r"MINE\(way=up\)@5 on the fine scale: score raises KeyError: 'up', for grades .*"),
        (lambda measure, scale, grades, judged: 0.0, "MINE@5: cannot be sent to another process: .*"),
    ],
)
def test_a_measure_that_breaks_the_contract_is_told_how(score, message):
    way = Parameter("way", "down", "up or down", ("up", "down"))
    with pytest.raises(InputError, match=f"^{message}$"):
        check_measure(Definition("MINE", (way,), score), rng())


class Elsewhere:
    """A score that changes when sent to another process."""

    def __call__(self, measure, scale, grades, judged):
        return first(measure, scale, grades, judged)


def test_a_measure_that_does_not_arrive_as_it_was_sent_is_told():
    with pytest.raises(InputError, match="^MINE@5: becomes a different measure when it is sent to another process$"):
        check_measure(Definition("MINE", (), Elsewhere()), rng())


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(0, np.inf), (-np.inf, np.inf), (-np.inf, -3), (2, 2.5)])
def test_numbers_are_tried_within_their_range(low, high):
    number = Parameter("number", None, "within its range", low=low, high=high)
    NOTED.clear()
    check_measure(Definition("MINE", (number,), noting), rng())
    tried = {dict(parameters)["number"] for parameters in NOTED if parameters}
    assert len(tried) == 1
    assert all(low < one < high for one in tried)


NOTED = []


def noting(measure, scale, grades, judged):
    NOTED.append(measure.parameters)
    return first(measure, scale, grades, judged)
