"""Outputs that cannot be written are refused before the work that they are for."""

import os
from pathlib import Path

import pytest

DEMO = str(Path(__file__).parents[1] / "fixtures" / "demo")

# Each with something further that is wrong and is found only by the work.
WRITERS = [
    ("neighbours", "none.index"),
    ("predict", DEMO, "--format", "qrels", "--model", "none"),
    ("predict", DEMO, "--format", "parquet", "--model", "none"),
    ("predict-rows", "none.csv", "none"),
    ("study", "sample", DEMO, "--scale", "none"),
    ("study", "answers", "none.jsonl"),
    ("map", DEMO),
    ("backup", "--db", "sqlite:///none.db"),
    ("report", DEMO),
    ("train", DEMO),
]
ENDINGS = {"report": ".html", "train": ".json"}


@pytest.fixture
def places(tmp_path):
    """Names that no file can have, by what is wrong with them."""
    (tmp_path / "file").touch()
    (folder := tmp_path / "folder").mkdir()
    return lambda ending: {
        "missing folder": tmp_path / "missing" / f"x{ending}",
        "below a file": tmp_path / "file" / f"x{ending}",
        "folder": (folder / f"x{ending}", (folder / f"x{ending}").mkdir())[0],
    }


@pytest.mark.parametrize(
    ("writer", "kind"),
    # `neighbours` makes a missing folder.
    [
        (one, kind)
        for one in WRITERS
        for kind in ("missing folder", "below a file", "folder")
        if (one[0], kind) != ("neighbours", "missing folder")
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(run, places, writer, kind):
    place = places(ENDINGS.get(writer[0], ""))[kind]
    code, said, error = run(*writer, "-o", place)
    assert (code, said) == (1, "")
    where = "a writable folder" if writer[0] == "neighbours" else "an existing, writable folder"
    expected = f"{place}: cannot be written: expected a file in {where}"
    if (writer[0], kind) == ("backup", "folder"):
        expected = f"{place} exists already; a backup never replaces a file, expected a new name"
    assert error.splitlines()[-1] == f"audiosim: {expected}"


def test_a_folder_of_drawn_judgments_is_refused_before_the_work(run, tmp_path):
    (tmp_path / "file").touch()
    drawn = ("predict", DEMO, "--format", "qrels", "--draws", "2", "--model", "none")
    code, _, error = run(*drawn, "-o", tmp_path / "file" / "x")
    assert code == 1
    assert "cannot be written: expected a folder, new or empty, in a writable folder" in error.splitlines()[-1]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_an_output_in_a_folder_that_is_read_only_is_refused(run, tmp_path):
    tmp_path.chmod(0o555)
    code, _, error = run("study", "answers", "none.jsonl", "-o", tmp_path / "x.tsv")
    assert code == 1
    assert "x.tsv: cannot be written" in error
