"""Large files of TREC qrels and lists of query, document and grade as arrays; others are left to `judgments`.

Plain means ASCII, the same three or four columns throughout with one space or tab between, numbers as grades, and one
line for each pair. `corpus.judgments` reads all other files line by line and reports all errors. Both give the same
result.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from audiosim.corpus.coded_judgments import CodedJudgments
from audiosim.corpus.identifiers import Say
from audiosim.corpus.model import FINE, Scale
from audiosim.corpus.odd_grades import JUNK, UNJUDGED, say_odd
from audiosim.corpus.scale_guess import OffScaleError, guess_scale
from audiosim.corpus.trec_columns import Columns, words_by_appearance
from audiosim.errors import FormatError, InputError


def read_plain_judgments(path: Path, columns: int) -> CodedJudgments | None:
    """A judgment for each line, with its grade unchanged; None if the file is not plain.

    columns  number of columns of the first line, 3 or 4
    """
    found = Columns.read(path, columns)
    query, document, grade = 0, columns - 2, columns - 1
    if found is None or not found.narrow(query, document):
        return None
    grades = found.numbers(grade)
    if grades is None:
        return None
    queries, query_codes = words_by_appearance(found.words(query))
    documents, document_codes = words_by_appearance(found.words(document))
    keys = query_codes.astype(np.int64) * len(documents) + document_codes
    keys.sort()
    if (keys[1:] == keys[:-1]).any():
        return None
    return CodedJudgments(queries, documents, query_codes, document_codes, grades)


def graded_columns(path: Path, plain: CodedJudgments, scale: Scale | None, say: Say) -> tuple[Scale, CodedJudgments]:
    """The scale and the judgments of a plain file; see `judgments.read_judgments`."""
    kinds, counts = np.unique(plain.grades, return_counts=True)
    say_odd(Counter(dict(zip(kinds.tolist(), counts.tolist(), strict=True))), lambda said: say(f"{path}: {said}"))
    grades = [grade for grade in kinds.tolist() if grade != UNJUDGED]
    kept = plain.grades != UNJUDGED
    try:
        if scale is None and grades:
            usual = {0.0 if grade == JUNK else grade for grade in grades}
            scale, sentence = guess_scale(usual, count=int(kept.sum()))
            say(sentence)
    except OffScaleError as error:
        raise FormatError(path, _line_of_grade(plain, [error.grade]), str(error)) from None
    scale = scale or FINE
    wrong = [grade for grade in grades if grade != JUNK and grade not in scale]
    if wrong:
        line = _line_of_grade(plain, wrong)
        try:
            scale.check(float(plain.grades[line - 1]))
        except InputError as error:
            raise FormatError(path, line, str(error)) from None
    settled = np.where(plain.grades == JUNK, scale.levels[0], plain.grades)
    return scale, plain.chosen(kept, settled[kept])


def _line_of_grade(plain: CodedJudgments, grades: list[float]) -> int:
    """The first line of a plain file with any of some grades."""
    return int(np.flatnonzero(np.isin(plain.grades, grades))[0]) + 1
