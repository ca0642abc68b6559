"""The log of a study: each answer is added to a file, as a line of JSON, before the page confirms it.

The first line holds the study itself, so that the file is complete.
"""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import BinaryIO

import msgspec

from audiosim.errors import FormatError, InputError, StoreError
from audiosim.people.answers import CHOICES, read_list_pairs
from audiosim.people.study import ListStudy, StudyAnswer, StudyOutcome, StudyProgress, StudyRules, read_invited
from audiosim.tables.text import check_output_file, claim, parse_json, read_lines, write_text
from audiosim.text import reason

FORM = "audiosim study 1"
NO_ANSWER = "not an answer to an example of this study"


def read_study(examples: str | Path, traps: str | Path | None = None, rules: StudyRules | None = None) -> ListStudy:
    """The study in a file of examples, as written by `study sample`, and a file of traps with the same columns.

    traps  file with the known answers in its column `answer`
    """
    header, found = read_list_pairs(Path(examples), known=False)
    known = () if traps is None else read_list_pairs(Path(traps), known=True)[1]
    return ListStudy(header, found, known, rules or StudyRules())


class StudyLog:
    """The log file of a study, open for adding; one process at a time."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path

    @classmethod
    def open(cls, path: str | Path, study: ListStudy) -> "tuple[StudyLog, StudyProgress]":
        """The log in a file, created if missing, with its recorded progress; an error if it is another study's."""
        path = Path(path)
        if not path.exists():
            write_text(path, [json.dumps({"form": FORM, **asdict(study)}, ensure_ascii=False)])
        try:
            file = path.open("r+b")
            if not claim(file):
                file.close()
                taken = "another service is writing this study; stop it, or give another file"
                raise StoreError(f"{path}: {taken}")
            _cut_half_line(file)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {reason(error)}") from None
        kept, answers = read_study_log(path)
        if replace(kept, rules=study.rules) != study:
            file.close()
            raise InputError(
                f"{path}: is the log of another study: give a new file, or the examples and traps of that study"
            )
        file.seek(0, os.SEEK_END)
        return cls(file, path), StudyProgress(study, answers)

    def add(self, answer: StudyAnswer) -> None:
        """Write an answer so that it survives a power cut."""
        try:
            self._file.write(json.dumps(asdict(answer), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written: {reason(error)}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_study_log(path: str | Path) -> tuple[ListStudy, list[StudyAnswer]]:
    """The study in a log, and its answers in order."""
    path = Path(path)
    lines = read_lines(path, "the log of a study, which `audiosim study serve` writes")
    number, first = next(lines)
    try:
        spelled = parse_json(path, number, first, "an object")
        study = msgspec.convert(spelled if spelled.get("form") == FORM else None, ListStudy)
    except (ValueError, msgspec.ValidationError):
        raise FormatError(path, number, "not the log of a study, which `audiosim study serve` writes") from None
    return study, [_answer(path, line, text, study) for line, text in lines]


def study_answers(log: str | Path, output: str | Path | None = None, people: str | Path | None = None) -> StudyOutcome:
    """Write the answers of a study that count, for `audiosim satisfaction`, and list who gave them.

    Answers to traps are left out, and those of people who were turned away.

    log     log written by `audiosim study serve`
    output  file for the answers; None: not written
    people  file with a name or code per line: answers of others do not count, even earlier ones

    Example: `audiosim study answers study.jsonl -o answers.tsv`
    """
    check_output_file(output)
    study, answers = read_study_log(log)
    if people is not None:
        invited = frozenset(read_invited(people))
        answers = [one for one in answers if one.worker in invited]
    found = StudyOutcome.of(StudyProgress(study, answers))
    if output is not None:
        write_text(Path(output), found.lines())
    return replace(found, file=output)


def _answer(path: Path, number: int, text: str, study: ListStudy) -> StudyAnswer:
    try:
        one = msgspec.convert(parse_json(path, number, text, "an object"), StudyAnswer)
    except (ValueError, msgspec.ValidationError):
        raise FormatError(path, number, NO_ANSWER) from None
    known = study.traps if one.showing.trap else study.examples
    if one.answer not in CHOICES or one.showing.place not in range(len(known)):
        raise FormatError(path, number, NO_ANSWER)
    return one


def _cut_half_line(file: BinaryIO) -> None:
    """Drop the rest of a line cut by a power failure: no client was informed that it was saved."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    whole = file.read().rfind(b"\n") + 1
    if 0 < whole < size:
        file.truncate(whole)
