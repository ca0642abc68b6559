"""Several aspects of a pair: read from a column, ranked by one or by their mean, one as evidence about another."""

import io
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest

from audiosim.collection.arguments import as_collection
from audiosim.collection.aspects import Aspects, mean_of, mean_scale
from audiosim.collection.collection import Collection
from audiosim.collection.evidence import MachineJudge
from audiosim.collection.grading import artificial_graded, regrade
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Judgment, Pair, Run, Scale
from audiosim.errors import FormatError, InputError
from audiosim.joint.estimators import after_judgments, make_estimator

RUNS = "a q1 d1\na q1 d2\nb q1 d2\nb q1 d3\n"
ROWS = """query,document,grade,assessor,aspect
q1,d1,80,ann,form
q1,d1,20,ann,sound
q1,d2,40,ann,form
q1,d2,51,bob,sound
q1,d1,60,ann,form
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs.trec").write_text(RUNS)
    (tmp_path / "collection.toml").write_text('scale = "fine"\n')
    (tmp_path / "judgments.csv").write_text(ROWS)
    return tmp_path


def said(collection):
    return [(one.document, one.grade, one.assessor) for one in collection.judgments]


def test_judgments_are_parted_by_aspect_and_their_mean_is_of_those_who_judged_all(folder):
    found = Collection.load(folder)
    assert (found.aspect, found.aspects.names) == ("mean", ("form", "sound"))
    assert said(found) == [("d1", 40, "ann")]  # the last grades for form, 60, and sound, 20; bob did not judge form
    assert len(found.scale.levels) == 201  # 0, 0.5, ..., 100
    assert said(found.by_aspect("form")) == [("d1", 80, "ann"), ("d2", 40, "ann"), ("d1", 60, "ann")]
    assert found.by_aspect("form").scale == FINE
    assert said(found.by_aspect("form").by_aspect("mean")) == said(found)
    with pytest.raises(InputError, match="unknown aspect 'frm', expected form, sound, mean.*form"):
        found.by_aspect("frm")
    found.save(folder / "copy")
    again = Collection.load(folder / "copy")
    assert said(again.by_aspect("sound")) == said(found.by_aspect("sound"))
    assert said(again) == said(found)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("51,bob,sound", "51,bob,", ":5: expected an aspect of small letters, digits and _, other than mean, got ''"),
        ("20,ann,sound", "20,ann,mean", ":3: expected an aspect .* other than mean, got 'mean'"),
    ],
)
def test_a_line_without_a_name_of_its_aspect_is_refused(folder, old, new, problem):
    (folder / "judgments.csv").write_text(ROWS.replace(old, new))
    with pytest.raises(FormatError, match=problem):
        Collection.load(folder)


def test_judgments_from_memory_or_of_a_file_are_parted_in_any_collection(folder):
    rows = pd.read_csv(io.StringIO(ROWS))
    bare = Collection.load(folder, "none")
    for found in (
        as_collection(folder, rows),
        as_collection(bare, rows),
        as_collection(bare, folder / "judgments.csv"),
    ):
        assert said(found) == said(Collection.load(folder))
        assert said(as_collection(found.by_aspect("sound"), rows)) == said(found.by_aspect("sound"))
    judged = MachineJudge.of("aspect-form", {Pair("q", "d1"): 1.0})
    with pytest.raises(InputError, match="has two judges, pieces of evidence or aspects called aspect-form"):
        as_collection(replace(bare, judges=(judged,)), rows)


def test_what_other_aspects_say_goes_with_a_part_a_copy_and_another_scale(folder):
    (folder / "judgments.csv").write_text(f"{ROWS}q1,d3,9,bob,sound\n")
    found = Collection.load(folder).by_aspect("form")
    (sound,) = found.graders
    assert (sound.name, sound.grades()[Pair("q1", "d3")]) == ("aspect-sound", 9)
    for other in (found.judged_by(found.judgments[:1]), regrade(found, artificial_graded(3))):
        assert (other.aspects, other.graders) == (None, (sound,))
    copy = pickle.loads(pickle.dumps(found.judgments))
    assert (copy, copy.parts, copy.aspect) == (found.judgments, found.judgments.parts, "form")


def test_a_mean_is_a_level_of_its_scale_however_the_levels_are_rounded():
    scale = Scale("custom", tuple(n / 7 for n in range(8)))
    for grades in combinations_with_replacement(scale.levels, 4):
        mean = mean_of(grades, scale)
        assert mean in mean_scale(scale, 4)
        assert mean == pytest.approx(sum(map(Fraction, grades)) / 4, abs=1e-8)


def test_without_aspects_there_is_none_to_choose(folder):
    (folder / "judgments.csv").write_text("query,document,grade\nq1,d1,80\n")
    found = Collection.load(folder)
    assert (found.aspects, found.aspect, found.scale) == (None, "", FINE)
    with pytest.raises(InputError, match="has no aspects: its judgments have no column aspect"):
        found.by_aspect("form")


def test_a_mean_has_every_value_that_it_can_have():
    assert mean_scale(BROAD, 2).levels == (0, 0.5, 1, 1.5, 2)
    assert mean_scale(BROAD, 3).levels == pytest.approx((0, 1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2))
    assert mean_scale(Scale("own", (0.0, 1.0, 5.0)), 2).levels == (0, 0.5, 1, 2.5, 3, 5)
    assert mean_scale(FINE, 1) == FINE


def made(correlation, seed):
    """Runs with grades drawn from a Gaussian with this correlation: 40 pairs are judged in a, all of them in b."""
    rng = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(60)]
    runs = tuple(
        Run(f"s{system}", {f"q{query}": tuple(rng.choice(names, 5, replace=False)) for query in range(15)})
        for system in range(8)
    )
    pairs = list(dict.fromkeys((q, d) for run in runs for q, found in run.rankings.items() for d in found))
    mixed = np.array([[1, 0], [correlation, np.sqrt(1 - correlation**2)]])
    truth = np.clip(np.round(50 + 22 * rng.normal(size=(len(pairs), 2)) @ mixed.T), 0, 100)
    order = rng.permutation(len(pairs))
    first = tuple(Judgment(*pairs[at], truth[at, 0], "x", "", "a") for at in order[:40])
    second = tuple(Judgment(*pairs[at], truth[at, 1], "x", "", "b") for at in order)
    collection = Collection("made", "made", FINE, 5, runs, judgments=Aspects(FINE, {"a": first, "b": second}, "a"))
    return collection, dict(zip(pairs, truth[:, 0] / 100, strict=True))


def log_score(collection, truth):
    """Mean log density of the unjudged pairs' true gains, and their mean squared error in units of its variance."""
    pool = build_pool(collection)
    grades = pool.spread(collection.grades())
    belief = after_judgments(pool, make_estimator(pool, "joint"), collection.judgments).predict(grades)
    open_ = np.isnan(grades)
    mean, variance = belief.gains.mean[open_], belief.gains.variance[open_]
    off = (np.array([truth[pair] for pair in pool.pairs])[open_] - mean) ** 2
    return float(np.mean(-0.5 * np.log(variance) - 0.5 * off / variance)), float(np.mean(off / variance))


@pytest.mark.slow
def test_an_aspect_tells_of_another_as_far_as_they_are_correlated():
    # For a Gaussian with correlation r, knowing the other aspect lowers the log score by -log(1 - r^2) / 2: .51 at .8.
    for correlation, least, most in ((0.8, 0.25, 0.6), (-0.6, 0.03, 0.3), (0.0, -0.05, 0.03)):
        gains = []
        for seed in range(3):
            collection, truth = made(correlation, seed)
            with_other, ratio = log_score(collection, truth)
            alone, _ = log_score(replace(collection, judgments=tuple(collection.judgments)), truth)
            gains.append(with_other - alone)
            assert ratio < 1.3  # the stated uncertainty is not too small
        assert least < np.mean(gains) < most


def test_an_aspect_judged_on_the_same_pairs_is_no_evidence(folder):
    rows = [line for line in ROWS.splitlines() if ",d1," in line or line.startswith("query")]
    (folder / "judgments.csv").write_text("\n".join(rows) + "\n")
    found = Collection.load(folder)
    assert found.by_aspect("form").graders == ()
    assert found.by_aspect("sound").graders == ()
