"""The effect of the place on a page, compared with statsmodels and with built-in effects."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import t
from statsmodels.stats.meta_analysis import combine_effects

from audiosim.campaign.event import Event, Record
from audiosim.campaign.reader import placed_grades
from audiosim.collection.values import BROAD
from audiosim.people.effects import PlacedGrade, position_effect

TIME = "2013-05-01T12:00:00.000Z"


def drawn(rng, slopes, pages=8, noise=0.1):
    """Pages of two to five candidates by people whose grades rise by `slopes` from the first place to the last."""
    found = []
    for person, slope in enumerate(slopes):
        for page in range(pages):
            count, level = int(rng.integers(2, 6)), rng.random()
            for place in np.linspace(0, 1, count):
                grade = level + slope * place + noise * rng.standard_normal()
                found.append(PlacedGrade(f"p{person}", person * pages + page, float(place), float(grade)))
    return found


def test_it_is_the_pooled_slope_of_least_squares_with_fixed_pages():
    placed = drawn(np.random.default_rng(1), [0.3, 0.0, 0.15, -0.1])
    frame = pd.DataFrame(placed)
    fit = smf.ols("grade ~ C(page) + C(person):place - 1", frame).fit()
    slopes = [name for name in fit.params.index if name.endswith(":place")]
    expected = combine_effects(fit.params[slopes].to_numpy(), fit.bse[slopes].to_numpy() ** 2, method_re="dl")
    found = position_effect(placed)
    assert (found.effect, found.count) == ("position", 4)
    assert expected.tau2 > 0
    assert found.between**2 == pytest.approx(expected.tau2, rel=1e-9)
    assert found.value == pytest.approx(expected.mean_effect_re, rel=1e-9)
    reach = t.ppf(0.975, 3) * np.sqrt(max(expected.var_hksj_re, expected.sd_eff_w_re**2))
    assert found.high - found.value == pytest.approx(reach, rel=1e-9)


@pytest.mark.slow
def test_the_effect_that_was_built_in_is_within_the_interval_as_often_as_stated():
    rng = np.random.default_rng(2)
    found = [position_effect(drawn(rng, 0.1 + 0.05 * rng.standard_normal(5), pages=4)) for _ in range(400)]
    assert 0.92 < np.mean([one.low < 0.1 < one.high for one in found]) < 0.99
    assert np.mean([one.value for one in found]) == pytest.approx(0.1, abs=0.01)  # standard error .003
    none = [position_effect(drawn(rng, np.zeros(5), pages=4)) for _ in range(400)]
    assert np.mean([one.by_chance for one in none]) > 0.92


def test_it_is_said_in_words():
    steady = [PlacedGrade(f"p{n % 3}", n // 3, x, 0.5 * x) for n in range(12) for x in (0.0, 0.5, 1.0)]
    noisy = [one._replace(grade=one.grade + (0.01 if one.page % 2 else -0.01) * one.place) for one in steady]
    assert position_effect(noisy).sentence.startswith(
        "Effect of the place on a page of 3 people, on average: +0.50 of the scale from the first candidate to the last"
    )


def test_of_few_grades_one_person_or_equal_grades_nothing_is_said():
    assert position_effect([]) is None
    assert position_effect(drawn(np.random.default_rng(3), [0.1])) is None
    assert position_effect(drawn(np.random.default_rng(3), [0.1, 0.1], pages=2)) is None
    level = [one._replace(grade=0.5) for one in drawn(np.random.default_rng(3), [0, 0])]
    assert position_effect(level) is None


def line(number, query, document, who, grade, beside=None, place=None, **more):
    details = {} if beside is None else {"beside": beside} | ({} if place is None else {"beside_place": place})
    grades = {} if grade is None else {"broad": grade}
    return Record(number, Event(more.pop("kind", "judgment"), TIME, who, query, document, grades, details, **more))


def test_pages_are_read_from_the_log_without_what_was_withdrawn_set_aside_or_written_by_earlier_versions():
    records = [
        line(1, "q", "a", "ann", 0, 3, 1),
        line(2, "q", "b", "ann", 2, 3, 3),
        line(3, "q", "a", "bob", 1, 3, 1),
        line(4, "q", "c", "ann", 1, 3, 1),  # the place occurs again: another page
        line(5, "r", "d", "ann", 1, 3),  # from an earlier version
        line(6, "r", "e", "ann", 1),
        line(7, "", "", "ann", None, kind="undo", refers=4),
        line(8, "q", "d", "ann", 2, 2, 2),  # another number of candidates: another page
        Record(9, Event("set_aside", TIME, "olga", details={"judge": "bob"})),
    ]
    found = placed_grades(records, BROAD)
    assert [(one.person, one.place, one.grade) for one in found] == [("ann", 0, 0), ("ann", 1, 1), ("ann", 1, 1)]
    pages = [one.page for one in found]
    assert pages[0] == pages[1] != pages[2]
    back = [*records, Record(10, Event("take_back", TIME, "olga", details={"judge": "bob"}))]
    assert [one.person for one in placed_grades(back, BROAD)] == ["ann", "ann", "bob", "ann"]
