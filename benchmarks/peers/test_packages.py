"""Methods of other packages: their input and output, checked by hand."""

import importlib.util

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import MissingPackageError
from audiosim.joint.terms import log_teams
from peers import known, packages
from peers.known import chosen_peers
from peers.packages import capped, choix, cje, duels, ppi
from peers.statement import nothing_known, pairs_of
from peers.task import Grader

BUDGET = 60


def needs(name):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


@needs("ppi_py")
def test_ppi_is_the_power_tuned_estimate_of_its_paper(task, gains):
    grader = Grader(gains, BUDGET)
    said = ppi(task, grader, np.random.default_rng(1))
    seen, logs = grader.seen, log_teams(task.pool)
    guess = np.polyval(np.polyfit(logs[seen], gains[seen], 1), logs)
    weights = task.weights.toarray()
    a, b = (places[4] for places in pairs_of(7))
    row = weights[a] - weights[b]
    inside = row != 0
    y, f, rest = ((inside.sum() * row * values)[inside & here] for values, here in (
        (gains, seen), (guess, seen), (guess, ~seen)
    ))  # fmt: skip
    # Angelopoulos, Duchi & Zrnic (2023), PPI++, equation 5 and example 6.1, with the plug-in lambda, whose
    # moments the package takes a little otherwise.
    n, rest_n = len(y), len(rest)
    every = np.concatenate([f, rest])
    tuned = np.clip(np.cov(y, f)[0, 1] / ((1 + n / rest_n) * every.var(ddof=1)), 0, 1)
    estimate = tuned * rest.mean() + (y - tuned * f).mean()
    error = np.sqrt((y - tuned * f).var() / n + tuned**2 * rest.var() / rest_n)
    assert said.differences[4] == pytest.approx(estimate, abs=0.05 * error)
    assert said.half_differences[4] == pytest.approx(stats.norm.ppf(0.975) * error, rel=0.05)


def test_chances_are_cut_at_one_and_spend_the_budget():
    rng = np.random.default_rng(0)
    for size, budget in ((20, 5), (20, 15), (50, 45), (10, 10)):
        doubt = rng.gamma(0.5, size=size) + 0.05
        cut = capped(doubt, budget)
        chance = budget * cut / cut.sum()
        assert chance.max() <= 1 + 1e-9
        # Karush-Kuhn-Tucker conditions for the least sum of doubt^2 / chance: chance = min(1, c doubt) for some c.
        open_ = chance < 1 - 1e-9
        ratio = chance[open_] / doubt[open_]
        assert ratio == pytest.approx(np.full(open_.sum(), ratio.mean() if open_.any() else 0))
        assert (doubt[~open_] * (ratio.mean() if open_.any() else np.inf) >= 1 - 1e-9).all()


@pytest.mark.slow
@needs("choix")
def test_duels_are_those_of_the_judged_documents(task, gains):
    seen = np.random.default_rng(0).random(len(gains)) < 0.3
    found = set(enumerate_duels(task, seen, gains))
    assert set(duels(task, seen, gains)) == found
    said = choix(task, Grader(gains, len(gains)), np.random.default_rng(0))
    # With everything judged the strongest system wins most of its duels.
    wins = np.bincount([winner for winner, _ in duels(task, np.ones(len(gains), bool), gains)], minlength=7)
    assert np.corrcoef(said.scores, wins)[0, 1] > 0.95
    assert np.isnan(said.half_differences).all()


def enumerate_duels(task, seen, gains):
    for query in range(len(task.pool.queries)):
        mean = {}
        for system, row in enumerate(task.pool.retrieved.toarray() > 0):
            own = gains[row & seen & (task.pool.query == query)]
            if len(own):
                mean[system] = own.mean()
        yield from ((a, b) for a in mean for b in mean if mean[a] > mean[b] + 1e-12)


@pytest.mark.slow
@needs("cje")
def test_cje_is_asked_about_every_system_and_says_its_own_numbers(task, gains, monkeypatch):
    package = importlib.import_module("cje")
    asked, analyse = [], package.analyze_dataset

    def noted(**options):
        asked.append(options["fresh_draws_data"])
        return analyse(**options)

    monkeypatch.setattr(package, "analyze_dataset", noted)
    grader = Grader(gains, BUDGET)
    said = cje(task, grader, np.random.default_rng(1))
    (rows,) = asked
    assert len(rows) == 7
    assert sum(draw["oracle_label"] is not None for draws in rows.values() for draw in draws) == sum(
        (task.pool.retrieved.toarray() > 0)[:, grader.seen].sum(axis=1)
    )
    with packages._quiet():
        found = analyse(fresh_draws_data=rows, strict=False)
        order = [int(name[1:]) for name in found.metadata["target_policies"]]
        versus = found.compare_policies("s0", "s1", alpha=0.05)
    assert said.scores[order] == pytest.approx(found.estimates, rel=1e-6)
    assert said.differences[0] == pytest.approx(versus["difference"], rel=1e-6)
    assert said.confidence[0] == pytest.approx(1 - versus["p_value"] / 2, abs=0.02)  # its bootstrap has other draws


@pytest.mark.slow
@needs("cje")
def test_cje_states_nothing_of_a_system_with_one_judged_query(task, gains, monkeypatch):
    """The second system's documents are judged only for the first query, all others for every query."""
    own = task.pool.retrieved.toarray()[1] > 0
    chosen = np.flatnonzero(~own | (task.pool.query == 0))

    def judge_these(task, grader, rng):
        grader(chosen)
        return nothing_known(7)

    monkeypatch.setattr(packages, "means_by_t", judge_these)
    said = cje(task, Grader(gains, len(gains)), np.random.default_rng(1))
    first, second = pairs_of(7)
    theirs = (first == 1) | (second == 1)
    assert said.confidence[theirs].tolist() == [0.5] * 6
    assert np.isnan(said.half_differences[theirs]).all()
    assert said.confidence[~theirs].min() > 0.5


def test_a_peer_whose_package_is_missing_says_what_to_install(monkeypatch):
    monkeypatch.setattr(known, "has_package", lambda name: name != "ppi_py")
    with pytest.raises(MissingPackageError, match=r"peer ppi needs ppi-python: pip install ppi-python"):
        chosen_peers("means,ppi")
    found, lacking = chosen_peers("all")
    assert "means" in found
    assert "ppi" not in found
    assert "peer ppi needs ppi-python: pip install ppi-python" in lacking


@pytest.mark.skipif(importlib.util.find_spec("glide") is not None, reason="GLIDE is installed")
def test_without_glide_it_is_said_how_to_get_it():
    with pytest.raises(MissingPackageError, match="peer glide needs glide-py: pip install glide-py with Python 3.12"):
        chosen_peers("glide")
