"""The documented format of a prior: the page's numpy program, run unchanged, gets the library's results."""

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.ranking.linear import LinearScores
from audiosim.service.types.prior_file import encode_prior

PAGE = Path(__file__).resolve().parents[2] / "docs" / "prior.md"


@pytest.fixture(scope="module")
def client():
    """The program on the page, as a reader would copy it."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(program.splitlines()) < 90
    names = {}
    exec(compile(program, PAGE.name, "exec"), names)
    return names


@pytest.mark.slow
def test_a_client_of_some_lines_gets_the_confidence_of_the_library_after_each_judgment(client, demo):
    pool, measure = build_pool(demo, 5), parse_measure("CG@5")
    estimator, truth = make_estimator(pool, "joint"), demo.grades()
    start = Selection.start(pool, measure, estimator, learns=False, checks=False)
    pairs, mean, covariance, ends = client["read"](BytesIO(encode_prior(start.belief, pool.pairs)))
    assert pairs == list(pool.pairs)
    runs = {run.system: run.rankings for run in demo.runs}
    w = client["weights"]([runs[system] for system in pool.systems], pairs, 5)
    np.testing.assert_allclose(w, LinearScores(measure, pool).weights.toarray())
    np.testing.assert_allclose(w @ covariance @ w.T, start.believed.scores.covariance, rtol=1e-9)
    begun = client["confidence"](w, mean, covariance, ends, len(pool.queries))
    assert begun == pytest.approx(start.confidence, abs=1e-12)
    loop = client["loop"](w, mean, covariance, ends, len(pool.queries), lambda i: truth[pairs[i]] / 100, 0.99)
    state = start
    for _, (i, confidence) in zip(range(20), loop, strict=False):
        state = state.judge(i, float(truth[pairs[i]]))
        assert confidence == pytest.approx(state.confidence, abs=1e-9)


def test_the_page_names_every_array(demo):
    pool = build_pool(demo, 5)
    body = encode_prior(make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan)), pool.pairs)
    with np.load(BytesIO(body)) as file:
        missing = [name for name in file.files if f"`{name}`" not in PAGE.read_text("utf-8")]
    assert missing == []
