"""Kinds of evidence: audiosim's own keep the contract; violations are reported."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.joint.terms import (
    EVIDENCE_KINDS,
    OWN_KINDS,
    EvidenceEffects,
    EvidenceKind,
    Regressors,
    layout_of,
    register_evidence_kind,
)
from audiosim.plugins import check_evidence_kind


@pytest.fixture(scope="module")
def pools(demo):
    """A pool with every kind of evidence except sound, and the same with unretrieved pairs."""
    rng = np.random.default_rng(0)
    pairs = build_pool(demo).pairs
    known = demo.with_evidence("year", {name: float(rng.normal()) for name in demo.documents})
    known = known.with_evidence("vectors", {name: rng.normal(size=3) for name in demo.documents})
    known = known.with_judge("gpt", {pair: float(rng.integers(4)) for pair in pairs})
    known = known.with_judge("clap", {pair: float(rng.normal()) for pair in pairs[::2]})
    pool = build_pool(known)
    also = [Pair(query, name) for query in pool.queries for name in demo.documents]
    return pool, build_pool(known, also=[pair for pair in also if pair not in pool.positions])


@pytest.mark.parametrize("name", list(OWN_KINDS))
def test_audiosim_s_own_kinds_keep_the_contract(pools, name):
    check_evidence_kind(OWN_KINDS[name], *pools)


def said(pool, **other):
    parts = {
        "names": ("mine",),
        "known": np.ones((len(pool.pairs), 1), dtype=np.bool_),
        "columns": np.ones((len(pool.pairs), 1)),
        "slopes": np.zeros(1),
        "covariance": np.eye(1),
    }
    return Regressors(**{**parts, **other})


def of_draws():
    rng = np.random.default_rng(1)
    return lambda pool, blocks: said(pool, columns=rng.normal(size=(len(pool.pairs), 1)))


@pytest.mark.parametrize(
    ("regressors", "message"),
    [
        (lambda pool, blocks: 1 / 0, "raises ZeroDivisionError"),
        (lambda pool, blocks: 3, "must give Regressors or None, got int"),
        (lambda pool, blocks: said(pool, names=("1st",)), "unique names that begin with a letter"),
        (lambda pool, blocks: said(pool, names=("genre",)), "the name genre is taken"),
        (lambda pool, blocks: said(pool, slopes=np.array([np.nan])), "must be finite"),
        (lambda pool, blocks: said(pool, slopes=np.zeros(2)), "1 columns need"),
        (lambda pool, blocks: said(pool, known=np.zeros((len(pool.pairs), 1), dtype=np.bool_)), "must be 0 where"),
        (lambda pool, blocks: said(pool, columns=np.full((len(pool.pairs), 1), 99.0)), "in standard deviations"),
        (lambda pool, blocks: said(pool, covariance=-np.eye(1)), "must have a covariance"),
        (lambda pool, blocks: said(pool, kernels={"mine": ()}), "must have standard deviations"),
        (
            lambda pool, blocks: said(
                pool,
                kernels={"mine": tuple(2 * np.eye(len(rows)) for rows in blocks)},
                standard_deviations={"mine": (1, 1)},
            ),
            "must be correlations",
        ),
        (of_draws(), "the same pool gives different numbers the second time"),
        (
            lambda pool, blocks: said(pool, columns=np.full((len(pool.pairs), 1), 1 / len(pool.pairs))),
            "pairs that no system retrieved change",
        ),
    ],
)
def test_what_a_kind_does_wrong_is_said_in_words(pools, regressors, message):
    with pytest.raises(InputError, match=message):
        check_evidence_kind(EvidenceKind("mine", "of a test", regressors), *pools)


def test_a_kind_that_speaks_at_one_time_only_is_told_so(pools):
    answers = iter([None, said(pools[0]), None])
    with pytest.raises(InputError, match="gives the same pool evidence at one time and none at another"):
        check_evidence_kind(EvidenceKind("mine", "of a test", lambda pool, blocks: next(answers)), *pools)


def test_what_goes_wrong_in_a_kind_of_another_is_one_line_that_names_it(pools):
    kind = EvidenceKind("mine", "of a test", lambda pool, blocks: 1 / 0)
    layout = layout_of(pools[0], np.ones(len(pools[0].pairs)))
    with pytest.raises(InputError, match="evidence mine: raises ZeroDivisionError: division by zero"):
        EvidenceEffects.of(pools[0], layout, [kind])


def test_two_kinds_must_not_speak_by_one_name(pools):
    kinds = [EvidenceKind(name, "of a test", lambda pool, blocks: said(pool)) for name in ("one", "two")]
    with pytest.raises(InputError, match="two kinds of evidence have the same name mine"):
        EvidenceEffects.of(pools[0], layout_of(pools[0], np.ones(len(pools[0].pairs))), kinds)


def test_a_name_that_is_taken_is_refused_and_the_same_kind_may_come_again():
    register_evidence_kind(OWN_KINDS["sound"])
    with pytest.raises(InputError, match="evidence sound is known already"):
        register_evidence_kind(replace(OWN_KINDS["sound"], meaning="another"))
    assert dict(EVIDENCE_KINDS) == dict(OWN_KINDS)
    with pytest.raises(InputError, match="must begin with a letter, got '1st'"):
        EvidenceKind("1st", "of a test", lambda pool, blocks: None)
