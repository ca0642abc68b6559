"""The head of an index: the version of its layout, the parameters of its frames, the names of their dimensions.

    {"version": 4, "unflagged": 120, "parameters": {...}, "dimensions": [...]}

Version 3 has no flag for recordings whose band is known to end. It can be read; appending turns it into version 4, in
which the notes of the first `unflagged` entries say whether their band ends.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from audiosim.audio.parameters import Parameters
from audiosim.errors import FormatError, InputError

HEAD = "index.json"
VERSION, BEFORE = 4, 3


@dataclass(frozen=True, slots=True)
class IndexHead:
    """Facts about all entries of an index.

    unflagged  number of first entries whose flags do not say whether their band is known to end; None: all
    """

    parameters: Parameters
    unflagged: int | None = 0


def read_head(folder: Path) -> IndexHead:
    """The head of the index in a folder."""
    path = folder / HEAD
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        version = head["version"]
        parameters = Parameters.from_json(head["parameters"]) if version in (BEFORE, VERSION) else None
        dimensions = head["dimensions"] if parameters else []
        unflagged = None if version == BEFORE else int(head.get("unflagged", 0))
    except OSError:
        raise InputError(f"{folder}: is not an index, expected a folder with {HEAD}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(path, 1, "expected the version and the parameters of an index") from None
    if parameters is None:
        raise FormatError(
            path, 1, f"expected an index of version {BEFORE} or {VERSION}, found {version!r}; extract it again"
        )
    if dimensions != list(parameters.dimensions):
        raise FormatError(path, 1, f"expected the dimensions of its parameters, {', '.join(parameters.dimensions)}")
    return IndexHead(parameters, unflagged)


def write_head(folder: Path, head: IndexHead) -> None:
    """Make the head of an index, or replace it."""
    known = {"parameters": head.parameters.to_json(), "dimensions": head.parameters.dimensions}
    unflagged = {"unflagged": head.unflagged} if head.unflagged else {}
    new = folder / f"{HEAD}.new"
    new.write_text(json.dumps({"version": VERSION} | unflagged | known) + "\n", encoding="utf-8")
    new.replace(folder / HEAD)


def prepare_head(folder: Path, parameters: Parameters) -> IndexHead:
    """Make a new index, or check that the one in the folder has the same parameters."""
    if (folder / HEAD).exists():
        found = read_head(folder)
        if found.parameters != parameters:
            raise InputError(f"{folder}: holds frames of other parameters ({found.parameters}), expected {parameters}")
        return found
    head = IndexHead(parameters)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.name != f"{HEAD}.new" for path in folder.iterdir()):
            raise InputError(f"{folder}: is not an index and not empty, expected an index or a new folder")
        write_head(folder, head)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}), expected an index or a new folder") from None
    return head
