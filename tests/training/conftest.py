"""The joint model and collection from the tests of relevance, for tests of training and validation."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "relevance_conftest", Path(__file__).parents[1] / "joint" / "conftest.py"
)
_relevance = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_relevance)
in_common, joined, some_hundreds, jointly = (
    getattr(_relevance, name) for name in ("in_common", "joined", "some_hundreds", "jointly")
)
