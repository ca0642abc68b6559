"""The law of one truth while judgments are missing: function, command and service state the same score."""

import json
from dataclasses import replace

import numpy as np
import pytest

from audiosim import Collection, compare, estimate
from audiosim.service.app import create_app


# The campaign ranks by CG@5; judged pairs below rank 3 count in the ideal ranking of measures at cutoff 3.
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_function_command_and_service_state_the_same_score_in_every_measure(share, demo, tmp_path, run, in_process):
    queries = [f"q{number:02d}" for number in range(1, 6)]
    runs = [replace(one, rankings={query: one.rankings[query][:5] for query in queries}) for one in demo.runs[:3]]
    pairs = {(query, document) for one in runs for query, top in one.rankings.items() for document in top}
    judged = [one for one in demo.judgments if one.query in queries]
    mine, other = ([one for one in judged if (one.pair in pairs) is inside] for inside in (True, False))
    other, mine = [*other[:20], mine[0]], mine[1:]  # of judgments that came with it, one must be of a retrieved pair
    made = replace(demo, runs=tuple(runs), judgments=tuple(other), cutoff=5)
    made.save(tmp_path / "made")
    with in_process(create_app([Collection.load(tmp_path / "made")])) as client:
        told = mine[: round(share * len(mine))]
        for one in told:
            body = {"query": one.query, "document": one.document, "fine": one.grade, "assessor": "x"}
            answer = client.post("/v1/collections/made/judgments", json=body)
            assert answer.status_code == 201, answer.text
        replace(made, judgments=(*other, *(replace(one, assessor="x") for one in told))).save(tmp_path / "told")
        for measure in ("CG@5", "nDCG@5", "nDCG@3", "RBP@3", "Q@3"):
            ranking = estimate(tmp_path / "told", None, measure)
            code, said, _ = run("estimate", tmp_path / "told", "--measure", measure, "--format", "json")
            served = client.get("/v1/collections/made/ranking", params={"measure": measure})
            assert (code, served.status_code) == (0, 200)
            for face in (json.loads(said), served.json()):
                found = {row["system"]: row["expectation"] for row in face["systems"]}
                expected = {row["system"]: row["expectation"] for row in ranking.rows()}
                assert found.keys() == expected.keys()
                np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), atol=1e-12)
            a, b = ranking.systems[:2]
            difference = compare(tmp_path / "told", a, b, None, measure).expectation
            assert difference == pytest.approx(ranking.scores.mean[0] - ranking.scores.mean[1], abs=1e-12)
