"""Evidence behind features, as declared by the features, whatever their names."""

import numpy as np
import pytest

from audiosim.joint.posterior import evidence_of, kinds_of
from audiosim.ordinal.feature import Feature


def named(name, **about):
    return Feature(name, "output", "nothing", 1, "of a test", lambda pool: np.zeros(len(pool.pairs)), **about)


@pytest.mark.parametrize("name", ["HEART", "nHYDROGEN"])
def test_a_feature_speaks_as_what_it_says_it_is_about_not_as_its_name_ends(name):
    assert kinds_of(named(name)) == ("output",)
    assert evidence_of([named(name, about="genre"), named("tempo", about="artist")]) == ("genre", "artist")
