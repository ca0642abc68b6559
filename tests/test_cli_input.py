"""Wrong input to the command causes one line and exit code 1, never a plausible ranking."""

import gc
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from audiosim import package_files

COMMAND = [sys.executable, "-m", "audiosim"]
RUNS = "".join(
    f"q{q} Q0 d{d} {rank} {-rank} {system}\n"
    for system, order in {"S": (1, 2, 3), "T": (3, 2, 1)}.items()
    for q in (1, 2)
    for rank, d in enumerate(order)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs.trec").write_text(RUNS)
    (tmp_path / "collection.toml").write_text('scale = "broad"\ncutoff = 3\n')
    return tmp_path


WRONG = {
    "misspelt column": (
        {"documents.tsv": b"document\tgnere\nd1\tjazz\n"},
        "documents.tsv:1: unknown column gnere, did",
    ),
    "wrong extension": (
        {"documents.xlsx": b"document\tgenre\nd1\tjazz\n"},
        "documents.xlsx is ignored: rename it to",
    ),
    "other case": (
        {"documents.tsv": b"document\tgenre\nD1\tjazz\n"},
        "0 of 3 retrieved documents have a line, expected",
    ),
    "unknown pairs": ({"judgments.qrels": b"q1 0 x 1\n"}, "judgments.qrels: 0 of 1 judgment is of retrieved pairs"),
    "semicolons": (
        {"judgments.csv": b"q1;d1;1\n"},
        "columns between semicolons need a header",
    ),
    "capitals": ({"judgments.csv": b"Query,Document,Broad\nq1,d1,1\n"}, "did you mean query for Query?"),
    "decimal comma": ({"judgments.csv": b'query,document,broad\nq1,d1,"1,0"\n'}, "a decimal comma: write 1.0"),
    "Latin-1": ({"documents.tsv": b"document\tartist\nd1\tBj\xf6rk\n"}, "documents.tsv:2: byte 0xf6 is not UTF-8"),
    "UTF-16": ({"judgments.csv": "query,document".encode("utf-16-le")}, "judgments.csv:1: the file looks like UTF-16"),
    "long number": ({"judgments.qrels": b"q1 0 d1 " + 6000 * b"1"}, "judgments.qrels:1: expected a finite number for"),
    "deep JSON": (
        {"judgments.jsonl": b'{"query": ' + 200_000 * b"[" + b"}"},
        "judgments.jsonl:1: not JSON: nested too",
    ),
    "half a row": ({"judgments.jsonl": b'{"query": "q1"}\n{"que'}, "judgments.jsonl:2: not JSON: "),
}


@pytest.mark.parametrize(("files", "message"), WRONG.values(), ids=WRONG)
def test_wrong_files_are_one_line_and_no_ranking(run, folder, files, message):
    for name, data in files.items():
        (folder / name).write_bytes(data)
    if "nested" in message:
        gc.collect()  # other tests' objects must not be finalised during the recursion, where that would fail
    code, out, err = run("estimate", folder)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_name_in_other_case_among_right_ones_is_said(run, folder):
    (folder / "documents.tsv").write_text("document\tgenre\nd1\tjazz\nD2\tjazz\nd3\tjazz\n")
    code, _, err = run("estimate", folder)
    path = folder / "documents.tsv"
    alike = "note: all systems return the same first 3 documents: only ranks or a lower cutoff tell them apart\n"
    misspelt = f"note: {path}: 2 of 3 retrieved documents have a line; did you mean d2 for D2?\n"
    lacking = "note: genre is unknown for 2 of the 6 pairs, artist for all, sound for all\n"
    lacking += (
        "note: genre of documents is known, but not used in expected grades before any judgment: the genre of every "
    )
    lacking += "query is unknown; queries.tsv, or the table of queries, names its recording\n"
    assert (code, err) == (0, f"{alike}{misspelt}{lacking}")


def test_of_queries_that_are_no_recordings_it_is_said_that_there_is_nothing_to_compare_with(run, folder):
    known = "".join(f"d{n}\tX{n}\tjazz\n" for n in (1, 2, 3))
    (folder / "documents.tsv").write_text(f"document\tartist\tgenre\n{known}")
    code, _, err = run("estimate", folder)
    assert code == 0
    unused = "note: genre of documents is known, but not used in expected grades before any judgment: the genre of "
    unused += "every query is unknown; queries.tsv, or the table of queries, names its recording\n"
    assert unused.partition("known, but")[2] in err
    assert unused in run("check", folder)[1]
    queries = "query\tdocument\n" + "".join(f"q{n}\td{n}\n" for n in (1, 2))
    (folder / "queries.tsv").write_text(queries)
    assert unused not in run("check", folder)[1]
    (folder / "queries.tsv").unlink()
    assert "note: sound is unknown for all 6 pairs\n" in err
    assert "no genre" not in err


@pytest.mark.slow
def test_people_at_a_terminal_see_what_was_read_of_each_file(folder):
    (folder / "judgments.qrels").write_text("q1 0 d1 1\nq1 0 x 1\n")
    here, there = pty.openpty()
    ended = subprocess.run([*COMMAND, "estimate", folder, "--format", "json"], stdout=subprocess.PIPE, stderr=there)
    os.close(there)
    with open(here, encoding="utf-8", errors="replace") as terminal:  # noqa: PTH123
        said = [terminal.readline().strip() for _ in range(2)]
    assert ended.returncode == 0
    assert said == [
        f"read: {folder}/runs.trec: 2 systems, 2 queries, 3 documents retrieved",
        f"read: {folder}/judgments.qrels: 1 of 2 judgments are of retrieved pairs",
    ]


def test_a_query_without_any_judgment_is_left_out_and_said(run, folder):
    (folder / "judgments.qrels").write_text("".join(f"q1 0 d{d} {d % 3}\n" for d in (1, 2, 3)))
    code, _, err = run("evaluate", folder, "--measure", "CG@1", "--measure", "DCG@2", "--unjudged", "zero")
    assert (code, err.count("note: 1 query of the runs, such as q2, not judged at all: left out\n")) == (0, 1)


def test_a_table_without_rows_has_its_columns_as_csv(run, folder):
    (folder / "judgments.qrels").write_text("".join(f"q{q} 0 d{d} {d % 3}\n" for q in (1, 2) for d in (1, 2, 3)))
    assert run("next", folder, "--format", "csv")[1].startswith("query,document,weight")
    assert run("disagreements", folder, "--format", "csv")[1] == "query,document,grades,beyond,spread,chance\r\n"


def test_files_of_one_tag_are_two_systems_and_may_be_refused(run, tmp_path):
    (tmp_path / "runs").mkdir()
    for name, documents in {"kl": ("a", "b"), "js": ("b", "a")}.items():
        lines = [f"q Q0 {document} 1 {-rank} run1\n" for rank, document in enumerate(documents)]
        (tmp_path / "runs" / f"{name}.txt").write_text("".join(lines))
    code, out, err = run("estimate", tmp_path, "--format", "csv")
    assert code == 0
    assert {line.split(",")[0] for line in out.splitlines()} == {"system", "kl", "js"}
    notes = err.splitlines()
    assert (
        f"note: {tmp_path}/runs/js.txt:2: the line repeats a rank of its ranking; scores decide, as in trec_eval"
        in notes
    )
    assert "note: 2 files share the tag run1: their systems are named by their files" in notes
    code, _, err = run("estimate", tmp_path, "--system-from", "tag")
    assert code == 1
    assert "kl.txt:1: system run1 is in" in err


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line(folder):
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([*COMMAND, "estimate", folder, "--format", "json"], stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert ended.stderr.endswith(b"\naudiosim: output: No space left on device, expected free space on the disk\n")


def test_judgments_with_holes_are_evaluated_with_bounds_or_in_part(run, folder):
    (folder / "judgments.qrels").write_text("".join(f"q{q} 0 d{d} {d % 3}\n" for q in (1, 2) for d in (1, 2)))
    code, _, err = run("evaluate", folder, "--measure", "CG@1")
    alike = "note: all systems return the same first 3 documents: only ranks or a lower cutoff tell them apart\n"
    unused = "note: CG@1 leaves 2 of 4 judgments unused: no system has their documents as its first result\n"
    assert (code, err.startswith(f"{alike}{unused}audiosim: ")) == (1, True)
    code, out, _ = run("evaluate", folder, "--measure", "CG@1", "--unjudged", "zero", "--format", "json")
    rows = {row["system"]: row for row in json.loads(out)["CG@1"]["systems"]}
    # S has d1, with grade 1 of 2, first; T has d3, which nobody judged.
    assert [(rows[name]["least"], rows[name]["mean"], rows[name]["most"]) for name in "ST"] == [
        (0.5, 0.5, 0.5),
        (0, 0, 1),
    ]
    code, out, err = run("evaluate", folder, "--measure", "CG@1", "--complete", "--format", "json")
    part = "note: complete down to rank 1: 1 of 2 systems and 2 of 2 queries; without T\n"
    assert (code, err) == (0, alike + unused + part)
    assert [row["system"] for row in json.loads(out)["CG@1"]["systems"]] == ["S"]
    assert run("evaluate", folder, "--measure", "CG@1", "--unjudged", "zero")[1].count("0.000 – 1.000") == 1


@pytest.mark.slow
def test_a_campaign_is_replayed_on_what_is_judged_throughout(run, folder):
    lines = RUNS + "".join(f"q{q} Q0 d{d} 1 {-d} U\n" for q in (1, 2) for d in (2, 1))
    (folder / "runs.trec").write_text(lines + "q3 Q0 d9 1 1 S\nq3 Q0 d8 1 1 T\n")
    (folder / "judgments.qrels").write_text("".join(f"q{q} 0 d{d} {d % 3}\n" for q in (1, 2) for d in (1, 2, 3)))
    options = ("--measure", "CG@2", "--model", "uniform", "--batch", "1", "--format", "json", "--partial")
    assert run("simulate", folder, *options)[0] == 1
    code, out, err = run("simulate", folder, "--complete", *options)
    assert code == 0
    assert "note: complete down to rank 2: 3 of 3 systems and 2 of 3 queries\n" in err
    assert json.loads(out)["pool"] == 6


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by the address space of Linux")
def test_too_little_memory_is_one_line():
    options = ["--measure", "ERR@5", "--draws", "1000000"]
    limited = ["prlimit", "--as=1500000000", *COMMAND, "estimate", package_files.folder("fixtures") / "demo", *options]
    ended = subprocess.run(limited, capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1].startswith("audiosim: there is not enough memory for this: ")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("command", ["import", "join"])
def test_a_file_that_cannot_be_sent_is_refused_before_the_service_is_asked(run, tmp_path, command):
    (tmp_path / "file").write_bytes("q 0 é 1\n".encode("latin-1"))
    code, out, err = run(command, "http://127.0.0.1:9/v1/collections/c", tmp_path / "file")
    assert (code, out) == (1, "")
    assert err.startswith(
        f"audiosim: {tmp_path / 'file'}:1: byte 0xe9 is not UTF-8 (in Latin-1 it would be é), expected"
    )


def test_an_address_that_is_none_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("q 0 d 1\n")
    code, out, err = run("import", "nonsense", tmp_path / "file")
    assert (code, out) == (1, "")
    assert err.startswith("audiosim: expected the address of a service, such as http://127.0.0.1:8000, or of a coll")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--measure", "CG@2", "--measure", "CG@3"), "--measure was given twice: CG@3 is used, not CG@2"),
        (("-n", "5", "--count=4", "-n3"), "--count was given 3 times: 3 is used, not 5, 4"),
        (("--judgments", "none", "--judgments", "none"), ""),
        (("--measure", "CG@2"), ""),
    ],
)
def test_of_an_option_that_takes_one_value_the_one_that_counts_is_said(run, folder, words, said):
    code, out, err = run("next", "--format", "json", "--model", "uniform", *words, folder)
    assert code == 0, err
    assert [line for line in err.splitlines() if " was given " in line] == ([f"note: {said}"] if said else [])
    if "-n3" in words:
        assert len(json.loads(out)) == 3


def test_an_option_that_may_be_repeated_is_not_noted(run, folder):
    about = ("--about", "queries", "--about", "listeners")
    code, _, err = run("estimate", *about, "--model", "joint", folder)
    assert (code, "was given" in err) == (0, False)


@pytest.mark.parametrize(("count", "least"), [("0", "1"), ("x", "")])
def test_a_number_out_of_bounds_is_refused_without_words_of_libraries(run, folder, count, least):
    code, _, err = run("next", "-n", count, folder)
    assert code == 2
    assert "Input should" not in err
    assert least in err.partition("--count")[2]
    code, _, err = run("next", "--same-artist", count, folder)
    assert (code, "Value error" in err, "drop" in err.partition("--same-artist")[2]) == (2, False, True)
