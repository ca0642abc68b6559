"""Suggestions for mistyped names; advice in the words of a face; lists of fields in docstrings."""

import ast
import re
from functools import partial
from pathlib import Path

import pytest

import audiosim
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import as_measure
from audiosim.text import as_option, counted, did_you_mean, field_list, nearest_name, quoted, spell_advice, spelled_p


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("gnere", ["artist", "genre", "path"], "genre"),
        ("GENRE ", ["artist", "genre", "path"], "genre"),
        ("part", ["artist", "genre", "path"], None),
        ("", ["artist"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_name_is_the_same_in_other_case_or_of_nearly_the_same_letters(name, known, near):
    assert nearest_name(name, known) == near


def test_among_very_many_names_only_the_case_is_looked_at():
    many = [f"T{number}" for number in range(100_000)]
    assert nearest_name("t99999", many) == "T99999"
    assert nearest_name("t999999", many) is None


def test_nothing_is_meant_by_what_is_like_nothing():
    assert did_you_mean("xyz", ["genre"]) == ""


def test_nouns_and_verbs_agree_with_their_number():
    assert [counted(n, "query") for n in (0, 1, 2_000)] == ["0 queries", "1 query", "2,000 queries"]
    assert [counted(n, "judgment", "is") for n in (0, 1, 2)] == ["0 judgments are", "1 judgment is", "2 judgments are"]
    assert [counted(n, "document", "has") for n in (1, 2)] == ["1 document has", "2 documents have"]


def test_what_is_long_is_quoted_by_its_ends():
    assert quoted("abc") == "'abc'"
    assert quoted(50 * "a" + 50 * "b") == "'aaaaaaaaaaaaaaaaaaaa'...'bbbbbbbbbbbbbbbbbbbb' (100 characters)"


@pytest.mark.parametrize(
    ("find", "name", "near"),
    [(as_measure, "NDGC@5", "nDCG"), (as_measure, "nDGC@5", "nDCG"), (partial(make_estimator, None), "mouth", "mout")],
)
def test_misspelt_measures_and_models_are_told_what_was_meant(find, name, near):
    with pytest.raises(ValueError, match=rf"; did you mean {near}\?$"):
        find(name)


def test_advice_is_spelled_by_a_face_and_nothing_else_is():
    said = 'RBP(ideal=user)@5 of `a`: choose `same_artist="drop"`, `scale=SCALE` or `partial=True`'
    assert (
        spell_advice(said, as_option)
        == "RBP(ideal=user)@5 of `a`: choose --same-artist drop, --scale SCALE or --partial"
    )


def test_no_error_below_the_command_speaks_of_options():
    """A notebook or a request that meets it has none: see `spell_advice`."""
    found = []
    for path in Path(audiosim.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        if path.parent.name in ("cli", "report") or "--" not in text:
            continue
        tree = ast.parse(text)
        bodies = (one.body for one in ast.walk(tree) if isinstance(one, ast.Module | ast.ClassDef | ast.FunctionDef))
        texts = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
        said = (one for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str))
        options = re.compile(r"(?:^|[\s(])--[a-z]")
        found += [one.value for one in said if id(one) not in texts and options.search(one.value)]
    whole_commands = ("audiosim ", "pip install ")
    assert [one for one in found if not any(command in one for command in whole_commands)] == []


def test_advice_is_in_pythons_words():
    """A notebook shows it as it is: a text in quotes, True, a number, or a word in capitals for what the reader has."""
    advice = re.compile(r"`[a-z_]+=([^`=]+)`")
    package = Path(audiosim.__file__).parent
    files = {path.resolve() for folder in (package, package / "service") for path in folder.rglob("*.py")}
    said = [value for path in files for value in advice.findall(path.read_text("utf-8"))]
    assert len(said) > 20
    python = re.compile(r"""(["']).+\1|[A-Z]+|True|\{.*!r\}|\{port.*\}""")
    assert [value for value in said if not python.fullmatch(value)] == []


def test_a_docstring_is_its_text_and_its_lists_of_fields():
    text, fields = field_list(
        """Difference of two systems.

        low, high  ends of the interval
        n          number of queries, at least 2;
                   see `test`

        A number of queries  is no field.
        """
    )
    assert text == "Difference of two systems.\n\nA number of queries  is no field."
    assert fields == {
        "low": "ends of the interval",
        "high": "ends of the interval",
        "n": "number of queries, at least 2; see `test`",
    }
    assert field_list("") == ("", {})


@pytest.mark.parametrize(
    ("value", "said"), [(1.0, "1.0000"), (0.73767, ".7377"), (0.0001, ".0001"), (0.00009, "<.0001"), (0.0, "<.0001")]
)
def test_no_p_value_is_printed_as_0(value, said):
    assert spelled_p(value) == said
