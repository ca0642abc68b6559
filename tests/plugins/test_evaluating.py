"""A measure of another package with full judgments: evaluated and related to people like audiosim's own."""

import json
from pathlib import Path

import pytest

from audiosim.errors import InputError
from audiosim.measures.measure import FORM, IDEAL, Definition, Measure
from audiosim.measures.satisfaction import published_mapping, user_form

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
TRUTH = DEMO / "truth.qrels"
TOP = """
from audiosim.measures.measure import Definition
def top(measure, scale, grades, judged):
    return (grades[..., :1] >= 60).sum(axis=-1) * 1.0
TOP = Definition("TOP", (), top)
"""


def first_is_good():
    """Share of queries with a first document of grade 60 or more, for each system, read from the files directly."""
    lines = [line.split() for line in TRUTH.read_text().splitlines()]
    grades = {(query, document): float(grade) for query, _, document, grade in lines}
    found = {}
    for path in (DEMO / "runs").iterdir():
        for query, _, document, rank, _, system in (line.split() for line in path.read_text().splitlines()):
            if rank == "1":
                found.setdefault(system, []).append(grades[query, document] >= 60)
    return {system: sum(good) / len(good) for system, good in found.items()}


def test_evaluate_scores_the_systems_by_a_measure_of_another_package(install, run):
    install("made-up", TOP, ("audiosim.measures", "TOP", "made_up:TOP"))
    code, out, err = run("evaluate", DEMO, "--judgments", TRUTH, "--measure", "TOP@5", "--format", "json")
    assert code == 0, err
    rows = json.loads(out)["TOP@5"]["systems"]
    assert {row["system"]: row["mean"] for row in rows} == pytest.approx(first_is_good())
    assert "satisfied" not in rows[0]


def none(measure, scale, grades, judged):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("parameters", "chosen", "expected"),
    [((), (), "MINE@5"), ((IDEAL, FORM), (("form", "original"),), "MINE(ideal=user)@5"), ((FORM,), (), "MINE@5")],
)
def test_a_measure_of_one_s_own_has_a_user_oriented_form_where_it_takes_our_parameters(parameters, chosen, expected):
    measure = Measure(Definition("MINE", parameters, none), 5, chosen)
    assert str(user_form(measure)) == expected
    with pytest.raises(InputError, match="^there is no published mapping to satisfaction for MINE"):
        published_mapping(user_form(measure), "fine")
