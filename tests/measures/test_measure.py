import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.errors import InputError
from audiosim.measures.measure import MEASURES, Measure, as_measure, parse_measure


def values(parameter):
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if parameter.pattern:
        return st.from_regex(parameter.pattern, fullmatch=True)
    return st.floats(parameter.low, min(parameter.high, 1e300), exclude_min=not parameter.closed, exclude_max=True)


@st.composite
def measures(draw):
    name = draw(st.sampled_from(list(MEASURES)))
    chosen = draw(st.fixed_dictionaries({}, optional={p.name: values(p) for p in MEASURES[name].parameters}))
    if chosen.get("form") == "original":
        chosen.pop("ideal", None)
    if "rel" in chosen:
        chosen = {name: value for name, value in chosen.items() if name in ("rel", "p")}
    if chosen.get("gain") != "exponential":
        chosen.pop("gain_base", None)
    pairs = draw(st.permutations(list(chosen.items())))
    return Measure(MEASURES[name], draw(st.integers(1, 999_999)), tuple(pairs))


@pytest.mark.slow
@given(measures())
def test_a_measure_survives_being_written_and_read(measure):
    again = parse_measure(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert str(again) == str(measure)
    assert pickle.loads(pickle.dumps(measure)) == measure


@pytest.mark.slow
@given(measures(), st.randoms())
def test_the_order_in_which_parameters_are_written_means_nothing(measure, random):
    shuffled = list(measure.parameters)
    random.shuffle(shuffled)
    assert Measure(measure.definition, measure.cutoff, tuple(shuffled)) == measure


# The spellings are those of the public contract.
@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("CG@5", "CG@5"),
        ("DCG@10", "DCG@10"),
        ("DCG(gain=exponential)@5", "DCG(gain=exponential)@5"),
        ("P(min=40)@5", "P(min=40)@5"),
        ("nDCG(ideal=user)@5", "nDCG(ideal=user)@5"),
        ("RBP(p=0.8)@5", "RBP@5"),
        ("nDCG(ideal=judged,form=bounded,base=2,gain=linear)@5", "nDCG@5"),
        ("nDCG( form = original , base = 3.0 )@05", "nDCG(base=3,form=original)@5"),
        ("Q(beta=1e-3)@5", "Q(beta=0.001)@5"),
        ("nDCG(gain=exponential,gain_base=3)@5", "nDCG(gain=exponential,gain_base=3)@5"),
        ("nDCG(gain=exponential,gain_base=2)@5", "nDCG(gain=exponential)@5"),
        ("GAP(thresholds=40:0.5/70:0.5)@5", "GAP(thresholds=40:0.5/70:0.5)@5"),
        ("GAP(thresholds=uniform)@5", "GAP@5"),
        ("RBP(rel=1, p=0.8)@5", "RBP(rel=1)@5"),
        ("nDCG(dcg='exp-log2')@5", "nDCG(gain=exponential)@5"),
        ("nDCG(dcg=log2)@5", "nDCG@5"),
    ],
)
def test_what_is_written_is_printed_without_defaults_and_in_one_order(text, printed):
    assert str(parse_measure(text)) == printed


@pytest.mark.parametrize("change", [str, str.lower, str.upper, str.title])
@pytest.mark.parametrize(
    ("text", "known"),
    [
        *((name, name) for name in MEASURES),
        *(("MAP", "AP"), ("MRR", "RR"), ("precision", "P"), ("mean average precision", "AP"), ("recip_rank", "RR")),
    ],
)
def test_a_measure_is_known_in_any_case_and_by_the_names_of_other_tools(text, known, change):
    assert parse_measure(f"{change(text)}@7") == parse_measure(f"{known}@7")


@pytest.mark.parametrize("between", ["_", ".", " at ", " ", " @ "])
@pytest.mark.parametrize(("text", "known"), [("ndcg_cut", "nDCG"), ("map_cut", "AP"), ("P", "P"), ("recip_rank", "RR")])
def test_a_cutoff_is_known_as_trec_eval_and_people_write_it(text, known, between):
    assert as_measure(f"{text}{between}10", 5) == parse_measure(f"{text}{between}10") == parse_measure(f"{known}@10")


def test_what_is_chosen_can_be_asked_for():
    measure = parse_measure("RBP(p=0.5)@5")
    assert (measure.number("p"), measure.word("gain"), measure.word("ideal")) == (0.5, "linear", "judged")
    assert parse_measure("P@5").number("min") == 0
    assert parse_measure("P@5").word("form") == ""


def test_a_measure_is_taken_as_it_is_or_parsed():
    assert as_measure("CG@5") == parse_measure("CG@5")
    assert as_measure(parse_measure("CG@5")) == parse_measure("CG@5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CG", "measure 'CG' has no cutoff, expected one such as CG@5"),
        ("recip_rank", "measure 'recip_rank' has no cutoff, expected one such as RR@5"),
        (
            "Rprec",
            "GAP, ADR; it counts the whole ranking and is no measure here",
        ),
        (
            "recall_10",
            "unknown measure 'recall', expected one of P, AP, RR, CG, DCG, nDCG, Q, RBP, ERR, EDCG, GAP, ADR; recall",
        ),
        ("CG@", "unknown measure 'CG@', expected a name and a cutoff"),
        (
            "precision, 10",
            "unknown measure 'precision, 10', expected a name and a cutoff such as CG@5; the names are P",
        ),
        ("CG(gain=linear@5", "unknown measure 'CG(gain=linear@5', expected a name and a cutoff"),
        ("recall@5", "; recall is no measure here; AP(rel=1) and nDCG also count"),
        ("R@5", "; recall is no measure here"),
        ("Hit Rate@5", "; hit rate is no measure here; RR also asks for one hit"),
        (
            "XCG@5",
            "unknown measure 'XCG', expected one of P, AP, RR, CG, DCG, nDCG, Q, RBP, ERR, EDCG, GAP, ADR",
        ),
        ("CG@0", "the cutoff of CG must be at least 1, got 0"),
        ("CG()@5", "CG()@5: expected parameters such as gain=exponential in brackets, got ''"),
        ("CG(gain)@5", "CG(gain)@5: expected parameters such as gain=exponential in brackets, got 'gain'"),
        ("RBP(p=0.5,p=0.6)@5", "RBP(p=0.5,p=0.6)@5: p is written twice, expected it once"),
        ("P(gain=linear)@5", "P has no parameter 'gain', expected min or rel"),
        ("CG(ideal=user)@5", "CG has no parameter 'ideal', expected gain or gain_base or form"),
        ("CG(gain=cubic)@5", "gain of CG must be linear or exponential, got cubic"),
        ("nDCG(ideal=mine)@5", "ideal of nDCG must be judged or user, got mine"),
        ("DCG(form=first)@5", "form of DCG must be bounded or original, got first"),
        ("RBP(p=1)@5", "p of RBP must be a number between 0 and 1, got 1"),
        ("RBP(p=high)@5", "p of RBP must be a number between 0 and 1, got high"),
        ("RBP(p=0_1)@5", "p of RBP must be a number between 0 and 1, got 0_1"),
        ("DCG(base=1)@5", "base of DCG must be a number above 1, got 1"),
        ("Q(beta=-1)@5", "beta of Q must be a number, 0 or more, got -1"),
        ("P(min=0)@5", "min of P must be a grade above 0, got 0"),
        ("P(min=inf)@5", "min of P must be a grade above 0, got inf"),
        ("Q(form=original,ideal=user)@5", "Q has both form=original and ideal=user, expected only one of them"),
        ("AP(rel=1,min=2)@5", "AP has both rel=1 and min=2, expected only one of them"),
        ("nDCG(dcg='log2',gain=linear)@5", "nDCG(dcg='log2',gain=linear)@5: gain is written twice, expected it once"),
        ("CG(gain_base=3)@5", "gain_base of CG is only allowed with gain=exponential"),
        ("CG(gain=exponential,gain_base=1)@5", "gain_base of CG must be a number above 1 and below 100, got 1"),
        (
            "GAP(thresholds=40)@5",
            "thresholds of GAP must be uniform, or GRADE:SHARE/GRADE:SHARE such as 40:0.3/70:0.7, got 40",
        ),
    ],
)
def test_a_measure_that_is_none_is_refused(text, message):
    with pytest.raises(InputError) as error:
        parse_measure(text)
    assert message in str(error.value)


def test_a_measure_is_made_of_a_definition_not_of_a_name():
    message = "^a measure is made of a Definition, got 'CG'; expected parse_measure of text$"
    with pytest.raises(InputError, match=message):
        Measure("CG", 5)
