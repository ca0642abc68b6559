"""Machines that judge, in a joint model: compared with regression in numpy, and for machines of known properties."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.joint.terms import MACHINE_SYSTEM, OWN_ERRORS, SlopePrior, machine_kind, machine_regressors, usual_slopes
from audiosim.ordinal.evidence import LEVELS, machine_grades

PRIOR = SlopePrior(dict.fromkeys(LEVELS, (0.4, 0.2)), (0.5, 0.5), ())


@pytest.fixture(scope="module")
def bare(demo):
    return replace(demo, documents={})


def truth_of(collection):
    return build_pool(collection).spread(collection.grades())


def judged_by(collection, *noises, seed=0):
    """The collection with a machine for each noise: the truth, plus noise of that multiple of its deviation."""
    rng, pool, truth = np.random.default_rng(seed), build_pool(collection), truth_of(collection)
    for number, noise in enumerate(noises):
        said = truth + noise * truth.std() * rng.normal(size=len(truth))
        collection = collection.with_judge(f"m{number}", dict(zip(pool.pairs, said.tolist(), strict=True)))
    return collection


def test_the_prior_that_comes_with_the_package_is_of_all_levels_and_of_real_machines():
    prior = usual_slopes()
    assert set(prior.of) == set(LEVELS)
    assert len(prior.sources) >= 2
    assert all(0 < mean < 1 and spread > 0 for mean, spread in prior.of.values())


def test_one_machine_has_the_slopes_of_the_prior_as_they_are(bare):
    pool = build_pool(judged_by(bare, 1.0))
    found = machine_regressors(machine_grades(pool), pool, PRIOR)
    np.testing.assert_allclose(found.slopes, 0.4)
    np.testing.assert_allclose(found.covariance, 0.04 * np.eye(4), atol=1e-12)
    assert found.shared[MACHINE_SYSTEM].shape == (len(pool.pairs), len(pool.systems))


def test_several_machines_have_the_slopes_of_a_regression_on_all_of_them(bare):
    # cov(said, grades) of each machine alone is 0.4 var(said); ordinary least squares on both solves for both slopes.
    pool = build_pool(judged_by(bare, 1.0, 1.5))
    machines = machine_grades(pool)
    found = machine_regressors(machines, pool, PRIOR)
    said = np.column_stack([one.parts[:, 0] for one in machines])[pool.found]
    deviations = said.std(axis=0)
    correlation = (1 - OWN_ERRORS) * np.corrcoef(said.T) + OWN_ERRORS * np.eye(2)
    covariance = np.outer(deviations, deviations) * correlation
    expected = np.linalg.solve(covariance, 0.4 * deviations**2)
    np.testing.assert_allclose(found.slopes[:2], expected)
    np.testing.assert_allclose(found.covariance[:2, :2], 0.04 * np.linalg.inv(correlation))


def test_a_machine_that_is_there_twice_counts_for_little_more_than_once(bare):
    once = judged_by(bare, 1.0)
    (judge,) = once.judges
    twice = replace(once, judges=(judge, replace(judge, name="again")))
    slopes = [
        machine_regressors(machine_grades(pool), pool, PRIOR).slopes[: len(pool.judges)].sum()
        for pool in map(build_pool, (once, twice))
    ]
    assert slopes[1] == pytest.approx(slopes[0] * 2 / (2 - OWN_ERRORS))


def error(collection, grades, left):
    pool = build_pool(collection)
    estimator = estimator_of(pool, "joint")
    belief = estimator.predict(grades)
    return float(np.sqrt(np.mean((belief.gains.mean[left] - truth_of(collection)[left] / 100) ** 2)))


@pytest.mark.slow
def test_a_machine_tells_more_the_better_it_is_and_before_anything_is_judged(bare):
    truth = truth_of(bare)
    nothing, every = np.full(len(truth), np.nan), np.arange(len(truth))
    errors = [error(of, nothing, every) for of in (judged_by(bare, 0.5), judged_by(bare, 2.0), bare)]
    assert errors == sorted(errors)
    assert errors[0] < 0.9 * errors[2]


@pytest.mark.slow
def test_a_machine_that_says_nothing_but_noise_costs_little_once_pairs_are_judged(bare):
    truth = truth_of(bare)
    seen = np.random.default_rng(1).choice(len(truth), 150, replace=False)
    grades = np.full(len(truth), np.nan)
    grades[seen] = truth[seen]
    left = np.setdiff1d(np.arange(len(truth)), seen)
    assert error(judged_by(bare, 1e6), grades, left) < 1.03 * error(bare, grades, left)


def test_a_system_that_a_machine_favours_is_the_one_in_doubt(bare):
    pool, truth = build_pool(bare), truth_of(bare)
    favoured = np.asarray(pool.retrieved.toarray()[0] > 0)
    noise = np.random.default_rng(2).normal(size=len(truth))
    said = truth + truth.std() * (noise + 2.5 * favoured)
    fair, favours = (
        build_pool(bare.with_judge("gpt", dict(zip(pool.pairs, values.tolist(), strict=True))))
        for values in (truth + truth.std() * noise, said)
    )

    def spread(of):
        prior = estimator_of(of, "joint", [machine_kind(PRIOR)]).predict(np.full(len(truth), np.nan)).gains
        return np.sqrt(prior.project(of.retrieved).variance)

    more = spread(favours) / spread(fair)
    assert np.argmax(more) == 0
    assert more[0] > 1.05


@pytest.mark.slow
def test_a_model_that_does_not_fit_has_a_reserve_that_knows_of_no_machine(bare):
    pool = build_pool(judged_by(bare, 1.0))
    reserve = estimator_of(pool, "joint").in_reserve()
    assert reserve is not None
    nothing = np.full(len(pool.pairs), np.nan)
    assert {reserve.predict(nothing).evidence_of(place) for place in range(9)} == {"output"}
    assert estimator_of(pool, "joint").predict(nothing).evidence_of(0) == "output, m0"
    assert reserve.in_reserve() is None
