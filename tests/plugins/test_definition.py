"""The user's own measures work like any other."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.values import FINE
from audiosim.errors import InputError
from audiosim.measures.measure import MEASURES, Definition, Measure, Parameter, judged_ideal, parse_measure, score

WAY = Parameter("way", "last", "first or last", ("first", "last"))
SHARE = Parameter("share", 1.0, "a number above 0")


def one_rank(measure, scale, grades, judged):
    """The grade at the first or the last given rank, as a share of the highest grade."""
    rank = 0 if measure.word("way") == "first" else -1
    return measure.number("share") * np.nan_to_num(grades[..., rank]) / scale.maximum


ONE = Definition("ONE2", (WAY, SHARE), one_rank)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """ONE2 is found like audiosim's own."""
    monkeypatch.setitem(MEASURES, "ONE2", ONE)


def test_the_definitions_of_audiosim_s_own_measures_have_their_names_and_parameters():
    own = ["P", "AP", "RR", "CG", "DCG", "nDCG", "Q", "RBP", "ERR", "EDCG", "GAP", "ADR"]
    assert list(MEASURES) == [*own, "ONE2"]
    assert all(definition.name == name for name, definition in MEASURES.items())


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ONE2@5", "ONE2@5"),
        ("ONE2(way=last,share=1)@5", "ONE2@5"),
        ("ONE2(share=2,way=first)@5", "ONE2(way=first,share=2)@5"),
    ],
)
def test_a_measure_of_one_s_own_is_read_printed_compared_and_sent_like_any_other(text, printed):
    measure = parse_measure(text)
    assert str(measure) == printed
    again = parse_measure(printed)
    assert (again, hash(again)) == (measure, hash(measure))
    sent = pickle.loads(pickle.dumps(measure))
    assert sent == measure
    assert sent.definition == ONE
    assert str(replace(measure, cutoff=9)) == printed.replace("@5", "@9")
    assert measure != parse_measure("CG@5")
    assert measure != replace(measure, definition=Definition("ONE2", (WAY, SHARE), score))


def test_a_measure_of_one_s_own_sees_the_ranks_down_to_the_cutoff():
    grades, judged = np.array([[10.0, 20, 30, 40]]), np.full((1, 2), 50.0)
    found = [
        float(score(parse_measure(text), FINE, grades, judged)[0])
        for text in ("ONE2@3", "ONE2(way=first)@3", "ONE2(share=0.5)@2")
    ]
    assert found == pytest.approx([0.3, 0.1, 0.1])


def test_a_measure_says_in_words_what_it_measures():
    assert parse_measure("RBP(p=0.5)@7").words == (
        "gain of the first 7 results for a listener who goes on after each with probability 0.5"
    )
    assert parse_measure("ONE2@5").words == ""


@pytest.mark.parametrize("name", list(MEASURES))
def test_the_words_of_a_measure_never_count_one_as_several(name):
    words = parse_measure(f"{name}@1").words
    assert words
    assert not re.search(r"\b(first 1|1 results|first \d+ results|first one results)\b", words)
    assert parse_measure("CG@1").words == "mean gain of the first result"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: parse_measure("TWO@5"), "unknown measure 'TWO', expected one of P, AP, .*, ADR, ONE2"),
        (lambda: parse_measure("ONE2(gain=linear)@5"), "ONE2 has no parameter 'gain', expected way or share"),
        (lambda: parse_measure("ONE2(way=up)@5"), "way of ONE2 must be first or last, got up"),
        (lambda: Measure(Definition("ONE", (), one_rank), 5, (("a", 1.0),)), "ONE has no parameter 'a', expected none"),
        (
            lambda: Definition("ONE", (), one_rank, words="rank", first_words="rank by {way}"),
            "the words of ONE may name its cutoff and parameters, got way",
        ),
        (
            lambda: Definition("ONE", (), one_rank, words="rank down to {cutoff} by {way}"),
            "the words of ONE may name its cutoff and parameters, got way",
        ),
        *(
            (
                lambda words=words: Definition("ONE", (WAY,), one_rank, words=words),
                r"the words of ONE must be text with \{cutoff\} or parameters in braces, got '.*': .+",
            )
            for words in ("gain of {}", "gain {", "gain } of {cutoff}", "{way:.2f}", "{cutoff:q}")
        ),
        (lambda: Definition("ONE"), "ONE needs a score or weights of ranks, got neither"),
        (
            lambda: Definition("ONE", (), one_rank, relative=judged_ideal),
            "ONE needs weights of ranks to be relative to the ideal ranking, got none",
        ),
        (lambda: Measure(ONE, 0), "the cutoff of ONE2 must be at least 1, got 0"),
        (
            lambda: Definition("ONE-2", (), one_rank),
            "the name of a measure must be a letter, then letters and digits, got 'ONE-2'",
        ),
        (
            lambda: Definition("ONE", (WAY, SHARE, WAY), one_rank),
            "the parameters of ONE must differ in their names, got way, share, way",
        ),
    ],
)
def test_a_definition_that_is_none_is_refused(make, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        make()
