"""Old names work for one more version, and say what to use."""

import warnings

import pytest

from audiosim import plugins, selection
from audiosim.deprecation import deprecated, former_argument, old_names


def test_a_deprecated_function_works_and_names_its_successor_where_it_is_called():
    @deprecated("new_sum", until="9.9")
    def old_sum(*numbers, start=0):
        """Sum."""
        return sum(numbers, start)

    with pytest.warns(FutureWarning, match="^old_sum is deprecated and goes with audiosim 9.9: use new_sum$") as said:
        assert old_sum(1, 2, start=3) == 6
    assert said[0].filename == __file__
    assert (old_sum.__name__, old_sum.__doc__) == ("old_sum", "Sum.")


def test_an_argument_that_changed_is_taken_by_its_old_name():
    @former_argument("start", "first", until="9.9")
    def total(*numbers, first=0):
        return sum(numbers, first)

    with pytest.warns(
        FutureWarning, match=r"^total\(start=...\) is deprecated and goes with audiosim 9.9: use first=$"
    ):
        assert total(1, 2, start=3) == 6
    with warnings.catch_warnings(action="error"):
        assert total(1, 2, first=3) == 6


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (selection, "Rule", "SelectionRule"),
        (selection, "RULES", "SELECTION_RULES"),
        (selection, "make_rule", "make_selection_rule"),
        (selection, "default_rule", "default_selection_rule"),
        (selection, "Stop", "StoppingRule"),
        (selection, "parse_stop", "parse_stopping_rule"),
        (plugins, "check_rule", "check_selection_rule"),
        (plugins, "find_rule", "find_selection_rule"),
    ],
)
def test_a_name_that_changed_is_found_under_its_old_one(module, old, new):
    message = f"^{module.__name__}.{old} is deprecated and goes with audiosim 0.2: use {module.__name__}.{new}$"
    with pytest.warns(FutureWarning, match=message):
        found = getattr(module, old)
    with warnings.catch_warnings(action="error"):
        assert found is getattr(module, new)


def test_a_name_that_never_was_is_no_attribute():
    with pytest.raises(AttributeError, match="^module 'audiosim.selection' has no attribute 'Luck'$"):
        selection.Luck  # noqa: B018
    with pytest.raises(AttributeError, match="^module 'mine' has no attribute 'other'$"):
        old_names("mine", old="new")("other")
