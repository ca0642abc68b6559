"""Worth of evidence, compared with a pair-by-pair computation and with evidence of known worth."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, BROAD
from audiosim.errors import InputError
from audiosim.joint.estimators import estimator_of
from audiosim.simulation.worth import EvidenceWorth, PieceWorth, worth


@pytest.fixture(scope="module")
def informed(demo):
    """Four systems with blurred versions of the listeners' answers and with random numbers; no other metadata."""
    rng, four = np.random.default_rng(0), replace(demo, runs=demo.runs[:4])
    pairs, grades = build_pool(four).pairs, demo.grades()
    known = replace(four, documents={}).with_evidence(
        "judge", {pair: grades[pair] + 5 * rng.normal() for pair in pairs}
    )
    return known.with_evidence("lot", {pair: rng.normal() for pair in pairs})


@pytest.mark.slow
def test_the_loss_without_a_piece_is_that_of_a_plain_loop_over_the_pairs(demo):
    found = {piece.evidence: piece for piece in worth(demo, judged=[0], replays=False).pieces}
    assert list(found) == ["artist", "genre"]
    errors, logs, truth = [], [], demo.grades()
    for documents in (
        demo.documents,
        {name: replace(document, genre=None) for name, document in demo.documents.items()},
    ):
        pool = build_pool(replace(demo, documents=documents))
        belief = estimator_of(pool, "joint").predict(np.full(len(pool.pairs), np.nan))
        grades = [truth[pair] for pair in pool.pairs]
        square = [((belief.expectation[i] - grade) / 100) ** 2 for i, grade in enumerate(grades)]
        errors.append(sum(square) / len(square))
        nearest = [
            min(range(len(belief.levels)), key=lambda k, of=grade: abs(belief.levels[k] - of)) for grade in grades
        ]
        chances = [belief.probabilities[i][level] for i, level in enumerate(nearest)]
        logs.append(sum(np.log(chances)) / len(chances))
    piece = found["genre"]
    assert piece.rmse == pytest.approx(np.sqrt(errors[1]) - np.sqrt(errors[0]), abs=1e-12)
    assert piece.log_score == pytest.approx(logs[0] - logs[1], abs=1e-12)
    assert piece.rmse_low < piece.rmse < piece.rmse_high
    assert piece.saved is None


@pytest.mark.slow
def test_worth_is_told_on_scales_that_the_model_was_not_learned_on(demo):
    judgments = tuple(replace(one, grade=float(np.searchsorted([30, 65], one.grade))) for one in demo.judgments)
    found = worth(replace(demo, scale=BROAD, judgments=judgments), judged=[0], replays=False)
    pieces = {piece.evidence: piece for piece in found.pieces}
    assert pieces["genre"].rmse_low > 0  # listeners of the demo hear its genres
    with pytest.raises(InputError, match=r"no evidence that joint uses on the binary scale, besides the systems"):
        worth(replace(demo, scale=BINARY, judgments=tuple(replace(one, grade=1.0) for one in judgments)), replays=False)


@pytest.mark.slow
def test_a_judge_is_worth_much_and_random_numbers_nothing(informed):
    found = worth(informed, judged=[0.2], splits=1, target=0.98)  # both meet lower targets at once
    pieces = {piece.evidence: piece for piece in found.pieces}
    assert pieces["judge"].rmse_low > 0.05
    assert pieces["judge"].log_score_low > 0
    assert abs(pieces["lot"].rmse) < 0.005  # in one draw; the average cost is below .001
    assert pieces["lot"].rmse_low < 0
    assert pieces["judge"].known == pieces["lot"].known == 1
    assert pieces["judge"].saved > abs(pieces["lot"].saved)
    assert list(found.to_frame()["evidence"]) == ["judge", "lot"]


def test_a_collection_whose_evidence_cannot_be_valued_is_refused(demo):
    with pytest.raises(InputError, match="nothing is judged, expected judgments in its folder"):
        worth(replace(demo, judgments=()))
    with pytest.raises(InputError, match="has no evidence that joint uses on the fine scale"):
        worth(replace(demo, documents={}))
    with pytest.raises(InputError, match="at least 0 and below 1, got 1"):
        worth(demo, judged=[1])


def test_worth_is_said_in_sentences():
    one = PieceWorth("genre", 1.0, 0.0, 0.0124, 0.001, 0.02, 0.3, 0.1, 0.5, 106.4)
    assert str(one) == "genre saves about 106 judgments"
    assert str(replace(one, saved=None)) == "genre lowers the error of a grade by 0.012 of the scale"
    # 0.012 is not told from 0 by an interval that contains 0.
    assert (
        str(replace(one, saved=None, rmse_low=-0.001))
        == "genre makes the predicted probabilities better, but not measurably the expected grades"
    )
    unsure, worse = replace(one, log_score_low=-0.1), replace(one, log_score_low=-0.5, log_score_high=-0.1)
    assert str(replace(unsure, saved=None)) == "genre has no measurable worth for predictions"
    assert str(unsure) == "genre has no measurable worth for predictions but saves about 106 judgments"
    assert str(replace(worse, saved=0.2)) == "genre makes the predicted probabilities worse (log score)"
    assert str(worse) == "genre makes the predicted probabilities worse (log score) but saves about 106 judgments"
    assert (
        str(replace(worse, saved=-3))
        == "genre makes the predicted probabilities worse (log score) and costs about 3 judgments"
    )
    assert str(replace(one, saved=-1)).endswith("by 0.012 of the scale but costs about 1 judgment")
    found = EvidenceWorth((one, replace(unsure, evidence="mood", saved=0)), {0.0: 0.3}, False, 0.95)
    said = "With 0 % judged, genre saves about 106 judgments; mood has no measurable worth for predictions."
    assert repr(found) == said
