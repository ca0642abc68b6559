"""The page of campaigns on parts of a collection, made from claims with known bins, means and errors."""

import io
import re
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from audiosim.ranking import parse_stopping_rule
from audiosim.report.simulate import draw_bins, draw_course, followed_page, followed_view
from audiosim.simulation.calibration import Observation
from audiosim.simulation.trials import Followed, Part, TrialCourse

SAID = {"measure": "CG@5", "model": "<joint>", "learn": None, "rule": "drawn"}


def observation(judged, stated, right):
    inside = {"systems": (19, 20), "differences": (18, 20), "queries": (17, 20)}
    return Observation(
        judged, np.array(stated), np.array(right), np.full(len(stated), 0.1), 0.02, 0.01, inside, 0.8, 0.9, 0.03
    )


# Bins of the start, both parts together: (.55, 1/2) with 2 pairs, (.75, 3/4) with 4, (.999, 1) with 16.
START = (
    observation(0, [0.54, 0.74, 0.76, *[0.999] * 8], [1, 1, 0, *[1] * 8]),
    observation(0, [0.56, 0.74, 0.76, *[0.999] * 8], [0, 1, 1, *[1] * 8]),
)
BINS = [(0.55, 0.5, 2), (0.75, 0.75, 4), (0.999, 1, 16)]
# Part 1 states .8 and part 2 .9, a mean of .85 with standard error .05; 3 and 1 of 4 are right: .5 and .25.
LATER = (observation(50, [0.8] * 4, [1, 1, 1, 0]), observation(50, [0.9] * 4, [1, 0, 0, 0]))


def result(*moments, stopping_rules=("confidence=0.7", "every=1")):
    """Campaigns seen at some moments, with one observation per part, as plain values."""
    stops = tuple(map(parse_stopping_rule, stopping_rules))
    courses = tuple(TrialCourse(seen, (seen[0], None)[: len(stops)]) for seen in zip(*moments, strict=True))
    parts = tuple(Part(frozenset({"q1", "q2"}), frozenset({"a", "b"}), "queries") for _ in courses)
    return SAID | Followed(parts, stops, 0.02, courses).to_dict()


def drawings(page):
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def words(drawing):
    return [node.text for node in drawing.iter("text")]


def numbers(texts):
    return [float(text.replace("−", "-")) for text in texts if re.fullmatch(r"[\d.]+", text)]


@pytest.mark.slow
def test_the_axes_begin_at_one_half_or_lower_where_less_is_right():
    # All bins at the start are at 1/2 or more; of the later claims in [.9, .95) one in four is right.
    for moment, first in ((START, 0.5), (LATER, 0.2)):
        (drawing,) = drawings(followed_page("part", result(moment)))
        assert min(numbers(words(drawing))) == first


@pytest.mark.slow
def test_bins_and_bands_are_drawn_where_they_are_known_by_heart_to_lie():
    curve = result(START, LATER)["curve"]
    marks = [row for row in rows_of(draw_bins(curve), "point") if row["name"] == "0"]
    assert [(row["x"], row["y"]) for row in marks] == [(pytest.approx(x), pytest.approx(y)) for x, y, _ in BINS]
    assert np.array([row["weight"] for row in marks]) / marks[-1]["weight"] == pytest.approx([2 / 16, 4 / 16, 1])
    course = rows_of(draw_course(curve), "line")
    stated, true = ([row for row in course if row["name"] == name] for name in ("stated", "true"))
    means = np.mean([0.54, 0.56, *[0.74, 0.76] * 2, *[0.999] * 16])
    assert [(row["x"], row["y"]) for row in stated] == [(0, pytest.approx(means)), (50, pytest.approx(0.85))]
    assert [(row["x"], row["y"]) for row in true] == [(0, pytest.approx(20 / 22)), (50, pytest.approx(0.5))]
    # Two parts: the standard error of the mean of a and b is |a - b| / 2. Stated .8 and .9, right 3/4 and 1/4.
    for rows, ends in ((stated, (0.8, 0.9)), (true, (0.25, 0.75))):
        assert (rows[1]["low"], rows[1]["high"]) == pytest.approx(ends)


def rows_of(chart, mark):
    """The rows under the last marks of a kind."""
    found = chart.to_dict()
    layer = [layer for layer in found["layer"] if layer["mark"]["type"] == mark][-1]
    return layer.get("data", found.get("data"))["values"]


def test_a_band_does_not_go_beyond_certainty():
    parts = [observation(judged, [stated] * 4, [1, 1, 1, 1]) for judged in (0, 50) for stated in (0.999, 0.5)]
    # Stated .7495 with standard error .2495; true 1 with none.
    rows = rows_of(draw_course(result(tuple(parts[:2]), tuple(parts[2:]))["curve"]), "line")
    assert max(row["high"] for row in rows if row["name"] == "stated") == pytest.approx(0.999)
    assert max(row["high"] for row in rows if row["name"] == "true") == 1
    over = {"judged": 0, "stated": 0.98, "stated_error": 0.1, "accuracy": 0.6, "accuracy_error": 0.1}
    held = [row for row in rows_of(draw_course([over, over | {"judged": 5}]), "line") if row["name"] == "stated"]
    assert (held[0]["high"], held[0]["low"]) == (1, pytest.approx(0.88))


@pytest.mark.slow
def test_of_many_moments_some_are_drawn_the_first_and_the_last_among_them():
    moments = [tuple(observation(judged, [0.8] * 4, [1, 1, 1, 0]) for _ in range(2)) for judged in range(0, 90, 10)]
    page = followed_page("part", result(*moments))
    shown = words(drawings(page)[0])
    assert [text for text in shown if re.fullmatch(r"\d+", text)] == ["0", "20", "40", "60", "80"]
    assert "Some of the moments, from the first to the last." in page
    assert "Some of the moments" not in followed_page("part", result(*moments[:5]))


class Cells(HTMLParser):
    """The cells of every row of every table, and the open tags."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.open, self.inside = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.rows += [[]] if tag == "tr" else []
        self.inside = tag in {"td", "th"}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1].append(data)


@pytest.mark.slow
def test_the_page_shows_the_tables_and_notes_of_the_screen():
    found = result(START, LATER)
    shown = Console(width=1000, file=io.StringIO())
    shown.print(followed_view(found))
    lines = [line.strip() for line in shown.file.getvalue().splitlines() if line.strip()]
    page = followed_page("part", found)
    cells, text = Cells(page), re.sub(r"<[^>]*>", "", page)
    assert cells.open == []
    rows = [re.split(r"  +", line) for line in lines if re.search(r"\S  +\S", line)]
    assert len(rows) == 12  # four tables of two rows and a head
    assert [row for row in rows if row not in cells.rows] == []
    sentences = [line for line in lines if not re.search(r"\S  +\S", line)]
    assert len(sentences) == 6  # the campaigns, four titles, the meaning of the numbers
    for sentence in sentences:
        assert sentence in unescape(text)


@pytest.mark.slow
def test_the_numbers_behind_the_marks_can_be_opened():
    page = followed_page("part", result(START))
    folded = Cells(re.search("<details>.*</details>", page, re.DOTALL)[0]).rows
    assert folded[0] == ["Judged", "Confidence", "Pairs", "Share", "Stated", "Accuracy"]
    assert folded[1] == ["0", "0.5 to 0.6", "2", "9.1%", "0.550", "0.500"]
    assert folded[2] == ["0", "0.6 to 0.7", "0", "0.0%", "–", "–"]
    assert len(folded) == 8


@pytest.mark.slow
def test_a_single_moment_of_a_single_part_has_no_curve_and_no_errors():
    page = followed_page("part", result(LATER[:1], stopping_rules=()))
    assert page.count("<svg") == 1
    assert "standard error to both sides" not in page
    assert "Where goals were met" not in page
    two = followed_page("part", result(START[:1], LATER[:1]))
    assert two.count("<svg") == 2
    assert "standard error to both sides" not in two


@pytest.mark.slow
def test_the_page_needs_no_other_file_and_spells_names_safely():
    page = followed_page("a <b> & c", result(START, LATER))
    assert page.startswith("<!doctype html>")
    assert page.count("a &lt;b&gt; &amp; c: confidence, stated and true") == 2
    assert "&lt;joint&gt;" in page
    assert not re.search(r"<script|http|src=|url\((?!#)", page)
    assert page.count("<svg") == page.count("aria-label=") == 2
