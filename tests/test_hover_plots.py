"""Plots with hover contain the numbers of the results, and pages show them without a network."""

import importlib.util
import json
import shutil
from dataclasses import replace

import matplotlib as mpl
import pytest

import audiosim
from audiosim.errors import InputError, MissingPackageError
from audiosim.results.plots import Line, Series, draw_calibration, draw_curves, draw_points, draw_tenths, draw_triangle

mpl.use("Agg")

HAS_HOVER = all(importlib.util.find_spec(name) for name in ("altair", "vl_convert"))
needs_hover = pytest.mark.skipif(not HAS_HOVER, reason="audiosim[hover] is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


@pytest.fixture(scope="module")
def ranking(demo):
    """A ranking from the first sixty judgments of the demo."""
    return audiosim.estimate(replace(demo, judgments=demo.judgments[:60]), "mjud")


def test_the_marks_are_the_systems_with_their_intervals(ranking):
    spec = audiosim.hover(ranking).to_dict()
    told = [(row["name"], row["low"], row["middle"], row["high"]) for row in spec["layer"][0]["data"]["values"]]
    keys = ("system", "low", "expectation", "high")
    assert told == [tuple(row[key] for key in keys) for row in ranking.rows()]
    assert spec == audiosim.hover(ranking.plot()).to_dict()


def test_notebooks_get_the_plot_itself(ranking):
    found = audiosim.hover(ranking)
    bundle = found._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == found.to_dict()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def drawn():
    yield draw_curves([Line("a", [0, 1], [1, float("nan")], [0, 1], [2, 3]), Line("b", [0, 1], [2, 2])], "x", "y")
    yield draw_points([1, 2], [3, 4], [0.1, 0.2], "x", "y", name="shares")
    yield draw_calibration([Series("one", [0.1], [0.2], [3]), Series("two", [0.4], [0.5])], "stated", "true")
    yield draw_tenths([0.1, 0.15, 0.9], "place")
    yield draw_triangle(["A", "B", "C"], [[0, 0.7, float("inf")]] * 3, [[False, True, False]] * 3)


@pytest.mark.slow
@needs_hover
def test_every_kind_of_plot_is_sound_vega_lite():
    for axes in drawn():
        found = audiosim.hover(axes)
        assert type(found.altair()).__name__ == "LayerChart"  # validated against its schema
        json.dumps(found.to_dict(), allow_nan=False)


def test_a_scale_that_was_set_on_the_axes_is_the_plots(ranking):
    axes = draw_curves([Line("a", [0.01, 0.1], [1, 2])], "level", "share")
    axes.set_xscale("log")
    assert audiosim.hover(axes).to_dict()["layer"][0]["encoding"]["x"]["scale"] == {"type": "log"}


def test_what_has_no_plot_is_refused(ranking, tmp_path):
    with pytest.raises(InputError, match="expected a result that has a plot of numbers, got int"):
        audiosim.hover(3)
    if HAS_HOVER:
        with pytest.raises(InputError, match=r"expected a name that ends in .html, .json, .svg or .png"):
            audiosim.hover(ranking).save(tmp_path / "ranking.doc")
    else:
        with pytest.raises(MissingPackageError, match=r"audiosim\[hover\]"):
            audiosim.hover(ranking).save(tmp_path / "ranking.html")


@pytest.mark.slow
@needs_hover
def test_a_plot_is_saved_in_each_form(ranking, tmp_path):
    beginnings = {".html": b"<!DOCTYPE html>", ".json": b"{", ".svg": b"<svg", ".png": b"\x89PNG"}
    for suffix, beginning in beginnings.items():
        audiosim.hover(ranking).save(tmp_path / f"ranking{suffix}")
        assert (tmp_path / f"ranking{suffix}").read_bytes().startswith(beginning)


@needs_hover
@pytest.mark.slow
def test_a_report_shows_its_numbers_where_the_pointer_is_and_asks_no_other_host(small_demo, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    page_file = audiosim.write_report(small_demo, tmp_path / "report.html", model="mjud", about="these", hover=True)
    asked, wrong = [], []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 360, "height": 800})
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(page_file.as_uri())
        page.wait_for_function("document.querySelectorAll('.hoverable.replaced').length === 3")
        page.locator(".live .mark-symbol path").first.hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        said = page.inner_text("#vg-tooltip-element")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        browser.close()
    best = audiosim.estimate(small_demo, "mjud").rows()[0]
    assert best["system"] in said
    assert f"{best['expectation']:.3f}" in said
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_hover_is_for_a_page(demo, tmp_path):
    with pytest.raises(InputError, match="--hover is for a page, which ends in .html"):
        audiosim.write_report(demo, tmp_path / "bundle", hover=True)
