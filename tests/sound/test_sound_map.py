"""The map of recordings: groups that sound different lie apart, and the page is right about each point."""

import json
import re
import shutil
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

import audiosim
from audiosim.collection.collection import Collection
from audiosim.errors import InputError
from audiosim.report.rendering import sound_address
from audiosim.report.sounds import query_pictures
from audiosim.sound import map as sound_map
from audiosim.sound.clips import picture_of
from audiosim.sound.descriptions import Searched
from audiosim.sound.gaussians import Gaussian, width
from audiosim.sound.index import AudioIndex
from audiosim.sound.map import OTHERS, map_coordinates, map_of
from audiosim.sound.parameters import PLAIN
from audiosim.sound.store import Appender, Recording

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
EACH = 12


class OnALine:
    """A description of recordings by one number."""

    name = "line"

    def __init__(self, places, known=None):
        self.places = np.asarray(places, float)
        self.known = np.ones(len(self.places), bool) if known is None else known

    def divergence(self, rows, columns):
        return np.abs(self.places[rows][:, None] - self.places[columns])


@pytest.fixture
def searched():
    """Three groups of recordings, each around a different mean."""
    rng, gaussians = np.random.default_rng(0), {}
    for group in range(3):
        centre = 6 * rng.normal(size=PLAIN.dimension)
        for number in range(EACH):
            mean = centre + rng.normal(size=PLAIN.dimension)
            gaussians[f"{'abc'[group]}{number}"] = Gaussian(mean, 4 * np.eye(PLAIN.dimension))
    return Searched((AudioIndex.of(gaussians, PLAIN),))


@pytest.mark.parametrize("by", ["pca", pytest.param("umap", marks=pytest.mark.slow)])
def test_what_sounds_alike_lies_together(searched, by):
    if by == "umap":
        pytest.importorskip("umap")
    found = map_of(searched, {name: name[0] for name in searched.ids}, {"q": "b3", "gone": "x"}, by)
    distances = squareform(pdist(found.coordinates))
    same = np.equal.outer(np.array(found.groups), np.array(found.groups)) & ~np.eye(len(distances), dtype=bool)
    assert distances[same].mean() < distances[~same].mean() / 3
    np.testing.assert_allclose(found.coordinates.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found.coordinates.std(axis=0), 1)
    assert found.queries == {"q": "b3"}
    assert [row["document"] for row in found.rows() if row["query"]] == ["b3"]
    assert found.to_frame().loc["a0", "group"] == "a"


def test_recordings_on_a_line_lie_in_its_order(searched):
    places = np.random.default_rng(1).permutation(3 * EACH)
    heard, coordinates = map_coordinates(searched, [OnALine(places)])
    assert len(heard) == 3 * EACH
    assert abs(spearmanr(places, coordinates[:, 0])[0]) > 0.95  # the ends of a line bend a little
    # Reversed numbers give the same map, not its mirror image.
    np.testing.assert_allclose(np.abs(map_coordinates(searched, [OnALine(-places)])[1]), np.abs(coordinates), atol=1e-6)


def test_a_recording_without_a_description_lies_where_the_others_put_it(searched):
    known = np.arange(3 * EACH) != 5
    _, both = map_coordinates(searched, [OnALine(np.arange(3 * EACH)), OnALine(np.arange(3 * EACH), known)])
    assert np.isfinite(both).all()
    assert abs(both[5, 0] - both[6, 0]) < abs(both[5, 0] - both[30, 0])


def test_the_largest_groups_have_a_colour_of_their_own(searched):
    groups = {name: str(place // 3) for place, name in enumerate(searched.ids)}
    found = map_of(searched, groups, {})
    # All twelve have three recordings, so the first seven by name are shown.
    assert sorted(set(found.shown_groups)) == ["0", "1", "10", "11", "2", "3", "4", OTHERS]
    drawn = found.plot().to_dict()["data"]["values"]
    assert len(drawn) == 3 * EACH


def test_of_too_many_recordings_some_are_drawn_beside_those_that_are_asked_for(searched, monkeypatch):
    monkeypatch.setattr(sound_map, "MOST", 20)
    found = map_of(searched, {}, {"q": "b3"}, kept=["a0", "c7"])
    assert len(found.names) == 20
    assert {"b3", "a0", "c7"} <= set(found.names)
    assert list(found.names) == [name for name in searched.ids if name in set(found.names)]
    assert found.names == map_of(searched, {}, {"q": "b3"}, kept=["a0", "c7"]).names
    assert len(map_of(searched, {}, {}, kept=searched.ids[:30]).names) == 30, "as many as are asked for"


def test_too_few_recordings_and_an_unknown_way_are_refused(searched):
    with pytest.raises(InputError, match="a map is made by pca or umap, got 'tsne'"):
        map_of(searched, {}, {}, "tsne")
    two = Searched((AudioIndex.of({name: Gaussian(np.zeros(20), np.eye(20)) for name in "ab"}, PLAIN),))
    with pytest.raises(InputError, match="a map needs at least 3 recordings that are not silent, found 2"):
        map_of(two, {}, {})
    with pytest.raises(
        InputError,
        match=r"has no index of its sounds: make one with `audiosim extract COLLECTION -o COLLECTION/sounds.index`",
    ):
        audiosim.sound_map(replace(Collection.load(DEMO), sounds=None))


def test_an_address_is_one_that_a_browser_finds_from_the_page(tmp_path):
    assert sound_address(str(tmp_path / "a b#1.ogg"), tmp_path / "pages") == "../a%20b%231.ogg"
    assert sound_address("https://x.org/a b.ogg", tmp_path) == "https://x.org/a b.ogg"
    assert sound_address("", tmp_path) == ""


def test_pictures_in_a_report_need_an_index(run, tmp_path):
    left_out = "pictures: .* has no index of its sounds: make one with `audiosim extract COLLECTION -o "
    for output, page in (("report.html", "report.html"), ("report", "report/index.html")):
        assert run("report", DEMO, "--pictures", "-o", tmp_path / output)[0] == 0
        assert re.search(left_out, (tmp_path / page).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_query_that_is_a_document_of_the_same_name_has_its_picture_in_a_report(tmp_path):
    (tmp_path / "runs.trec").write_text("d001 Q0 d002 1 2.0 a\nd009 Q0 d002 1 2.0 a\n", encoding="utf-8")
    path = DEMO / "sounds" / "d001.ogg"
    with Appender(tmp_path / "sounds.index", PLAIN) as index:
        rows = np.zeros((1, width(PLAIN.dimension)), np.float32)
        index.extend([Recording("d001", str(path))], rows)
    assert query_pictures(Collection.load(tmp_path)) == {"d001": picture_of(path)}


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_the_page_knows_the_sound_of_each_point_and_what_is_judged(small_demo, tmp_path, run):
    shutil.copytree(small_demo, tmp_path / "demo", ignore=shutil.ignore_patterns("sounds.index", "judgments.csv"))
    assert run("extract", tmp_path / "demo/sounds", "-o", tmp_path / "demo/sounds.index")[0] == 0
    collection = Collection.load(tmp_path / "demo", judgments=tmp_path / "demo/truth.qrels")
    found = audiosim.sound_map(collection, tmp_path / "map.html", pictures=True)
    page = (tmp_path / "map.html").read_text()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert [point["name"] for point in data["points"]] == list(found.names)
    assert all((tmp_path / point["sound"]).is_file() for point in data["points"])
    drawn = {point["name"]: b64decode(point["picture"]) for point in data["points"] if "picture" in point}
    heard = {query: one for query, one in collection.query_documents.items() if one in found.names}
    assert drawn.keys() == set(heard.values())
    assert 1 < len(heard) < len(collection.query_documents)
    assert all(content.startswith(b"\xff\xd8\xff") for content in drawn.values())
    assert len(set(drawn.values())) == len(drawn), "each its own"
    assert run("report", tmp_path / "demo", "--pictures", "-o", tmp_path / "report.html")[0] == 0
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    shown = re.findall(r'src="data:image/jpeg;base64,([^"]+)" alt="mel spectrogram of query (\S+)"', report)
    assert {query: b64decode(one) for one, query in shown} == {query: drawn[one] for query, one in heard.items()}
    grades = collection.grades()
    for asked in data["queries"]:
        assert found.names[asked["at"]] == collection.query_documents[asked["name"]]
        for one in collection.runs:
            top = list(one.rankings[asked["name"]][: collection.cutoff])
            shown = asked["results"].get(one.system, [])
            assert [found.names[place] for place, _ in shown] == [name for name in top if name in found.names]
            assert [grade for _, grade in shown] == [grades[asked["name"], found.names[place]] for place, _ in shown]
    code, out, err = run("map", tmp_path / "demo/sounds.index", "-o", tmp_path / "alone.html", "--format", "json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)) == len(found.names)
    # Levelled Gaussians leave loudness out: another map of the same recordings.
    code, out, _ = run(
        "map", tmp_path / "demo", "-o", tmp_path / "map.html", "--descriptions", "levelled", "--format", "json"
    )
    again = audiosim.sound_map(tmp_path / "demo", descriptions=["levelled"])
    assert json.loads(out) == again.rows() != found.rows()
    code, _, err = run("map", tmp_path / "demo", "--descriptions", "tonle")
    said = re.sub(r"[\s│]+", " ", err)  # in a box
    assert (code, "the index has no description 'tonle', expected one of gaussians, levelled" in said) == (2, True)
