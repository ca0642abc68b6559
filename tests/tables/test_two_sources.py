"""A text file has one meaning, whether Arrow reads its columns or a loop its lines: equal values, or the same error."""

import gzip

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audiosim.collection.kinds import RUNS, read_judgments, read_pairs, read_runs
from audiosim.errors import InputError
from audiosim.tables import large
from audiosim.tables.reading import read
from audiosim.tables.table import Words

KINDS = {
    "runs": lambda path, say: [(run.system, dict(run.rankings)) for run in read_runs([path], say=say)],
    "judgments": lambda path, say: read_judgments(path, say=say),
    "pairs": lambda path, say: read_pairs(path),
}
TEXTS = {
    "runs": [
        "q1 Q0 a 1 2.5 A\nq1 Q0 b 2 2 A\nq2 Q0 a 1 1e3 B\nq1 Q0 c 3 -7 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 1 2 A\nq1 Q0 c 1 3 A\n",
        "q1 Q0 a 1 0.1 A\nq1 Q0 b 2 0.2 A\nq1 Q0 c 3 0.3 A\n",
        "q1\tQ0\ta b\t1\t2\tA\nq1\tQ0\tc\t2\t1\tA",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2\t1 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2  1 A\n",
        "q1 Q0 a 1 2 A\n\nq1 Q0 b 2 1 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2 1 A\n\n",
        "q1 Q0 a 1 2 A\r\nq1 Q0 b 2 1 A\r\n",
        "q1 Q0 a 1 2 A\rq1 Q0 b 2 1 A\r",
        "\ufeffq1 Q0 a 1 2 A\nq1 Q0 \u00e4\u3000b 2 1 A\n",
        "q1 Q0 \u00e4 1 2 A\nq1 Q0 \ufeffb 2 1 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 a 2 1 A\n",
        "q1 Q0 a 1 nan A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2 inf A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2 1_0 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2.5 1 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b +2 +1 A\n",
        "q1 Q0 a 1 2 A\nq1 Q0 b 2 0x1 A\n",
        'q1 Q0 a 1 2 A\nq1 Q0 "b 2 1 A\n',
        "q1 Q0 a 1 2 A\nq1 Q0 b\0 2 1 A\n",
        "q1 Q0 NULL 1 2 A\nq1 Q0 NaN 2 1 A\n",
        f"q1 Q0 a 1 {'9' * 70} A\nq1 Q0 b 1111111111111111111 2 A\n",
        "A q1 b\nA q1 a\nB q1 c\n",
        "1 7 1\n1 8 2\n2 7 1\n",
        "1 7 1\n1 8 3\n",
        'qid,docno,score,rank,title\nq1,a,2,0,"x, y"\nq1,b,1,1,z\n',
        "qid\tdocno\tscore\tname\nq1\t a\t2\tA\nq1\tb\t1\tA\n",
        "qid,docno,score\nq1,a,2\nq1,,1\n",
        "qid,docno,score\nq1,a,2\nq1,b,\n",
        "qid,docno,score\nq1,a,2\nq1,b\n",
        "qid,docno,score\n",
    ],
    "judgments": [
        "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n",
        "q1 0 a 1\nq1 0 a 0\n",
        "q1 0 a -1\nq1 0 b -2\nq1 0 c 3\n",
        "q1 a 1\nq1 b 101\n",
        "q1 a 0.5\nq1 b 2.5\nq1 c 7.77\n",
        "query\tdocument\tgrade\tassessor\nq1\ta\t1\tann\nq1\ta\t2\tbob\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\n",
        "query,document,fine,broad\nq1,a,10,VS\nq1,b,20,1\n",
        "query,document,group\nq1,a,1\nq1,b,1000000000000\n",
        "query,document,grade\nq1,a,1\nq1,a,2\n",
        "query,document,grade\nq1,a,1\nq1,b,\n",
    ],
    "pairs": ["q1 a\nq2 b\n", "query document\nq1 a\n", "q1\ta b\nq1\tc\n", "q1 a\nq1 a\n"],
}


def outcome(path, kind, size, monkeypatch):
    """Values and notes of a file, or its error."""
    monkeypatch.setattr(large, "LARGE", size)
    said = []
    try:
        return KINDS[kind](path, said.append), said
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, some in TEXTS.items() for text in some])
@pytest.mark.parametrize("packed", [False, True])
def test_both_sources_say_the_same(tmp_path, monkeypatch, kind, text, packed):
    path = tmp_path / ("file.txt.gz" if packed else "file.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert outcome(path, kind, 0, monkeypatch) == outcome(path, kind, 2**60, monkeypatch)


def test_plain_files_are_read_by_arrow(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LARGE", 0)
    (tmp_path / "run").write_text(TEXTS["runs"][0])
    assert isinstance(read(tmp_path / "run", RUNS).columns["document"], Words)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-(10**6), 10**6, places=6).map(str),
    st.from_regex(r"-?([0-9]{1,7}\.[0-9]{0,7}|\.[0-9]{1,14}|[0-9]{1,15})", fullmatch=True),
)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=9)


@pytest.mark.slow
@given(st.lists(st.tuples(NAMES, NAMES, NUMBERS), min_size=1, max_size=30))
@example([('"', ";", "0.0")])
@example([('"a,b', 'c"', "0.0")])
def test_names_and_numbers_are_those_that_python_reads(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "run"
    path.write_text("".join(f"{q} Q0 {d} {n} {score} A\n" for n, (q, d, score) in enumerate(rows)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 0)
        table = RUNS.settled(read(path, RUNS))
    assert table.names("query").cells() == [
        query.removeprefix("\ufeff") if not n else query for n, (query, *_) in enumerate(rows)
    ]
    assert table.names("document").cells() == [document for _, document, _ in rows]
    np.testing.assert_array_equal(table.numbers("score"), [float(score) for *_, score in rows])
