"""The commands that add runs to a collection and weigh evidence."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import pytest

from audiosim import package_files
from audiosim.collection.arrivals import ARRIVALS
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.ranking.verbs import predict_pairs

DEMO = package_files.folder("fixtures") / "demo"


@pytest.fixture
def demo(tmp_path):
    return shutil.copytree(DEMO, tmp_path / "demo")


@pytest.fixture
def new_run(tmp_path):
    query = next(iter(Collection.load(DEMO).runs[0].rankings))
    (tmp_path / "new.trec").write_text(f"{query} Q0 d010 1 2 new\n{query} Q0 d011 2 1 new\n")
    return tmp_path / "new.trec"


@pytest.mark.slow
def test_a_run_joins_a_folder_and_every_command_sees_it(run, demo, new_run):
    before = Collection.load(demo)
    code, out, _ = run("join", demo, new_run, "--team", "NEW", "--partial", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["systems"] == [{"system": "new", "team": "NEW", "queries": 1}]
    assert found["gone"] == 0
    after = Collection.load(demo)
    assert [one.system for one in after.runs] == [*(one.system for one in before.runs), "new"]
    assert after.team("new") == "NEW"
    code, out, _ = run("estimate", demo, "--model", "uniform", "--format", "json")
    assert "new" in {row["system"] for row in json.loads(out)["systems"]}


@pytest.mark.slow
def test_a_file_is_called_after_the_system_whose_name_is_given(run, demo, new_run):
    assert run("join", demo, new_run, "--system", "a b/c")[0] == 1  # white space separates the columns of a run
    assert run("join", demo, new_run, "--system", "b/c", "--partial")[0] == 0
    assert [path.name for path in (demo / ARRIVALS / "runs").iterdir()] == ["b%2Fc.trec"]
    assert "b/c" in {one.system for one in Collection.load(demo).runs}


def test_a_run_of_other_queries_is_refused_and_nothing_is_written(run, demo, tmp_path):
    (tmp_path / "other.trec").write_text("nowhere Q0 d010 1 2 new\n")
    code, _, err = run("join", demo, tmp_path / "other.trec")
    assert code == 1
    assert "other.trec: answers no query of demo, expected such as " in err
    assert not (demo / ARRIVALS).exists()


def test_an_address_that_names_no_collection_is_refused(run, new_run):
    code, _, err = run("join", "http://127.0.0.1:9", new_run)
    assert code == 1
    assert "expected the address of a collection, such as http://127.0.0.1:9/v1/collections/NAME" in err


@pytest.mark.slow
def test_what_a_collection_lacks_and_evidence_that_tells_nothing_are_notes_on_stderr(run, demo):
    (demo / "evidence").mkdir()
    documents = [line.split("\t")[0] for line in (demo / "documents.tsv").read_text().splitlines()[1:]]
    (demo / "evidence" / "same.csv").write_text("document,same\n" + "".join(f"{name},1\n" for name in documents))
    (demo / "evidence" / "year.csv").write_text(
        "document,year\n" + "".join(f"{name},{1990 + place}\n" for place, name in enumerate(documents))
    )
    code, out, err = run("predict", demo, "--format", "json")
    assert code == 0
    assert {row["evidence"] for row in json.loads(out)} == {
        "output, genre, artist, year",
        "output, genre, year",
        "output, artist, year",
    }
    assert err.splitlines() == [
        "note: genre is unknown for 5 of the 600 pairs, artist for 8, sound for all",
        "note: evidence same is not informative: it is known for fewer than two of the pairs, or is the same for all",
    ]
    fallen = (
        "historical-fine predicts 13 of the 600 unjudged pairs in place of mout-fine: their genre or artist is unknown"
    )
    _, out, err = run("estimate", demo, "--model", "mout")
    assert err == f"note: {fallen}\n"  # it has no use for sound or evidence
    assert "nothing judged: mout-fine predicts 587 pairs, other models 13." in out


@pytest.mark.slow
@pytest.mark.parametrize("portion", [1, 7, 200])
def test_the_pairs_that_a_fallback_predicts_are_counted_however_many_portions_there_are(monkeypatch, portion):
    monkeypatch.setattr("audiosim.joint.predictions.PORTION", portion)
    collection = Collection.load(DEMO)
    pool, documents = build_pool(collection), sorted(collection.documents)
    pairs = [(query, document) for query in pool.queries[:3] for document in documents[:20]] + list(pool.pairs[:9])
    found = predict_pairs(dict.fromkeys(pairs), collection, pool, "mout")
    counts = Counter(row["model"] for row in found.pairs)
    assert len(found.pairs) == len(set(pairs))
    reason = "in place of mout-fine: their genre or artist is unknown"
    assert found.notes == (
        f"historical-fine predicts {counts['historical-fine']} of the {len(set(pairs))} unjudged pairs {reason}",
    )


@pytest.mark.slow
def test_worth_lists_each_piece_of_evidence(run):
    call = ("worth", DEMO, "--judgments", DEMO / "truth.qrels", "--judged", "0", "--no-replays", "--format", "json")
    code, out, _ = run(*call)
    assert code == 0
    pieces = json.loads(out)["evidence"]
    assert [piece["evidence"] for piece in pieces] == ["artist", "genre"]
    below = " ".join(run(*call[:-2])[1].split()).rsplit("known: ", 1)[1]  # the line under the table
    columns = {key for key in pieces[0] if not key.endswith(("_low", "_high"))} - {"evidence", "known"}
    assert all(f"{column}: " in below for column in columns)
    code, _, err = run("worth", DEMO, "--judged", "many")
    said = " ".join(err.replace("│", "").split())
    assert (code, "--judged: expected numbers with commas between them, got 'many'" in said) == (2, True)


@pytest.mark.slow
def test_judges_are_reported_with_intervals_that_hold_what_is_known_of_them(run, tmp_path):
    # For the same pairs, ann grades a quarter of the scale higher than bob: each is off the mean of both by half of
    # that.
    judged = [line.split() for line in (DEMO / "truth.qrels").read_text().splitlines()[:120]]
    rows = ["query\tdocument\tgrade\tassessor"]
    for query, _, document, grade in judged:
        for name, by in (("ann", 20), ("bob", -5)):
            rows.append(f"{query}\t{document}\t{min(100, max(0, int(float(grade)) + by))}\t{name}")
    (tmp_path / "said.tsv").write_text("\n".join(rows) + "\n")
    status, out, _ = run("judges", DEMO, "--judgments", tmp_path / "said.tsv", "--format", "json")
    ann, bob = json.loads(out)
    assert status == 0
    pool = build_pool(Collection.load(DEMO))
    assert (ann["judge"], ann["kind"]) == ("ann", "person")
    assert ann["judgments"] == sum((query, document) in pool.positions for query, _, document, _ in judged) > 20
    assert ann["severity"] - bob["severity"] == pytest.approx(0.25, abs=0.06)
    assert ann["severity_low"] < ann["severity"] < ann["severity_high"]
    assert 0 < ann["noise_low"] < ann["noise"] < ann["noise_high"]
    status, _, err = run("judges", DEMO, "--judgments", "none")
    assert (status, "no person and no machine has judged a pair of" in err) == (1, True)


@pytest.mark.slow
def test_the_command_judges_reports_machines_beside_people_in_every_form(demo, run, tmp_path):
    judged = replace(Collection.load(demo, DEMO / "truth.qrels"), documents={})
    pool = build_pool(judged)
    truth = pool.spread(judged.grades())
    judged.with_judge("gpt", dict(zip(pool.pairs, truth.tolist(), strict=True))).save(tmp_path / "mine")
    people, machine = json.loads(run("judges", tmp_path / "mine", "--format", "json")[1])
    assert (people["kind"], machine["kind"], machine["judge"], machine["judgments"]) == (
        "person",
        "machine",
        "gpt",
        600,
    )
    assert machine["agreement"] == pytest.approx(1, abs=0.01)
    code, out, _ = run("judges", tmp_path / "mine", "--format", "csv")
    assert (code, len(out.splitlines())) == (0, 3)
    code, out, _ = run("judges", tmp_path / "mine", "--judgments", "none")
    assert (code, "gpt" in out, "worth is in further judgments of people" in out) == (0, True, True)
