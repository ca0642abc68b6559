"""The law of one truth: on small random collections, all faces state the same numbers about one state.

With everything judged these are the numbers of `evaluate`, and of trec_eval where a measure has its name. Three
collections are drawn here; `make law` draws 10,000, or COLLECTIONS of them, and writes files of one in ten.
"""

import csv
import io
import json
import os
import re
import zipfile
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from audiosim import Collection, compare, estimate, evaluate, write_report
from audiosim.campaign import CampaignSettings
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Document, Judgment, Run, Scale
from audiosim.measures.measure import MEASURES
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging

pytestmark = pytest.mark.filterwarnings("ignore:.* will be removed in Python 3.14:DeprecationWarning")
SCALES = (BROAD, FINE, Scale("five", (0.0, 1.0, 2.0, 3.0, 4.0)), Scale("binary", (0.0, 1.0)))
FORMS = ("", "gain=exponential", "ideal=user", "form=original")
KEYS = ("expectation", "low", "high", "best", "top", "rank_low", "rank_high")
CLOSE = 1e-12
HALF_A_DIGIT = 5.001e-4  # of a page, which prints three
FEW = 3
LEARNING = 3  # remainder of the seeds whose collections have judgments enough that a campaign learns while it runs
FOUND = (188, 1976, 2084)  # a second person's model was that of one person; equal systems' ends differed in a digit


def drawn(rng, times=1):
    """2 to 4 systems, some equal to another, that find up to 6 of 4 to 12 documents for 1 to 5 queries.

    times  how many times as many queries
    """
    documents = [f"d{i}" for i in range(rng.integers(4, 13))]
    queries = [f"q{i}" for i in range(times * rng.integers(1, 6))]
    about = {
        name: Document(
            name,
            artist=None if rng.random() < 0.3 else f"artist {rng.integers(4)}",
            genre=None if rng.random() < 0.3 else str(rng.choice(["jazz", "rock"])),
        )
        for name in (*documents, *queries)
    }
    runs: list[Run] = []
    for number in range(rng.integers(2, 5)):
        equal = bool(runs) and rng.random() < 0.2
        found = {query: tuple(rng.permutation(documents)[: rng.integers(1, 7)].tolist()) for query in queries}
        runs.append(Run(f"S{number}", runs[-1].rankings if equal else found))
    scale, cutoff = SCALES[rng.integers(len(SCALES))], int(rng.integers(1, 6))
    share = rng.choice([0.0, 0.1, 0.5, 1.0])
    levels = np.array([0, 40, 60, 100.0]) if scale is FINE else np.array(scale.levels)
    judgments = tuple(
        Judgment(query, document, float(rng.choice(levels)), f"person {who}")
        for query in queries
        for document in documents
        if rng.random() < share
        for who in range(1 if share == 1 else rng.integers(1, 3))
    )
    teams = {run.system: f"team {rng.integers(2)}" for run in runs} if rng.random() < 0.5 else {}
    return Collection("drawn", "drawn", scale, cutoff, tuple(runs), about, judgments=judgments, teams=teams)


def with_revisions(rng, came, told):
    """Judgments told to a campaign, some with another grade first, and then some of its folder revised as well.

    And the collection with the judgments in force then, where they were first made.
    """
    levels = [0.0, came.scale.levels[-1]]
    rash = [rng.random() < 0.3 for _ in told]
    first = [
        replace(one, grade=float(rng.choice(levels))) if early else one for one, early in zip(told, rash, strict=True)
    ]
    later = [one for one, early in zip(told, rash, strict=True) if early]
    positions = build_pool(came).positions
    own = [
        replace(one, grade=float(rng.choice(levels))) if told and one.pair in positions and rng.random() < 0.1 else one
        for one in came.judgments
    ]
    later += [one for one, before in zip(own, came.judgments, strict=True) if one != before]
    rng.shuffle(later)
    return [*first, *later], replace(came, judgments=(*own, *told))


def some_measure(rng, collection):
    name = str(rng.choice(list(MEASURES)))
    has = {parameter.name for parameter in MEASURES[name].parameters}
    form = str(rng.choice([form for form in FORMS if not form or form.partition("=")[0] in has]))
    inside = [*([f"min={collection.scale.levels[-1]:g}"] if "min" in has else []), *([form] if form else [])]
    return f"{name}({','.join(inside)})@{collection.cutoff}" if inside else f"{name}@{collection.cutoff}"


def numbers(systems):
    return {one["system"]: [one[key] for key in KEYS] for one in systems}


def record_in(content):
    """The record of a bundle; the ranking on its page has the same numbers, to the digits that it prints."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        read = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    record = json.loads(read["record.json"])
    assert ranked_on(read["index.html"]) == printed(numbers(record["systems"]))
    return record


def ranked_on(page):
    """Score, its interval and ranks of each system, as in the first table of a page with scores."""
    cells = r"<tr><td class=\"word\">(S\d)</td><td>(\S+)</td><td>(\S+)</td><td>(\S+)</td><td>(\d+)(?: – (\d+))?</td>"
    return {
        system: ([float(one) for one in scores], int(first), int(last or first))
        for system, *scores, first, last in re.findall(cells, page.partition("Ranking on")[2].partition("</table>")[0])
    }


def printed(systems):
    """The same of each system, from its numbers."""
    return {
        name: (pytest.approx(of[:3], abs=HALF_A_DIGIT), of[KEYS.index("rank_low")], of[KEYS.index("rank_high")])
        for name, of in systems.items()
    }


def same(values):
    return {name: pytest.approx(value, rel=CLOSE, abs=CLOSE) for name, value in values.items()}


def said_by(run, folder, model, measure, form, *more):
    code, said, err = run("estimate", folder, "--model", model, "--measure", measure, "--format", form, *more)
    assert code == 0, err
    return said


def by_trec_eval(collection, written):
    """Scores by ir_measures, where it has the measure under this name."""
    import ir_measures

    judged: dict[str, dict[str, int]] = {}
    for one in collection.judgments:
        judged.setdefault(one.query, {})[one.document] = int(one.grade)
    measure, found = ir_measures.parse_measure(written), {}
    for run in collection.runs:
        scored = {q: {d: float(-place) for place, d in enumerate(top)} for q, top in run.rankings.items()}
        found[run.system] = ir_measures.calc_aggregate([measure], judged, scored)[measure]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({*range(int(os.environ.get("COLLECTIONS", FEW))), *FOUND}))
def test_all_faces_state_the_same_numbers_about_one_state(seed, tmp_path, run, in_process):
    rng = np.random.default_rng(seed)
    learning = seed % 5 == LEARNING
    made = drawn(rng, 6 if learning else 1)
    measure, pool = some_measure(rng, made), build_pool(made)
    inside = [one for one in made.judgments if one.pair in pool.positions]
    # Files whose judgments are all of other pairs are refused.
    made = made if inside else replace(made, judgments=())
    told = inside[(len(inside) + 1) // 2 :] if rng.random() < 0.5 else []
    late = learning and {one.assessor for one in inside} == {"person 0"} and rng.random() < 0.5
    told = told[-3:] if late else told
    came = replace(made, judgments=tuple(one for one in made.judgments if one not in told))
    if late:  # whoever judges in the campaign is another one than before
        told = [replace(one, assessor="person 1") for one in told]
    sent, made = with_revisions(np.random.default_rng([seed, 1]), came, told)
    folder, whole = tmp_path / "drawn", tmp_path / "whole" / "drawn"  # a log finds its collection by the folder's name
    made.save(whole)
    came.save(folder)

    model = "uniform" if rng.random() < 0.3 else "joint"
    stated = estimate(made, model, measure)
    expected = numbers(Verdicts(stated).to_dict()["systems"])
    mean = {system: values[0] for system, values in expected.items()}
    faces = {"command": json.loads(said_by(run, whole, model, measure, "json"))}
    rows = list(csv.DictReader(io.StringIO(said_by(run, whole, model, measure, "csv"))))
    assert {row["system"]: float(row["expectation"]) for row in rows} == same(mean)
    url, place = f"sqlite:///{tmp_path}/campaign.db", f"/v1/collections/{made.identifier}"
    brief = Judging(url, measure=measure, settings=CampaignSettings(lease_s=1e-3))  # anybody may judge what another has
    with in_process(create_app([Collection.load(folder)], model, judging=brief)) as client:
        for name in {one.assessor for one in told} if rng.random() < 0.5 else ():  # asked before they judge
            given = client.post(f"{place}/next", json={"assessor": name})
            assert given.status_code == 200, given.text
        for one in sent:
            body = {"query": one.query, "document": one.document, "grade": one.grade, "assessor": one.assessor}
            answer = client.post(f"{place}/judgments", json=body)
            assert answer.status_code == 201, answer.text
        faces |= {name: client.get(f"{place}/{name}").json() for name in ("ranking", "results")}
        state = client.get(f"{place}/campaign").json()
        beside = {one: client.get(f"{place}/system-queries", params={"system": one}).json() for one in stated.systems}
        two = client.get(f"{place}/two-systems", params={"a": stated.systems[0], "b": stated.systems[1]}).json()
        if seed < FEW or seed % 10 == 0:
            faces["report"] = record_in(client.get(f"{place}/report").content)
            published = client.post(f"{place}/publications", json={"named": False}).json()
            faces["publication"] = record_in(client.get(published["bundle"]).content)
            written = write_report(folder, tmp_path / "r.zip", [measure], model, judgments=url)
            faces["bundle"] = record_in(written.read_bytes())
            page = write_report(folder, tmp_path / "r.html", [measure], model, judgments=url)
            assert ranked_on(page.read_text(encoding="utf-8")) == printed(expected)
        asked = {"query": [query for query, _ in pool.pairs], "document": [document for _, document in pool.pairs]}
        served = client.post(f"{place}/predictions", json=asked).json()
    for there in (folder, whole) if told else ():  # the log alone, and beside a table of the same judgments
        read = said_by(run, there, model, measure, "json", "--judgments", url)
        faces[f"{there} and its log"] = json.loads(read)
        with in_process(create_app([Collection.load(there)], model, judging=Judging(url, measure=measure))) as client:
            faces[f"{there}, served again"] = client.get(f"{place}/ranking").json()
    for name, found in faces.items():
        assert numbers(found["systems"]) == same(expected), name
        assert found["confidence"] == pytest.approx(stated.confidence, abs=CLOSE), name
        assert found["judged"] == stated.judged, name
    assert (state["confidence"], state["judged"]) == (pytest.approx(stated.confidence, abs=CLOSE), stated.judged)
    for system, found in beside.items():
        assert np.mean([one["expectation"] for one in found["queries"]]) == pytest.approx(mean[system], abs=CLOSE)
    a, b = stated.systems[:2]
    compared = compare(made, a, b, model, measure, about="these").to_dict()
    assert compared["expectation"] == pytest.approx(mean[a] - mean[b], abs=CLOSE)
    shared = ("expectation", "low", "high", "confidence", "judged")
    assert [two[key] for key in shared] == pytest.approx([compared[key] for key in shared], abs=CLOSE)

    # What is predicted adds up to what is ranked: CG is the mean gain of the first results.
    gain, cutoff = dict(zip(pool.pairs, served["expectation"], strict=True)), made.cutoff
    summed = {
        one.system: np.mean([sum(gain[q, d] for d in top[:cutoff]) / cutoff for q, top in one.rankings.items()])
        / made.scale.maximum
        for one in made.runs
    }
    cumulative = estimate(made, model, f"CG@{cutoff}")
    assert {row["system"]: row["expectation"] for row in cumulative.rows()} == same(summed)
    # What is equal is nowhere first.
    for first, second in combinations(made.runs, 2):
        tied = stated.scores.tied[stated.scores.place_of(*map(stated.systems.index, (first.system, second.system)))]
        if first.rankings == second.rankings or tied:
            assert expected[first.system] == expected[second.system]
    one_each = len({one.assessor for one in made.judgments}) == 1  # several people's mean opinion is predicted
    if one_each and {one.pair for one in made.judgments} >= set(pool.pairs):
        evaluated = evaluate(made, measure)
        assert {row["system"]: row["mean"] for row in evaluated.rows()} == same(mean)
        if measure.startswith("nDCG@"):
            assert by_trec_eval(made, measure) == same(mean)
