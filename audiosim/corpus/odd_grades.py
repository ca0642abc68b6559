"""Grades of TREC qrels outside any scale: unjudged pairs, and junk."""

from collections import Counter

from audiosim.corpus.identifiers import Say

UNJUDGED, JUNK = -1, -2
ODD = {UNJUDGED: "unjudged, left out", JUNK: "junk, the lowest grade"}


def say_odd(grades: Counter[float], say: Say) -> None:
    """Report the treatment of grades of qrels outside the scale, one sentence for each kind."""
    for grade, what in ODD.items():
        if grades[grade]:
            say(f"{grades[grade]:,} {'grade' if grades[grade] == 1 else 'grades'} of {grade}: taken as {what}")
