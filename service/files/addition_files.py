"""Files of additions to a served collection: written before the additions are applied, restored if that fails."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from audiosim.corpus.arrivals import (
    ARRIVALS,
    SOUND_FILES,
    Arrivals,
    keep_judge,
    keep_runs,
    take_back_judge,
    take_back_runs,
)
from audiosim.corpus.judge_files import MachineJudge
from audiosim.corpus.model import Run
from audiosim.errors import InputError
from audiosim.service.shelf.served_collection import ServedCollection


@contextmanager
def runs_kept(one: ServedCollection, runs: Sequence[Run], teams: Mapping[str, str]) -> Iterator[None]:
    """Write runs to disk while they are applied; on failure the folder is restored."""
    if one.folder is None:
        yield
        return
    before = Arrivals.of(one.folder)
    theirs = {run.system: run for run in before.runs}
    keep_runs(one.folder, runs, teams)
    try:
        yield
    except BaseException:
        take_back_runs(one.folder, [run for run in runs if run.system not in theirs], before.teams)
        keep_runs(one.folder, [theirs[run.system] for run in runs if run.system in theirs], {})
        raise


@contextmanager
def judge_kept(one: ServedCollection, judge: MachineJudge) -> Iterator[None]:
    """Write grades to disk while they are applied; on failure the folder is restored."""
    if one.folder is None:
        yield
        return
    before = {other.name: other for other in Arrivals.of(one.folder).judges}
    keep_judge(one.folder, judge)
    try:
        yield
    except BaseException:
        if judge.name in before:
            keep_judge(one.folder, before[judge.name])
        else:
            take_back_judge(one.folder, judge.name)
        raise


@contextmanager
def sound_kept(one: ServedCollection, sound: bytes, suffix: str) -> Iterator[Path]:
    """A sound file, in the folder of arrivals if the collection has one; removed if an error follows."""
    if one.folder is None:
        with tempfile.TemporaryDirectory(prefix="audiosim-") as nowhere:
            path = Path(nowhere) / f"sound{suffix}"
            path.write_bytes(sound)
            yield path
        return
    place = Path(one.folder) / ARRIVALS / SOUND_FILES
    path = place / f"{hashlib.sha256(sound).hexdigest()[:32]}{suffix}"
    there = path.exists()
    try:
        place.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sound)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        yield path
    except BaseException:
        if not there:
            path.unlink(missing_ok=True)
        raise
