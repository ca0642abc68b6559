"""Runs and judgments in a folder with other file names than ours, recognised by their contents."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from audiosim.corpus.lines import every_line
from audiosim.errors import FormatError, InputError

LOOKED_AT = 20  # first lines of a file: half of them must have the form, and the reader reports the others by number
MOST_NAMED = 3  # most files named in a note
MOST_FILES = 5_000


@dataclass(frozen=True, slots=True)
class ForeignFiles:
    """Files with TREC runs, files with TREC qrels, by their contents, and the other files in the same folders."""

    runs: tuple[Path, ...] = ()
    qrels: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()

    def the_judgments(self, folder: Path) -> Path | None:
        """The file of judgments; None if there is none, an error if there are several."""
        if len(self.qrels) > 1:
            names = ", ".join(str(path.relative_to(folder)) for path in self.qrels)
            raise InputError(f"{folder}: {names} all look like judgments, expected one: name it with --judgments FILE")
        return self.qrels[0] if self.qrels else None

    def sentence(self, folder: Path, judgments: Path | None, known: Container[str] = ()) -> str:
        """A note on the files that were recognised as runs and judgments, and on those that were not read.

        known  names of files that are read for other purposes
        """
        where = self.runs[0] if len(self.runs) == 1 else f"{len(self.runs)} files in {self.runs[0].parent}"
        judged = "" if judgments is None else f", judgments are {judgments}"
        left = [str(path.relative_to(folder)) for path in self.others if path.name not in known]
        more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
        unread = f"; not read: {', '.join(left[:MOST_NAMED])}{more}" if left else ""
        return f"{folder} has no runs.trec and no folder runs: by their contents, runs are {where}{judged}{unread}"


def recognise_files(folder: Path) -> ForeignFiles:
    """The runs and judgments of a folder, or of one folder in it, by their contents.

    Runs of several folders are an error: they may be several collections.
    """
    folders = [folder, *sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))]
    seen = {place: _visible(place) for place in folders}
    if sum(map(len, seen.values())) > MOST_FILES:  # such as a music folder
        return ForeignFiles()
    runs = {place: tuple(filter(_is_run, files)) for place, files in seen.items()}
    if runs[folder]:
        runs, seen = {folder: runs[folder]}, {folder: seen[folder]}
    full = [place for place in runs if runs[place]]
    if len(full) > 1:
        names = " and ".join(str(place) for place in full[:2]) + (", and more" if len(full) > 2 else "")
        raise InputError(f"{folder}: has runs in {names}, expected one collection")
    if not full:
        return ForeignFiles()
    known = {*runs[full[0]]}
    qrels = tuple(path for files in seen.values() for path in files if path not in known and _is_qrels(path))
    taken, places = {*known, *qrels}, {full[0], *(path.parent for path in qrels)}
    others = tuple(path for place in seen if place in places for path in seen[place] if path not in taken)
    return ForeignFiles(runs[full[0]], qrels, others)


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except PermissionError:  # an unreadable folder beside the runs is ignored
        return []


def _is_run(path: Path) -> bool:
    return _has_form(path, 6, lambda row: _is_number(row[3]) and _is_number(row[4]))


def _is_qrels(path: Path) -> bool:
    return _has_form(path, 4, lambda row: _is_number(row[3]))


def _has_form(path: Path, columns: int, fits: Callable[[Sequence[str]], bool]) -> bool:
    """True if most of the first lines have a form; False for files that are not text."""
    try:
        rows = [text.split() for _, text in islice(every_line(path), LOOKED_AT) if text and not text.isspace()]
    except (FormatError, InputError):
        return False
    return 2 * sum(len(row) == columns and fits(row) for row in rows) > len(rows)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
