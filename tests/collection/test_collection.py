"""A collection as a folder: files found, settings guessed, errors, and saving followed by loading."""

import gzip
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.collection import Collection
from audiosim.collection.joining import joining_runs
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, BROAD, FINE, Document, Judgment, Run, Scale
from audiosim.errors import FormatError, InputError

MIREX = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mirex2011"
RUN = "q Q0 a 1 2 S\nq Q0 b 2 1 S\n"
FIELDS = ("name", "scale", "cutoff", "runs", "documents", "query_documents", "teams", "judgments", "not_artists")


def folder_of(tmp_path, files):
    folder = tmp_path / "small"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder


def test_only_runs_are_needed_and_what_is_guessed_is_said(tmp_path):
    collection = Collection.load(folder_of(tmp_path, {"runs.trec": RUN}))
    assert (collection.identifier, collection.name) == ("small", "small")
    assert (collection.scale, collection.cutoff) == (FINE, 2)
    assert collection.runs == (Run("S", {"q": ("a", "b")}),)
    assert collection.guesses == (
        "scale not given, no judgments: taken as fine, 0 to 100",
        "cutoff of the collection not given: guessed 2, the longest ranking",
    )


def test_an_index_of_sounds_in_the_folder_is_found_and_not_saved(tmp_path):
    folder = folder_of(tmp_path, {"runs.trec": RUN, "sounds.index/index.json": "{}"})
    collection = Collection.load(folder)
    assert collection.sounds == folder / "sounds.index"
    assert build_pool(collection).sounds == folder / "sounds.index"
    collection.save(tmp_path / "copy")
    assert Collection.load(tmp_path / "copy").sounds is None


def test_an_index_is_found_from_any_folder(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, {"runs.trec": RUN, "sounds.index/index.json": "{}"})
    monkeypatch.chdir(folder.parent)
    collection = Collection.load(folder.name)
    monkeypatch.chdir("/")
    assert collection.sounds == folder / "sounds.index"


def test_a_file_in_the_place_of_an_index_is_none(tmp_path):
    assert Collection.load(folder_of(tmp_path, {"runs.trec": RUN, "sounds.index": ""})).sounds is None


def test_the_pool_knows_which_document_each_query_is(tmp_path):
    files = {"runs.trec": RUN + "r Q0 a 1 2 S\n", "queries.tsv": "query\tdocument\nq\tc\n"}
    assert build_pool(Collection.load(folder_of(tmp_path, files))).query_documents == ("c", "r")


def test_the_scale_is_guessed_from_the_judgments_and_the_cutoff_is_ten_at_most(tmp_path):
    run = "".join(f"q Q0 d{i} {i} {-i} S\n" for i in range(12))
    collection = Collection.load(folder_of(tmp_path, {"runs.trec": run, "judgments.qrels": "q 0 d1 1\n"}))
    assert (collection.scale, collection.cutoff) == (BINARY, 10)
    assert collection.guesses == (
        "scale not given, grades 1: taken as binary, 0 1",
        "cutoff of the collection not given: guessed 10, as the longest ranking is deeper",
    )


FULL = {
    "documents.tsv": "document\tartist\tgenre\tmood\na\tVarious Artists\tROCK\tsad\nb\tAbba\t\t\n",
    "queries.tsv": "query\tdocument\nq\tb\n",
    "systems.tsv": "system\tteam\nS\tT\nnot here\tU\n",
    "runs.trec": RUN,
    "judgments.csv": "query,document,broad,assessor\nq,a,2,ann\n",
    "collection.toml": 'name = "Small"\nscale = "broad"\ncutoff = 1\nnot_artists = ["Various Artists"]\n',
}


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_whole_collection_is_read_and_nothing_is_guessed(tmp_path, suffix):
    collection = Collection.load(folder_of(tmp_path, {name + suffix: text for name, text in FULL.items()}))
    assert (collection.name, collection.scale, collection.cutoff) == ("Small", BROAD, 1)
    assert [guess for guess in collection.guesses if "own recording" not in guess] == []  # b is the query here
    assert (collection.artist("a"), collection.artist("b"), collection.genre("a")) == (None, "Abba", "ROCK")
    assert collection.documents["a"].more == {"mood": "sad"}
    assert (collection.query_document("q"), collection.team("S")) == ("b", "T")
    assert collection.judgments == (Judgment("q", "a", 2, "ann"),)


def test_other_judgments_or_none_may_be_asked_for(tmp_path):
    folder = folder_of(tmp_path, {"runs.trec": RUN, "judgments.qrels": "q 0 a 1\n", "other": "q 0 b 2\n"})
    assert Collection.load(folder, judgments="none").judgments == ()
    assert Collection.load(folder, judgments=folder / "other").judgments == (Judgment("q", "b", 2),)
    with pytest.raises(
        InputError, match=r"^gone: cannot be read: No such file or directory, expected a name that exists$"
    ):
        Collection.load(folder, judgments="gone")


def test_the_files_of_the_folder_runs_are_read_by_name_but_for_hidden_ones(tmp_path):
    files = {"runs/b": RUN, "runs/a.gz": "T q a\n", "runs/.hidden": "?"}
    assert [run.system for run in Collection.load(folder_of(tmp_path, files)).runs] == ["T", "S"]


def test_artists_that_are_none_do_not_remove_results_of_a_mirex_file(tmp_path):
    matrix = "M\n1\tb.wav\n2\ta.wav\n3\tc.wav\nQ/R\t1\t2\t3\n1\t0\t1\t2\n"
    documents = "document\tartist\na\tseveral\nb\tseveral\n"
    files = {"runs.trec": matrix, "documents.tsv": documents, "queries.tsv": "query\tdocument\nq\tb\n"}
    folder = folder_of(tmp_path, files)
    assert Collection.load(folder).runs[0].rankings == {"q": ("c",)}
    (folder / "collection.toml").write_text('not_artists = ["several"]\n')
    assert Collection.load(folder).runs[0].rankings == {"q": ("a", "c")}
    (folder / "collection.toml").unlink()
    for name in ("Various Artists", "UNKNOWN ARTIST"):
        (folder / "documents.tsv").write_text(documents.replace("several", name))
        assert Collection.load(folder).runs[0].rankings == {"q": ("a", "c")}
        (run,) = joining_runs(folder / "runs.trec", Collection.load(folder), partial=True)
        assert run.rankings == {"q": ("a", "c")}


ERRORS = {
    "no runs": (
        {"systems.tsv": "system\tteam\n"},
        r"small: has no runs, expected runs.trec, a folder runs, or files that are TREC runs$",
    ),
    "a database alone": (
        {"campaign.db": "SQLite format 3"},
        r"small: has no runs, expected runs.trec, .*; campaign.db has judgments, not runs$",
    ),
    "runs twice": (
        {"runs.trec": RUN, "runs/a": RUN},
        r"small/runs.trec: a folder runs exists too, expected only one of them$",
    ),
    "empty folder": ({"runs/.hidden": ""}, r"small/runs: holds no file, expected at least one run$"),
    "folder in runs": ({"runs/a/b": RUN}, r"small/runs/a: is a folder, expected a file$"),
    "plain and packed": (
        {"runs.trec": RUN, "runs.trec.gz": RUN},
        r"small/runs.trec: runs.trec.gz exists too, expected only one of them$",
    ),
    "plain and packed in the folder": (
        {"runs/a": RUN, "runs/a.gz": RUN},
        r"small/runs/a: a.gz exists too, expected only one of them$",
    ),
    "two files of judgments": (
        {"runs.trec": RUN, "judgments.qrels": "q 0 a 1\n", "judgments.csv": ""},
        r"small/judgments.qrels: judgments.csv exists too, expected only one of them$",
    ),
}


@pytest.mark.parametrize(("files", "error"), ERRORS.values(), ids=ERRORS)
def test_a_folder_that_leaves_doubt_is_refused_in_one_line(tmp_path, files, error):
    with pytest.raises(InputError, match=r"^[^\n]*/" + error):
        Collection.load(folder_of(tmp_path, files))


def test_a_folder_that_is_not_there_or_is_none_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"^[^\n]*/gone: no such folder, expected a collection: a folder with runs.trec"
    ):
        Collection.load(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError, match=r"^[^\n]*/file: is not a folder, expected a collection: a folder with runs.trec"
    ):
        Collection.load(tmp_path / "file")
    with pytest.raises(InputError, match=r"runs\.csv: no such folder, .* given to `Collection\.from_frames\(runs\)`$"):
        Collection.load(tmp_path / "runs.csv")


def test_errors_name_files_as_the_caller_named_the_folder(tmp_path, monkeypatch):
    folder_of(tmp_path, {"runs.trec": RUN, "judgments.qrels": "q 0 a 1\nq 0 b nan\n"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FormatError, match=r"^small/judgments\.qrels:2: expected a finite number for grade, found 'nan'$"
    ):
        Collection.load("small")


def test_a_grade_off_the_scale_of_the_collection_is_refused_where_it_stands(tmp_path):
    files = {"runs.trec": RUN, "collection.toml": 'scale = "binary"\n', "judgments.qrels": "q 0 a 1\nq 0 b 2\n"}
    with pytest.raises(FormatError, match=r"judgments\.qrels:2: grade 2 is not on the binary scale \(0 1\)$"):
        Collection.load(folder_of(tmp_path, files))


def same(collection, other):
    return [name for name in FIELDS if getattr(collection, name) != getattr(other, name)] == []


def test_a_collection_that_is_saved_is_loaded_again(tmp_path):
    collection = Collection.load(folder_of(tmp_path, FULL))
    collection.save(tmp_path / "new" / "copy")
    copy = Collection.load(tmp_path / "new" / "copy")
    assert same(collection, copy)
    assert copy.identifier == "copy"


def test_grades_by_nobody_that_contradict_each_other_are_refused_in_memory_as_in_a_file(tmp_path):
    runs = (Run("S", {"q": ("a", "b")}),)
    said = "query q and document a have the grade 1{} already, got 2, expected one grade, or the names of the assessors"
    both = (Judgment("q", "a", 1), Judgment("q", "b", 1), Judgment("q", "a", 2))
    with pytest.raises(InputError, match=f"^collection x: {re.escape(said.format(''))}$"):
        Collection("x", "x", FINE, 2, runs, judgments=both)
    files = {"runs.trec": RUN, "judgments.csv": "query,document,grade\nq,a,1\nq,b,1\nq,a,2\n"}
    with pytest.raises(FormatError, match=re.escape(said.format(" on line 2"))):
        Collection.load(folder_of(tmp_path, files))
    for other in (
        Judgment("q", "a", 1),
        Judgment("q", "a", 2, "ann"),
        Judgment("q", "a", 2, "", "2026-01-01T00:00:00Z"),
    ):
        collection = Collection("x", "x", FINE, 2, runs, judgments=(*both[:2], other))
        collection.save(tmp_path / f"{other.grade:g}{other.assessor}")
        assert Collection.load(tmp_path / f"{other.grade:g}{other.assessor}").judgments == collection.judgments


def test_grades_by_a_machine_of_pairs_that_no_system_retrieved_are_refused_in_memory_as_in_a_file(tmp_path):
    said = r"judge gpt: the collection knows none of its 1 pairs, such as query q, document z, expected such as query q"
    with pytest.raises(InputError, match=said):
        Collection.from_frames({"S": {"q": ["a", "b"]}}, judges={"gpt": {("q", "z"): 1.0}})
    with pytest.raises(InputError, match=said):
        Collection.load(folder_of(tmp_path, {"runs.trec": RUN, "judges/gpt.tsv": "query\tdocument\tgrade\nq\tz\t1\n"}))


WORDS = st.text("abc\u00e9", min_size=1, max_size=3)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=5).map(str.strip)
UNKNOWN = st.none() | TEXTS.filter(bool)
RANKINGS = st.lists(WORDS, min_size=1, max_size=5, unique=True).map(tuple)
HALVES = Scale("custom", (0.0, 0.5, 1.0))


@st.composite
def collections(draw):
    runs = draw(
        st.dictionaries(WORDS, st.dictionaries(WORDS, RANKINGS, min_size=1, max_size=3), min_size=1, max_size=3)
    )
    scale = draw(st.sampled_from([FINE, BROAD, BINARY, HALVES]))
    judgment = st.builds(
        Judgment, WORDS, WORDS, st.sampled_from(scale.levels), draw(st.sampled_from([st.just(""), TEXTS]))
    )
    names = draw(st.lists(WORDS, max_size=3, unique=True))
    return Collection(
        identifier="x",
        name=draw(TEXTS),
        scale=scale,
        cutoff=draw(st.integers(1, 100)),
        runs=tuple(Run(system, rankings) for system, rankings in runs.items()),
        documents={name: Document(name, draw(UNKNOWN), draw(UNKNOWN), draw(UNKNOWN)) for name in names},
        query_documents=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
        teams=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
        # Two grades of a pair by nobody would contradict each other.
        judgments=tuple(draw(st.lists(judgment, max_size=4, unique_by=lambda one: (one.pair, one.assessor and one)))),
        not_artists=draw(st.frozensets(TEXTS, max_size=2)),
    )


@pytest.mark.slow
@given(collection=collections())
def test_any_collection_that_is_saved_is_loaded_again(tmp_path_factory, collection):
    folder = tmp_path_factory.mktemp("saved")
    collection.save(folder)
    if strangers(collection):
        with pytest.raises(InputError, match=r": 0 of \d+ .*, expected some"):
            Collection.load(folder, partial=True)
        return
    copy = Collection.load(folder, same_artist="keep", partial=True)
    assert same(collection, copy)
    assert copy.guesses == ()


def strangers(collection):
    """True if one of the files names nothing in the runs."""
    queries = {query for run in collection.runs for query in run.rankings}
    pairs = {(query, name) for run in collection.runs for query, names in run.rankings.items() for name in names}
    named = {name for _, name in pairs} | {collection.query_document(query) for query in queries}
    parts = [
        (collection.documents, named),
        (collection.query_documents, queries),
        (collection.teams, {run.system for run in collection.runs}),
        ({tuple(one.pair) for one in collection.judgments}, pairs),
    ]
    return any(part and not set(part) & known for part, known in parts)


def test_saving_again_replaces_the_files_but_never_mixes_two_collections(tmp_path):
    folder = folder_of(tmp_path, FULL)
    collection = Collection.load(folder)
    collection.save(folder)
    assert same(collection, Collection.load(folder))
    other = Collection("x", "x", BROAD, 1, collection.runs, judgments=(Judgment("q", "a", 1),))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(
        InputError, match=r"documents\.tsv: would become part of the new collection: move or delete it$"
    ):
        other.save(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_collection_that_cannot_be_written_leaves_no_folder_behind(tmp_path):
    with pytest.raises(InputError, match=r"^'a b' cannot be written: white space"):
        Collection("x", "x", FINE, 1, (Run("S", {"q": ("a b",)}),)).save(tmp_path / "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file: is not a folder, expected a collection: a folder with runs.trec"):
        Collection("x", "x", FINE, 1, (Run("S", {"q": ("a",)}),)).save(tmp_path / "file")
    with pytest.raises(InputError, match=r"new: cannot be made: Not a directory, expected a folder, not a file$"):
        Collection("x", "x", FINE, 1, (Run("S", {"q": ("a",)}),)).save(tmp_path / "file" / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
@pytest.mark.skipif(not MIREX.is_dir(), reason="the MIREX 2011 collection is not beside the project: ../shared/data")
def test_the_public_mirex_2011_collection_has_the_published_counts(tmp_path):
    collection = Collection.load(MIREX)
    assert (collection.identifier, collection.name) == ("mirex2011", "MIREX 2011 Audio Music Similarity")
    assert (len(collection.runs), len(collection.documents), len(collection.judgments)) == (18, 7000, 6322)
    assert {len(run.rankings) for run in collection.runs} == {100}
    assert {len(ranking) for run in collection.runs for ranking in run.rankings.values()} == {5}
    artists = Counter(document.artist for document in collection.documents.values())
    assert artists["VARIOUS ARTISTS"] + artists["Various Artists"] == 68
    retrieved = {document for run in collection.runs for ranking in run.rankings.values() for document in ranking}
    assert len(retrieved - set(collection.documents)) == 23
    collection.save(tmp_path / "copy")
    for path in MIREX.iterdir():
        more = b'same_artist = "keep"\n' if path.name == "collection.toml" else b""  # the results as read are intended
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes() + more


T = "t0000 Q0 t0001 1 2 S\nt0000 Q0 t0002 2 1 S\n".replace("t", "T")
MEETS_NOTHING = {
    "documents": (
        {"documents.tsv": "document\tgenre\nt0001\tjazz\nt0002\trock\n"},
        r"/documents\.tsv: 0 of 2 retrieved documents have a line, expected some; did you mean T0001 for t0001\?$",
    ),
    "queries": (
        {"queries.tsv": "query\tdocument\nt0000\tx\n"},
        r"/queries\.tsv: 0 of 1 query has a line, expected some; did you mean T0000 for t0000\?$",
    ),
    "systems": (
        {"systems.tsv": "system\tteam\ns\tx\n"},
        r"/systems\.tsv: 0 of 1 system has a line, expected some; did you mean S for s\?$",
    ),
    "judgments of other queries": (
        {"judgments.qrels": "t0000 0 T0001 1\n"},
        r"/judgments\.qrels: 0 of 1 judgment is of retrieved pairs, expected some; did you mean T0000 for t0000\?$",
    ),
    "judgments of other documents": (
        {"judgments.qrels": "T0000 0 t0001.wav 1\nT0000 0 x 1\n"},
        r"/judgments\.qrels: 0 of 2 judgments are of retrieved pairs, expected some; did you mean T0001 for t"
        r"0001.wav\?$",
    ),
}


@pytest.mark.parametrize(("files", "error"), MEETS_NOTHING.values(), ids=MEETS_NOTHING)
def test_a_file_that_meets_nothing_of_the_runs_is_refused(tmp_path, files, error):
    with pytest.raises(InputError, match=error):
        Collection.load(folder_of(tmp_path, {"runs.trec": T, **files}))


@pytest.mark.parametrize(
    "judged",
    [
        "query\tdocument\tbroad\nT0000\tb/T0001.mp3\t1\n",  # like another's name, but for the folder
        "query\tdocument\tbroad\nT0000\tT0011\t1\n",  # like another's name
        "query\tdocument\tbroad\nT0000\tT0003\t1\n",  # retrieved for another query
        "query\tdocument\tbroad\nT0009\tT0001\t1\n",  # a query that no system answered
    ],
)
def test_no_other_name_is_suggested_for_one_that_exists(tmp_path, judged):
    described = "document\tgenre\nT0001\tjazz\nb/T0001.mp3\trock\nT0011\tpop\n"
    files = {"documents.tsv": described, "queries.tsv": "query\tdocument\nT0009\tT0011\nT0000\tT0011\n"}
    runs = T + "T0005 Q0 T0003 1 2 S\n"
    folder = folder_of(tmp_path, {"runs.trec": runs, **files, "judgments.tsv": judged})
    with pytest.raises(InputError, match="of retrieved pairs, expected some") as error:
        Collection.load(folder)
    assert "did you mean" not in str(error.value)
    (folder / "judgments.tsv").write_text(judged + "T0000\tT0002\t1\n")
    assert not [one for one in Collection.load(folder).readings if "judgments.tsv" in one.line and one.doubtful]


def test_how_much_of_each_file_meets_the_runs_is_said(tmp_path):
    files = {"documents.tsv": "document\tgenre\nT0001\tjazz\nt0002\trock\n", "judgments.qrels": "T0000 0 T0001 1\n"}
    folder = folder_of(tmp_path, {"runs.trec": T, **files})
    assert [(one.line, one.doubtful) for one in Collection.load(folder).readings] == [
        (f"{folder}/runs.trec: 1 system, 1 query, 2 documents retrieved", False),
        (f"{folder}/documents.tsv: 1 of 2 retrieved documents have a line; did you mean T0002 for t0002?", True),
        (f"{folder}/judgments.qrels: 1 of 1 judgment is of retrieved pairs", False),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("documents.xlsx", "documents.tsv"),
        ("Documents.TSV", "documents.tsv"),
        ("document.tsv.gz", "documents.tsv"),
        ("sytems.tsv", "systems.tsv"),
        ("judgements.qrels", "judgments.qrels"),
        ("judgement.txt", "judgments.qrels"),
        ("qrel.txt", "judgments.qrels"),
        ("collection.yaml", "collection.toml"),
    ],
)
def test_a_file_of_nearly_the_right_name_is_refused_and_not_passed_over(tmp_path, name, expected):
    folder = folder_of(tmp_path, {"runs.trec": RUN, name: "x"})
    with pytest.raises(InputError, match=rf"/{re.escape(name)} is ignored: rename it to {expected}, or remove it"):
        Collection.load(folder)


def test_files_beside_those_of_a_collection_do_not_matter(tmp_path):
    others = {
        "documents.tsv": "document\na\n",
        "documents.csv": "",
        "report.html": "",
        "truth.qrels": "",
        "README.md": "",
    }
    folder = folder_of(tmp_path, {"runs.trec": RUN, **others, "campaign.db": ""})
    assert Collection.load(folder).documents == {"a": Document("a")}
    (folder / "judgments.txt").write_text("")
    assert Collection.load(folder, judgments="none").judgments == ()


def test_the_folder_or_the_caller_says_what_names_the_systems(tmp_path):
    files = {"runs/kl.trec": RUN, "runs/js.trec": RUN.replace("S", "T"), "collection.toml": 'system_from = "file"\n'}
    folder = folder_of(tmp_path, files)
    assert [run.system for run in Collection.load(folder).runs] == ["js", "kl"]
    assert [run.system for run in Collection.load(folder, system_from="tag").runs] == ["T", "S"]


OWN_ARTIST = {
    # q1 is the recording a, by X; c is by X too, b by Y, d by an unknown artist. q2 is the recording of that name.
    "runs.trec": "q1 Q0 b 1 4 S\nq1 Q0 a 2 3 S\nq1 Q0 c 3 2 S\nq1 Q0 d 4 1 S\nq2 Q0 q2 1 2 S\nq2 Q0 b 2 1 S\n",
    "documents.tsv": "document\tartist\na\tX\nb\tY\nc\tX\n",
    "queries.tsv": "query\tdocument\nq1\ta\n",
}


def test_a_query_s_own_recording_and_its_artist_are_noted_and_dropped_where_asked(tmp_path):
    folder = folder_of(tmp_path, OWN_ARTIST)
    noted = Collection.load(folder)
    assert noted.runs[0].rankings == {"q1": ("b", "a", "c", "d"), "q2": ("q2", "b")}
    found = (
        "2 results are the query's own recording, 1 result is by its artist, such as document a for query "
        "q1 in system S"
    )
    assert noted.guesses[0] == f'{found}: kept; `same_artist="drop"` leaves them out, keep omits this note'
    dropped = Collection.load(folder, same_artist="drop")
    assert dropped.runs[0].rankings == {"q1": ("b", "d"), "q2": ("b",)}
    assert dropped.guesses[0] == f"{found}: left out"
    kept = Collection.load(folder, same_artist="keep")
    assert kept.runs == noted.runs
    assert not any("artist" in guess for guess in kept.guesses)
    (folder / "collection.toml").write_text('same_artist = "drop"\n')
    assert Collection.load(folder).runs == dropped.runs
    assert Collection.load(folder, same_artist="keep").runs == noted.runs
    with pytest.raises(InputError, match="^same_artist must be keep or drop, got 'yes'$"):
        Collection.load(folder, same_artist="yes")


def test_judgments_may_be_read_on_another_scale(tmp_path):
    files = {
        "runs.trec": RUN,
        "judgments.csv": "query,document,fine,broad\nq,a,80,2\n",
        "collection.toml": 'scale = "fine"\n',
    }
    collection = Collection.load(folder_of(tmp_path, files), scale=BROAD)
    assert (collection.scale, collection.judgments) == (BROAD, (Judgment("q", "a", 2),))


def test_judgments_of_a_file_and_of_memory_make_the_same_collection(tmp_path):
    comparisons = "query\tdocument_a\tdocument_b\tanswer\nq\ta\tb\ta\n"
    folder = folder_of(tmp_path, {"runs.trec": RUN, "comparisons.tsv": comparisons})
    (folder / "collection.toml").write_text('set_aside = ["bob"]\n')
    path = tmp_path / "given.csv"
    path.write_text("query,document,grade,assessor\nq,a,2,ann\nq,a,0,bob\nq,b,1,ann\n")
    rows = [Judgment("q", "a", 2, "ann"), Judgment("q", "a", 0, "bob"), Judgment("q", "b", 1, "ann")]
    expected = Collection.load(folder, path)
    assert [one.assessor for one in expected.judgments] == ["ann", "ann"]
    for judgments in (str(path), rows, [asdict(one) for one in rows]):
        found = Collection.load(folder, judgments)
        assert (found.judgments, found.scale) == (expected.judgments, expected.scale)
        assert found.comparisons == expected.comparisons != ()
        assert found.guesses == expected.guesses
