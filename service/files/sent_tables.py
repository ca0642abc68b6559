"""Tables sent in a request, read as the commands read them; errors name the line, without a path."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

from audiosim.corpus.collection import Collection
from audiosim.corpus.judge_files import MachineJudge, read_judge
from audiosim.corpus.metadata_tables import read_documents
from audiosim.corpus.model import Document, Run
from audiosim.corpus.new_runs import joining_runs
from audiosim.errors import FormatError, InputError
from audiosim.service.process.time_limit import reading_s, within

Found = TypeVar("Found")
UNNAMED = f"file-{token_hex(8)}"  # no system has this name


def sent_runs(
    text: bytes, collection: Collection, system: str | None, replace: bool, partial: bool, name: str = ""
) -> tuple[Run, ...]:
    """The runs of a file, to be added to a collection; see `Receiver.take_runs`."""
    runs = _read(text, name or UNNAMED, lambda path: joining_runs(path, collection, system, replace, partial))
    if any(run.system == UNNAMED for run in runs):
        raise InputError("the system has the name of its file, which was sent without one: expected ?system=NAME")
    return runs


def sent_grades(text: bytes, judge: str) -> MachineJudge:
    """The grades of a machine."""
    return replace(_read(text, "judge.tsv", lambda path: read_judge(path, judge)), source=None)


def sent_documents(text: bytes, known: Mapping[str, Document]) -> tuple[Document, ...]:
    """The metadata of a table of documents; an error if a recording has another path than the one known."""
    found = _read(text, "documents.tsv", read_documents)
    for one in found.values():
        there = known.get(one.identifier)
        if one.path is not None and (there is None or there.path != one.path):
            raise InputError(f"document {one.identifier}: its path is not followed here: send the recording itself")
    return tuple(replace(one, path=None) for one in found.values())


def _read(text: bytes, name: str, read: Callable[[Path], Found]) -> Found:
    with tempfile.TemporaryDirectory(prefix="audiosim-") as folder:
        path = Path(folder) / name
        path.write_bytes(text)
        try:
            return within(reading_s(len(text)), lambda: read(path))
        except FormatError as error:
            raise InputError(f"line {error.line}: {error.problem}") from None
        except InputError as error:
            raise InputError(str(error).removeprefix(f"{path}: ")) from None
