"""The service's predictions equal the library's: to the last bit, or but for rounding with the joint model."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Pair
from audiosim.joint.estimators import make_estimator, taught_by
from audiosim.ordinal.model import load_model
from audiosim.ranking.verbs import judged_so_far

PREDICTIONS = "/v1/collections/small/predictions"
MJUD = f"{PREDICTIONS}?model=mjud"


def columns(pairs):
    return {"query": [query for query, _ in pairs], "document": [document for _, document in pairs]}


def ask(http, pairs, path=MJUD, **more):
    answer = http.post(path, json={**columns(pairs), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
def test_predictions_are_exactly_those_of_the_library(http, small):
    pool = build_pool(small)
    grades = pool.spread(small.grades())
    prediction = make_estimator(pool, "mjud").predict(grades)
    judged = ~np.isnan(grades)
    answer = ask(http, pool.pairs)
    assert answer["expectation"] == np.where(judged, grades, prediction.expectation).tolist()
    assert answer["variance"] == np.where(judged, 0, prediction.variance).tolist()
    assert answer["status"] == np.where(judged, "judged", "predicted").tolist()
    assert answer["models"] == [prediction.models[code] for code in prediction.model]
    assert answer["model"] == {"name": "mjud-fine", "version": load_model("mjud-fine").version}
    assert answer["judgments"] == len(small.judgments)
    assert "probabilities" not in answer


def test_gains_that_are_served_add_up_to_the_ranking_and_their_covariance_to_its_variance(http, small):
    ranking = http.get("/v1/collections/small/ranking").json()
    cutoff = int(ranking["measure"].partition("@")[2])
    for system in ranking["systems"]:
        (run,) = [run for run in small.runs if run.system == system["system"]]
        pairs = [(query, document) for query, top in run.rankings.items() for document in top[:cutoff]]
        answer = ask(http, pairs, PREDICTIONS, include=["covariance"])
        count = cutoff * len({query for run in small.runs for query in run.rankings})
        assert sum(answer["gain"]) / count == pytest.approx(system["expectation"], abs=1e-9)
        assert sum(answer["expectation"]) / 100 / count == pytest.approx(system["expectation"], abs=1e-9)
        covariance = np.array(answer["covariance"])
        assert np.diagonal(covariance).tolist() == answer["variance"]
        assert covariance.sum() / 100**2 / count**2 == pytest.approx(system["variance"], rel=1e-7)
        unknown = ask(http, [pairs[0], ("nobody", "nothing")], PREDICTIONS, include=["covariance"])
        assert unknown["covariance"] == [[answer["variance"][0], None], [None, None]]


def test_a_pair_that_two_assessors_judged_has_the_mean_of_their_grades(http, small):
    first, second = small.judgments[:2]
    assert first.pair == second.pair
    answer = ask(http, [first.pair])
    assert answer["expectation"] == [(first.grade + second.grade) / 2]


def test_probabilities_are_the_models_even_for_judged_pairs(http, small):
    pool = build_pool(small)
    prediction = make_estimator(pool, "mjud").predict(pool.spread(small.grades()))
    answer = ask(http, pool.pairs, include=["probabilities"])
    assert "judged" in answer["status"]
    assert answer["levels"] == prediction.levels.tolist()
    assert answer["probabilities"] == prediction.probabilities.tolist()


def test_answers_come_in_the_order_of_the_question_and_may_repeat(http, small):
    pairs = build_pool(small).pairs
    shuffled = [pairs[i] for i in np.random.default_rng(3).permutation(len(pairs))] + [pairs[0]] * 2
    whole, mixed = ask(http, pairs), ask(http, shuffled)
    by_pair = dict(zip(pairs, whole["expectation"], strict=True))
    assert mixed["expectation"] == [by_pair[pair] for pair in shuffled]


def test_a_pair_outside_the_pool_is_unknown(http, small):
    answer = ask(http, [("q0", "nobody"), build_pool(small).pairs[0], ("nobody", "d00")], include=["probabilities"])
    assert answer["status"][::2] == ["unknown", "unknown"]
    for column in ("expectation", "variance", "models", "probabilities"):
        assert answer[column][::2] == [None, None]
        assert answer[column][1] is not None


def test_pairs_that_no_system_retrieved_are_predicted_as_the_library_does(http, small):
    pool = build_pool(small)
    asked = [Pair(query, document) for query in ("q0", "q1") for document in sorted(small.documents)]
    more = build_pool(small, also=asked)
    assert len(more.pairs) > len(pool.pairs)
    grades = more.spread({pair: grade for pair, grade in small.grades().items() if pair in pool.positions})
    expected = make_estimator(more, "mout").predict(grades).expectation[more.locate(asked)]
    answer = ask(http, [*asked, ("q0", "nobody")], path=f"{PREDICTIONS}?model=mout")
    judged = [status == "judged" for status in answer["status"][:-1]]
    np.testing.assert_allclose(np.array(answer["expectation"][:-1])[~np.array(judged)], expected[~np.array(judged)])
    assert answer["status"].count("unknown") == 1
    assert answer["expectation"][-1] is None


def test_so_many_pairs_that_no_system_retrieved_are_refused(http, small):
    documents = sorted(small.documents)
    queries = [*build_pool(small).queries, *documents]
    asked = [(query, document) for query in queries for document in documents]
    assert len(set(asked) - set(build_pool(small).pairs)) > 500
    answer = http.post(MJUD, json=columns(asked))
    assert answer.status_code == 422
    assert "a request may have at most 500 pairs that no system retrieved, got" in answer.json()["detail"]


def test_no_pair_is_a_fair_question(http):
    answer = ask(http, [], include=["probabilities"])
    assert [answer[column] for column in ("expectation", "status", "models", "probabilities")] == [[], [], [], []]


@pytest.mark.parametrize("model", ["mout", "mout-fine", "uniform", "ljudge", "mjud-fine"])
@pytest.mark.parametrize("cutoff", [1, 5])
def test_another_model_and_another_cutoff_may_be_asked_for(http, small, model, cutoff):
    pool = build_pool(small, cutoff)
    estimator = make_estimator(pool, model)
    answer = ask(http, pool.pairs, f"{PREDICTIONS}?model={model}&cutoff={cutoff}", include=["probabilities"])
    assert answer["model"]["name"] == estimator.name
    assert answer["probabilities"] == estimator.predict(pool.spread(small.grades())).probabilities.tolist()


@pytest.mark.parametrize("cutoff", [None, 2, 5])
@pytest.mark.parametrize("given", [False, True])
def test_predictions_of_the_joint_model_are_those_of_the_library(http, small, cutoff, given, check_close):
    pool = build_pool(small, cutoff)
    known = {pair: float(10 * (place % 11)) for place, pair in enumerate(pool.pairs[::3])} if given else small.grades()
    grades = pool.spread(known)
    estimator = make_estimator(pool, "joint")
    if not given:  # a campaign learns as it goes; judgments in the body teach the model nothing
        estimator = taught_by(pool, estimator, small.judgments)
    prediction, judged, factor = estimator.predict(grades), ~np.isnan(grades), 1.0
    if not given and cutoff is None:  # the campaign's own ranking has a check, and a replacement if it fails
        state = judged_so_far(estimator, small, pool)
        prediction, factor = state.stated_belief, state.widening
    body = {"judgments": {**columns(known), "grade": list(known.values())}} if given else {}
    path = PREDICTIONS if cutoff is None else f"{PREDICTIONS}?cutoff={cutoff}"
    answer = ask(http, pool.pairs, path, include=["probabilities"], **body)
    assert answer["model"] == {"name": "joint-fine", "version": load_model("joint-fine").version}
    assert answer["status"] == np.where(judged, "judged", "predicted").tolist()
    assert answer["models"] == [prediction.models[code] for code in prediction.model]
    check_close(answer["expectation"], prediction.expectation.tolist())
    check_close(answer["variance"], (factor**2 * prediction.variance).tolist())
    check_close(answer["probabilities"], prediction.probabilities.tolist())


def test_the_default_model_is_the_joint_one_of_each_scale(http, small, coarse, check_close):
    for collection, name in ((small, "joint-fine"), (coarse, "joint-broad")):
        pool = build_pool(collection)
        estimator, path = make_estimator(pool, "joint"), f"/v1/collections/{collection.identifier}/predictions"
        answer = ask(http, pool.pairs, path)
        assert answer["model"] == {"name": name, "version": estimator.version}
        assert answer == ask(http, pool.pairs, f"{path}?model=joint")
    assert set(answer["status"]) == {"predicted"}
    expected = estimator.predict(np.full(len(pool.pairs), np.nan))
    check_close(answer["expectation"], expected.expectation.tolist())
    check_close(answer["variance"], expected.variance.tolist())


def test_judgments_in_the_body_replace_those_of_the_server_for_this_answer_only(http, small):
    pool = build_pool(small)
    before = ask(http, pool.pairs)
    known = {pool.pairs[3]: 80.0, pool.pairs[4]: 12.5}
    prediction = make_estimator(pool, "mjud").predict(pool.spread(known))
    answer = ask(http, pool.pairs, judgments={**columns(known), "grade": list(known.values())})
    expected = prediction.expectation.copy()
    expected[3:5] = 80, 12.5
    assert answer["expectation"] == expected.tolist()
    assert answer["judgments"] == 2
    assert answer["status"].count("judged") == 2
    assert ask(http, pool.pairs) == before


def test_judgments_of_pairs_outside_the_pool_are_left_out(http, small):
    pool = build_pool(small)
    answer = ask(http, pool.pairs, judgments={"query": ["q0"], "document": ["nobody"], "grade": [50]})
    unjudged = np.full(len(pool.pairs), np.nan)
    assert answer["expectation"] == make_estimator(pool, "mjud").predict(unjudged).expectation.tolist()


@pytest.mark.slow
def test_many_clients_at_once_get_what_one_gets(server, small):
    def questions(seed):
        rng = np.random.default_rng(seed)
        known = {pair: float(rng.integers(101)) for pair in build_pool(small).pairs if rng.random() < 0.3}
        path = f"{PREDICTIONS}?model={rng.choice(['mjud', 'mout', 'ljudge'])}&cutoff={rng.integers(1, 5)}"
        with httpx.Client(base_url=server.url, timeout=180) as http:
            return [
                ask(http, build_pool(small).pairs, path, judgments={**columns(known), "grade": list(known.values())})
                for _ in range(5)
            ]

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(questions, range(16)))
    assert together == [questions(seed) for seed in range(16)]


FEATURES = {"fSYS": [0.25, 0.5, 1], "OV": [0.8, 0.8, 0.8], "fART": [0.02, None, 0.1], "sGEN": [1, 1, 0]}


def test_rows_of_features_are_predicted_by_the_model_and_a_null_is_unknown(http):
    features = {**FEATURES, "fGEN": [0.8, 0.8, 0.1]}
    answer = http.post("/v1/models/mout-fine/predictions", json={"features": features, "include": ["probabilities"]})
    model = load_model("mout-fine")
    table = {name: np.array(column, dtype=float) for name, column in features.items()}
    expected = model.probabilities(table, 3)
    got = answer.json()
    assert got["model"] == {"name": "mout-fine", "version": model.version}
    assert got["status"] == ["predicted", "unknown", "predicted"]
    assert got["models"] == ["mout-fine", None, "mout-fine"]
    assert got["probabilities"] == [expected[0].tolist(), None, expected[2].tolist()]
    assert got["expectation"][1] is None
    assert got["expectation"][0] == pytest.approx(float(expected[0] @ model.levels))


def test_features_that_the_model_does_not_need_do_not_matter(http):
    rows = {"aSYS": [50.0], "aART": [70.0], "fSYS": [0.5]}
    plain = http.post("/v1/models/mjud-fine/predictions", json={"features": rows}).json()
    more = http.post("/v1/models/mjud-fine/predictions", json={"features": {**rows, "OV": [None]}}).json()
    assert more == plain
    assert plain["status"] == ["predicted"]


def test_no_row_of_features_is_a_fair_question(http):
    empty = {name: [] for name in ("aSYS", "aART", "fSYS")}
    answer = http.post("/v1/models/mjud-fine/predictions", json={"features": empty, "include": ["probabilities"]})
    assert answer.json()["probabilities"] == []
