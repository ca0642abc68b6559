"""A verb says the same keys in each of its faces: `to_dict`, the command's JSON, the answer over HTTP, the client."""

import json
from dataclasses import replace

import msgspec
import pytest

import audiosim
from audiosim.ranking.separation import verdicts
from audiosim.service.types.campaign import EstimateOut, RankingOut
from audiosim.service.types.evaluation import EvaluationOut

SYSTEMS = "dynamics", "fusion"  # of the demo
# Each verb: its function, what the command takes, the request, and the part of the answer that is the result; an answer
# may say more beside it, such as the state of the log.
VERBS = {
    "estimate": (verdicts, (), "ranking", ""),
    "compare": (lambda one: audiosim.compare(one, *SYSTEMS), SYSTEMS, "two-systems?a={}&b={}".format(*SYSTEMS), ""),
    "plan": (lambda one: audiosim.plan(one, campaigns=4), ("--campaigns", 4), "plan", ""),
    "judges": (lambda one: audiosim.judges(one, leave_one_out=0), ("--leave-one-out", 0), "judges", "judges"),
    "judge-effect": (lambda one: audiosim.judge_effect(one, "ann"), ("ann",), "judge-effect?judge=ann", ""),
    "disagreements": (audiosim.disagreements, (), "disagreements", "pairs"),
    "order-effects": (audiosim.order_effects, (), "judges", "order_effects"),
}


def keys(value, place=""):
    """Places of the keys of a value; the values of a list are alike."""
    if isinstance(value, dict):
        inside = {f"{place}.{name}": one for name, one in value.items()}
        return set(inside).union(*(keys(one, at) for at, one in inside.items()))
    return keys(value[0], f"{place}[]") if isinstance(value, list) and value else set()


@pytest.fixture(scope="module")
def judged(demo, tmp_path_factory):
    """A folder with judgments of two people, who differ."""
    queries = [f"q{number:02d}" for number in range(1, 7)]
    runs = [replace(one, rankings={query: one.rankings[query][:5] for query in queries}) for one in demo.runs[:3]]
    found = {(query, one) for run in runs for query, ranked in run.rankings.items() for one in ranked}
    known = [replace(one, assessor="ann") for one in demo.judgments if one.pair in found][:60]
    other = [replace(one, assessor="bob", grade=one.grade // (1 + place % 3)) for place, one in enumerate(known)]
    folder = tmp_path_factory.mktemp("faces") / "judged"
    replace(demo, runs=tuple(runs), judgments=(*known, *other), cutoff=5).save(folder)
    return folder


@pytest.fixture(scope="module")
def http(judged, commanded):
    with commanded([judged], judged.parent / "log") as server, server.client() as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_same_keys_in_each_of_its_faces(verb, judged, http, run, wait_until):
    function, typed, address, part = VERBS[verb]
    value = function(judged).to_dict()
    code, said, _ = run(verb, judged, *typed, "--format", "json")
    assert code == 0
    answer = {}

    def is_done():
        answer.update(http.get(f"/v1/collections/judged/{address}").json())
        return not answer.get("preliminary")

    wait_until(is_done)
    assert keys(json.loads(said)) == keys(json.loads(json.dumps(value)))
    beside = {f".{name}" for name in ("collection", "state", "model", "preliminary", "aside")} if not part else set()
    found = keys(answer[part] if part else answer)
    assert keys(value) - found == set()
    more = {name for name in found - keys(value) if "[" not in name and name.count(".") == 1}
    if verb != "compare":  # its page also shows what decides between the two
        assert more <= beside


@pytest.mark.slow
def test_a_verb_on_tables_in_the_body_has_the_keys_of_its_function(judged, http):
    collection = audiosim.Collection.load(judged)
    runs = {run.system: {query: list(found) for query, found in run.rankings.items()} for run in collection.runs}
    grades = {}
    for one in collection.judgments:
        grades.setdefault(one.query, {})[one.document] = one.grade
    tables = {"runs": runs, "judgments": grades, "scale": "fine", "cutoff": collection.cutoff}
    made = audiosim.Collection.from_frames(runs, grades, scale="fine", cutoff=collection.cutoff)
    scores = http.post("/v1/evaluate", json=tables | {"unjudged": "zero", "users": 15}).json()
    expected = audiosim.evaluate(made, unjudged="zero", users=15).to_dict()
    assert keys(scores) == keys(expected) | {".measure", ".guesses"}
    assert msgspec.to_builtins(msgspec.convert(scores, EvaluationOut)).keys() <= scores.keys()
    ranking = http.post("/v1/estimate", json=tables).json()
    assert keys(ranking) == keys(verdicts(made).to_dict()) > keys(audiosim.estimate(made).to_dict())
    served = http.get("/v1/collections/judged/ranking").json()
    for answer, kind in ((ranking, EstimateOut), (served, RankingOut)):  # as the client has them
        assert keys(msgspec.to_builtins(msgspec.convert(answer, kind))) <= keys(answer)
        assert all(hasattr(msgspec.convert(answer, kind), name) for name in answer)
