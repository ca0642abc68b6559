"""The page of campaigns on parts of a collection, made of claims whose bins, means and errors are known by heart."""

import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from audiosim.report.plots import MARKS, Point, agreement_plot, bands_plot, calibration_plot
from audiosim.report.simulation import followed_view
from audiosim.report.simulation_page import followed_page
from audiosim.selection import parse_stopping_rule
from audiosim.simulation import Part
from audiosim.simulation.observations import Observation
from audiosim.simulation.trials import Followed, TrialCourse

SAID = {"measure": "CG@5", "model": "<joint>", "learn": None, "rule": "drawn"}


def observation(judged, stated, right):
    inside = {"systems": (19, 20), "differences": (18, 20), "queries": (17, 20)}
    return Observation(judged, np.array(stated), np.array(right), np.full(len(stated), 0.1), 0.02, 0.01, inside)


ENDS = ("middle", "end")  # how the numbers along the x and the y axis are set
# Bins of the start, both parts together: (.55, 1/2) of 2 pairs, (.75, 3/4) of 4, (.999, 1) of 16.
START = (
    observation(0, [0.54, 0.74, 0.76, *[0.999] * 8], [1, 1, 0, *[1] * 8]),
    observation(0, [0.56, 0.74, 0.76, *[0.999] * 8], [0, 1, 1, *[1] * 8]),
)
BINS = [(0.55, 0.5, 2), (0.75, 0.75, 4), (0.999, 1, 16)]
# Part 1 states .8 and part 2 .9, a mean of .85 with standard error .05; right are 3 and 1 of 4: .5 and .25.
LATER = (observation(50, [0.8] * 4, [1, 1, 1, 0]), observation(50, [0.9] * 4, [1, 0, 0, 0]))


def result(*moments, stopping_rules=("confidence=0.7", "every=2")):
    """Campaigns seen at some moments, one observation of each part, are as plain values."""
    stops = tuple(map(parse_stopping_rule, stopping_rules))
    courses = tuple(TrialCourse(seen, (seen[0], None)[: len(stops)]) for seen in zip(*moments, strict=True))
    parts = tuple(Part(frozenset({"q1", "q2"}), frozenset({"a", "b"}), "queries") for _ in courses)
    return SAID | Followed(parts, stops, 0.02, courses).to_dict()


def drawings(page):
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def scale(drawing, axis):
    """From a place in a drawing to the value there, as the first and the last number along an axis say it."""
    numbers = [node for node in drawing.iter("text") if re.fullmatch(r"[\d.,]+", node.text)]
    bottom = max(float(node.get("y")) for node in numbers)
    along = [node for node in numbers if (float(node.get("y")) == bottom) == (axis == "x")]
    along = [node for node in along if axis == "x" or node.get("text-anchor") == "end"]
    ends = [(float(node.get(axis)), float(node.text.replace(",", ""))) for node in along]
    (start, low), (end, high) = min(ends), max(ends)
    return lambda place: low + (place - start) / (end - start) * (high - low)


def places(points):
    return np.array([[float(number) for number in place.split(",")] for place in points.split()])


def marks(drawing):
    """(x, y, area in the drawing, what a pointer shows) of every mark, in its place on the axes."""
    across, up = scale(drawing, "x"), scale(drawing, "y")
    found = []
    for node in drawing.iter():
        if node.find("title") is None:
            continue
        if node.tag == "circle":
            x, y, area = float(node.get("cx")), float(node.get("cy")), np.pi * float(node.get("r")) ** 2
        else:
            corners = places(node.get("points"))
            x, y = corners.mean(axis=0)
            ahead = np.roll(corners, -1, axis=0)
            area = abs((corners[:, 0] * ahead[:, 1] - corners[:, 1] * ahead[:, 0]).sum()) / 2  # shoelace formula
        found.append((across(x), up(y), area, node.findtext("title")))
    return found


def test_marks_stand_at_what_was_stated_and_right_and_are_as_large_as_their_bins():
    calibration = drawings(followed_page("part", result(START)))[0]
    found = marks(calibration)
    # A tenth of a pixel is .00016 of the half from .5 to 1.
    assert [(x, y) for x, y, _, _ in found] == [pytest.approx((x, y), abs=2e-4) for x, y, _ in BINS]
    areas = np.array([area for _, _, area, _ in found])
    assert areas / areas[-1] == pytest.approx([2 / 16, 4 / 16, 1], rel=0.05)  # a radius has one decimal
    assert found[1][3] == "0 judged, 4 pairs from 0.7 to 0.8: stated 0.750, right 0.750"


def test_marks_of_all_series_have_the_area_of_their_weight():
    same = [(str(number), [Point(0.6 + number / 10, 0.7, "here", 5)]) for number in range(len(MARKS))]
    found = marks(ElementTree.fromstring(calibration_plot(same, "x", "y")))
    assert [area for _, _, area, _ in found] == pytest.approx([np.pi * 81] * len(MARKS), rel=0.01)


def test_the_axes_begin_at_one_half_or_lower_where_less_is_right():
    # All bins of the start are at 1/2 or more; of the later claims in [.9, .95) one in four is right.
    for moment, first in ((START, ".5"), (LATER, ".2")):
        (drawing,) = drawings(followed_page("part", result(moment)))
        ticks = {end: [node.text for node in drawing.iter("text") if node.get("text-anchor") == end] for end in ENDS}
        assert [*map(min, ticks.values())] == [first, first]


def test_both_square_plots_have_the_diagonal_on_which_points_should_lie():
    plots = [
        agreement_plot([(0.5, 0.6, "here")], "x", "y"),
        calibration_plot([("a", [Point(0.9, 0.8, "here")])], "x", "y", (0.6, 0.8, 1)),
    ]
    for plot, start in zip(plots, (0, 0.6), strict=True):
        drawing = ElementTree.fromstring(plot)
        (line,) = (node for node in drawing.iter("line") if node.get("class") == "plot-ideal")
        for axis in "xy":
            value = scale(drawing, axis)
            assert [value(float(line.get(f"{axis}{end}"))) for end in "12"] == pytest.approx([start, 1])


def test_bands_reach_one_standard_error_to_both_sides():
    _, course = drawings(followed_page("part", result(START, LATER)))
    across, up = scale(course, "x"), scale(course, "y")
    bands = [node for node in course.iter("polygon") if node.get("fill-opacity")]
    later = [sorted(up(y) for x, y in places(band.get("points")) if across(x) == pytest.approx(50)) for band in bands]
    # Two parts: the standard error of the mean of a and b is |a - b| / 2. Stated .8 and .9, right 3/4 and 1/4.
    assert later[0] == pytest.approx([0.8, 0.9], abs=1e-3)
    assert later[1] == pytest.approx([0.25, 0.75], abs=1e-3)
    assert [(x, y, shown) for x, y, _, shown in marks(course)] == [
        (pytest.approx(x, abs=0.1), pytest.approx(y, abs=1e-3), shown)
        for x, y, shown in [
            (0, np.mean([0.54, 0.56, *[0.74, 0.76] * 2, *[0.999] * 16]), "stated 0.913"),
            (50, 0.85, "stated 0.850"),
            (0, 20 / 22, "true 0.909"),
            (50, 0.5, "true 0.500"),
        ]
    ]


def test_a_band_does_not_leave_the_axes():
    plot = bands_plot(("a", [Point(5, 0.98, "here", error=0.1)]), ("b", [Point(5, 0.6, "there")]), "x", "y", 0.5)
    drawing = ElementTree.fromstring(plot)
    band = next(node for node in drawing.iter("polygon") if node.get("fill-opacity"))
    values = [scale(drawing, "y")(y) for _, y in places(band.get("points"))]
    assert (max(values), min(values)) == (pytest.approx(1), pytest.approx(0.88, abs=1e-3))


@pytest.mark.parametrize(
    ("most", "numbers"),
    [
        (600, ["0", "100", "200", "300", "400", "500", "600"]),
        (1000, ["0", "200", "400", "600", "800", "1,000"]),
        (45, ["0", "10", "20", "30", "40"]),
        (3, ["0", "1", "2", "3"]),
    ],
)
def test_judgments_are_counted_in_round_numbers(most, numbers):
    curve = [Point(0, 0.5, "start"), Point(most, 0.9, "end")]
    drawing = ElementTree.fromstring(bands_plot(("a", curve), ("b", curve), "x", "y"))
    assert [node.text for node in drawing.iter("text") if re.fullmatch(r"[\d,]+", node.text)] == numbers


def test_of_many_moments_some_are_drawn_the_first_and_the_last_among_them():
    moments = [tuple(observation(judged, [0.8] * 4, [1, 1, 1, 0]) for _ in range(2)) for judged in range(0, 90, 10)]
    page = followed_page("part", result(*moments))
    names = [node.text for node in drawings(page)[0].iter("text") if node.get("text-anchor") == "start"]
    assert names == ["judged:", "0", "20", "40", "60", "80"]
    assert "Some of the moments, from the first to the last." in page
    assert "Some of the moments" not in followed_page("part", result(*moments[:5]))


def test_long_names_of_series_stand_within_the_drawing():
    series = [(f"{number},000.5", [Point(0.6, 0.7, "here")]) for number in range(1, len(MARKS) + 1)]
    drawing = ElementTree.fromstring(calibration_plot(series, "x", "y", of="judged:"))
    names = [node for node in drawing.iter("text") if node.get("text-anchor") == "start"]
    assert len(names) == 1 + len(MARKS)
    # A digit is at most 8.3 of the 13 pixels of the letters wide, in the widest of the usual fonts.
    ends = [float(node.get("x")) + 8.3 * len(node.text.replace(",", "")) for node in names]
    assert max(ends) < float(drawing.get("width"))
    assert len({(node.get("x"), node.get("y")) for node in names}) == len(names)


class Cells(HTMLParser):
    """The cells of every row of every table, and the tags that are open."""

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


def test_the_page_shows_the_tables_and_notes_of_the_screen():
    found = result(START, LATER)
    shown = Console(width=1000, file=io.StringIO())
    shown.print(followed_view(found))
    lines = [line.strip() for line in shown.file.getvalue().splitlines() if line.strip()]
    page = followed_page("part", found)
    cells, text = Cells(page), re.sub(r"<[^>]*>", "", page)
    assert cells.open == []
    rows = [re.split(r"  +", line) for line in lines if re.search(r"\S  +\S", line)]
    assert len(rows) == 9  # three tables of two rows and a head
    assert [row for row in rows if row not in cells.rows] == []
    sentences = [line for line in lines if not re.search(r"\S  +\S", line)]
    assert len(sentences) == 5  # what was played, three titles, what the numbers mean
    for sentence in sentences:
        assert sentence.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in text


def test_the_numbers_behind_the_marks_can_be_opened():
    page = followed_page("part", result(START))
    folded = Cells(re.search("<details>.*</details>", page, re.DOTALL)[0]).rows
    assert folded[0] == ["Judged", "Confidence", "Pairs", "Share", "Stated", "Accuracy"]
    assert folded[1] == ["0", "0.5 to 0.6", "2", "9.1%", "0.550", "0.500"]
    assert folded[2] == ["0", "0.6 to 0.7", "0", "0.0%", "–", "–"]
    assert len(folded) == 8


def test_a_single_moment_of_a_single_part_has_no_curve_and_no_errors():
    page = followed_page("part", result(LATER[:1], stopping_rules=()))
    assert page.count("<svg") == 1
    assert "standard error to both sides" not in page
    assert "Where goals were met" not in page
    two = followed_page("part", result(START[:1], LATER[:1]))
    assert two.count("<svg") == 2
    assert "standard error to both sides" not in two


def test_the_page_needs_no_other_file_and_spells_names_safely():
    page = followed_page("a <b> & c", result(START, LATER))
    assert page.startswith("<!doctype html>")
    assert page.count("a &lt;b&gt; &amp; c: confidence, stated and true") == 2
    assert "&lt;joint&gt;" in page
    assert not re.search(r"<script|http|src=|url\(", page)
    assert page.count("<svg") == page.count("aria-label=") == 2
