"""Each kind of plot shows its numbers: places, areas and fills are read from matplotlib's own artists."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.collections import PatchCollection

from audiosim.report.rendering import inline_svg
from audiosim.results.plots import (
    HEAVIEST,
    MARKS,
    NUMBERED,
    Line,
    Series,
    draw_bars,
    draw_calibration,
    draw_curves,
    draw_intervals,
    draw_tenths,
    draw_triangle,
    page_axes,
)

LONG = [f"a-very-long-name-of-a-system-number-{n:02}" for n in range(40)]


def test_an_infinite_end_is_drawn_to_the_edge_and_outer_intervals_are_drawn_too():
    axes = draw_intervals(["a", "b"], [0.1, -np.inf], [0.2, 0.3], [0.3, 0.5], "x", page_axes(2), ([0, 0.2], [0.9, 0.6]))
    outer, inner = ([line[:, 0].tolist() for line in one.get_segments()] for one in axes.collections)
    assert outer == [[0, 0.9], [0.2, 0.6]]
    assert inner == [[0.1, 0.3], [0, 0.5]]


def test_errors_of_bars_reach_as_far_to_both_sides_and_none_is_drawn_where_it_is_not_known():
    axes = draw_bars(["a", "b"], [3.0, 2.0], "x", page_axes(2), [1.0, np.nan], shown=["3", "2 of 5"])
    assert [bar.get_width() for bar in axes.patches] == [3, 2]
    known, unknown = axes.collections[0].get_segments()
    assert known[:, 0].tolist() == [2, 4]
    assert len(unknown) == 0 or not np.isfinite(unknown).all()
    assert [text.get_text() for text in axes.texts] == ["3", "2 of 5"]


def test_marks_of_all_series_have_the_area_of_their_weight_and_the_diagonal_is_the_ideal():
    series = [Series(str(n), [0.6, 0.7], [0.7, 0.9], [5, 10]) for n in range(len(MARKS))]
    axes = draw_calibration(series, "x", "y", page_axes(), low=0.5)
    for marks in axes.collections:
        assert marks.get_sizes().tolist() == [HEAVIEST / 2, HEAVIEST]
        assert marks.get_offsets().tolist() == [[0.6, 0.7], [0.7, 0.9]]
    assert axes.get_lines()[0].get_xydata().tolist() == [[0.5, 0.5], [1, 1]]
    assert axes.get_aspect() == 1


def test_tenths_are_shares_of_all_values():
    axes = draw_tenths([0.05, 0.05, 0.55, 1.0], "x", page_axes())
    assert [bar.get_height() for bar in axes.patches] == [0.5, 0, 0, 0, 0, 0.25, 0, 0, 0, 0.25]


@pytest.mark.slow
@pytest.mark.parametrize("systems", [3, NUMBERED + 1])
def test_a_triangle_fills_what_is_marked_and_has_numbers_where_there_is_room(systems):
    marked = np.zeros((systems, systems), dtype=bool)
    marked[0, 1:] = True
    axes = draw_triangle(LONG[:systems], np.full((systems, systems), 0.25), marked, page_axes(systems))
    filled, empty = (one for one in axes.collections if isinstance(one, PatchCollection))
    assert (len(filled.get_paths()), len(empty.get_paths())) == (systems - 1, (systems - 1) * (systems - 2) // 2)
    assert len(axes.texts) == (3 if systems == 3 else 0)


@pytest.mark.parametrize(("most", "step"), [(600, 100), (1000, 200), (45, 10), (3, 0.5), (0.437, 0.1)])
def test_ticks_are_round_numbers(most, step):
    axes = draw_curves([Line("a", [0, most], [0, 1])], "x", "y", page_axes())
    axes.set_xlim(0, most)
    assert np.diff(axes.get_xticks()) == pytest.approx(step)


@pytest.mark.slow
def test_labels_of_forty_systems_do_not_overlap_nor_leave_the_figure():
    values = np.linspace(0, 1, 40)
    for axes in (
        draw_intervals(LONG, values - 0.1, values, values + 0.1, "score", page_axes(40)),
        draw_triangle(LONG, np.zeros((40, 40)), np.zeros((40, 40), dtype=bool), page_axes(40)),
    ):
        inline_svg(axes, "forty")  # lays the figure out
        boxes = sorted((label.get_window_extent() for label in axes.get_yticklabels()), key=lambda box: -box.y0)
        assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(boxes))
        assert min(box.x0 for box in boxes) >= 0


@pytest.mark.slow
def test_a_drawing_in_a_page_has_the_pages_colours_and_nothing_from_elsewhere():
    def drawn():
        axes = draw_curves([Line("<b>", [0, 1], [0, 1]), Line("b", [0, 1], [1, 0])], "x & y", "y", page_axes())
        return inline_svg(axes, 'up "here"')

    svg = drawn()
    assert svg == drawn()  # the same numbers give the same text
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == 'up "here"'
    assert {"<b>", "x & y"} <= {node.text for node in root.iter("text")}
    assert not re.search(r"http|<style|#[0-9a-f]{6}\b|font-family|<script", svg.replace("url(#", ""))
    assert "var(--accent)" in svg
    identifiers = re.findall(r' id="([^"]*)"', svg)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', svg)) == set(identifiers)
