"""Runs and judgments in memory, passed to the functions that rank, predict and plan."""

from contextlib import closing

import ir_measures
import pandas as pd
import pytest

import audiosim
from audiosim import Collection, package_files
from audiosim.campaign import Campaign, DatabaseStore, with_log
from audiosim.collection.values import Judgment
from audiosim.errors import InputError

QUERIES = 8  # of the demo, because every function is called four times


@pytest.fixture(scope="module")
def runs(demo):
    return {run.system: dict(list(run.rankings.items())[:QUERIES]) for run in demo.runs[:4]}


@pytest.fixture(scope="module")
def qrels(demo, runs):
    queries = {query for rankings in runs.values() for query in rankings}
    found = {}
    for (query, document), grade in demo.grades().items():
        if query in queries:
            found.setdefault(query, {})[document] = int(grade)
    return found


FORMS = {
    "dict": lambda qrels: qrels,
    "Qrel": lambda qrels: [
        ir_measures.Qrel(query, document, grade) for query, some in qrels.items() for document, grade in some.items()
    ],
    "frame": lambda qrels: pd.DataFrame(
        [(query, document, grade) for query, some in qrels.items() for document, grade in some.items()],
        columns=["query", "document", "grade"],
    ),
}
VERBS = {
    "estimate": lambda *given, **more: audiosim.estimate(*given, **more).to_dict(),
    "evaluate": lambda *given, **more: audiosim.evaluate(*given, **more).to_dict(),
    "reliability": lambda *given, **more: audiosim.reliability(*given, **more).to_dict(),
    "predict": lambda *given, **more: audiosim.predict(*given, **more, cutoff=5).to_dict(),
    "next_pairs": lambda *given, **more: audiosim.next_pairs(*given, **more).to_dict(),
    "simulate": lambda *given, **more: audiosim.simulate(*given, **more, stopping_rule="judgments=30").to_dict(),
    "plan": lambda *given, **more: audiosim.plan(*given, **more, stopping_rule="judgments=40", campaigns=1).to_dict(),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_estimate_takes_runs_and_qrels_at_once(form, runs, qrels):
    expected = audiosim.estimate(Collection.from_runs(runs, qrels)).to_dict()
    assert audiosim.estimate(runs, FORMS[form](qrels)).to_dict() == expected


@pytest.mark.parametrize("verb", [pytest.param(verb, marks=pytest.mark.slow) for verb in VERBS])
def test_every_function_takes_judgments_alike(verb, runs, qrels):
    do, expected = VERBS[verb], VERBS[verb](Collection.from_runs(runs, qrels))
    assert do(runs, judgments=qrels) == expected
    assert do(runs, qrels) == expected
    assert do(Collection.from_runs(runs, qrels, cutoff=5), judgments=qrels) == expected


@pytest.mark.slow
def test_two_systems_are_compared_by_judgments_in_memory(runs, qrels):
    names = list(runs)[:2]
    expected = audiosim.compare(Collection.from_runs(runs, qrels), *names).to_dict()
    assert audiosim.compare(runs, *names, judgments=qrels).to_dict() == expected
    assert audiosim.compare(runs, *names, qrels).to_dict() == expected


@pytest.mark.slow
def test_a_folder_takes_judgments_of_a_file_and_of_memory(qrels):
    folder = package_files.folder("fixtures") / "demo"
    truth = folder / "truth.qrels"
    expected = audiosim.evaluate(Collection.load(folder, truth)).to_dict()
    read = Collection.load(folder, truth).judgments
    for judgments in (truth, str(truth), read):
        assert audiosim.evaluate(folder, judgments=judgments).to_dict() == expected
    assert audiosim.evaluate(folder, read).to_dict() == expected


def test_the_address_of_a_database_names_the_function_that_reads_it(tmp_path, demo, runs):
    refused = r"^sqlite:\.\.\.: is an address, expected a file; a database is read by audiosim\.campaign\.with_log\("
    folder = package_files.folder("fixtures") / "demo"
    for given in (folder, demo, runs):
        with pytest.raises(InputError, match=refused):
            audiosim.estimate(given, judgments="sqlite:///secret@campaign.db")
    url, unjudged = f"sqlite:///{tmp_path / 'campaign.db'}", Collection.load(folder)
    with closing(DatabaseStore(url, unjudged.identifier)) as store:
        campaign = Campaign(unjudged, store=store)
        asked = campaign.ask(1, "ann")[0]
        campaign.tell(Judgment(*asked, 40, "ann"))
    assert [(one.pair, one.grade) for one in with_log(url, unjudged).judgments] == [(asked, 40)]


def test_measures_and_models_may_stand_beside_judgments(runs, qrels):
    expected = audiosim.evaluate(Collection.from_runs(runs, qrels), "nDCG@5").to_dict()
    assert audiosim.evaluate(runs, qrels, "nDCG@5").to_dict() == expected
    assert audiosim.evaluate(runs, qrels, measure="nDCG@5").to_dict() == expected
    modelled = audiosim.estimate(Collection.from_runs(runs, qrels), "mout", "CG@3").to_dict()
    assert audiosim.estimate(runs, qrels, model="mout", measure="CG@3").to_dict() == modelled


def test_judgments_given_twice_are_refused(runs, qrels):
    with pytest.raises(InputError, match="expected judgments once, got them as the second argument and as judgments="):
        audiosim.estimate(runs, qrels, judgments=qrels)


def test_a_collection_shows_its_systems():
    runs = {"A": {"q1": ["d1", "d2"], "q2": ["d1", "d3"]}, "B": {"q1": ["d2", "d4"]}}
    made = Collection.from_runs(runs, {"q1": {"d1": 1, "d2": 0}}, systems={"A": "us"}, scale="binary")
    table = made.to_frame()
    assert table.loc["A"].tolist() == ["us", 2, 2, 0.5]
    assert table.loc["B"].tolist() == ["B", 1, 2, 0.5]
    assert "2 judged" in made._repr_html_()
    assert "<table" in made._repr_html_()
    bars = made.plot().to_dict()["data"]["values"]
    assert [bar["value"] for bar in bars] == [0.5, 0.5]


def test_check_says_what_it_takes(runs):
    with pytest.raises(InputError, match="check takes a folder or a Collection, such as Collection.from_frames"):
        audiosim.check(runs)
