"""Peers by name, and messages about violations of their contract."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from peers.contract import check_peer
from peers.known import NEEDED, PEERS, chosen_peers
from peers.statement import nothing_known, order_alone


def check(peer, pool):
    check_peer(peer, "mine", parse_measure(f"CG@{pool.cutoff}"), pool, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # warnings of packages about little data
@pytest.mark.parametrize("name", list(PEERS))
def test_audiosim_s_own_peers_keep_their_contract(name, demo_pool):
    package = "glide" if name == "glide" else NEEDED.get(name, ("numpy",))[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    check(PEERS[name], demo_pool)


def test_the_example_of_the_page_keeps_its_contract(demo_pool):
    page = (Path(__file__).resolve().parents[2] / "docs" / "honesty.md").read_text("utf-8")
    names = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    check(names["by_sample"], demo_pool)


def test_peers_are_named_with_commas_and_an_unknown_one_with_all_there_are():
    assert list(chosen_peers("teams, means")[0]) == ["teams", "means"]
    with pytest.raises(
        InputError, match="unknown peer 'mean', expected one of gp, mtc, active, .*; did you mean means"
    ):
        chosen_peers("mean")


def spoils(task, grader, rng):
    task.weights.data[:] = 0
    return nothing_known(len(task.pool.systems))


@pytest.mark.parametrize(
    ("peer", "told"),
    [
        (lambda task, grader, rng: 0.5, "peer mine must return a StatedRanking of 10 systems, got float"),
        (
            lambda task, grader, rng: nothing_known(3),
            "peer mine must return a StatedRanking of 10 systems, got StatedRanking",
        ),
        (
            lambda task, grader, rng: (grader(task.order[: grader.budget + 1]), nothing_known(10))[1],
            "a method requested 1 judgments, but had only 0",
        ),
        (
            lambda task, grader, rng: order_alone(np.random.default_rng().random(10)),
            "peer mine: the same draws give different scores",
        ),
        (spoils, "peer mine changes the weights of its task"),
    ],
)
def test_a_peer_that_breaks_its_contract_is_told_how(peer, told, demo_pool):
    with pytest.raises(InputError, match=told):
        check(peer, demo_pool)
