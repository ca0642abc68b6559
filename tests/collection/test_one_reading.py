"""A file has one reading: names are trimmed by every reader, and nothing that is given twice wins silently."""

import re

import numpy as np
import pytest

from audiosim.collection.evidence import Evidence, read_feature_rows, read_pieces
from audiosim.collection.kinds import (
    pairs_of,
    read_comparisons,
    read_documents,
    read_grades,
    read_judge,
    read_judgments,
    read_pairs,
    read_queries,
    read_runs,
    read_systems,
    runs_in_memory,
)
from audiosim.collection.values import parse_scale
from audiosim.errors import InputError
from audiosim.people.answers import read_list_pairs


def _keys(path):
    return [piece.keys for piece in read_pieces(path)]


def _judged(path):
    return [(one.query, one.document, one.grade, one.assessor) for one in read_judgments(path)[1]]


def _ranked(path):
    return {(run.system, query): tuple(some) for run in read_runs([path]) for query, some in run.rankings.items()}


def _judge(path):
    return read_judge(path, "m").keys


def _features(path):
    return [rows.words for rows in read_feature_rows(path, ["fSYS"], 10)]


# The names of each file are q, d and so on between angles, padded in one of two copies.
FILES = {
    "judgments.csv": (_judged, "query,document,grade,assessor\n<q>,<d>,50,<ann>\n"),
    "judgments.tsv": (_judged, "query\tdocument\tgrade\n<q>\t<d>\t50\n"),
    "judgments.jsonl": (_judged, '{"query": "<q>", "document": "<d>", "grade": 50, "assessor": "<ann>"}\n'),
    "judgments.json": (_judged, '{"<q>": {"<d>": 50}}'),
    "judgments.xml": (_judged, "<?xml version='1.0'?>\n<x><y query='<q>' document='<d>' grade='50'/></x>\n"),
    "text.xml": (
        _judged,
        "<?xml version='1.0'?>\n<x><y><query><q></query><document><d></document><fine>50</fine></y></x>\n",
    ),
    "run.json": (_ranked, '{"<q>": {"<d>": 2, "<e>": 1}}'),
    "run.txt": (_ranked, "name\n<q>.wav\t<d>.wav,1\t<e>.wav,2\n"),
    "documents": (read_documents, "document\tartist\tgenre\n<d>\t<a>\t<g>\n"),
    "queries": (read_queries, "query\tdocument\n<q>\t<d>\n"),
    "systems": (read_systems, "system\tteam\n<s>\t<t>\n"),
    "comparisons": (read_comparisons, "query\tdocument_a\tdocument_b\tanswer\n<q>\t<d>\t<e>\ta\n"),
    "judge": (_judge, "query\tdocument\tgrade\n<q>\t<d>\t1\n"),
    "tags.csv": (_keys, "document,count\n<d>,1\n"),
    "clicks.tsv": (_keys, "query\tdocument\tcount\n<q>\t<d>\t1\n"),
    "features.csv": (_features, "query,document,fSYS\n<q>,<d>,1\n"),
    "pairs": (read_pairs, "<q>\t<d>\n"),
    "lists": (lambda path: read_list_pairs(path, known=True)[1][0].a, "answer\tquery\tA1\tB1\na\t<q>\t<d>\t<e>\n"),
}
ATTRIBUTE = re.compile("<(q|d|e|s|t|a|g|ann)>")


def _filled(text, pad):
    return ATTRIBUTE.sub(lambda name: f"{pad}{name[1]}{pad}", text)


@pytest.mark.parametrize("name", FILES)
def test_names_are_trimmed_by_every_reader_of_files(tmp_path, name):
    read, text = FILES[name]
    for folder, pad in (("plain", ""), ("padded", "  "), ("wide", "\u3000")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(_filled(text, pad), encoding="utf-8")
    plain = read(tmp_path / "plain" / name)
    assert plain
    assert read(tmp_path / "padded" / name) == read(tmp_path / "wide" / name) == plain


@pytest.mark.parametrize("name", ["vectors.npz", "vectors.npy"])
def test_names_are_trimmed_beside_arrays(tmp_path, name):
    (tmp_path / "vectors.ids").write_text(" d \ne\n")
    if name.endswith("y"):
        np.save(tmp_path / name, np.eye(2))
    else:
        np.savez(tmp_path / name, document=np.array([" d ", "e"]), vector=np.eye(2))
    assert _keys(tmp_path / name) == [("d", "e")]


def test_names_are_trimmed_in_memory():
    assert [run.rankings for run in runs_in_memory({" s ": {" q ": [" d ", "e"]}})] == [{"q": ("d", "e")}]
    assert runs_in_memory({" s ": {"q": {" d ": 1.0}}})[0].system == "s"
    assert read_judgments({" q ": {" d ": 1}})[1][0].pair == ("q", "d")
    assert read_grades({(" q ", " d "): 1}) == {("q", "d"): 1.0}
    assert pairs_of([(" q ", " d ")]) == [("q", "d")]
    assert read_documents({" d ": {"artist": " a "}})["d"].artist == "a"
    assert read_systems({" s ": " t "}) == {"s": "t"}
    assert Evidence.of("n", {" d ": 1.0}).keys == ("d",)
    assert Evidence.of("n", {(" q ", " d "): 1.0}).keys == (("q", "d"),)


@pytest.mark.parametrize("name", [*FILES, "run.trec", "list", "qrels"])
def test_a_byte_0_is_refused_by_every_reader_of_files(tmp_path, name):
    more = {
        "run.trec": (_ranked, "<q> Q0 <d> 1 2 <s>\n"),
        "list": (_ranked, "<s> <q> <d>\n"),
        "qrels": (_judged, "<q> 0 <d> 1\n"),
    }
    read, text = (FILES | more)[name]
    path = tmp_path / name
    zeros = ["\0", "\\u0000"] if "json" in name else ["\0"]
    for zero in zeros:
        path.write_text(ATTRIBUTE.sub(lambda found, zero=zero: f"{found[1]}{zero}x", text), encoding="utf-8")
        with pytest.raises(InputError, match="byte 0|not XML"):
            read(path)


@pytest.mark.parametrize(
    "work",
    [
        lambda: runs_in_memory({"s\0": {"q": ["d"]}}),
        lambda: read_judgments({"q": {"d\0": 1}}),
        lambda: read_documents({"d\0": {}}),
        lambda: Evidence.of("n", {"d\0": 1.0}),
        lambda: Evidence.of("n", {("q", " "): 1.0}),
    ],
)
def test_a_byte_0_is_refused_in_memory(work):
    with pytest.raises(InputError):
        work()


TWICE = {
    "j.jsonl": '{"query": "q", "document": "d", "grade": 1, "grade": 2}\n',
    "k.jsonl": '{"query": "q", "document": "d", "grade": 1}\n{"query": "q", "query": "r", "document": "e"}\n',
    "j.json": '{"q": {"d": 1}, " q": {"d": 2}}',
    "k.json": '{"q": {"d": 1, "d ": 2}}',
    "j.csv": "query,document,grade, grade\nq,d,1,2\n",
    "a.xml": "<a><b query='q' QUERY='r' document='d' grade='1'/></a>\n",
    "b.xml": "<a><b query='q' topic='r' document='d' grade='1'/></a>\n",
    "c.xml": "<a><query id='q' query='r'><document id='d' grade='1'/></query></a>\n",
    "d.xml": "<a><query id='q'><document id='d'><fine>1</fine><fine>2</fine></document></query></a>\n",
    "e.xml": "<a><query id='q'><document id='d'><fine value='1'>2</fine></document></query></a>\n",
    "f.xml": "<a><query id='q'/><query id='r'/><document id='d' grade='1'/></a>\n",
}


@pytest.mark.parametrize("name", TWICE)
def test_what_is_given_twice_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_text(TWICE[name])
    with pytest.raises(InputError, match=rf"{re.escape(name)}:(\d+:)? .*twice"):
        read_judgments(path)


@pytest.mark.parametrize(
    "text",
    [
        "<a><query id='q'><document id='d'><fine>1</fine>2</document></query></a>\n",
        "<a><query id='q'><document id='d'><fine>1<x/></fine></document></query></a>\n",
        "<a><query id='q'>r<document id='d'><fine>1</fine></document></query></a>\n",
        "<a>1<b query='q' document='d' grade='1'/></a>\n",
    ],
)
def test_text_beside_elements_is_refused(tmp_path, text):
    (tmp_path / "j.xml").write_text(text)
    with pytest.raises(InputError, match=r"j.xml:1: found the text '\w' beside elements in \w+, expected one or the"):
        read_judgments(tmp_path / "j.xml")


def test_candidates_without_a_grade_may_stand_beside_one_with_a_grade(tmp_path):
    listed = "<document id='d'/><document id='e'/><document id='f'><fine>1</fine></document><document id='g'/>"
    (tmp_path / "j.xml").write_text(f"<a><query id='q'>{listed}</query></a>\n")
    assert _judged(tmp_path / "j.xml") == [("q", "f", 1.0, "")]


def test_identifiers_that_become_the_same_are_refused_in_memory():
    for work in (
        lambda: runs_in_memory({1: {"q": ["d"]}, "1": {"q": ["e"]}}),
        lambda: runs_in_memory({"s": {"q": ["d"], " q": ["e"]}}),
        lambda: read_grades({("q", "d"): 1, ("q", "d "): 2}),
        lambda: read_systems({"s": "t", "s ": "u"}),
    ):
        with pytest.raises(InputError, match=r"(occurs twice|already), expected it once"):
            work()


NUMBERS = {
    "rank.trec": (_ranked, "q Q0 d 1_0 2 s\n"),
    "score.trec": (_ranked, "q Q0 d 1 2_0 s\n"),
    "score.json": (_ranked, '{"q": {"d": 1_0}}'),
    "distance": (_ranked, "name\nq\td,1_0\n"),
    "qrels": (_judged, "q 0 d 1_0\n"),
    "j.csv": (_judged, "query,document,grade\nq,d,1_0\n"),
    "j.jsonl": (_judged, '{"query": "q", "document": "d", "grade": 1_0}\n'),
    "j.xml": (_judged, "<a><b query='q' document='d' grade='1_0'/></a>\n"),
    "judge": (_judge, "query\tdocument\tgrade\nq\td\t1_0\n"),
    "tags.csv": (_keys, "document,count\nd,1_0\n"),
    "features.csv": (_features, "query,document,fSYS\nq,d,1_0\n"),
    "comparisons": (read_comparisons, "query\tdocument_a\tdocument_b\tanswer\tseconds\nq\td\te\ta\t1_0\n"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_with_underscores_are_refused_by_every_reader(tmp_path, name):
    read, text = NUMBERS[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"found '[12]_0'|not JSON"):
        read(tmp_path / name)


def test_a_scale_has_no_underscores():
    with pytest.raises(InputError, match="unknown scale '0,1_0'"):
        parse_scale("0,1_0")


def test_two_arrays_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "v.npz", document=np.array(["d"]), vector=np.eye(1))
    data = (tmp_path / "v.npz").read_bytes()
    (tmp_path / "v.npz").write_bytes(data.replace(b"document.npy", b"vector.npy\0\0"))
    with pytest.raises(InputError, match=r"v.npz: cannot be read as npz: it holds vector twice, expected it once"):
        _keys(tmp_path / "v.npz")
