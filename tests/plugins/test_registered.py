"""Everything in audiosim is registered in the same way as in other packages."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from audiosim.plugins.__main__ import CHECKS

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
GROUPS = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]
POINTS = {point.group: point for point, _ in CHECKS}


def test_every_extension_point_has_its_group():
    assert set(GROUPS) == set(POINTS)


@pytest.mark.parametrize("group", sorted(set(POINTS) - {"audiosim.estimators", "audiosim.descriptors"}))
def test_each_built_in_is_registered_under_its_name(group):
    own = POINTS[group].own()
    assert set(GROUPS[group]) == set(own), f"pyproject.toml must list all of {group}, as the table in the code does"
    for name, value in GROUPS[group].items():
        assert EntryPoint(name, value, group).load() is own[name]
