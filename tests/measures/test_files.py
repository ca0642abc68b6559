"""Runs and judgments of files, scored together: the same in every form of file, and their errors by line."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments, read_runs
from audiosim.collection.values import BROAD, FINE
from audiosim.errors import FormatError, InputError
from audiosim.measures.scores import judged_files, judged_runs

DOCUMENTS = [f"{'long-name-of-a-' * (i % 3)}document{i}" for i in range(40)]


def write(folder, seed=0, systems=3, queries=6):
    """Runs with ties, out of order, of different lengths, and judgments of most of their results."""
    rng = np.random.default_rng(seed)
    lines = [
        f"q{q} 0 {document} {rng.choice([-1, 0, 1, 2], p=[0.1, 0.4, 0.3, 0.2])}"
        for q in range(queries)
        for document in rng.permutation(DOCUMENTS)[:30]
    ]
    (folder / "judgments.qrels").write_text("\n".join(lines) + "\n")
    paths = []
    for s in range(systems):
        run = []
        for q in rng.permutation(queries + 1)[:queries]:
            retrieved = rng.permutation(DOCUMENTS)[: rng.integers(1, 25)]
            scores = rng.choice([-3.25, 0.1, 0.10, 7, 1e3], len(retrieved))
            run += [f"q{q} Q0 {d} {r} {x} system{s}" for r, (d, x) in enumerate(zip(retrieved, scores, strict=True), 1)]
        paths.append(folder / f"system{s}.trec")
        paths[-1].write_text("\n".join(run) + "\n")
    return paths, folder / "judgments.qrels"


def carefully(paths, judgments, cutoff, unjudged):
    scale, judged = read_judgments(judgments)
    return judged_runs(Collection("c", "c", scale, 5, read_runs(paths), judgments=judged), cutoff, unjudged)


def assert_same(ours, theirs):
    assert (ours.scale, ours.systems, ours.queries) == (theirs.scale, theirs.systems, theirs.queries)
    np.testing.assert_array_equal(ours.grades, theirs.grades)
    np.testing.assert_array_equal(ours.judged, theirs.judged)


@pytest.mark.parametrize("unjudged", ["zero", "skip"])
@pytest.mark.parametrize("cutoff", [1, 5, 30])
def test_grades_are_those_found_one_by_one(tmp_path, unjudged, cutoff):
    paths, judgments = write(tmp_path)
    scale, judged = read_judgments(judgments)
    known = {(one.query, one.document): one.grade for one in judged}
    found = judged_files(paths, judgments, cutoff, unjudged=unjudged)
    assert found.scale == scale
    for path, of_system in zip(paths, found.grades, strict=True):
        ((_, rankings),) = [(run.system, run.rankings) for run in read_runs([path])]
        for query, row in zip(found.queries, of_system, strict=True):
            grades = [known.get((query, one)) for one in rankings.get(query, ())]
            if unjudged == "skip":
                grades = [grade for grade in grades if grade is not None]
            assert row[~np.isnan(row)].tolist() == [grade or 0.0 for grade in grades[:cutoff]]
    for query, row in zip(found.queries, found.judged, strict=True):
        best = sorted((grade for (other, _), grade in known.items() if other == query), reverse=True)
        assert row.tolist() == best + [0.0] * (len(row) - len(best))


def test_judged_files_of_any_form_score(tmp_path):
    paths, judgments = write(tmp_path)
    plain = judged_files(paths, judgments, 5, unjudged="zero")
    windows = tmp_path / "windows.trec"
    windows.write_bytes(paths[0].read_bytes().replace(b"\n", b"\r\n"))
    zipped = tmp_path / "zipped.trec.gz"
    zipped.write_bytes(gzip.compress(paths[1].read_bytes()))
    assert_same(judged_files([windows, zipped, paths[2]], judgments, 5, unjudged="zero"), plain)
    assert_same(judged_files([paths[0], zipped, paths[2]], judgments, 5, unjudged="zero"), plain)
    assert judged_files(paths, judgments, 5, scale=FINE, unjudged="zero").scale == FINE


def test_missing_judgments_are_the_error_that_a_collection_gives(tmp_path):
    paths, judgments = write(tmp_path)
    with pytest.raises(InputError, match=r"judgments.qrels: \d+ retrieved pairs are not judged, the first is document"):
        judged_files(paths, judgments, 5)
    with pytest.raises(InputError, match="unknown choice 'no' for unjudged documents"):
        judged_files(paths, judgments, 5, unjudged="no")


LINE = "q1 Q0 a 1 2.5 A"


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (f"{LINE}\nq1 Q0 a 2 2 A\n", "2: document a is twice"),
        (f"{LINE}\nq1 Q0 b x 2 A\n", "2: expected a whole number for the rank"),
        (f"{LINE}\nq1 Q0 b 2 nan A\n", "2: expected a finite number for score"),
        (f"{LINE}\nq1 Q0 b 2 1_0 A\n", "2: expected a finite number for score"),
        (f"{LINE}\nq1 Q0 b 2 1.0.0 A\n", "2: expected a finite number for score"),
        (f"{LINE}\nq1 Q0 b 2 -1-1 A\n", "2: expected a finite number for score"),
        (f"{LINE}\nq1 Q0 b 2\n", "2: expected 6 columns"),
        (f"{LINE}\nq1 Q0 b 2 1 A q1\nQ0 c 3 1 A\n", "2: expected 6 columns"),
        ("", "1: the file is empty"),
    ],
)
def test_what_is_wrong_in_a_run_is_said_by_line(tmp_path, run, message):
    (tmp_path / "run.trec").write_text(run)
    (tmp_path / "judgments.qrels").write_text("q1 0 a 1\nq1 0 b 0\n")
    with pytest.raises(FormatError, match=message):
        judged_files([tmp_path / "run.trec"], tmp_path / "judgments.qrels", 5)


@pytest.mark.parametrize(
    ("judgments", "message"),
    [
        ("q1 0 a 1\nq1 0 a 1\n", "2: query q1, document a is on line 1 already"),
        ("q1 0 a 1\nq1 0 b x\n", "2: expected a finite number for grade"),
        ("q1 0 a 1\nq1 0 b 1.55\n", "2: grade 1.55 fits no usual scale"),
    ],
)
def test_what_is_wrong_in_judgments_is_said_by_line(tmp_path, judgments, message):
    (tmp_path / "run.trec").write_text(LINE)
    (tmp_path / "judgments.qrels").write_text(judgments)
    with pytest.raises(FormatError, match=message):
        judged_files([tmp_path / "run.trec"], tmp_path / "judgments.qrels", 5)


def test_a_run_twice_a_broken_archive_and_a_missing_file_are_left_to_the_careful_reader(tmp_path):
    paths, judgments = write(tmp_path)
    with pytest.raises(FormatError, match="system system0 is in"):
        judged_files([paths[0], paths[0]], judgments, 5, unjudged="zero")
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"q1 Q0 a 1 2 A\n")[:-6])
    with pytest.raises(FormatError, match="the gzip data is broken"):
        judged_files([tmp_path / "broken.gz"], judgments, 5)
    with pytest.raises(InputError, match="cannot be read"):
        judged_files([tmp_path / "none"], judgments, 5)
    with pytest.raises(InputError, match="has no runs"):
        judged_files([], judgments, 5)
    with pytest.raises(FormatError, match="grade 1 is not on the"):
        judged_files(paths, judgments, 5, scale=replace(BROAD, levels=(0.0, 2.0)))
