"""Model files: an ordinal model, the features it needs and where its numbers come from, as JSON.

    {"format": 1, "name": "mout-broad", "scale": "broad", "levels": [0, 1, 2],
     "terms": ["fSYS", "OV", "fSYS:OV"], "coefficients": [...], "thresholds": [...],
     "fallback": "historical-broad", "source": "...", "checksum": "sha256 of the rest"}

A model without terms is a fixed distribution.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from audiosim import shipped
from audiosim.arrays import Array
from audiosim.corpus.lines import write_text
from audiosim.corpus.model import Scale
from audiosim.errors import FormatError, InputError
from audiosim.features.table import check_terms, design
from audiosim.stats.ordinal import level_probabilities

FORMAT = 1


@dataclass(frozen=True)
class Model:
    """An ordinal model of relevance.

    name          of the file, such as "mout-fine"
    scale         name of the scale whose judgments it was fitted to
    levels        the grades it gives probabilities for, rising
    terms         features, and products of features written a:b
    coefficients  one per term
    thresholds    one for each level but the lowest, falling
    fallback      name of the model for pairs with an unknown feature; None where there is none
    source        where the numbers come from
    """

    name: str
    scale: str
    levels: tuple[float, ...]
    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    thresholds: tuple[float, ...]
    fallback: str | None
    source: str

    def __post_init__(self) -> None:
        if len(self.coefficients) != len(self.terms):
            raise InputError(f"model {self.name} has {len(self.terms)} terms but {len(self.coefficients)} coefficients")
        if len(self.thresholds) != len(self.levels) - 1:
            raise InputError(f"model {self.name} has {len(self.levels)} levels but {len(self.thresholds)} thresholds")
        numbers = [*self.levels, *self.coefficients, *self.thresholds]
        if not np.all(np.isfinite(numbers)):
            raise InputError(f"model {self.name} has a number that is not finite")
        if np.any(np.diff(self.levels) <= 0) or np.any(np.diff(self.thresholds) >= 0):
            raise InputError(f"the levels of model {self.name} must rise and its thresholds fall")
        check_terms(self.terms)

    @cached_property
    def version(self) -> str:
        """The first twelve digits of the checksum: two models of one version say the same."""
        return checksum(asdict(self))[:12]

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the terms multiply, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.split(":")))

    def probabilities(self, table: Mapping[str, Array], count: int) -> Array:
        """(count, levels) P(level) for each row of a table of features; NaN where a feature is unknown.

        table  the model's features, each (count,)
        """
        missing = [name for name in self.features if name not in table]
        if missing:
            raise InputError(
                f"model {self.name} needs the features {', '.join(self.features)}; {', '.join(missing)} missing"
            )
        predictor = design(table, self.terms) @ np.array(self.coefficients) if self.terms else np.zeros(count)
        return level_probabilities(np.array(self.thresholds), predictor)


def checksum(fields: Mapping[str, Any]) -> str:
    """SHA-256 of a model's fields, whatever their order and layout; a checksum among them is left out."""
    kept = {key: value for key, value in fields.items() if key not in {"checksum", "format"}}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def save_model(model: Model, path: Path) -> None:
    """Write a model file; nothing is left half written."""
    fields = {"format": FORMAT} | asdict(model)
    write_text(path, [json.dumps(fields | {"checksum": checksum(fields)}, indent=1)])


def load_model(name: str | Path) -> Model:
    """The model of a name in models/, such as "mout-fine", or of a file that ends in .json.

    Raises FormatError where the file is not a model or its checksum does not match.
    """
    path = Path(name) if str(name).endswith(".json") else shipped.folder("models") / f"{name}.json"
    if not path.is_file():
        raise InputError(f"unknown model {str(name)!r}, expected a .json file or one of {', '.join(model_names())}")
    return _parse(path)


def model_names() -> list[str]:
    """The names of the models shipped."""
    return sorted(path.stem for path in shipped.folder("models").glob("*.json"))


def model_for_scale(name: str, scale: Scale) -> Model:
    """The model of a name or path, its coefficients picked by the scale: mout means mout-fine on the Fine scale."""
    full = f"{name}-{scale.name}"
    if full not in model_names() and any(known.startswith(f"{name}-") for known in model_names()):
        raise InputError(f"there is no {name} for the {scale.name} scale; uniform works on every scale")
    model = load_model(full if full in model_names() else name)
    if model.scale != scale.name:
        raise InputError(f"model {model.name} is for the {model.scale} scale, the collection's is {scale.name}")
    return model


def _parse(path: Path) -> Model:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not JSON: {error.msg}") from None
    except UnicodeDecodeError:
        raise FormatError(path, 1, "not UTF-8") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise FormatError(path, 1, f"expected a model file of format {FORMAT}")
    expected = {*Model.__dataclass_fields__, "format", "checksum"}
    if set(fields) != expected:
        raise FormatError(
            path, 1, f"expected the keys {', '.join(sorted(expected))}, found {', '.join(sorted(fields))}"
        )
    if fields["checksum"] != checksum(fields):
        raise FormatError(path, 1, "the checksum does not match: the file was changed after it was written")
    try:
        return msgspec.convert(fields, Model)
    except (InputError, msgspec.ValidationError) as error:
        raise FormatError(path, 1, str(error)) from None
