"""The joint model and the collection of the tests of relevance, for those that train and validate models."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "relevance_conftest", Path(__file__).parents[1] / "relevance" / "conftest.py"
)
_relevance = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_relevance)
in_common, joined, some_hundreds, jointly = (
    getattr(_relevance, name) for name in ("in_common", "joined", "some_hundreds", "jointly")
)
