"""Use of the levels of a scale, as a value with its rules."""

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.joint.levels import Levels

LEVELS = np.array([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"stretch": 0.0}, "^its stretch must be one finite number above 0$"),
        ({"width": np.inf}, "^its width must be one finite number above 0$"),
        ({"worth": np.nan}, "^its worth must be one number above 0$"),
        ({"shape": np.zeros(3)}, "^its shape must be 2 finite numbers, one for each level but the highest$"),
        ({"means": np.array([0.0, 2.0, 1.0])}, "^its means must be 3 rising grades up to 2, one for each level$"),
    ],
)
def test_a_use_of_levels_that_cannot_be_one_is_refused(parts, message):
    with pytest.raises(InputError, match=message):
        Levels(**parts).check(LEVELS, 2.0)


def test_what_was_learned_of_levels_is_taken_up_again_from_plain_values():
    learned = Levels(np.array([0.1, -0.2]), 1.4, 0.9, 5.0, np.array([0.2, 1.1, 1.9]))
    again = Levels(width=0.9).resumed(learned.to_dict())
    np.testing.assert_array_equal(again.shape, learned.shape)
    np.testing.assert_array_equal(again.means, learned.means)
    assert (again.stretch, again.worth, again.width) == (1.4, 5.0, 0.9)
