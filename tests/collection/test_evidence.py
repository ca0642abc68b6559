"""The user's own evidence: every form is read, and an error in a file is one line with its place."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import Evidence, read_evidence
from audiosim.collection.values import FINE, Document, Run
from audiosim.errors import InputError

VECTORS = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, -2.0]])
IDS = ["d1", "d2", "d3"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evidence").mkdir()
    (tmp_path / "runs.trec").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\nq1 Q0 d3 1 1 b\n")
    return tmp_path


def put(folder, name, text):
    (folder / "evidence" / name).write_text(text)


def test_no_folder_is_no_evidence(tmp_path):
    assert read_evidence(tmp_path) == ()


def test_vectors_are_read_from_numpy_s_files_and_from_numbered_columns(folder):
    np.save(folder / "evidence" / "clap.npy", VECTORS)
    put(folder, "clap.ids", "d1\nd2\nd3\n")
    np.savez(folder / "evidence" / "mert.npz", document=IDS, vector=VECTORS.astype(np.float32))
    put(folder, "tags.csv", "document,x0,x1\nd1,1,0\nd2,0.5,0.5\nd3,0,-2\n")
    put(folder, "words.tsv", "x1\tx2\tdocument\n1\t0\td1\n.5\t.5\td2\n0\t-2\td3\n")
    found = read_evidence(folder)
    assert [piece.name for piece in found] == ["clap", "mert", "tags", "words"]
    for piece in found:
        assert (piece.about, piece.keys, piece.is_vector) == ("document", tuple(IDS), True)
        np.testing.assert_array_equal(piece.values, VECTORS)


def test_tables_are_a_piece_for_each_column_and_an_empty_field_is_unknown(folder):
    put(folder, "clicks.csv", "query,document,count,seconds\nq1,d1,3,\nq1,d2,0,12.5\n")
    put(folder, "year.tsv", "document\tyear\nd2\t1999\n")
    put(folder, "price.csv", "system,price\nb,10\n")
    count, seconds, price, year = read_evidence(folder)
    assert (count.name, count.about, count.keys) == ("clicks-count", "pair", (("q1", "d1"), ("q1", "d2")))
    assert (seconds.name, seconds.keys, seconds.values.tolist()) == ("clicks-seconds", (("q1", "d2"),), [12.5])
    assert (price.name, price.about, price.keys) == ("price", "system", ("b",))
    assert (year.name, year.about, year.values.tolist()) == ("year", "document", [1999.0])


def test_a_collection_has_the_evidence_of_its_folder(folder):
    put(folder, "year.tsv", "document\tyear\nd2\t1999\nelsewhere\t2000\n")
    (piece,) = Collection.load(folder).evidence
    assert piece.keys == ("d2", "elsewhere")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.csv": "document,x\nd1,1\nd2,nan\n"}, r"a.csv:3: expected a finite number for x, found 'nan'$"),
        ({"a.csv": "document,x\nd1,fast\n"}, r"a.csv:2: expected a finite number for x, found 'fast'$"),
        ({"a.csv": "document,x0,x1\nd1,1\n"}, r"a.csv:2: expected 3 columns as in the header, found 2$"),
        ({"a.csv": "document,x0,x1\nd1,1,\n"}, r"a.csv:2: d1 has a number that is not finite$"),
        ({"a.csv": "document,x0,x1\n\nd2,1,1\nd1,0,0\n"}, r"a.csv:4: d1 is a vector of length 0$"),
        ({"a.csv": "document,x\nd1,1\nd1,2\n"}, r"a.csv:3: d1 occurs twice, expected it once$"),
        ({"a.csv": "query,document,x\nq,d,1\nq,d,1\n"}, r"a.csv:3: query q, document d occurs twice, expected it on"),
        ({"a.csv": ""}, r"a.csv:1: the file is empty, expected a header with document, query and document, or system$"),
        ({"a.csv": "document,x\n"}, r"a.csv:1: the file ends after its header, expected evidence below it$"),
        ({"a.csv": "document|x\nd1|2\n"}, r"a.csv:1: unknown column document.x, did you mean document\?"),
        ({"a.ids": "d1\n"}, r"a.ids: expected the vectors of these documents in a.npy beside it$"),
        ({"a.npz": ""}, r"a.npz: cannot be read as npz: File is not a zip file$"),
        ({"a.npz": "no"}, r"a.npz: cannot be read as npz: File is not a zip file$"),
        (
            {"a.csv": "name,x\nd1,1\n"},
            r"a.csv:1: expected a column document, query and document, or system, found name",
        ),
        ({"a.csv": "document\nd1\n"}, r"a.csv:1: expected columns of numbers beside document, found none$"),
        ({"a.csv": "document,x\n ,1\n"}, r"a.csv:2: the document is empty, expected an identifier$"),
        ({"a.csv": "document,x\nd1,1\n", "a.tsv": "document\tx\nd1\t1\n"}, r"a.tsv: evidence a is in \S+a.csv already"),
        ({"a.txt": "d1 1\n"}, r"a.txt: expected a file of evidence \(.npy, .npz, .csv, .tsv, .parquet, .parq, .pq\)$"),
        (
            {"sound.csv": "document,x\nd1,1\n"},
            r"evidence 'sound': expected a name of letters, .* none of output, genre",
        ),
        ({"a.npy": "no"}, r"a.npy: expected its documents, one per line, in a.ids beside it$"),
        ({"a.npy": "no", "a.ids": "d1\n"}, r"a.npy: cannot be read as npy: "),
        (
            {"a.csv": "document,x\nx1,1\nx2,1\n"},
            r"a.csv: evidence a: the collection knows none of its 2 documents, such as x1, expected such as d1$",
        ),
        ({"a.csv": "system,x\nc,1\n"}, r"knows none of its 1 systems, such as c, expected such as a$"),
        (
            {"a.csv": "query,document,x\nq2,d1,1\n"},
            r"none of its 1 pairs, such as query q2, document d1, expected such as query q1, document d1$",
        ),
    ],
)
def test_bad_evidence_is_one_line_that_says_where(folder, files, message):
    for name, text in files.items():
        put(folder, name, text)
    with pytest.raises(InputError, match=message) as caught:
        Collection.load(folder)
    assert "\n" not in str(caught.value)


def test_arrays_that_do_not_fit_their_documents_are_named(folder):
    np.save(folder / "evidence" / "clap.npy", VECTORS)
    put(folder, "clap.ids", "d1\nd2\n")
    with pytest.raises(
        InputError, match=r"clap.npy: evidence clap: expected a number for each of 2 documents, or a vec"
    ):
        read_evidence(folder)
    for name in ("clap.npy", "clap.ids"):
        (folder / "evidence" / name).unlink()
    np.savez(folder / "evidence" / "clap.npz", names=IDS)
    with pytest.raises(InputError, match=r"clap.npz: expected arrays `document` and `vector` or `value`, found names$"):
        read_evidence(folder)


ARRAYS = {
    "complex numbers": ({"vector": VECTORS + 1j}, "evidence a: expected numbers, found an array of complex128$"),
    "text": ({"vector": VECTORS.astype(str)}, "evidence a: expected numbers, found an array of <U32$"),
    "not a number": (
        {"vector": np.where(VECTORS == 0.5, np.nan, VECTORS)},
        "row 1, d2, has a number that is not finit",
    ),
    "infinite": ({"vector": np.where(VECTORS == -2, np.inf, VECTORS)}, "row 2, d3, has a number that is not finite$"),
    "no direction": ({"vector": VECTORS * [[1], [0], [1]]}, "evidence a: row 1, d2, is a vector of length 0$"),
    "thrice an array": ({"vector": VECTORS[None]}, r"evidence a: expected a number .* got an array of \(1, 3, 2\)$"),
    "one number": (
        {"document": np.array("d1"), "value": np.array(1)},
        r"identifiers in `document`, found an array \(\)$",
    ),
    "a table of names": ({"document": np.array([IDS]), "value": VECTORS[0]}, r"`document`, found an array \(1, 3\)$"),
    "fewer queries": ({"query": np.array(["q1"]), "value": VECTORS[:, 0]}, r"in `document`, found an array \(3,\)$"),
    "twice": (
        {"document": np.array(["d1", "d2", "d1"]), "vector": VECTORS},
        "row 2, d1, occurs twice, expected it once$",
    ),
    "objects": (
        {"document": np.array(IDS, dtype=object)},
        "cannot be read as npz: it contains Python objects, expected numbers or texts",
    ),
}


@pytest.mark.parametrize(("arrays", "message"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_that_are_no_evidence_are_one_line_each(folder, arrays, message):
    np.savez(folder / "evidence" / "a.npz", **{"document": np.array(IDS), **arrays})
    with pytest.raises(InputError, match=rf"evidence/a.npz: .*{message}") as caught:
        read_evidence(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a.csv.gz", "a.tsv.gz"])
def test_text_may_be_compressed(folder, text):
    comma = "," if "csv" in text else "\t"
    (folder / "evidence" / text).write_bytes(gzip.compress(f"document{comma}year\nd1{comma}1970\n".encode()))
    (piece,) = read_evidence(folder)
    assert (piece.name, piece.keys, piece.values.tolist()) == ("a", ("d1",), [1970.0])


def test_parquet_files_have_vectors_as_lists_or_columns_of_numbers(folder):
    place = folder / "evidence"
    pd.DataFrame({"document": IDS, "vector": VECTORS.tolist()}).to_parquet(place / "lyrics.parquet")
    pd.DataFrame({"document": IDS, "x0": VECTORS[:, 0], "x1": VECTORS[:, 1]}).to_parquet(place / "tags.parquet")
    pd.DataFrame({"query": ["q1"], "document": ["d1"], "clicks": [3]}).to_parquet(place / "log.parquet")
    log, lyrics, tags = read_evidence(folder)
    assert (log.name, log.about, log.keys, log.values.tolist()) == ("log", "pair", (("q1", "d1"),), [3.0])
    for piece in (lyrics, tags):
        assert piece.keys == tuple(IDS)
        np.testing.assert_array_equal(piece.values, VECTORS)


FRAMES = {
    "lengths": ({"document": ["d1", "d2"], "vector": [[1.0, 2.0], [1.0]]}, "row 1 has 1 numbers, expected 2 as in the"),
    "no list": ({"document": ["d1", "d2"], "vector": [[1.0], None]}, "row 1 has no list of numbers, expected 1 as in"),
    "words": ({"document": ["d1"], "vector": ["far"]}, "row 0 has no list of numbers in vector$"),
    "no name": ({"document": ["d1", None], "x": [1.0, 2.0]}, "row 1: the document is empty, expected an identifier$"),
    "text": ({"document": ["d1"], "x": ["fast"]}, "row 0: expected a finite number for x, found 'fast'$"),
    "infinite": ({"document": ["d1", "d2"], "x": [1.0, np.inf]}, "row 1: expected a finite number for x, found inf$"),
    "nothing": (
        {"document": np.array([], str), "x": []},
        "the file holds nothing, expected evidence$",
    ),
}


@pytest.mark.parametrize(("columns", "message"), FRAMES.values(), ids=FRAMES)
def test_parquet_files_that_are_no_evidence_are_one_line_each(folder, columns, message):
    pd.DataFrame(columns).to_parquet(folder / "evidence" / "a.parquet")
    with pytest.raises(InputError, match=rf"evidence/a.parquet: {message}"):
        read_evidence(folder)
    put(folder, "a.parquet", "no")
    with pytest.raises(InputError, match="a.parquet: cannot be read as Parquet: ") as caught:
        read_evidence(folder)
    assert "\n" not in str(caught.value)


def test_how_much_of_what_was_retrieved_evidence_is_about_is_said_and_what_was_probably_meant(folder):
    put(folder, "year.csv", "document,year\nd1,1970\nD2,1980\nx,1990\n")
    put(folder, "clicks.csv", "query,document,count\nq1,d1,3\nq1,d9,2\n")
    _, clicks, year = Collection.load(folder).readings
    assert clicks.line.endswith("clicks.csv: evidence clicks covers 1 of 3 retrieved pairs")
    assert not clicks.doubtful
    assert year.line.endswith("year.csv: evidence year covers 1 of 3 retrieved documents; did you mean d2 for D2?")
    assert year.doubtful


def collection():
    return Collection(
        "c", "c", FINE, 2, (Run("a", {"q1": ("d1", "d2")}), Run("b", {"q1": ("d3",)})), {"d9": Document("d9")}
    )


def test_evidence_is_added_in_python():
    bare = collection()
    more = bare.with_evidence("clap", dict(zip(IDS, VECTORS, strict=True))).with_evidence("year", (["d9"], [1999]))
    assert [(piece.name, piece.about, piece.is_vector) for piece in more.evidence] == [
        ("clap", "document", True),
        ("year", "document", False),
    ]
    assert more.with_evidence("clicks", {("q1", "d1"): 3}).evidence[-1].about == "pair"
    assert more.with_evidence("price", {"a": 3, "b": 2}, about="system").evidence[-1].keys == ("a", "b")
    assert bare.evidence == ()


def test_evidence_that_makes_no_sense_is_refused_in_python():
    bare = collection()
    with pytest.raises(InputError, match=r"^evidence clap: expected numbers, or vectors of one length: "):
        bare.with_evidence("clap", {"d1": [1, 2], "d2": [1, 2, 3]})
    with pytest.raises(InputError, match=r"^evidence clap: expected numbers, or vectors of one length: "):
        bare.with_evidence("clap", {"d1": "fast"})
    with pytest.raises(InputError, match=r"^evidence clap: row 1, d2, has a number that is not finite$"):
        bare.with_evidence("clap", {"d1": 1, "d2": np.nan})
    with pytest.raises(
        InputError, match=r"^evidence clap: the collection knows none of its 1 documents, such as x, expected"
    ):
        bare.with_evidence("clap", {"x": 1})
    with pytest.raises(InputError, match=r"^evidence clap must be about document, pair, system, got 'query'$"):
        Evidence("clap", "query", ("q1",), np.ones(1))
    one = Evidence.of("clap", {"d1": 1})
    with pytest.raises(InputError, match=r"^collection c has two pieces of evidence called clap$"):
        replace(bare, evidence=(one, one))


def test_collection_toml_names_files_anywhere_and_others_are_found_beside(folder):
    np.savez(folder / "mert-v1.npz", document=IDS, vector=VECTORS)
    put(folder, "year.csv", "document,year\nd1,1970\n")
    put(folder, "clicks.csv", "query,document,count,seconds\nq1,d1,3,20\n")
    (folder / "collection.toml").write_text('[evidence]\nmert = "mert-v1.npz"\nlog = "evidence/clicks.csv"\n')
    found = Collection.load(folder).evidence
    assert [piece.name for piece in found] == ["mert", "log-count", "log-seconds", "year"]
    np.testing.assert_array_equal(found[0].values, VECTORS)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('[evidence]\nmert = "no.npz"\n', "no.npz: no such file, expected the evidence mert named in collection.toml"),
        ("[evidence]\nmert = 3\n", "collection.toml:1: evidence: expected a table of names and files"),
        ('evidence = "mert.npz"\n', "collection.toml:1: evidence: expected a table of names and files"),
        ('[evidence]\ngenre = "year.csv"\n', "year.csv: no such file"),
        ('[evidence]\ngenre = "evidence/year.csv"\n', "evidence 'genre': expected a name"),
    ],
)
def test_what_collection_toml_names_wrongly_is_one_line(folder, toml, message):
    put(folder, "year.csv", "document,year\nd1,1970\n")
    (folder / "collection.toml").write_text(toml)
    with pytest.raises(InputError, match=message):
        Collection.load(folder)


def test_evidence_is_saved_and_loaded_as_it_was(tmp_path):
    runs = (Run("a", {"q": ("d1", "d2", "d3")}), Run("b", {"q": ("d2",)}))
    evidence = (
        Evidence("clap", "document", tuple(IDS), VECTORS),
        Evidence("year", "document", ("d1", "d3"), np.array([1970.5, 2001.0])),
        Evidence("clicks", "pair", (("q", "d1"), ("q", "d2")), np.array([3.0, 0.1])),
        Evidence("price", "system", ("b",), np.array([9.0])),
    )
    Collection("c", "c", FINE, 3, runs, evidence=evidence).save(tmp_path / "saved")
    found = {piece.name: piece for piece in Collection.load(tmp_path / "saved").evidence}
    assert found.keys() == {piece.name for piece in evidence}
    for piece in evidence:
        assert (found[piece.name].about, found[piece.name].keys) == (piece.about, piece.keys)
        np.testing.assert_array_equal(found[piece.name].values, piece.values)


def test_a_collection_is_not_saved_where_other_evidence_would_join_it(folder):
    np.savez(folder / "evidence" / "mert.npz", document=IDS, vector=VECTORS)
    (folder / "runs.trec").unlink()
    collection = Collection("c", "c", FINE, 3, (Run("a", {"q": ("d1",)}),))
    with pytest.raises(InputError, match="mert.npz: would become part of the new collection"):
        collection.save(folder)
    collection.with_evidence("mert", {"d1": 1.0}).save(folder)
    assert Collection.load(folder).evidence[0].keys == ("d1",)


def test_a_column_that_stands_twice_is_said(folder):
    put(folder, "year.csv", "document,year,year\nd1,1970,1971\n")
    with pytest.raises(InputError, match="year.csv:1: the header names column year twice"):
        Collection.load(folder)
