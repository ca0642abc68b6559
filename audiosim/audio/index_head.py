"""The head of an index: the version of its layout, the parameters of its frames, the names of their dimensions.

{"version": 4, "parameters": {...}, "dimensions": [...]}
"""

import json
from pathlib import Path

from audiosim.audio.parameters import Parameters
from audiosim.errors import FormatError, InputError

HEAD = "index.json"
VERSION = 4


def read_head(folder: Path) -> Parameters:
    """The parameters of the index in a folder."""
    path = folder / HEAD
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        version = head["version"]
        parameters = Parameters.from_json(head["parameters"]) if version == VERSION else None
        dimensions = head["dimensions"] if parameters else []
    except OSError:
        raise InputError(f"{folder}: is not an index, expected a folder with {HEAD}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(path, 1, "expected the version and the parameters of an index") from None
    if parameters is None:
        raise FormatError(path, 1, f"expected an index of version {VERSION}, found {version!r}; extract it again")
    if dimensions != list(parameters.dimensions):
        raise FormatError(path, 1, f"expected the dimensions of its parameters, {', '.join(parameters.dimensions)}")
    return parameters


def _write_head(folder: Path, parameters: Parameters) -> None:
    known = {"parameters": parameters.to_json(), "dimensions": parameters.dimensions}
    new = folder / f"{HEAD}.new"
    new.write_text(json.dumps({"version": VERSION} | known) + "\n", encoding="utf-8")
    new.replace(folder / HEAD)


def prepare_head(folder: Path, parameters: Parameters) -> None:
    """Make a new index, or check that the one in the folder has the same parameters."""
    if (folder / HEAD).exists():
        found = read_head(folder)
        if found != parameters:
            raise InputError(f"{folder}: holds frames of other parameters ({found}), expected {parameters}")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.name != f"{HEAD}.new" for path in folder.iterdir()):
            raise InputError(f"{folder}: is not an index and not empty, expected an index or a new folder")
        _write_head(folder, parameters)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}), expected an index or a new folder") from None
