"""Each kind of plot shows its numbers: places, areas and fills are read from the chart and from the picture of it."""

import re
import shutil
from xml.etree import ElementTree

import altair
import numpy as np
import pytest

import audiosim
from audiosim.report.rendering import inline_svg
from audiosim.results.plots import (
    HEAVIEST,
    LONGEST,
    NUMBERED,
    Line,
    Series,
    draw_bars,
    draw_calibration,
    draw_curves,
    draw_intervals,
    draw_looks,
    draw_map,
    draw_points,
    draw_tenths,
    draw_triangle,
)

LONG = [f"a-very-long-name-of-a-system-number-{n:02}" for n in range(40)]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


def layers(chart):
    """Kind of mark and rows of each layer of a chart."""
    found = chart.to_dict()
    return [(layer["mark"]["type"], layer.get("data", found.get("data"))["values"]) for layer in found["layer"]]


def of(chart, kind, *keys):
    """Some columns of the rows under the marks of a kind."""
    rows = next(rows for mark, rows in layers(chart) if mark == kind)
    return [tuple(row[key] for key in keys) for row in rows]


def test_an_infinite_end_is_drawn_to_the_edge_and_outer_intervals_are_drawn_too():
    chart = draw_intervals(["a", "b"], [0.1, -np.inf], [0.2, 0.3], [0.3, 0.5], "x", ([0, 0.2], [0.9, 0.6]), beside=0)
    assert [mark for mark, _ in layers(chart)] == ["rule", "rule", "rule", "point"]
    assert layers(chart)[0][1] == [{"beside": 0}]
    for _, rows in layers(chart)[1:]:
        assert [(row["least"], row["most"]) for row in rows] == [(0, 0.9), (0.2, 0.6)]
        assert [(row["low"], row["middle"], row["high"]) for row in rows] == [(0.1, 0.2, 0.3), (0, 0.3, 0.5)]
    assert rows[1]["said"] == "b, x 0.3, from -inf, to 0.5"


def test_errors_of_bars_reach_as_far_to_both_sides_and_none_is_drawn_where_it_is_not_known():
    chart = draw_bars(["a", "b"], [3.0, 2.0], "x", [1.0, np.nan], shown=["3", "2 of 5"])
    assert of(chart, "bar", "value", "low", "high", "shown") == [(3, 2, 4, "3"), (2, None, None, "2 of 5")]


def test_the_area_of_a_mark_is_its_share_of_the_largest_weight_and_the_diagonal_is_the_ideal():
    series = [Series(str(n), [0.6, 0.7], [0.7, 0.9], [5, 10]) for n in range(5)]
    chart = draw_calibration(series, "x", "y", low=0.5)
    assert of(chart, "point", "x", "y", "weight") == [(0.6, 0.7, 5), (0.7, 0.9, 10)] * 5
    encoding = chart.to_dict()["layer"][2]["encoding"]
    assert encoding["size"]["scale"] == {"domain": [0, 10], "range": [0, HEAVIEST]}
    assert encoding["x"]["scale"]["domain"] == encoding["y"]["scale"]["domain"] == [0.5, 1]
    assert of(chart, "line", "x", "y") == [(0.5, 0.5), (1, 1)]


def test_tenths_are_shares_of_all_values():
    chart = draw_tenths([0.05, 0.05, 0.55, 1.0], "x")
    assert [share for (share,) in of(chart, "bar", "share")] == [0.5, 0, 0, 0, 0, 0.25, 0, 0, 0, 0.25]
    assert of(chart, "rule", "beside") == [(0.1,)]


@pytest.mark.parametrize("systems", [3, NUMBERED + 1])
def test_a_triangle_fills_what_is_marked_and_has_numbers_where_there_is_room(systems):
    marked = np.zeros((systems, systems), dtype=bool)
    marked[0, 1:] = True
    chart = draw_triangle(LONG[:systems], np.full((systems, systems), 0.25), marked)
    filled = [is_marked for (is_marked,) in of(chart, "rect", "marked")]
    assert (filled.count(True), filled.count(False)) == (systems - 1, (systems - 1) * (systems - 2) // 2)
    assert [mark for mark, _ in layers(chart)] == (["rect", "text"] if systems == 3 else ["rect"])


def every_kind():
    yield draw_intervals(LONG, np.zeros(40), np.linspace(0, 1, 40), np.ones(40), "score")
    yield draw_bars(["a", "b"], [1, 2], "x", [0.1, np.nan])
    yield draw_curves([Line("a", [0, 1], [1, float("nan")], [0, 1], [2, 3]), Line("b", [0, 1], [2, 2])], "x", "y")
    yield draw_curves([Line(str(n), [0.01, 0.1], [1, 2]) for n in range(6)], "x", "y", log=True)
    yield draw_points([1, 2], [3, 4], [0.1, np.nan], "x", "y")
    yield draw_calibration([Series("one", [0.1], [0.2], [3]), Series("two", [0.4], [0.5])], "stated", "true")
    yield draw_tenths([0.1, 0.15, 0.9], "place")
    yield draw_triangle(
        ["A", "B", "C"], [[0, 0.7, float("inf")], [0, 0, float("nan")], [0] * 3], [[False, True, False]] * 3
    )
    yield draw_looks(["1\n.5", "2\n.6"], {"A": [None, (0, 1, 2)], "B": [(0, 0.5, 1), (0, 1, 1)]}, "judged", "CG@5")
    yield draw_map([[0, 0], [1, 2]], ["a", "b"], ["x", "y"], [True, False])


@pytest.mark.slow
@pytest.mark.parametrize("chart", list(every_kind()))
def test_in_a_page_every_mark_has_its_numbers_and_the_pages_colours_and_nothing_is_from_elsewhere(chart):
    svg = inline_svg(chart, 'up "here"')
    assert svg == inline_svg(chart, 'up "here"')  # the same numbers give the same text
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == 'up "here"'
    said = [node.text for node in root.iter("title")]
    rows = next(rows for _, rows in reversed(layers(chart)) if "said" in rows[0])
    assert {row["said"] for row in rows} <= set(said)
    assert not re.search(r"http|<style|font-family|<script|aria-roledescription|NaN|null", svg)
    assert not re.search(r"#(000|888|ddd|0b6e8a|5b6675)\b|\bid=", svg)
    assert "var(--ink)" in svg


@pytest.mark.slow
def test_long_names_are_cut_in_the_middle_and_forty_systems_have_room():
    values = np.linspace(0, 1, 40)
    chart = draw_intervals(LONG, values - 0.1, values, values + 0.1, "score")
    root = ElementTree.fromstring(inline_svg(chart, "forty"))
    labels = [node for node in root.iter("text") if node.text and "…" in node.text]
    assert [node.text[-2:] for node in labels] == [f"{n:02}" for n in range(40)]
    assert {len(node.text) for node in labels} == {LONGEST}
    heights = [float(re.search(r",([\d.]+)\)", node.get("transform"))[1]) for node in labels]
    assert np.diff(heights).min() >= float(labels[0].get("font-size").removesuffix("px"))


def test_hostile_names_are_text_in_a_page():
    chart = draw_curves([Line("<b>&\"'", [0, 1], [0, 1]), Line("b", [0, 1], [1, 0])], "x & y", "y")
    root = ElementTree.fromstring(inline_svg(chart, "<i>"))
    assert root.get("aria-label") == "<i>"
    assert {"<b>&\"'", "x & y"} <= {node.text for node in root.iter("text")}
    assert not list(root.iter("b"))


def test_charts_are_combined_and_saved(tmp_path):
    both = draw_bars(["a"], [1], "x") | draw_tenths([0.5], "place")
    assert isinstance(both, altair.HConcatChart)
    beginnings = {"svg": b"<svg", "png": b"\x89PNG", "json": b"{"}
    for suffix, beginning in beginnings.items():
        both.save(tmp_path / f"both.{suffix}")
        assert (tmp_path / f"both.{suffix}").read_bytes().startswith(beginning)


@pytest.mark.slow
def test_a_report_has_hover_with_scripts_forbidden_and_asks_no_other_host(small_demo, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    page_file = audiosim.write_report(small_demo, tmp_path / "report.html", model="mjud", about="these")
    asked = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800}).new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        said = page.locator("svg title").first.text_content()
        page.locator("svg path:has(> title)").first.hover()
        assert page.locator("svg").first.bounding_box()["width"] <= 360
        notes = []
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.screenshot()  # a frame, after which it is known what scrolls
            notes.append(page.locator(".wide").first.evaluate("one => getComputedStyle(one, '::after').content"))
        assert notes == ['"Scroll sideways for more"', "none"]
        browser.close()
    best = audiosim.estimate(small_demo, "mjud")[0]
    assert best["system"] in said
    assert asked == [page_file.as_uri()]
