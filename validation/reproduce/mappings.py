"""Chapters 3 and 4 of the thesis: satisfaction and agreement, from people's answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from audiosim.collection.values import FINE, Pair
from audiosim.measures.measure import Measure, parse_measure
from audiosim.measures.satisfaction import number_satisfied, published_mapping, user_form, user_scores
from audiosim.people.answers import Answers, read_answers
from audiosim.people.preferences import Preferences, preferences
from reproduce.data import mirex_2011
from reproduce.row import THESIS, PrintedRow

# measure: Tables 3.2, 3.3 and 3.4, column Broad
CHAPTER_3 = {
    "CG@5": (0.1159, 0.5688, 0.0453),
    "CG(gain=exponential)@5": (0.1175, 0.5309, 0.0450),
    "DCG@5": (0.1202, 0.5310, 0.0479),
    "DCG(gain=exponential)@5": (0.1226, 0.5313, 0.0503),
    "EDCG@5": (0.1726, 0.5630, 0.0639),
    "EDCG(gain=exponential)@5": (0.2145, 0.5942, 0.0730),
    "Q@5": (0.1327, 0.5432, 0.0519),
    "Q(gain=exponential)@5": (0.1306, 0.5387, 0.0490),
    "RBP@5": (0.1202, 0.5274, 0.0486),
    "RBP(gain=exponential)@5": (0.1270, 0.5272, 0.0495),
    "ERR@5": (0.1812, 0.5672, 0.0573),
    "ERR(gain=exponential)@5": (0.1930, 0.5741, 0.0570),
    "GAP@5": (0.1224, 0.5229, 0.0478),
    "ADR@5": (0.1874, 0.5827, 0.0574),
}
# contents of each table
COLUMNS: dict[str, tuple[str, Callable[[Preferences], float]]] = {
    "3.2": ("bias at the endpoints", lambda found: found.endpoint_bias),
    "3.3": ("distance of P(Agr = 1) from 1", lambda found: found.distance_from_agreement),
    "3.4": ("distance of P(Agr = -1) from 0", lambda found: found.distance_from_no_opposition),
}
# measure: Table 4.2, column Broad
RESIDUALS = {
    "CG@5": 0.0254,
    "CG(gain=exponential)@5": 0.0334,
    "DCG@5": 0.0265,
    "DCG(gain=exponential)@5": 0.0265,
    "Q@5": 0.0155,
    "Q(gain=exponential)@5": 0.0302,
    "RBP@5": 0.0272,
    "RBP(gain=exponential)@5": 0.0229,
    "GAP@5": 0.0302,
}
# section 3.3, with the numbers of good and bad nonpreferences exchanged, because the text has them swapped
SAID = {
    "a nonpreference": (("good", "bad"), 2025),
    "both good": (("good",), 969),
    "both bad": (("bad",), 1056),
    "a preference": (("a", "b"), 2090),
    "A is better": (("a",), 1019),
    "B is better": (("b",), 1071),
}


def satisfaction_and_agreement(folder: Path) -> Iterator[PrintedRow]:
    """Chapters 3 and 4 of the thesis on the Broad scale, from people's answers."""
    path = folder / "preferences" / "answers.tsv"
    answers = read_answers(path, "broad") if path.is_file() else None
    yield from _answers(answers)
    found = {name: preferences(answers, name) if answers else None for name in CHAPTER_3}
    for position, (table, (what, value)) in enumerate(COLUMNS.items()):
        for name, printed in CHAPTER_3.items():
            study = found[name]
            computed = None if study is None else value(study)
            yield PrintedRow(f"{THESIS}, Table {table}", f"{name}, Broad: {what}", printed[position], computed, 4)
    for name in RESIDUALS:
        yield from _cubic(name, found[name])


def _answers(answers: Answers | None) -> Iterator[PrintedRow]:
    for what, (choices, printed) in SAID.items():
        computed = None if answers is None else float(answers.said(*choices).sum())
        yield PrintedRow(f"{THESIS}, section 3.3", f"answers: {what}", printed, computed, 0)


def _cubic(name: str, found: Preferences | None) -> Iterator[PrintedRow]:
    fit = found.cubic if found else None
    residual = fit.residual if fit else None
    yield PrintedRow(f"{THESIS}, Table 4.2", f"{name}, Broad: residual of the cubic", RESIDUALS[name], residual, 4)
    for power, printed in enumerate(published_mapping(user_form(name), "broad").coefficients):
        computed = fit.mapping.coefficients[power] if fit else None
        yield PrintedRow(f"{THESIS}, Table 4.3", f"{name}, Broad: a{power}", printed, computed, 4)


# The public files use this name instead of the query's, d007449.
STBD1_QUERY = "71cdbd"


def satisfaction_examples(folder: Path) -> Iterator[PrintedRow]:
    """The worked examples of section 4.1."""
    source, q = f"{THESIS}, section 4.1", parse_measure("Q(ideal=user)@5")
    score = _score(folder, "STBD1", STBD1_QUERY, q)
    share = None if score is None else float(published_mapping(q, "fine").probability(np.array(score)))
    # The text continues with the probability as printed.
    ten = None if share is None else float(number_satisfied(np.array(round(share, 1)), 15)[10])
    yield PrintedRow(source, "STBD1, query d007449, Fine: Q@5", 0.6095, score, 4)
    yield PrintedRow(source, "STBD1, query d007449, Fine: P(Sat) from Q@5", 0.7, share, 1)
    yield PrintedRow(
        source, "STBD1, query d007449: 10 of 15 users satisfied, with P(Sat) rounded as above", 0.2061, ten, 4
    )
    gap = float(published_mapping("GAP(ideal=user)@5", "broad").probability(np.array(0.32)))
    yield PrintedRow(source, "P(Sat) from GAP@5 = .32, Broad", 0.5116, gap, 4)


def _score(folder: Path, system: str, query: str, measure: Measure) -> float | None:
    """The user-oriented score of one system for one query by Fine judgments; None if these are missing."""
    collection = mirex_2011(folder)
    if collection is None:
        return None
    ranking = next((run.rankings.get(query) for run in collection.runs if run.system == system), None)
    grades = collection.grades()
    found = [grades.get(Pair(query, document)) for document in (ranking or ())[: measure.cutoff]]
    known = np.array([grade for grade in found if grade is not None])
    return float(user_scores(measure, FINE, known)) if len(known) == measure.cutoff else None
