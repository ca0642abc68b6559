"""Mistakes in well-formed files: each is reported, and a good collection has none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.check import inspect, misread, unused_notes
from audiosim.collection.collection import Collection
from audiosim.collection.facts import plain_identifier
from audiosim.collection.joining import joining_runs
from audiosim.collection.kinds import PROMPT, read_documents
from audiosim.collection.values import BROAD, FINE, Document, Judgment, Run
from audiosim.collection.written import write_run
from audiosim.errors import InputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SYSTEMS, QUERIES, DOCUMENTS, DEPTH = 5, 24, 60, 5
GENRES = ("Rock", "Jazz", "Techno", "Folk")


@pytest.fixture
def whole():
    """Five systems on 24 queries, five results each, a quarter of the pool judged: without mistakes."""
    rng = np.random.default_rng(3)
    names = [f"d{number:03}" for number in range(DOCUMENTS)]
    documents = {name: Document(name, f"A{place % 30}", GENRES[place % 4]) for place, name in enumerate(names)}
    queries = {f"q{number:02}": names[(7 * number) % DOCUMENTS] for number in range(QUERIES)}
    runs = []
    for system in range(SYSTEMS):
        rankings = {}
        for query, own in queries.items():
            # Most results have the query's genre, as usual.
            like = [name for name in names if name != own and documents[name].genre == documents[own].genre]
            others = [name for name in names if name not in like and name != own]
            rankings[query] = (*rng.permutation(like)[:4].tolist(), str(rng.choice(others)))
        runs.append(Run(f"S{system}", rankings))
    judgments = tuple(
        Judgment(query, document, float(rng.integers(1, 101)), "ann")
        for query, found in runs[0].rankings.items()
        for document in found
    )
    return Collection("whole", "whole", FINE, DEPTH, tuple(runs), documents, queries, judgments=judgments)


def with_run(collection, change, system="S4"):
    runs = [change(run) if run.system == system else run for run in collection.runs]
    return replace(collection, runs=tuple(runs))


def rankings(change):
    """A change of each ranking of a run, given its query; None leaves the ranking out."""

    def changed(run):
        found = {query: change(query, documents) for query, documents in run.rankings.items()}
        return Run(run.system, {query: documents for query, documents in found.items() if documents is not None})

    return changed


def test_nothing_is_wrong_with_a_whole_collection(whole):
    assert inspect(whole).problems == ()
    assert inspect(whole).notes == ()


@pytest.mark.parametrize(
    "name", ["mirex2011", *(f"foreign/{name}" for name in ("covid1", "dl2019", "ehealth2013", "ehealth2014"))]
)
def test_nothing_is_wrong_with_real_collections(name):
    if not (DATA / name).is_dir():
        pytest.skip("needs the real collections in ../shared/data, which are not part of the project")
    found = inspect(Collection.load(DATA / name))
    assert found.problems == ()
    assert any(note.startswith("artist: 68 documents have") for note in found.notes) == (name == "mirex2011")


def half(query, documents):
    return documents if query < "q12" else None


def test_a_run_that_is_cut_off_is_a_problem_and_an_error_where_a_folder_is_opened(whole, tmp_path):
    cut = with_run(whole, rankings(half))
    assert inspect(cut).problems == ("system S4 answers 12 of the 24 queries",)
    cut.save(tmp_path / "cut")
    with pytest.raises(
        InputError, match=r"runs.trec: system S4 answers 12 of the 24 queries, expected 90 % of them; `partial=True`"
    ):
        Collection.load(tmp_path / "cut")
    assert len(Collection.load(tmp_path / "cut", partial=True).runs) == SYSTEMS


def test_one_query_in_ten_may_be_unanswered_and_is_said(whole, tmp_path):
    almost = with_run(whole, rankings(lambda query, documents: documents if query > "q01" else None))
    assert inspect(almost).problems == ()
    assert inspect(almost).notes == ("system S4 answers 22 of the 24 queries",)
    almost.save(tmp_path / "almost")
    assert len(Collection.load(tmp_path / "almost").runs) == SYSTEMS


def test_of_two_runs_the_one_that_is_cut_off_is_named(whole, tmp_path):
    two = replace(with_run(whole, rankings(half), "S1"), runs=with_run(whole, rankings(half), "S1").runs[:2])
    two.save(tmp_path / "two")
    with pytest.raises(InputError, match=r"system S1 answers 12 of the 24 queries, expected"):
        Collection.load(tmp_path / "two")


def test_a_run_of_other_queries_is_an_error_that_says_so(whole, tmp_path):
    last_year = with_run(whole, lambda run: Run("S4", {f"x{query}": of for query, of in run.rankings.items()}))
    assert inspect(last_year).problems == (
        "system S4 answers 0 of the 24 queries",
        "system S4 answers 24 queries that fewer than half of the systems answer",
    )
    last_year.save(tmp_path / "mixed")
    with pytest.raises(
        InputError, match=r"answers 0 of the 24 queries, and 24 that are not among them, expected 90 % of them"
    ):
        Collection.load(tmp_path / "mixed")


def test_a_run_that_joins_must_be_whole_too_unless_told(whole, tmp_path):
    run = Run("new", {query: of for query, of in whole.runs[0].rankings.items() if query < "q12"})
    write_run(tmp_path / "new.trec", [run])
    with pytest.raises(InputError, match=r"new.trec: system new answers 12 of the 24 queries"):
        joining_runs(tmp_path / "new.trec", whole)
    assert joining_runs(tmp_path / "new.trec", whole, partial=True) == (run,)


def test_a_shallow_run_is_said(whole):
    shallow = with_run(whole, rankings(lambda _, documents: documents[:3]))
    assert inspect(shallow).problems == ("system S4 has 3 results a query, the cutoff is 5: missing ranks gain 0",)


def test_a_cutoff_deeper_than_all_runs_is_said_once(whole):
    assert inspect(replace(whole, cutoff=10)).problems == (
        "cutoff 10 is deeper than the runs, which have 5 results a query",
    )


@pytest.mark.parametrize("spell", [lambda name: f"{name}.ogg", str.upper, lambda name: f"/music/{name}.mp3"])
def test_documents_that_one_run_spells_in_its_own_way_are_said(whole, spell):
    other = with_run(whole, rankings(lambda _, documents: tuple(map(spell, documents))))
    (problem,) = inspect(other).problems
    name = min(document for documents in whole.runs[4].rankings.values() for document in documents)
    assert problem.startswith("system S4 spells ")
    assert problem.endswith(f"documents in its own way: {spell(name)} is {name} elsewhere")


def test_a_suffix_that_is_not_of_sound_is_part_of_a_name():
    assert plain_identifier("ghr.n0840_12_000105") != plain_identifier("ghr.n0840_12_003955")
    assert plain_identifier("Bjo\u0308rk.WAV") == plain_identifier("björk")  # composed and decomposed


def test_one_run_under_two_names_is_said(whole):
    twin = replace(whole, runs=(*whole.runs, Run("S4-again", whole.runs[4].rankings)))
    assert inspect(twin).problems == ("systems S4 and S4-again have the same results: one run under two names?",)
    assert inspect(twin).runs[-1].same_as == "S4"
    swapped = replace(whole, runs=(*whole.runs, rankings(lambda _, of: of[::-1])(Run("R", whole.runs[4].rankings))))
    assert inspect(swapped).runs[-1].same_as is None  # the same documents in another order


def test_systems_that_all_return_the_same_documents_are_said(whole):
    other = rankings(lambda _, of: of[::-1])(Run("R", whole.runs[4].rankings))
    (problem,) = inspect(replace(whole, runs=(whole.runs[4], other))).problems
    assert problem.startswith(
        f"all systems return the same first {whole.cutoff} documents: only ranks or a lower cutoff "
    )
    assert inspect(replace(whole, runs=(whole.runs[4],))).problems == ()  # one system has none to tell it from


def filled(collection, scale=FINE):
    """The collection with 0 for every unjudged pair, as filled in by a spreadsheet."""
    judged = {judgment.pair for judgment in collection.judgments}
    pairs = {(query, one) for run in collection.runs for query, of in run.rankings.items() for one in of} - judged
    zeros = tuple(Judgment(query, document, 0, "ann") for query, document in sorted(pairs))
    return replace(collection, scale=scale, judgments=(*collection.judgments, *zeros))


def test_unjudged_pairs_that_a_spreadsheet_filled_with_0_are_said(whole):
    (problem,) = inspect(filled(whole)).problems
    assert "grades are 0, and " in problem
    assert problem.endswith("if nobody judged these pairs, leave them empty")


def test_zeros_without_an_assessor_among_named_ones_are_said(whole):
    nameless = [replace(one, assessor="") if not one.grade else one for one in filled(whole).judgments]
    (problem,) = inspect(replace(whole, judgments=tuple(nameless))).problems
    assert problem.startswith("judgments: all ")
    assert "without an assessor are 0" in problem


def test_queries_that_nobody_judged_show_on_a_coarse_scale(whole):
    broad = [replace(one, grade=min(2.0, one.grade // 30)) for one in whole.judgments]
    broad = [replace(one, grade=0.0) if one.query < "q06" else one for one in broad]
    (problem,) = inspect(replace(whole, scale=BROAD, judgments=tuple(broad))).problems
    assert problem.startswith("judgments: 6 of 24 queries have no grade above 0")


def test_one_genre_in_two_spellings_is_said(whole):
    documents = dict(whole.documents)
    for name in list(documents)[2:20:4]:
        documents[name] = replace(documents[name], genre="techno")
    assert inspect(replace(whole, documents=documents)).problems == (
        "documents.tsv: genre spelt in several ways, counted as different: Techno (10), techno (5)",
    )


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp437", "mac_roman"])
def test_names_read_in_a_wrong_encoding_are_said(whole, encoding):
    wrong = "Björk".encode().decode(encoding)
    documents = {**whole.documents, "d000": replace(whole.documents["d000"], artist=wrong)}
    assert inspect(replace(whole, documents=documents)).problems == (
        f"one of the artists in a wrong encoding, such as {wrong}, which should be Björk",
    )


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ({"style": "bop"}, "no genre and no artist is known, and no model reads the column style; rename one to genre"),
        (
            {"genre": "jazz", "band": "X", "label": "Y"},
            "no artist is known, and no model reads the columns band, label;",
        ),
        ({"genre": "jazz", "artist": "X", "style": "bop"}, ""),
        ({"seconds": "30.5", PROMPT: "a song"}, ""),
    ],
)
def test_columns_of_words_that_no_model_reads_are_said_where_genre_or_artist_is_unknown(columns, note):
    found = read_documents([{"document": name, **columns} for name in "ab"])
    notes = unused_notes([*found.values()])
    assert [one.removeprefix("documents: ").startswith(note) for one in notes] == [True] * bool(note)


# Correct names of artists in several scripts.
@pytest.mark.parametrize("name", ["Björk", "Sigur Rós", "SÃO PAULO", "Кино", "久石譲", "Motörhead", "Żywiołak", "Ã"])
def test_names_that_are_right_are_not_taken_for_misread_ones(name):
    assert misread(name) is None


def test_a_letter_that_is_lost_is_said():
    assert misread("Bj\ufffdrk") == ""


@pytest.mark.parametrize("shift", [1, -1])
def test_a_queries_file_that_is_shifted_by_a_line_is_said(whole, shift):
    documents = list(whole.query_documents.values())
    moved = dict(zip(whole.query_documents, documents[shift:] + documents[:shift], strict=True))
    (problem,) = inspect(replace(whole, query_documents=moved)).problems
    assert problem.startswith("queries.tsv: the documents look shifted by a line: ")
    assert problem.endswith(f"with the column document moved {'down' if shift > 0 else 'up'} by one")


@pytest.mark.parametrize("seed", range(20))
def test_genres_that_say_nothing_do_not_make_a_queries_file_look_shifted(seed):
    # 24 queries whose five results have genres by chance: a third of them share the query's, shifted or not.
    rng = np.random.default_rng(seed)
    documents = {f"d{number}": Document(f"d{number}", genre=f"g{rng.integers(3)}") for number in range(40)}
    rankings = {f"q{n}": tuple(map(str, rng.choice(list(documents), 5, replace=False))) for n in range(24)}
    queries = {query: f"d{number}" for number, query in enumerate(rankings)}
    found = Collection("c", "c", FINE, 5, (Run("A", rankings),), documents, queries)
    assert not any("shifted" in problem for problem in inspect(found).problems)


@pytest.mark.parametrize("count", [1, 6])
def test_queries_that_are_judged_and_that_no_run_answers_are_said(whole, count):
    more = [Judgment(f"z{number}", "d001", 50) for number in range(count)]
    assert (
        f"judgments: no run answers {count} of {24 + count} queries, such as z0"
        in inspect(replace(whole, judgments=(*whole.judgments, *more))).notes
    )


def test_artists_and_genres_in_each_others_column_are_said(whole):
    swapped = {
        name: Document(name, one.genre, f"{one.artist} {place}")
        for place, (name, one) in enumerate(whole.documents.items())
    }
    assert inspect(replace(whole, documents=swapped, query_documents={})).problems == (
        "documents.tsv: 4 artists and 60 genres: the columns look swapped",
    )


SWAPPED = {
    "judgments.qrels": (
        "a 0 q1 1\nb 0 q2 1\n",
        r"0 of 2 judgments .*, expected some; query and document look swapped$",
    ),
    "queries.tsv": (
        "query\tdocument\na\tq1\nb\tq2\n",
        r"0 of 2 queries have a line, expected some; the columns look swapped$",
    ),
    "systems.tsv": ("system\tteam\nX\tS\n", r"0 of 2 systems have a line, expected some; the columns look swapped$"),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_swapped_columns_are_said_to_be_swapped(tmp_path, name):
    text, problem = SWAPPED[name]
    (tmp_path / "runs.trec").write_text("".join(f"{q} Q0 {d} 1 1 {s}\n" for s, d in ("Sa", "Tb") for q in ("q1", "q2")))
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=problem):
        Collection.load(tmp_path)


def test_a_run_whose_queries_are_documents_is_said_to_be_swapped(tmp_path):
    lines = [f"{q} Q0 {d} 1 1 {s}\n" for s in "STU" for q in ("q1", "q2") for d in "ab"]
    swapped = [f"{d} Q0 {q} 1 1 V\n" for q in ("q1", "q2") for d in "ab"]
    (tmp_path / "runs.trec").write_text("".join(lines + swapped))
    with pytest.raises(
        InputError, match=r"V answers 0 of the 2 queries, and 2 that .*: query and document look swapped"
    ):
        Collection.load(tmp_path)


def test_a_header_may_have_any_order(tmp_path):
    (tmp_path / "runs.trec").write_text("query document system\nq1 a S\n")
    assert Collection.load(tmp_path).runs == (Run("S", {"q1": ("a",)}),)


def test_distances_in_the_place_of_scores_are_said(tmp_path):
    (tmp_path / "runs.trec").write_text(
        "q Q0 a 1 0.1 near\nq Q0 b 2 0.2 near\nq Q0 c 3 0.2 near\nq Q0 a 1 9 good\nq Q0 b 2 7 good\n"
    )
    (guess,) = [one for one in Collection.load(tmp_path).guesses if "distances" in one]
    assert guess.startswith(f"{tmp_path}/runs.trec:1: the scores of system near rise with the rank, as distances do")
