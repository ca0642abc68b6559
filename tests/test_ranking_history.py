"""History of rankings: each moment equals `estimate` with the judgments valid then."""

import json
import os
import shutil
import zipfile
from dataclasses import replace
from itertools import combinations

import pytest

import audiosim
from audiosim import package_files
from audiosim.campaign import Campaign, DatabaseStore, with_log
from audiosim.campaign.event import comparison_event
from audiosim.campaign.reader import turn_aside
from audiosim.collection.pool import build_pool
from audiosim.collection.values import PairedComparison
from audiosim.collection.written import write_judgments_csv
from audiosim.errors import InputError


@pytest.fixture(scope="module")
def collection(demo):
    """The demo with sixty judgments, of documents at ranks one to five."""
    asked = build_pool(demo, 5).positions
    judgments = [replace(one, assessor="simulated") for one in demo.judgments if one.pair in asked]
    return replace(demo, judgments=tuple(judgments[:60]))


def told(ranking):
    return [(row["system"], row["expectation"], row["low"], row["high"]) for row in ranking.rows()]


def seen(look):
    return [(one.system, one.score, one.low, one.high) for one in look.ranked]


def test_a_look_is_the_estimate_from_the_judgments_made_by_then(collection):
    found = audiosim.history(collection, looks=3, model="mjud")
    assert [look.judged for look in found.looks] == [0, 30, 60]
    for look, count in zip(found.looks, (0, 30, 60), strict=True):
        then = audiosim.estimate(replace(collection, judgments=collection.judgments[:count]), "mjud")
        assert seen(look) == told(then)
        assert look.confidence == then.confidence


def test_swapped_pairs_are_those_whose_order_changed_since_the_look_before(collection):
    found = audiosim.history(collection, looks=4, model="mjud")
    rows = found.look_rows()
    assert rows[0]["swapped"] is None
    for before, after, row in zip(found.looks, found.looks[1:], rows[1:], strict=False):
        order, then = ([one.system for one in look.ranked] for look in (before, after))
        pairs = combinations(order, 2)
        assert row["swapped"] == sum(then.index(a) > then.index(b) for a, b in pairs)


@pytest.mark.slow
def test_what_was_taken_back_counts_until_it_was(collection, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    unjudged = replace(collection, judgments=())
    store = DatabaseStore(url, collection.identifier)
    campaign = Campaign(unjudged, "uniform", "CG@5", store)
    first, second, third = collection.judgments[:3]
    campaign.tell_all([first])
    campaign.tell_all([second])
    campaign.undo("simulated")
    campaign.tell_all([third])
    store.close()
    found = audiosim.history(unjudged, judgments=url, model="mjud", looks=5)
    assert [look.judged for look in found.looks] == [0, 1, 2, 1, 2]
    assert [look.time is None for look in found.looks] == [True, False, False, False, False]
    last = audiosim.estimate(replace(collection, judgments=(first, third)), "mjud")
    assert seen(found.looks[-1]) == told(last)


def test_comparisons_count_from_when_they_were_made_until_withdrawn_or_their_person_is_set_aside(collection, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    unjudged = replace(collection, judgments=())
    one, other = [pair.document for pair in build_pool(collection, 5).pairs if pair.query == "q01"][:2]
    said = [PairedComparison("q01", one, other, "a", name) for name in ("ann", "bob")]
    log = DatabaseStore(url, collection.identifier)
    campaign = Campaign(unjudged, measure="CG@5", store=log)
    campaign.tell(collection.judgments[0])
    for comparison in said:
        campaign.tell(comparison_event(comparison, "2026-01-01T00:00:00Z"))
    campaign.undo("ann")
    log.close()
    force = [(), said[:1], said, said[1:]]
    turn_aside(url, unjudged, "set_aside", "bob")
    for own in (unjudged, replace(unjudged, comparisons=(said[1],))):  # exported to the folder meanwhile
        found = audiosim.history(own, judgments=url, looks=9)
        judged = replace(unjudged, judgments=collection.judgments[:1])
        then = [audiosim.estimate(replace(judged, comparisons=tuple(held))) for held in (*force, ())]
        assert [told(ranking) for ranking in then] == [seen(look) for look in found.looks[1:]]
        assert [ranking.confidence for ranking in then] == [look.confidence for look in found.looks[1:]]
        assert told(then[2]) != told(then[0])  # the comparisons say something
        assert seen(found.looks[-1]) == told(audiosim.estimate(with_log(url, own)))


def test_judgments_exported_to_the_folder_count_from_when_they_were_made(collection, tmp_path):
    folder, url = tmp_path / "demo", f"sqlite:///{tmp_path / 'campaign.db'}"  # its name is the campaign's name there
    shutil.copytree(package_files.folder("fixtures") / "demo", folder)
    store = DatabaseStore(url, "demo")
    campaign = Campaign(replace(collection, judgments=()), "uniform", "CG@5", store)
    campaign.tell_all(collection.judgments)
    write_judgments_csv(folder / "judgments.csv", campaign.judgments())
    store.close()
    found = audiosim.history(folder, judgments=url, looks=2, model="mjud")
    assert [look.judged for look in found.looks] == [0, 60]


@pytest.mark.slow
def test_saved_results_and_bundles_stand_side_by_side(run, small_demo, tmp_path):
    made = [tmp_path / name for name in ("first.json", "bundle", "bundle.zip")]
    code, out, err = run("estimate", small_demo, "--model", "mjud", "--judgments", "none", "--format", "json")
    assert code == 0, err
    made[0].write_text(out, encoding="utf-8")
    for path in made[1:]:
        audiosim.write_report(small_demo, path, model="mjud")
    found = audiosim.history(*made)
    assert [look.source for look in found.looks] == ["first", "bundle", "bundle"]
    assert [look.judged for look in found.looks] == [0, 60, 60]
    assert seen(found.looks[1]) == seen(found.looks[2]) == told(audiosim.estimate(small_demo, "mjud"))
    code, out, err = run("history", *made, "--format", "json", "--plot", tmp_path / "releases.svg")
    assert code == 0, err
    assert json.loads(out) == found.to_dict()
    drawn = (tmp_path / "releases.svg").read_text("utf-8")
    assert "60 judged" in drawn


def test_a_plot_that_cannot_be_written_is_refused_before_the_work(run, tmp_path):
    file = tmp_path / "nowhere" / "x.png"
    code, out, err = run("history", tmp_path / "missing.json", "--plot", file)
    problem = "cannot be written: expected a file in an existing, writable folder"
    assert (code, out, err) == (1, "", f"audiosim: {file}: {problem}\n")


def test_systems_of_one_release_only_have_their_row_and_an_empty_cell(run, tmp_path):
    for name, systems in (("one", "AB"), ("two", "BC")):
        rows = [{"system": of, "expectation": 0.5, "low": 0.4, "high": 0.6} for of in systems]
        saved = {"measure": "CG@5", "judged": 3, "pool": 9, "confidence": None, "systems": rows}
        (tmp_path / f"{name}.json").write_text(json.dumps(saved))
    code, out, err = run("history", tmp_path / "one.json", tmp_path / "two.json")
    assert code == 0, err
    table = [line.split() for line in out.splitlines()]
    assert ["A", "1", "0.500"] in table
    assert ["B", "1", "0.500", "1", "0.500"] in table
    drawn = audiosim.history(tmp_path / "one.json").plot().to_dict()["layer"][0]
    assert len(drawn["encoding"]["x"]["axis"]["values"]) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "expected a result of audiosim estimate --format json, or the record.json of a bundle"),
        ("{", "not JSON: .*, expected a result of audiosim estimate"),
        ('{"measure": "CG@5"}', "expected a result of audiosim estimate"),
        ('{"measure": "CG@5", "measure": "CG@9"}', ":1: measure occurs twice, expected it once"),
        ('{"a":' * 100_000, "not JSON: nested too deeply"),
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path, text, complaint):
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint) as found:
        audiosim.history(path)
    assert str(path) in str(found.value)


def _bundle(path, text, method=None, flags=0):
    """A bundle whose record claims another method of compression, or other flags, such as 1 for encryption."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("out/record.json", text)
    data = bytearray(path.read_bytes())
    for start, at in ((data.find(b"PK\x03\x04"), 6), (data.find(b"PK\x01\x02"), 8)):
        data[start + at] |= flags
        data[start + at + 2] = method or data[start + at + 2]
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "how", "complaint"),
    [
        (2**26 + 1, {}, r"the result has more than 67,108,864 bytes"),
        (9, {"flags": 1}, r"cannot be read as a zip file: RuntimeError: File 'out/record.json' is encrypted"),
        (9, {"method": 99}, r"cannot be read as a zip file: NotImplementedError: That compression method"),
        (9, {"method": 14}, r"cannot be read as a zip file: "),
    ],
    ids=["a bomb", "encrypted", "an unknown method", "another method"],
)
def test_bundles_that_cannot_be_read_are_refused(tmp_path, size, how, complaint):
    path = tmp_path / "bundle.zip"
    _bundle(path, " " * size, **how)
    with pytest.raises(InputError, match=complaint) as found:
        audiosim.history(path)
    assert str(path) in str(found.value)


@pytest.mark.parametrize("name", ["result.json", "bundle.zip"])
def test_a_pipe_is_refused_and_two_records_in_one_bundle(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="is a pipe or a device, expected a file"):
        audiosim.history(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a/record.json", "{}")
        archive.writestr("b/record.json", "{}")
    with pytest.raises(InputError, match=r"expected a bundle of audiosim report, found 2 record.json in it"):
        audiosim.history(tmp_path / "two.zip")


def test_other_inputs_that_are_none_are_refused(tmp_path, collection):
    with pytest.raises(InputError, match="at least one collection or saved result"):
        audiosim.history()
    with pytest.raises(InputError, match="number of looks must be at least 1, got 0"):
        audiosim.history(collection, looks=0)
    (tmp_path / "odd.zip").write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read as a zip file: BadZipFile: File is not a zip file"):
        audiosim.history(tmp_path / "odd.zip")
    saved = {"measure": "nDCG@5", "judged": 0, "pool": 9, "confidence": None}
    saved["systems"] = [{"system": "A", "expectation": 0.5, "low": 0.4, "high": 0.6}]
    (tmp_path / "one.json").write_text(json.dumps(saved))
    with pytest.raises(InputError, match=r"expected one measure: one has nDCG@5, .* CG@5"):
        audiosim.history(tmp_path / "one.json", collection, measure="CG@5", model="uniform", looks=1)


def test_a_history_is_tabled_and_told_in_one_line(collection):
    found = audiosim.history(collection, looks=2, model="uniform")
    assert len(repr(found)) < 200
    assert len(found.to_frame()) == 2 * len(collection.runs)
    assert "<table" in found._repr_html_()


@pytest.mark.slow
def test_who_was_set_aside_counts_until_they_were(collection, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    unjudged, (first, second, third) = replace(collection, judgments=()), collection.judgments[:3]
    store = DatabaseStore(url, collection.identifier)
    campaign = Campaign(unjudged, "uniform", "CG@5", store)
    campaign.tell_all([replace(first, assessor="ann"), replace(second, assessor="bob"), replace(third, assessor="bob")])
    campaign.pause()
    campaign.set_aside("bob")
    store.close()
    found = audiosim.history(unjudged, judgments=url, looks=20, model="uniform")
    assert [look.judged for look in found.looks] == [0, 1, 2, 3, 1]
