"""A campaign whose model learns from its judgments is the same one when it is opened again."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.campaign import Campaign, MemoryStore
from audiosim.corpus.model import Judgment
from audiosim.simulation import Design, synthetic_collection

WITHOUT = synthetic_collection(np.random.default_rng(3), Design(6, 3, 12, 5, 30))


def change_nothing(campaign, pair):
    """All stays as it was."""


def judge_again(campaign, pair, name):
    campaign.tell(Judgment(*pair, 100.0 if WITHOUT.grades()[pair] < 50 else 0.0, name))


@pytest.fixture(scope="module")
def judged():
    """Plays a campaign of 105 judgments; gives it, its log, and the first pair judged."""

    def play():
        truth, store = WITHOUT.grades(), MemoryStore()
        campaign, first = Campaign(replace(WITHOUT, judgments=()), store=store), None
        for _ in range(105):
            (pair,) = campaign.ask()
            first = first or pair
            campaign.tell(Judgment(*pair, truth[pair], "ann"))
        return campaign, store, first

    return play


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        change_nothing,
        lambda campaign, pair: judge_again(campaign, pair, "ann"),
        lambda campaign, pair: judge_again(campaign, pair, "bob"),
        lambda campaign, pair: campaign.undo("ann", 1),
    ],
    ids=["nothing", "revised", "second", "undone"],
)
def test_what_changes_after_the_model_has_learned_changes_nothing_of_what_it_learned(judged, change):
    live, store, first = judged()
    learned = live.selection.estimator.standard_deviations
    change(live, first)
    assert live.selection.estimator.standard_deviations == learned
    again = Campaign(replace(WITHOUT, judgments=()), store=store)
    assert again.selection.estimator.standard_deviations == learned
    np.testing.assert_allclose(again.selection.scores.mean, live.selection.scores.mean, rtol=1e-9)
    np.testing.assert_allclose(
        again.selection.scores.covariance, live.selection.scores.covariance, rtol=1e-7, atol=1e-12
    )
    assert again.ask() == live.ask()
