"""The package in a notebook: short texts for large values, and people's first attempts."""

from dataclasses import replace

import pytest

import audiosim
from audiosim.collection.pool import build_pool
from audiosim.errors import InputError


def test_a_collection_is_one_line(tiny, tiny_truth):
    assert repr(tiny) == "tiny: 2 queries, 3 systems, 7 pairs, 0 judged"
    assert repr(replace(tiny, judgments=tuple(tiny_truth[:3]))).endswith("7 pairs, 3 judged")
    assert repr(build_pool(tiny)) == "Pool of tiny at cutoff 2: 2 queries, 3 systems, 7 pairs"


def test_a_ranking_is_one_line_and_a_table_in_a_notebook(tiny):
    ranking = audiosim.estimate(tiny, "uniform", "CG@2")
    assert repr(ranking).startswith(
        "CG@2 of 3 systems, predicted, nothing judged: uniform predicts all 7 pairs: confidence "
    )
    html = ranking._repr_html_()
    assert html.count("<tr") == 1 + 3 + 1  # the heads, the systems, and the name of the index
    assert "<p>CG@2 of 3 systems" in html


@pytest.mark.slow
def test_everything_a_notebook_shows_is_short(tiny, mirex2011):
    for collection in (tiny, mirex2011):
        campaign = audiosim.Campaign(collection, "mout")
        shown = [collection, collection.scale, collection.runs[0], campaign.selection, campaign.selection.belief]
        shown += [campaign.ranking, campaign.ranking.scores, campaign.selection.expected, campaign.selection.measure]
        shown += [audiosim.predict(collection, "mout"), audiosim.load_model("joint")]
        assert [type(one).__name__ for one in shown if len(repr(one)) >= 200] == []


def test_a_folder_is_a_collection(tiny, tiny_truth, tmp_path):
    replace(tiny, judgments=tuple(tiny_truth)).save(tmp_path / "tiny")
    assert audiosim.estimate(str(tmp_path / "tiny"), "uniform", "CG@2").confidence == 1
    assert audiosim.evaluate(tmp_path / "tiny", "CG@2").scores.systems[0] in "ABC"


@pytest.mark.parametrize("measure", [["nDCG@5"], 5, None])
def test_what_is_no_measure_is_said(tiny, measure):
    with pytest.raises(InputError, match="expected one measure such as 'CG@5', got"):
        audiosim.estimate(tiny, "uniform", measure)


def test_the_version_is_told(run):
    code, out, err = run("--version")
    assert (code, out, err) == (0, f"audiosim {audiosim.__version__}\n", "")
