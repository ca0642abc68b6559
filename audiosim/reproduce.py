"""The published numbers that public data allows to compute again, each beside what comes out here.

One function per source: it takes the folder of the data and yields rows, also where its files are not there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import FINE, Pair
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.evaluation import reliability
from audiosim.measures.answers import Answers, read_answers
from audiosim.measures.judged import scores
from audiosim.measures.measure import Measure, parse_measure
from audiosim.measures.preferences import Preferences, preferences
from audiosim.measures.satisfaction import number_satisfied, published_mapping, user_form, user_scores
from audiosim.relevance.estimators import ordinal
from audiosim.relevance.published import load_model
from audiosim.selection import Selection
from audiosim.simulate import Replay, replay
from audiosim.stats.ordinal import expectation, variance

THESIS = "Urbano (2013)"


@dataclass(frozen=True, slots=True)
class Row:
    """A printed number and what comes out here.

    source    where it is printed
    quantity  what it is
    printed   the number
    computed  the same from the data; None where the data for it is not there
    digits    decimals that are printed
    """

    source: str
    quantity: str
    printed: float
    computed: float | None
    digits: int

    @property
    def agrees(self) -> bool:
        """Whether the computed number, rounded to as many decimals, is the printed one."""
        return self.computed is not None and round(self.computed, self.digits) == round(self.printed, self.digits)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON."""
        return {
            "source": self.source,
            "quantity": self.quantity,
            "printed": self.printed,
            "computed": self.computed,
            "agrees": self.agrees,
        }


def rows(folder: str | Path) -> Iterator[Row]:
    """All rows of all sources.

    folder  has the published data in subfolders: mirex2011, a collection, and preferences/answers.tsv
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder with the published data")
    for source in SOURCES:
        yield from source(folder)


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
# table: what it shows
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
# section 3.3, with the numbers of good and bad nonpreferences the other way round: the text has swapped them
SAID = {
    "a nonpreference": (("good", "bad"), 2025),
    "both good": (("good",), 969),
    "both bad": (("bad",), 1056),
    "a preference": (("a", "b"), 2090),
    "A is better": (("a",), 1019),
    "B is better": (("b",), 1071),
}


def satisfaction_and_agreement(folder: Path) -> Iterator[Row]:
    """Chapters 3 and 4 of the thesis on the Broad scale, from people's answers."""
    path = folder / "preferences" / "answers.tsv"
    answers = read_answers(path, "broad") if path.is_file() else None
    yield from _answers(answers)
    found = {name: preferences(answers, name) if answers else None for name in CHAPTER_3}
    for position, (table, (what, value)) in enumerate(COLUMNS.items()):
        for name, printed in CHAPTER_3.items():
            study = found[name]
            computed = None if study is None else value(study)
            yield Row(f"{THESIS}, Table {table}", f"{name}, Broad: {what}", printed[position], computed, 4)
    for name in RESIDUALS:
        yield from _cubic(name, found[name])


def _answers(answers: Answers | None) -> Iterator[Row]:
    for what, (choices, printed) in SAID.items():
        computed = None if answers is None else float(answers.said(*choices).sum())
        yield Row(f"{THESIS}, section 3.3", f"answers: {what}", printed, computed, 0)


def _cubic(name: str, found: Preferences | None) -> Iterator[Row]:
    fit = found.cubic if found else None
    residual = fit.residual if fit else None
    yield Row(f"{THESIS}, Table 4.2", f"{name}, Broad: residual of the cubic", RESIDUALS[name], residual, 4)
    for power, printed in enumerate(published_mapping(user_form(name), "broad").coefficients):
        computed = fit.mapping.coefficients[power] if fit else None
        yield Row(f"{THESIS}, Table 4.3", f"{name}, Broad: a{power}", printed, computed, 4)


# The public files have this name in place of the query's, d007449.
STBD1_QUERY = "71cdbd"


def satisfaction_examples(folder: Path) -> Iterator[Row]:
    """The worked examples of section 4.1."""
    source, q = f"{THESIS}, section 4.1", parse_measure("Q(ideal=user)@5")
    score = _score(folder / "mirex2011", "STBD1", STBD1_QUERY, q)
    share = None if score is None else float(published_mapping(q, "fine").probability(np.array(score)))
    # The text goes on with the probability as it prints it.
    ten = None if share is None else float(number_satisfied(np.array(round(share, 1)), 15)[10])
    yield Row(source, "STBD1, query d007449, Fine: Q@5", 0.6095, score, 4)
    yield Row(source, "STBD1, query d007449, Fine: P(Sat) from Q@5", 0.7, share, 1)
    yield Row(source, "STBD1, query d007449: 10 of 15 users satisfied, with P(Sat) rounded as above", 0.2061, ten, 4)
    gap = float(published_mapping("GAP(ideal=user)@5", "broad").probability(np.array(0.32)))
    yield Row(source, "P(Sat) from GAP@5 = .32, Broad", 0.5116, gap, 4)


def _score(folder: Path, system: str, query: str, measure: Measure) -> float | None:
    """The user-oriented score of one system for one query with Fine judgments; None where they are not there."""
    if not folder.is_dir():
        return None
    collection = Collection.load(folder)
    ranking = next((run.rankings.get(query) for run in collection.runs if run.system == system), None)
    grades = collection.grades()
    found = [grades.get(Pair(query, document)) for document in (ranking or ())[: measure.cutoff]]
    known = np.array([grade for grade in found if grade is not None])
    return float(user_scores(measure, FINE, known)) if len(known) == measure.cutoff else None


# measure on the Fine scale: Table 6.1, shares of systems, queries and residual; Table 6.2, E rho^2 and the queries
# for .95; Table 6.3, Phi and the queries for .95; MIREX 2011
CHAPTER_6 = {
    "CG@5": (0.184, 0.511, 0.304, 0.9838, 32, 0.9576, 85),
    "DCG@5": (0.186, 0.501, 0.314, 0.9834, 33, 0.9580, 84),
    "nDCG@5": (0.219, 0.412, 0.369, 0.9834, 33, 0.9655, 68),
    "Q@5": (0.214, 0.405, 0.381, 0.9825, 34, 0.9646, 70),
    "RBP@5": (0.217, 0.413, 0.370, 0.9833, 33, 0.9653, 69),
    "GAP@5": (0.226, 0.419, 0.355, 0.9845, 30, 0.9669, 66),
    "P(min=40)@5": (0.167, 0.464, 0.369, 0.9784, 42, 0.9526, 95),
    "AP(min=40)@5": (0.174, 0.452, 0.375, 0.9789, 41, 0.9546, 91),
}
# key of a reliability study: its table, what it is, decimals printed
STABILITY = {
    "system": ("6.1", "variance of systems", 3),
    "query": ("6.1", "variance of queries", 3),
    "residual": ("6.1", "residual variance", 3),
    "generalizability": ("6.2", "E rho^2", 4),
    "queries_for_generalizability": ("6.2", "queries for E rho^2 = .95", 0),
    "dependability": ("6.3", "Phi", 4),
    "queries_for_dependability": ("6.3", "queries for Phi = .95", 0),
}


def stability_of_mirex_2011(folder: Path) -> Iterator[Row]:
    """Chapter 6 of the thesis, the rows of 2011 for Fine and for l_min = 40."""
    collection = _mirex(folder)
    for name, printed in CHAPTER_6.items():
        study = reliability(scores(collection, name)) if collection else {}
        for number, (key, (table, what, digits)) in zip(printed, STABILITY.items(), strict=True):
            yield Row(f"{THESIS}, Table {table}", f"2011, {name}: {what}", number, study.get(key), digits)


# measure: Table 8.1, confidence, accuracy and tau without judgments, and Table 8.3, judgments until .95; 2011, Fine.
# The public files lack the metadata of 23 documents, and the model was fitted without 2011.
CHAPTER_8 = {"CG@5": (0.934, 0.935, 0.869, 123), "DCG@5": (0.926, 0.928, 0.856, 181)}


def few_judgments_of_mirex_2011(folder: Path) -> Iterator[Row]:
    """Chapter 8 of the thesis, 2011, Fine: the ranking without judgments, and with as many as it takes to .95."""
    collection = _mirex(folder)
    for name, (confidence, accuracy, tau, judged) in CHAPTER_8.items():
        found = _campaign(collection, name) if collection else None
        first = found.curve[0] if found else None
        without, until = f"{THESIS}, Table 8.1", f"{THESIS}, Table 8.3"
        yield Row(
            without, f"2011, {name}: confidence, nothing judged", confidence, first.confidence if first else None, 3
        )
        yield Row(without, f"2011, {name}: accuracy, nothing judged", accuracy, first.accuracy if first else None, 3)
        yield Row(without, f"2011, {name}: tau, nothing judged", tau, 2 * first.accuracy - 1 if first else None, 3)
        yield Row(
            until, f"2011, {name}: judgments until .95", judged, float(found.selection.judged) if found else None, 0
        )


def _campaign(collection: Collection, measure: str) -> Replay:
    """As in section 8.3: predictions renewed after every 20 judgments."""
    pool = build_pool(collection, 5)
    selection = Selection.start(pool, parse_measure(measure), ordinal(pool, "mjud"), batch=20)
    return replay(selection, pool.spread(collection.grades()), 0.95)


# model: source, features, E and Var of the worked example, on the Broad scale
EXAMPLES = {
    "mout-broad": (f"{THESIS}, Appendix A", {"fSYS": 0.25}, 1.7486, 0.2552),
    "loutput-broad": ("Urbano & Schedl (2013), Appendix", {"fTEAM": 0.25}, 1.6577, 0.3233),
}
SHARED_FEATURES = {"OV": 0.8053, "fART": 0.0217, "sGEN": 1.0, "fGEN": 0.8478}


def relevance_examples(_: Path) -> Iterator[Row]:
    """The worked examples of both appendices, which go on with probabilities of four decimals."""
    for name, (source, features, mean, spread) in EXAMPLES.items():
        model = load_model(name)
        table = {key: np.array([value]) for key, value in (SHARED_FEATURES | features).items()}
        probabilities, levels = model.probabilities(table, 1).round(4), np.array(model.levels)
        yield Row(source, f"{name}: expectation", mean, float(expectation(probabilities, levels)[0]), 4)
        yield Row(source, f"{name}: variance", spread, float(variance(probabilities, levels)[0]), 4)


def _mirex(folder: Path) -> Collection | None:
    return Collection.load(folder / "mirex2011") if (folder / "mirex2011").is_dir() else None


SOURCES: tuple[Callable[[Path], Iterator[Row]], ...] = (
    satisfaction_and_agreement,
    satisfaction_examples,
    stability_of_mirex_2011,
    relevance_examples,
    few_judgments_of_mirex_2011,
)
