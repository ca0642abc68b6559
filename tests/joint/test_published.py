import json
import re
from dataclasses import replace

import numpy as np
import pytest

from audiosim import package_files
from audiosim.collection.values import BINARY, BROAD, FINE
from audiosim.errors import FormatError, InputError
from audiosim.ordinal.model import (
    Between,
    Model,
    Trend,
    checksum,
    fallbacks,
    load_model,
    model_fields,
    model_for_scale,
    model_names,
    save_model,
)
from audiosim.stats.ordinal import expectation, variance

EXAMPLE = {"OV": 0.8053, "fART": 0.0217, "sGEN": 1.0, "fGEN": 0.8478}


def worked_example(name, **features):
    model = load_model(name)
    table = {key: np.array([value]) for key, value in (EXAMPLE | features).items()}
    probabilities = model.probabilities(table, 1).round(4)  # both papers continue with four printed decimals
    return (
        probabilities,
        expectation(probabilities, np.array(model.levels)),
        variance(probabilities, np.array(model.levels)),
    )


def test_the_worked_example_of_the_thesis_comes_out():
    # Urbano (2013), Appendix A; its variance line prints 1.6577 for 1.7486, its result is right.
    probabilities, mean, spread = worked_example("mout-broad", fSYS=0.25)
    assert probabilities.tolist() == [[0.0335, 0.1844, 0.7821]]
    assert mean.round(4).tolist() == [1.7486]
    assert spread.round(4).tolist() == [0.2552]


def test_the_worked_example_of_the_paper_comes_out():
    # Urbano & Schedl (2013), Appendix.
    probabilities, mean, spread = worked_example("loutput-broad", fTEAM=0.25)
    assert probabilities.tolist() == [[0.0491, 0.2441, 0.7068]]
    assert mean.round(4).tolist() == [1.6577]
    assert spread.round(4).tolist() == [0.3233]


@pytest.mark.parametrize(
    ("name", "mean", "spread"), [("historical-broad", 0.8959, 0.6338), ("historical-fine", 43.41, 900.4)]
)
def test_historical_models_have_the_moments_that_the_thesis_prints(name, mean, spread):
    # Urbano (2013), section 7.2.1; thresholds are kept to six decimals.
    model = load_model(name)
    probabilities = model.probabilities({}, 3)
    np.testing.assert_allclose(expectation(probabilities, np.array(model.levels)), mean, rtol=1e-5)
    np.testing.assert_allclose(variance(probabilities, np.array(model.levels)), spread, rtol=1e-5)


@pytest.mark.parametrize("name", model_names())
def test_every_shipped_model_names_its_source_and_a_fallback_that_needs_nothing_in_the_end(name):
    model = load_model(name)
    assert model.name == name
    assert "Urbano" in model.source
    # The thesis takes the middles of tenths, as the joint model does; the paper (section 4.2.3) 0, 11, ..., 99.
    tenths = model.components is not None or "thesis" in model.source.split(";")[0]
    fine = tuple(range(5, 100, 10)) if tenths else tuple(range(0, 100, 11))
    chain = [model]
    while (fallback := chain[-1].fallback) is not None:
        chain.append(load_model(fallback))
        if isinstance(fallback, Model) and fallback.terms:  # fitted together with the model that contains it
            count, collection = re.fullmatch(r"fitted to ([\d,]+) judgments of (\S+)", fallback.source).groups()
            (learned_on,) = [one for one in model.training.collections if one.collection == collection]
            assert 0 < int(count.replace(",", "")) <= learned_on.judged
            assert set(fallback.features) < set(model.features)
        else:
            assert "Urbano" in chain[-1].source
    assert all(one.levels == ((0, 1, 2) if model.scale == "broad" else fine) for one in chain)
    assert [one.name for one in chain if not one.features] == [chain[-1].name]
    assert chain[-1].terms == ()
    assert tuple(chain[1:]) == fallbacks(model)


def test_the_scale_picks_the_coefficients():
    assert model_for_scale("mout", BROAD).name == "mout-broad"
    assert model_for_scale("mout", FINE).name == "mout-fine"
    assert model_for_scale("mout-fine", FINE).name == "mout-fine"


def test_a_model_of_another_scale_is_refused():
    with pytest.raises(InputError, match="model mout-fine is for the fine scale, the collection's is broad"):
        model_for_scale("mout-fine", BROAD)
    with pytest.raises(InputError, match="there is no mout for the binary scale; uniform works on every scale"):
        model_for_scale("mout", BINARY)


def test_a_model_survives_a_round_trip(tmp_path):
    model = load_model("mjud-fine")
    save_model(model, tmp_path / "copy.json")
    assert load_model(tmp_path / "copy.json") == model
    assert load_model(tmp_path / "copy.json").version == model.version
    assert [path.name for path in tmp_path.iterdir()] == ["copy.json"]


def damaged(tmp_path, **changes):
    fields = json.loads((tmp_path / "copy.json").read_text()) | changes
    (tmp_path / "copy.json").write_text(json.dumps({key: value for key, value in fields.items() if value != "gone"}))
    return tmp_path / "copy.json"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thresholds": [1.0, 0.5]}, "1: the checksum does not match: the file was changed after it was written"),
        ({"source": "gone"}, "1: expected the keys .*source.*, found"),
        ({"format": 1}, "1: expected a model file of format 4, found 1"),
    ],
)
def test_a_model_file_that_was_tampered_with_is_refused(tmp_path, changes, message):
    save_model(load_model("mjud-broad"), tmp_path / "copy.json")
    with pytest.raises(FormatError, match=message):
        load_model(damaged(tmp_path, **changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "copy.json:1: not JSON: "),
        (b"\xff", "copy.json:1: byte 0xff is not UTF-8"),
        (200_000 * b"[", "copy.json:1: not JSON: nested too deeply, expected a model$"),
        (
            200_000 * b'{"fallback": ' + b"null" + 200_000 * b"}",
            "copy.json:1: not JSON: nested too deeply, expected a ",
        ),
        (b'{"format": ' + 6000 * b"9" + b"}", "copy.json:1: not JSON: Exceeds the limit "),
        (b'{"format": ' + 4000 * b"9" + b"}", r"found '9{20}'\.\.\.'9{20}' \(4000 characters\)$"),
        (b'{"format": NaN}', "copy.json:1: expected a model file of format 4, found nan$"),
        (b"[3]", "copy.json:1: expected a model file of format "),
        (b"{" + b",".join(b'"%d": 1' % key for key in range(9999)) + b', "format": FORMAT}', "copy.json:1: "),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path, text, message):
    (tmp_path / "copy.json").write_bytes(text)
    with pytest.raises(FormatError, match=message):
        load_model(tmp_path / "copy.json")


def test_wrong_types_in_a_model_file_are_refused(tmp_path):
    save_model(load_model("mjud-broad"), tmp_path / "copy.json")
    fields = json.loads((tmp_path / "copy.json").read_text()) | {"levels": "012"}
    (tmp_path / "copy.json").write_text(json.dumps(fields | {"checksum": checksum(fields)}))
    with pytest.raises(FormatError, match=r"copy.json:1: Expected `array`, got `str` - at `\$.levels`"):
        load_model(tmp_path / "copy.json")


def test_a_model_file_with_a_feature_that_is_not_known_here_is_refused_by_name(tmp_path):
    save_model(load_model("mjud-broad"), tmp_path / "copy.json")
    fields = json.loads((tmp_path / "copy.json").read_text()) | {"terms": ["fSYS", "aSYS", "aNEW"]}
    (tmp_path / "copy.json").write_text(json.dumps(fields | {"checksum": checksum(fields)}))
    with pytest.raises(FormatError, match=r"copy.json:1: unknown feature 'aNEW', expected one of fSYS"):
        load_model(tmp_path / "copy.json")


def test_a_model_that_is_at_hand_is_itself():
    model = load_model("mjud-broad")
    assert load_model(model) is model


def test_a_model_that_carries_its_fallback_survives_a_round_trip(tmp_path):
    inner = a_model(name="inner", terms=(), coefficients=())
    model = a_model(fallback=inner, covariance=((1.0, 0.5), (0.5, 1.0)), report={"rows": 3})
    save_model(model, tmp_path / "outer.json")
    assert load_model(tmp_path / "outer.json") == model
    assert (model.fallback_name, inner.fallback_name) == ("inner", None)
    assert load_model(tmp_path / "outer.json").version == model.version


COMPONENTS = {
    "query": (0.5, 0.06),
    "retrievers": (0.3, 0.02),
    "query_genre": (0.4, 0.05),
    "query_artist": (0.3, 0.04),
    "genres": (0.4, 0.07),
    "artist": (0.0001, None),
    "consensus": (0.1, 0.05),
    "team": (0.1, 0.03),
    "system": (0.1, 0.02),
    "rest": (0.7, 0.01),
}
COVARIANCE = ((4e-4, -1e-3, 0.0, 0.0), (-1e-3, 0.04, 0.0, 0.0), (0.0, 0.0, 0.01, 0.0), (0.0, 0.0, 0.0, 0.02))
COEFFICIENTS = {"constant": 0.02, "system_agreement": 0.8, "consensus": 0.3, "repetition": 0.1}
TREND = Trend(COEFFICIENTS, COVARIANCE)
BETWEEN = Between(
    {"constant": (0.1, 0.4), "system_agreement": (0.2, 0.2), "consensus": (0.2, 0.2), "repetition": (0.1, 0.2)},
    dict.fromkeys(("query", "retrievers", "consensus", "team", "system", "rest"), (0.3, 0.4)),
    ("one", "other"),
)


def a_joint_model(**changes):
    return a_model(**({"components": COMPONENTS, "trend": TREND, "between": BETWEEN} | changes))


@pytest.mark.parametrize("more", [{}, {"sound": (0.2, 0.1)}])
def test_a_joint_model_survives_a_round_trip(tmp_path, more):
    model = a_joint_model(components=COMPONENTS | more)
    save_model(model, tmp_path / "joint.json")
    again = load_model(tmp_path / "joint.json")
    assert again == model
    assert (again.components["artist"], again.trend, again.between) == ((0.0001, None), TREND, BETWEEN)
    assert (again.version, list(again.components)) == (model.version, list(model.components))
    fields = json.loads((tmp_path / "joint.json").read_text())
    assert (fields["format"], fields["components"]["query"], fields["components"]["artist"]) == (
        4,
        [0.5, 0.06],
        [0.0001, None],
    )
    assert fields["trend"]["covariance"] == list(map(list, COVARIANCE))
    assert fields["trend"]["coefficients"] == COEFFICIENTS
    assert fields["between"]["trend"]["constant"] == [0.1, 0.4]


def test_the_version_tells_models_of_other_components_or_another_trend_apart():
    first = a_joint_model()
    moved = Trend(COEFFICIENTS | {"system_agreement": 0.81}, TREND.covariance)
    others = [a_model(), a_joint_model(components=COMPONENTS | {"team": (0.1, 0.031)}), a_joint_model(trend=moved)]
    others.append(a_joint_model(between=replace(BETWEEN, sources=("one",))))
    assert len({model.version for model in (first, *others)}) == 5
    assert a_joint_model(components=dict(reversed(COMPONENTS.items()))).version == first.version


def test_every_shipped_model_is_of_the_format_that_has_components():
    for path in sorted(package_files.folder("models").glob("*.json")):
        fields = json.loads(path.read_text())
        assert fields["format"] == 4
        assert {"components", "trend", "between"} <= set(fields)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ({"query": [0.5, None]}, "1: model m must have the components artist, .*; got query$"),
        (COMPONENTS | {"rest": [0, None]}, "1: model m must have components above 0, that of rest is 0$"),
        (COMPONENTS | {"rest": [0.5]}, r"1: Expected `array` of length 2, got 1 - at `\$.components\[...\]`$"),
        (COMPONENTS | {"rest": 0.5}, r"1: Expected `array`, got `float` - at `\$.components\[...\]`$"),
        (COMPONENTS | {"rest": ["much", None]}, r"1: Expected `float`, got `str` - at `\$.components\[...\]\[0\]`$"),
    ],
)
def test_a_file_with_components_that_are_none_is_refused(tmp_path, components, message):
    save_model(a_joint_model(), tmp_path / "copy.json")
    fields = json.loads((tmp_path / "copy.json").read_text()) | {"components": components}
    (tmp_path / "copy.json").write_text(json.dumps(fields | {"checksum": checksum(fields)}))
    with pytest.raises(FormatError, match=message):
        load_model(tmp_path / "copy.json")


def test_a_component_that_was_changed_in_the_file_does_not_fit_the_checksum(tmp_path):
    save_model(a_joint_model(), tmp_path / "copy.json")
    with pytest.raises(FormatError, match="1: the checksum does not match: the file was changed after it was written"):
        load_model(damaged(tmp_path, components=COMPONENTS | {"rest": (0.9, 0.01)}))


def test_an_unknown_model_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match="unknown model 'mouth', expected a .json file or one of historical-broad, "):
        load_model("mouth")


def test_the_scale_of_a_name_may_be_left_out_where_there_is_one():
    assert load_model("joint").name == "joint-fine"
    with pytest.raises(InputError, match="^model 'mout' exists for several scales, expected mout-broad or mout-fine$"):
        load_model("mout")


def a_model(**changes):
    fields = {"name": "m", "scale": "broad", "levels": (0.0, 1.0), "terms": ("fSYS",), "coefficients": (1.0,)}
    return Model(**(fields | {"thresholds": (0.0,), "fallback": None, "source": "here"} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coefficients": ()}, "model m has 1 terms but 0 coefficients"),
        ({"thresholds": ()}, "model m has 2 levels but 0 thresholds"),
        ({"coefficients": (np.inf,)}, "model m has a number that is not finite"),
        ({"levels": (1.0, 0.0)}, "the levels of model m must rise and its thresholds fall"),
        ({"terms": ("fSUS",)}, "unknown feature 'fSUS'"),
        (
            {"definitions": {"fSYS": 0}},
            "model m has definition 0 of feature fSYS, this version of audiosim has 1: train the model again",
        ),
        ({"definitions": {}}, "model m has definition None of feature fSYS"),
        ({"covariance": ((1.0,),)}, r"the covariance of model m must be \(2, 2\)"),
        (
            {"fallback": load_model("historical-broad")},
            "models m and historical-broad, its fallback, differ in their levels",
        ),
    ],
)
def test_a_model_that_breaks_a_rule_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        a_model(**changes)


def test_features_that_are_missing_are_named():
    with pytest.raises(InputError, match="model m needs the features fSYS; fSYS missing"):
        a_model().probabilities({}, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"components": {"query": (0.5, None), "mood": (0.1, None)}},
            "model m must have the components artist, consensus, genres, query, query_artist, query_genre, rest, "
            "retrievers, system, team, and may have sound; got mood, query",
        ),
        (
            {"components": COMPONENTS | {"mood": (0.1, None)}},
            "model m must have the components artist, .*, and may have sound; got artist, consensus, genres, mood, .*",
        ),
        ({"components": COMPONENTS | {"team": (0.0, None)}}, "model m must have components above 0, that of team is 0"),
        (
            {"components": COMPONENTS | {"team": (np.nan, None)}},
            "model m must have components above 0, that of team is nan",
        ),
        (
            {"components": COMPONENTS | {"team": (np.inf, None)}},
            "model m must have components above 0, that of team is inf",
        ),
        (
            {"components": COMPONENTS | {"team": (0.1, -0.1)}},
            "model m must have standard errors of 0 or more, that of team is -0.1",
        ),
        (
            {"components": COMPONENTS | {"team": (0.1, np.nan)}},
            "model m must have standard errors of 0 or more, that of team is nan",
        ),
        ({"trend": None}, "model m must have both components and a trend, or neither"),
        ({"components": None, "between": None}, "model m must have both components and a trend, or neither"),
        (
            {"components": None, "trend": None},
            "model m must have components if it has their variation between collections",
        ),
    ],
)
def test_a_joint_model_that_breaks_a_rule_is_refused(changes, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        a_joint_model(**changes)


def square(first, upper, lower):
    """Four rows, of which the last two are given directly."""
    return ((first, upper, 0.0, 0.0), (lower, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coefficients": COEFFICIENTS | {"constant": np.nan}}, "a trend must be finite, with .*"),
        ({"coefficients": COEFFICIENTS | {"system_agreement": np.inf}}, "a trend must be finite, with .*"),
        (
            {"coefficients": {"constant": 0.1}},
            "a trend must have constant, system_agreement, consensus, repetition, got constant",
        ),
        ({"covariance": square(1.0, np.nan, np.nan)}, "a trend must be finite, with .*"),
        ({"covariance": ((1.0, 0.0), (0.0, 1.0))}, r"a trend must be finite, with a covariance of \(4, 4\)"),
        ({"covariance": square(1.0, 0.1, 0.2)}, "the covariance of a trend must be symmetric, .* got .*0.2.*"),
        ({"covariance": square(-1.0, 0.0, 0.0)}, "the covariance of a trend .*, without negative variances, got .*"),
        ({"covariance": square(1.0, 2.0, 2.0)}, "the covariance of a trend .*, without negative variances, got .*"),
    ],
)
def test_a_trend_that_breaks_a_rule_is_refused(changes, message):
    fields = {"coefficients": COEFFICIENTS, "covariance": COVARIANCE}
    assert Trend(**fields) == TREND
    assert Trend(COEFFICIENTS, square(0.0, 0.0, 0.0)).covariance[2][2] == 1
    with pytest.raises(InputError, match=f"^{message}$"):
        Trend(**(fields | changes))


@pytest.mark.parametrize("depth", [100, 900, 3000])
def test_models_within_models_end_somewhere(tmp_path, depth):
    fields = json.loads(json.dumps(model_fields(a_model(name="inner", terms=(), coefficients=()))))
    inner = {key: value for key, value in fields.items() if key not in ("format", "checksum")}
    text = "null"
    for _ in range(depth):
        text = json.dumps(inner | {"fallback": "HERE"}).replace('"HERE"', text)
    (tmp_path / "deep.json").write_text(f'{{"format": {fields["format"]}, "checksum": "x", {text[1:]}')
    with pytest.raises(FormatError, match=r"deep.json:1: (the checksum does not match|not JSON: nested too deeply)"):
        load_model(tmp_path / "deep.json")


def test_a_model_that_falls_back_on_itself_is_refused(tmp_path):
    path = tmp_path / "m.json"
    save_model(a_model(fallback=str(path)), path)
    with pytest.raises(InputError, match="has a chain of more than 8 fallbacks$"):
        fallbacks(load_model(path))


def test_a_number_beyond_all_floats_is_refused(tmp_path):
    save_model(load_model("mjud-broad"), tmp_path / "copy.json")
    fields = json.loads((tmp_path / "copy.json").read_text()) | {"levels": [0, 1, 10**400]}
    (tmp_path / "copy.json").write_text(json.dumps(fields | {"checksum": checksum(fields)}))
    with pytest.raises(FormatError, match="copy.json:1: "):
        load_model(tmp_path / "copy.json")
