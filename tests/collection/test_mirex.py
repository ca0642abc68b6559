"""The MIREX result files. The examples follow the task's page, Audio Music Similarity and Retrieval 2013."""

import random

import pytest

from audiosim.collection.kinds import read_runs
from audiosim.collection.mirex import file_identifier
from audiosim.collection.values import Exclusions, Run
from audiosim.errors import FormatError

# The page's example of a sparse list: one result has no suffix, another has the comma at the end of the template.
SPARSE = """MyAlgorithm (my.email@address.com)
a009342.wav\tb229311.wav,0.16\ta023821.wav,0.19,\ta001329,0.24
a009343.wav\ta661931.wav,0.12\ta043322.wav,0.17\ta009343.wav,0.0
"""
# The page's example of a matrix, with the tabs required by its text.
MATRIX = """Example distance matrix 0.1
1\t/path/to/audio/file/1.wav
2\t/path/to/audio/file/2.wav
3\t/path/to/audio/file/3.wav
4\t/path/to/audio/file/4.wav
Q/R\t1\t2\t3\t4
1\t0.00000\t1.24100\t0.2e-4\t0.42559
2\t1.24100\t0.00000\t0.62640\t0.23564
3\t50.2e-4\t0.62640\t0.00000\t0.38000
4\t0.42559\t0.23567\t0.38000\t0.00000
"""


def read(tmp_path, text, exclusions=None):
    (tmp_path / "result").write_text(text)
    (run,) = read_runs([tmp_path / "result"], exclusions)
    return run


def test_the_example_of_a_sparse_list_is_read_without_the_query_itself(tmp_path):
    rankings = {"a009342": ("b229311", "a023821", "a001329"), "a009343": ("a661931", "a043322")}
    assert read(tmp_path, SPARSE) == Run("MyAlgorithm", rankings)


@pytest.mark.parametrize("text", [MATRIX, MATRIX.replace("\t", "    ")], ids=["tabs", "spaces, as on the page"])
def test_the_example_of_a_matrix_is_read_nearest_first(tmp_path, text):
    # By hand from the rows: 1 is 0.00002 from 3, 0.42559 from 4, 1.241 from 2; and so on.
    rankings = {"1": ("3", "4", "2"), "2": ("4", "3", "1"), "3": ("1", "4", "2"), "4": ("2", "3", "1")}
    assert read(tmp_path, text) == Run("Example distance matrix 0.1", rankings)


def test_documents_by_the_artist_of_the_query_are_removed(tmp_path):
    exclusions = Exclusions(artists={"1": "Abba", "3": "Abba", "4": "Can"})
    rankings = read(tmp_path, MATRIX, exclusions).rankings
    assert rankings == {"1": ("4", "2"), "2": ("4", "3", "1"), "3": ("4", "2"), "4": ("2", "3", "1")}


def test_where_queries_are_given_only_they_count_and_under_their_names(tmp_path):
    exclusions = Exclusions(query_documents={"first": "2", "again": "2", "second": "3"})
    rankings = read(tmp_path, MATRIX, exclusions).rankings
    assert rankings == {"first": ("4", "3", "1"), "again": ("4", "3", "1"), "second": ("1", "4", "2")}


def test_a_query_with_no_result_left_has_no_ranking(tmp_path):
    exclusions = Exclusions(artists={"a009343": "Abba", "a661931": "Abba", "a043322": "Abba"})
    assert list(read(tmp_path, SPARSE, exclusions).rankings) == ["a009342"]


def test_the_columns_of_a_matrix_may_come_in_any_order_and_ties_keep_it(tmp_path):
    text = "M\n2\tb.wav\n1\ta.wav\n3\tc.wav\nQ/R\t3\t1\t2\n2\t.5\t.5\t0\n"
    assert read(tmp_path, text).rankings == {"b": ("c", "a")}


def test_a_matrix_and_the_sparse_list_of_its_distances_give_the_same_run(tmp_path):
    rng = random.Random(3)
    names = [f"d{i}" for i in range(12)]
    distances = {query: {name: rng.random() for name in names} for query in names}
    matrix = ["S", *(f"{i}\t/x y/{name}.mp3" for i, name in enumerate(names)), "\t".join(["Q/R", *map(str, range(12))])]
    matrix += ["\t".join([str(i), *map(str, distances[name].values())]) for i, name in enumerate(names)]
    sparse = ["S"]
    for name in names:
        nearest = sorted(names, key=distances[name].__getitem__)
        sparse.append("\t".join([f"{name}.mp3", *(f"{other}.mp3,{distances[name][other]}" for other in nearest)]))
    exclusions = Exclusions(artists={"d1": "x", "d2": "x"})
    assert read(tmp_path, "\n".join(matrix), exclusions) == read(tmp_path, "\n".join(sparse), exclusions)


@pytest.mark.parametrize("name", ["/a/b c/x.1.wav", "C:\\a\\x.1.wav", "x.1.mp3", " x.1.ogg "])
def test_a_document_is_named_by_its_file_without_folder_and_suffix(name):
    assert file_identifier(name) == "x.1"


def test_a_file_without_suffix_keeps_its_name():
    assert file_identifier("a001329") == "a001329"
    assert file_identifier("/a/.hidden") == ".hidden"


HEAD = "M\n1\ta.wav\n2\tb.wav\n"
ERRORS = {
    "S\na\tb,1\nc\td\n": r":3: expected results as name,distance after tabs, found 'd'$",
    "S\na\tb,1\nc\td,far\n": r":3: expected a finite number for distance, found 'far'$",
    "S\na\tb,1\nc\td,nan\n": r":3: expected a finite number for distance, found 'nan'$",
    "S\na\tb,1\nc\td,-1\n": r":3: expected a distance of 0 or more, found -1$",
    "S\na\tb,1\nc\td,1\td,2\n": r":3: document d is twice in the ranking of query c, expected once$",
    "S\na\tb,1\na\tc,1\n": r":3: query a is on line 2 already, expected it once$",
    "S\na\ta,0\n": r":1: the file holds no result for any query of the collection, expected some$",
    "S\na\tb,1\n1 Q0 a 1 2 S\n": r":3: expected a query and, after tabs, its results, found '1 Q0 a 1 2 S'$",
    HEAD: r":3: the file ends after the list of files, expected a line Q/R and the distances$",
    HEAD + "3\tx/b.mp3\n": r":4: document b is file 2 already, expected it once$",
    HEAD + "2\tc.wav\n": r":4: file number 2 is given twice, expected it once$",
    HEAD + "1\t0\t1\n": r":4: expected the number and the path of a file, or Q/R, found '1\\t0\\t1'$",
    HEAD + "Q/R\t1\n": r":4: expected Q/R and the numbers of the 2 files, found 1 numbers$",
    HEAD + "Q/R\t1\t3\n": r":4: expected Q/R and the numbers of the 2 files, found 2 numbers, other ones$",
    HEAD + "Q/R\t1\t2\n1\t0\n": r":5: expected 2 distances, found 1$",
    HEAD + "Q/R\t1\t2\n3\t0\t1\n": r":5: expected a row that begins with the number of a file, found '3'$",
    HEAD + "Q/R\t1\t2\n1\t0\tinf\n": r":5: expected a finite number for distance, found 'inf'$",
    HEAD + "Q/R\t1\t2\n1\t0\t1\n1\t0\t1\n": r":6: query a is on line 5 already, expected it once$",
}


@pytest.mark.parametrize(("text", "error"), ERRORS.items())
def test_a_result_file_that_breaks_a_rule_is_refused_where_it_does(tmp_path, text, error):
    with pytest.raises(FormatError, match=r"result" + error):
        read(tmp_path, text)
