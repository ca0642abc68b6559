"""TREC runs and lists: order, ties, errors, and writing followed by reading."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audiosim.collection.kinds import read_runs
from audiosim.collection.values import Run
from audiosim.collection.written import run_lines, write_run
from audiosim.errors import FormatError, InputError


def run_file(tmp_path, text, name="runs.trec"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def ranking(tmp_path, text):
    (run,) = read_runs([run_file(tmp_path, text)])
    return run.rankings["1"]


def test_the_score_orders_and_the_rank_does_not(tmp_path):
    assert ranking(tmp_path, "1 Q0 a 1 0.5 S\n1 Q0 b 2 1e3 S\n1 Q0 c 3 -7 S\n") == ("b", "a", "c")


# usnistgov/trec_eval issue 22: with qrels that make b alone relevant, trec_eval prints ndcg 1 for the first run, so b
# is ranked first, and 0.6309 = 1 / log2(3) for the second, so b is ranked second: ties by document, greatest first.
@pytest.mark.parametrize(("other", "expected"), [("a", ("b", "a")), ("c", ("c", "b"))])
def test_ties_are_broken_as_trec_eval_breaks_them(tmp_path, other, expected):
    assert ranking(tmp_path, f"1 0 b 1 1.0 S\n1 0 {other} 2 1.0 S\n") == expected


@pytest.mark.parametrize("blank", ["", "\n"])  # a blank line makes audiosim read the file line by line
def test_a_system_without_order_in_its_scores_is_noted(tmp_path, blank):
    said = []
    path = run_file(tmp_path, f"1 Q0 a 1 0 S\n{blank}1 Q0 b 2 0 S\n2 Q0 a 1 3 S\n1 Q0 a 1 2 T\n1 Q0 b 2 1 T\n")
    assert read_runs([path], say=said.append)[0].rankings["1"] == ("b", "a")
    assert said == [
        f"{path}:1: all scores of system S for a query are equal: documents are ordered by name, the last first, and "
        "ranks do not count, as in trec_eval; give scores that fall with the rank"
    ]
    said.clear()
    read_runs([run_file(tmp_path, f"1 Q0 a 1 2 S\n{blank}1 Q0 b 2 2 S\n1 Q0 c 3 1 S\n2 Q0 a 1 1 S\n")], say=said.append)
    assert said == []


def test_tied_documents_are_compared_as_strings_and_not_as_numbers(tmp_path):
    # strcmp puts "9" after "10", so it comes first in descending order.
    assert ranking(tmp_path, "1 Q0 10 1 2 S\n1 Q0 9 2 2 S\n1 Q0 z 3 3 S\n") == ("z", "9", "10")


def test_scores_that_differ_in_the_last_digit_of_double_precision_are_no_tie(tmp_path):
    # The case of trec_eval issue 34, after which trec_eval uses double precision.
    assert ranking(tmp_path, "1 Q0 z 1 0.30000000001 S\n1 Q0 a 2 0.30000000002 S\n") == ("a", "z")


def test_lines_may_come_in_any_order_and_hold_several_systems(tmp_path):
    text = "1 Q0 a 2 1 S\n1 Q0 x 1 9 T\n2 Q0 b 1 1 S\n1\tQ0  c \t 1 2 S\n"
    assert read_runs([run_file(tmp_path, text)]) == (
        Run("S", {"1": ("c", "a"), "2": ("b",)}),
        Run("T", {"1": ("x",)}),
    )


def test_a_list_is_in_the_order_of_its_lines(tmp_path):
    text = "S q b\nS q a\nT q a\nS p z\n"
    expected = (Run("S", {"q": ("b", "a"), "p": ("z",)}), Run("T", {"q": ("a",)}))
    assert read_runs([run_file(tmp_path, text)]) == expected
    assert read_runs([run_file(tmp_path, "system\tquery\tdocument\n" + text)]) == expected


def test_a_run_parted_by_tabs_whose_queries_are_numbers_is_no_matrix(tmp_path):
    assert ranking(tmp_path, "1\tQ0\ta\t1\t2\tS\n1\tQ0\tb\t2\t1\tS\n") == ("a", "b")
    assert ranking(tmp_path, "1\tQ0 a 1 2 S\n1\tQ0 b 2 1 S\n") == ("a", "b")
    assert read_runs([run_file(tmp_path, "7 1 2\n7 1 3\n")]) == (Run("7", {"1": ("2", "3")}),)


ERRORS = {
    "": r":1: the file is empty, expected a TREC run \(query Q0 document rank score system\), lines of",
    "a b c d\n": r":1: expected a TREC run .*, lines of system query document, or a MIREX result file, found 4 "
    r"columns$",
    "1 Q0 a 1 2 S\n1 Q0 b 2 1\n": r":2: expected 6 columns as on the lines above, found 5$",
    "1 Q0 a 1 2 S\nS 1 b\n": r":2: expected 6 columns .* found 3$",
    "S 1 b\n\n1 Q0 a 1 2 S\n": r":3: expected 3 columns as on the lines above, found 6$",
    "1;Q0;a;1;2;S\n": r":1: expected a TREC run .* found '1;Q0;a;1;2;S': columns between semicolons need a "
    r"header with query and document$",
    "1 Q0 a " + 6000 * "1" + " 2 S\n": r":1: expected a whole number for the rank, found '1{20}'...'1{20}' \(6000 "
    r"characters\)$",
    "1 Q0 a 1 0,5 S\n": r":1: expected a finite number for score, found '0,5', which looks like a decimal comma: write "
    r"0.5$",
    "1 Q0 a 1 2 S\n1 Q0 a 2 1 S\n": r":2: document a is twice in the ranking of system S for query 1, expected each "
    r"document once$",
    "S q b\nS q a\nS q b\n": r":3: document b is twice in the ranking of system S for query q, expected each document "
    r"once$",
    "1 Q0 a 1 nan S\n": r":1: expected a finite number for score, found 'nan'$",
    "1 Q0 a 1 -inf S\n": r":1: expected a finite number for score, found '-inf'$",
    "1 Q0 a 1 1_0 S\n": r":1: expected a finite number for score, found '1_0'$",
    "1 Q0 a 1 high S\n": r":1: expected a finite number for score, found 'high'$",
    "1 Q0 a 1.5 2 S\n": r":1: expected a whole number for the rank, found '1.5'$",
    "# my run\n\n1 Q0 a 1 2 S\n": r":1: expected a TREC run .* from the first line on, found '# my run'$",
    "1 Q0 a 1 2 S\n1 Q0 b b 2 1 S\n": r":2: expected 6 columns .* found 7; a name with a space counts as two columns$",
    "1 Q0 b b 2 1 S\n": r":1: expected a TREC run .*, found 7 columns; a name with a space counts as two columns$",
    "1 Q0 a\0b 1 2 S\n": r":1: the line has a byte 0, expected UTF-8 text$",
    "system query document\n": r":1: the file ends after its header, expected runs below it$",
}


@pytest.mark.parametrize(("text", "error"), ERRORS.items())
def test_a_run_that_breaks_a_rule_is_refused_where_it_does(tmp_path, text, error):
    with pytest.raises(FormatError, match=r"^[^\n]*runs\.trec" + error):
        read_runs([run_file(tmp_path, text)])


def test_a_system_in_two_files_is_refused(tmp_path):
    first, second = run_file(tmp_path, "1 Q0 a 1 2 S\n", "a"), run_file(tmp_path, "2 Q0 a 1 2 T\n3 Q0 a 1 2 S\n", "b")
    with pytest.raises(FormatError, match=r"/b:2: system S is in .*/a already, expected one system in one file, or "):
        read_runs([first, second])
    with pytest.raises(
        FormatError, match=r'/b:2: system S is in .*/a already, expected it once, or `system_from="file"` '
    ):
        read_runs([first, second], system_from="tag")


# trec_eval's get_trec_results ignores the rank: https://github.com/usnistgov/trec_eval/blob/main/get_trec_results.c
def test_a_repeated_rank_is_noted_and_the_scores_decide(tmp_path):
    said = []
    path = run_file(tmp_path, "1 Q0 a 1 1 S\n1 Q0 b 1 2 S\n1 Q0 c 1 3 S\n2 Q0 a 1 1 S\n")
    (run,) = read_runs([path], say=said.append)
    assert run.rankings == {"1": ("c", "b", "a"), "2": ("a",)}
    assert said == [f"{path}:2: 2 lines repeat a rank of their ranking; scores decide, as in trec_eval"]


def test_files_that_share_a_tag_name_their_systems(tmp_path):
    first = run_file(tmp_path, "1 Q0 a 1 2 run1\n", "kl.trec")
    second, third = run_file(tmp_path, "1 Q0 b 1 2 run1\n", "js.2"), run_file(tmp_path, "1 Q0 b 1 2 T\n", "c.txt")
    said = []
    runs = read_runs([first, second, third], say=said.append)
    assert [run.system for run in runs] == ["kl", "js.2", "T"]
    assert said == ["2 files share the tag run1: their systems are named by their files"]
    assert [run.system for run in read_runs([first, second, third], system_from="file")] == ["kl", "js.2", "c"]


def test_the_files_of_trec_name_their_systems_by_their_endings(tmp_path):
    names = "input.bm25", "input.my.run2.gz", "input.dense", "input.run"
    files = [run_file(tmp_path, "1 Q0 a 1 2 tag\n", name.removesuffix(".gz")) for name in names]
    assert [run.system for run in read_runs(files)] == ["bm25", "input.my.run2", "dense", "input"]


def test_a_file_that_names_its_system_holds_one(tmp_path):
    path = run_file(tmp_path, "1 Q0 a 1 2 S\n1 Q0 a 1 2 T\n")
    with pytest.raises(FormatError, match=r":2: the file holds systems S and T, expected one if files name the sys"):
        read_runs([path], system_from="file")
    one, other = run_file(tmp_path, "1 Q0 a 1 2 S\n", "a.run"), run_file(tmp_path, "1 Q0 a 1 2 S\n", "a.txt")
    with pytest.raises(FormatError, match=r"a\.txt:1: system a is in .*a\.run already, expected it once"):
        read_runs([one, other])
    with pytest.raises(InputError, match=r"^system_from must be file or tag, got 'name'$"):
        read_runs([one], system_from="name")


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="\ufeff"), min_size=1, max_size=4
)
RANKINGS = st.lists(WORDS, min_size=1, max_size=6, unique=True).map(tuple)
RUNS = st.dictionaries(WORDS, st.dictionaries(WORDS, RANKINGS, min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.mark.slow
@given(runs=RUNS, name=st.sampled_from(["runs.trec", "runs.trec.gz"]))
@example({">": {"<": ("0",)}, "b>": {"<a": ("0",)}}, "runs.trec")  # like XML
def test_runs_that_are_written_are_read_again(tmp_path_factory, runs, name):
    path = tmp_path_factory.mktemp("runs") / name
    expected = tuple(Run(system, rankings) for system, rankings in runs.items())
    write_run(path, expected)
    assert read_runs([path]) == expected


def test_a_run_is_written_with_scores_that_count_down_to_one():
    assert run_lines([Run("S", {"q": ("b", "a")})]) == ["q Q0 b 1 2 S", "q Q0 a 2 1 S"]


def test_what_a_trec_run_cannot_say_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match=r"^'a b' cannot be written: white space separates columns here"):
        write_run(tmp_path / "runs.trec", [Run("S", {"q": ("fine", "a b")})])
    with pytest.raises(InputError, match=r"^system S retrieves nothing for query q, which a TREC run cannot express$"):
        write_run(tmp_path / "runs.trec", [Run("S", {"q": ()})])
    with pytest.raises(InputError, match=r"^system S retrieves nothing for any query, which a TREC run cannot"):
        write_run(tmp_path / "runs.trec", [Run("S", {})])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_that_ranx_wrote_is_read_and_called_after_its_file(tmp_path, ranx):
    """Called by `ranx.Run.save` with its dict, the highest score of each query first."""
    ranx.io.save_json({"q1": {"b": 0.9, "a": 0.2}, "q2": {"a": 1.0, "c": 1.0}}, tmp_path / "mine.json")
    # Equal scores are in descending order of names, as in trec_eval.
    assert read_runs([tmp_path / "mine.json"]) == (Run("mine", {"q1": ("b", "a"), "q2": ("c", "a")}),)
    (tmp_path / "broken.json").write_text('{"q1": {"a": "high"}}')
    with pytest.raises(InputError, match=r"broken.json: \$\.q1\.a: expected a finite number for score, found 'high'$"):
        read_runs([tmp_path / "broken.json"])


def test_a_run_is_written_to_a_folder_that_is_not_there_yet(tmp_path):
    path = tmp_path / "runs" / "nearest.trec"
    write_run(path, [Run("nearest", {"q1": ("d1",)})])
    assert path.read_text("utf-8").split()[:3] == ["q1", "Q0", "d1"]
