"""Layouts of public tools, made by hand: each gives the same collection as a file, compressed, and from memory.

Names of columns and files are those of the tools' own documentation.
"""

import csv
import gzip
import io
import json

import ir_measures
import numpy as np
import pandas as pd
import pytest

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.kinds import kind_of
from audiosim.errors import InputError
from audiosim.service.collections.drafts import Home

RUNS = {"s": {"q1": ["a", "b", "c"], "q2": ["b", "a"]}, "t": {"q1": ["c", "a"], "q2": ["a", "b"]}}
GRADES = {("q1", "a"): 2, ("q1", "b"): 0, ("q1", "c"): 1, ("q2", "a"): 1, ("q2", "b"): 2}
ROWS = [(s, q, d, n) for s, run in RUNS.items() for q, some in run.items() for n, d in enumerate(some, start=1)]
TREC = "".join(f"{q} Q0 {d} {n} {9 - n} {s}\n" for s, q, d, n in ROWS)
QRELS = "".join(f"{q} 0 {d} {grade}\n" for (q, d), grade in GRADES.items())


def expected():
    return Collection.from_runs(RUNS, {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "b": 2}})


def table(header, rows, separator=",", quoted=False):
    file = io.StringIO()
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=separator, lineterminator="\n", quoting=quoting).writerows([header, *rows])
    return file.getvalue()


def judged(*columns):
    known = {"0": 0, "time": ""}
    return [[{"q": q, "d": d, "g": g, **known}[one] for one in columns] for (q, d), g in GRADES.items()]


def ranked(system):
    return [(q, d, n) for s, q, d, n in ROWS if s == system]


def each(suffix, text_of):
    return {f"runs/{system}{suffix}": text_of(system) for system in RUNS}


def sparse(ranking):
    query, documents = ranking
    return f"{query}.wav\t" + "\t".join(f"{d}.wav,{n}" for n, d in enumerate(documents)) + "\n"


def nested(values):
    found = {}
    for (q, d), value in values.items():
        found.setdefault(q, {})[d] = value
    return found


RECORDS = [{"query": q, "document": d, "grade": g} for (q, d), g in GRADES.items()]
GRADED = judged("q", "d", "g")
OURS, BEIR = ("query", "document", "grade"), ("query-id", "corpus-id", "score")
PYTERRIER = ("qid", "docid", "docno", "rank", "score", "query")
LAYOUTS = {
    "ours": {"runs.trec": TREC, "judgments.qrels": QRELS},
    "ours as CSV": {"runs.trec": TREC, "judgments.csv": table(OURS, GRADED)},
    "quoted CSV": {"runs.trec": TREC, "judgments.csv": table(OURS, GRADED, quoted=True)},
    "semicolons": {"runs.trec": TREC, "judgments.csv": table(OURS, GRADED, ";")},
    "Excel for Mac": {"runs.trec": TREC.replace("\n", "\r"), "judgments.qrels": QRELS.replace("\n", "\r")},
    "Windows": {"runs.trec": TREC.replace("\n", "\r\n"), "judgments.qrels": QRELS.replace("\n", "\r\n")},
    "TREC's names": {"input.s": TREC, "qrels.adhoc.txt": QRELS},
    "qrels beside runs": {"runs.trec": TREC, "qrels.test.txt": QRELS},
    "BEIR": {"runs.trec": TREC, "qrels/test.tsv": table(BEIR, GRADED, "\t")},
    "BEIR as judgments": {"runs.trec": TREC, "judgments.tsv": table(BEIR, GRADED, "\t")},
    "ir_datasets": {
        "runs.trec": TREC,
        "judgments.tsv": table(("query_id", "doc_id", "relevance", "iteration"), judged("q", "d", "g", "0"), "\t"),
    },
    "PyTerrier": {
        **each(".csv", lambda s: table(PYTERRIER[::2], [(q, d, 9 - n) for q, d, n in ranked(s)])),
        "qrels.csv": table(("qid", "docno", "label", "iteration"), judged("q", "d", "g", "0")),
    },
    "PyTerrier, all columns": {
        **each(".csv", lambda s: table(PYTERRIER, [(q, ord(d), d, n - 1, 9 - n, "a, b") for q, d, n in ranked(s)])),
        "judgments.qrels": QRELS,
    },
    "MS MARCO": {
        **each(".tsv", lambda s: "".join(f"{q}\t{d}\t{n}\n" for q, d, n in ranked(s))),
        "qrels.dev.small.tsv": QRELS.replace(" ", "\t"),
    },
    "MS MARCO, counted from 0": {
        **each(".tsv", lambda s: "".join(f"{q}\t{d}\t{n - 1}\n" for q, d, n in ranked(s))),
        "judgments.qrels": QRELS,
    },
    "recommenders": {
        **each(".csv", lambda s: table(("user_id", "item_id", "prediction"), [(q, d, -n) for q, d, n in ranked(s)])),
        "judgments.qrels": QRELS,
    },
    "Elliot": {
        **each(".tsv", lambda s: "".join(f"{q}\t{d}\t{9.5 - n}\n" for q, d, n in reversed(ranked(s)))),
        "judgments.tsv": table(("user_id", "item_id", "rating", "timestamp"), judged("q", "d", "g", "0"), "\t"),
    },
    "CSV of pandas, with its index": {
        **each(".csv", lambda s: pd.DataFrame(ranked(s), columns=["q_id", "doc_id", "rank"]).to_csv()),
        "judgments.csv": pd.DataFrame(GRADED, columns=list(OURS)).to_csv(),
    },
    "MTEB": {
        "runs.trec": "qid Q0 docno rank score tag\n" + TREC,
        "qrels/test.jsonl": "".join(json.dumps(dict(zip(BEIR, row, strict=True))) + "\n" for row in GRADED),
    },
    "qrels under a header": {"runs.trec": TREC, "judgments.qrels": f"query_id iter doc_id relevance\n{QRELS}"},
    "ranx": {
        **each(".json", lambda s: json.dumps(nested({(q, d): 9 - n for q, d, n in ranked(s)}), indent=2)),
        "qrels.json": json.dumps(nested(GRADES), indent=2),
    },
    "one JSON of all runs": {
        "runs.json": json.dumps({s: nested({(q, d): 9 - n for q, d, n in ranked(s)}) for s in RUNS}),
        "judgments.json": json.dumps(nested(GRADES)),
    },
    "lists in JSON": {"runs.json": json.dumps(RUNS), "judgments.json": json.dumps(RECORDS)},
    "records, one per line": {
        "runs.jsonl": "".join(json.dumps({"system": s, "qid": q, "docid": d, "rank": n}) + "\n" for s, q, d, n in ROWS),
        "judgments.jsonl": "".join(json.dumps(one) + "\n" for one in RECORDS),
    },
    "indented records": {"runs.trec": TREC, "judgments.json": json.dumps(RECORDS, indent=1)},
    "XML": {
        "runs.trec": TREC,
        "judgments.xml": "<r>\n"
        + "".join(f'<j topic="{q}" docno="{d}" rel="{g}"/>\n' for (q, d), g in GRADES.items())
        + "</r>\n",
    },
    "lists": {
        "runs.txt": "".join(f"{s} {q} {d}\n" for s, q, d, _ in ROWS),
        "judgments.txt": "query document grade\n" + "".join(f"{q} {d} {g}\n" for (q, d), g in GRADES.items()),
    },
    "MIREX": {
        **each(".txt", lambda s: f"{s}\n" + "".join(map(sparse, RUNS[s].items()))),
        "judgments.qrels": QRELS,
    },
    "UTF-16, as Excel writes it": {
        "runs.trec": TREC.encode("utf-16"),
        "judgments.txt": table(OURS, GRADED, "\t").encode("utf-16"),
    },
    "CSV of Excel": {"runs.trec": TREC, "judgments.csv": "sep=;\r\n" + table(OURS, GRADED, ";")},
    "RecBole": {
        **each(".tsv", lambda s: table(("user_id:token", "item_id:token", "rank:float"), ranked(s), "\t")),
        "judgments.tsv": table(("user_id:token", "item_id:token", "rating:float"), GRADED, "\t"),
    },
    "TIRA": {
        **each("-run.txt", lambda s: "".join(one + "\n" for one in TREC.splitlines() if one.endswith(f" {s}"))),
        "qrels.txt": QRELS,
    },
}  # fmt: skip


def assert_same(found):
    wanted = expected()
    assert {run.system: dict(run.rankings) for run in found.runs} == {
        run.system: dict(run.rankings) for run in wanted.runs
    }
    assert found.grades() == wanted.grades()
    assert found.scale == wanted.scale


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_folder_of_any_layout_is_the_same_collection(tmp_path, name, packed):
    assert_same(written(tmp_path / "c", LAYOUTS[name], packed))


def written(folder, files, packed=False):
    for file, text in files.items():
        path = folder / (f"{file}.gz" if packed else file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stored(text, packed))
    return Collection.load(folder)


def stored(text, packed):
    data = text if isinstance(text, bytes) else text.encode()
    return gzip.compress(data) if packed else data


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_files_of_any_layout_that_a_page_sends_are_the_same_collection(tmp_path, name, packed):
    draft = Home(tmp_path).begin("new")
    for file, text in LAYOUTS[name].items():
        draft.put(f"{file}.gz" if packed else file, stored(text, packed))
    with draft.assembled() as (found, _):
        assert_same(found)


@pytest.mark.parametrize("ending", ["parquet", "parq", "pq", "PARQUET"])
def test_parquet_is_read_under_each_of_its_endings(tmp_path, ending):
    (tmp_path / "runs.trec").write_text(TREC)
    JUDGED.to_parquet(tmp_path / f"judgments.{ending}")
    assert_same(Collection.load(tmp_path))


@pytest.mark.parametrize("column", ["distance", "value"])
def test_rows_that_nothing_orders_are_said_to_be_taken_as_they_come(tmp_path, column):
    rows = [(s, q, d, n) for s, q, d, n in ROWS]
    found = written(tmp_path / "c", {"runs.csv": table(("system", "query", "document", column), rows)})
    frame = Collection.from_frames(pd.DataFrame(rows, columns=["system", "query", "document", column]))
    for one in (found, frame):
        assert f"rows are taken as best first; not read: {column}" in one.guesses[0]


def test_a_list_of_numbered_documents_stays_a_list(tmp_path):
    rows = [(s, q, f"{ord(d)}.5") for s, q, d, _ in ROWS]
    found = written(tmp_path / "c", {"runs.txt": "".join(" ".join(row) + "\n" for row in rows)})
    assert [run.system for run in found.runs] == ["s", "t"]


SAID = {"q1": 'like "this", but slower', "q2": "a\\n b"}
ASKED = [{"_id": q, "text": text, "metadata": {}} for q, text in SAID.items()]
TEXTS_OF_QUERIES = {
    "BEIR": ("queries.jsonl", "".join(json.dumps(one) + "\n" for one in ASKED)),
    "MS MARCO": ("queries.tsv", "".join(f"{q}\t{text}\n" for q, text in SAID.items())),
    "ir_datasets": ("queries.csv", table(("query_id", "text"), SAID.items())),
    "records": ("queries.json", json.dumps(ASKED, indent=1)),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS_OF_QUERIES)
def test_texts_of_queries_are_read_wherever_tools_have_them(tmp_path, name, packed):
    file, text = TEXTS_OF_QUERIES[name]
    found = written(tmp_path / "c", {**LAYOUTS["ours"], file: text}, packed)
    assert_same(found)
    assert prompts_of(found) == SAID
    found.save(tmp_path / "saved")
    assert prompts_of(Collection.load(tmp_path / "saved")) == SAID


def test_texts_of_queries_in_memory_are_theirs_and_a_mistaken_header_is_no_text(tmp_path):
    frame = pd.DataFrame(ASKED)
    assert prompts_of(Collection.from_frames(RUNS, nested(GRADES), queries=frame)) == SAID
    with pytest.raises(InputError, match=r":1: expected a column document in the header, .*found qurey, song$"):
        written(tmp_path / "c", {**LAYOUTS["ours"], "queries.tsv": "qurey\tsong\nq1\ta\n"})


KINDS = {
    ("query", "document", "grade"): "judgments",
    ("qid", "docno", "label"): "judgments",
    ("query-id", "corpus-id", "score"): "judgments",
    ("query", "document", "fine", "broad"): "judgments",
    ("query", "document", "score"): "scores",
    ("qid", "docno", "rank", "score"): "runs",
    ("query", "document_a", "document_b", "answer"): "comparisons",
    ("query", "document"): "queries",
    ("query_id", "text"): "queries",
    ("system", "team"): "systems",
    ("document", "artist"): "documents",
    ("q1", "d1"): None,
}


@pytest.mark.parametrize("columns", KINDS)
def test_a_header_says_the_kind_of_a_file_in_every_spelling_of_it(columns):
    row = ["x"] * len(columns)
    spelled = [table(columns, [row], sign, quoted) for sign in ",;\t" for quoted in (False, True)]
    spelled += [f"{mark}{text}" for text in spelled for mark in ("\ufeff", "sep=;\r\n")]
    spelled += [text.replace("\n", "\r") for text in spelled]
    record = dict.fromkeys(columns, "x")
    spelled += [json.dumps(record) + "\n", json.dumps([record], indent=2)]
    for text in spelled:
        kinds = {kind_of(one) for one in (text, text.encode(), text.encode("utf-16"))}
        assert kinds == {KINDS[columns]}, text


FRAME = pd.DataFrame(ROWS, columns=["system", "query", "document", "rank"])
JUDGED = pd.DataFrame([(*pair, grade) for pair, grade in GRADES.items()], columns=["query", "document", "grade"])
TEXTS = FRAME.assign(qid=FRAME["query"], docno=FRAME["document"], docid=7, query="one text", score=-FRAME["rank"])
IN_MEMORY = {
    "frame": (FRAME, JUDGED),
    "frame of texts": (FRAME.astype(str), JUDGED.astype(str)),
    "nullable frame": (FRAME.convert_dtypes(), JUDGED.convert_dtypes()),
    "PyTerrier's columns": (TEXTS.drop(columns="document"), JUDGED.set_axis(["qid", "docno", "label"], axis=1)),
    "BEIR's columns": (FRAME, JUDGED.set_axis(["query-id", "corpus-id", "score"], axis=1)),
    "structured arrays": (FRAME.to_records(index=False), JUDGED.to_records(index=False)),
    "records": (FRAME.to_dict("records"), JUDGED.to_dict("records")),
    "dicts": (RUNS, nested(GRADES)),
    "ir_measures": (
        {s: [ir_measures.ScoredDoc(q, d, -n) for q, d, n in ranked(s)] for s in RUNS},
        [ir_measures.Qrel(*pair, grade) for pair, grade in GRADES.items()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_MEMORY)
def test_values_of_any_form_are_the_same_collection(name):
    runs, judgments = IN_MEMORY[name]
    runs, judgments = (np.asarray(one) if isinstance(one, np.recarray) else one for one in (runs, judgments))
    assert_same(Collection.from_frames(runs, judgments))
    assert_same(as_collection(Collection.from_frames(runs), judgments))  # the scale is that of the judgments here too


def test_a_scale_that_was_assumed_is_guessed_from_judgments_that_come_later(tmp_path):
    (tmp_path / "runs.trec").write_text(TREC)
    (tmp_path / "other.qrels").write_text(QRELS)
    for given in (nested(GRADES), tmp_path / "other.qrels"):
        for collection in (tmp_path, RUNS, Collection.from_runs(RUNS)):
            assert_same(as_collection(collection, given))
