"""collection.toml."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.settings import Settings, read_settings, settings_lines
from audiosim.collection.values import BINARY, BROAD, FINE, Scale
from audiosim.errors import FormatError
from audiosim.tables.text import write_text


def read(tmp_path, text):
    (tmp_path / "collection.toml").write_text(text)
    return read_settings(tmp_path / "collection.toml")


def test_all_keys_are_read_and_all_are_optional(tmp_path):
    text = 'name = "N"\nscale = [0, 0.5, 1]\ncutoff = 5\nnot_artists = ["Various Artists"]\n'
    expected = Settings("N", Scale("custom", (0.0, 0.5, 1.0)), 5, frozenset({"Various Artists"}))
    assert read(tmp_path, text) == expected
    assert read(tmp_path, "\ufeff# nothing\r\n") == Settings()
    assert read(tmp_path, 'scale = "broad"').scale == BROAD


ERRORS = {
    "": r":1: the file is empty, expected name, task, scale, cutoff, not_artists, system_from, same_artist, "
    r"edition_of, evidence, judges, set_aside, sounds$",
    'name = "x"\n\ncutof = 5\n': r":3: unknown key cutof, expected name, task, scale, cutoff, not_artists, "
    r"system_from, same_artist, edition_of, evidence, judges, set_aside, sounds; did you mean cutoff\?$",
    'name = "x"\n[defaults]\na = 1\n': r":2: unknown key defaults, expected name, task, scale, cutoff, not_artists, "
    r"system_from, same_artist, edition_of, evidence, judges, set_aside, sounds$",
    'name = "x"\ncutoff = \n': r":2: not TOML: Invalid value$",
    'name = "x"\ncutoff = 1\nscale = [1,': r":3: not TOML: ",
    'name = "x"\nname = "y"\n': r":2: not TOML: Cannot overwrite a value$",
    'name = "x"\nscale = "medium"\n': r":2: scale: unknown scale 'medium', expected fine, broad, binary or a list of "
    r"levels$",
    "scale = 3\n": r":1: scale: expected fine, broad, binary or a list of levels, found 3$",
    "scale = [0, true]\n": r":1: scale: expected fine, broad, binary or a list of levels, found \[0, True\]$",
    "scale = [1, 0]\n": r":1: scale: the levels of a scale must rise from 0 or more, got \[1.0, 0.0\]$",
    "scale = [0, inf]\n": r":1: scale: a scale needs at least two levels, all finite, got \[0.0, inf\]$",
    "name = 3\n": r":1: name: expected text, found 3$",
    "cutoff = 0\n": r":1: cutoff: expected a whole number of 1 to 1000000, found 0$",
    "cutoff = true\n": r":1: cutoff: expected a whole number of 1 to 1000000, found True$",
    "cutoff = 5.0\n": r":1: cutoff: expected a whole number of 1 to 1000000, found 5.0$",
    "cutoff = 1"
    + 400 * "0"
    + "\n": r":1: cutoff: expected a whole number of 1 to 1000000, found '10{19}'\.\.\.'0{20}' "
    r"\(401 characters\)$",
    "scale = [0, 1" + 400 * "0" + "]\n": r":1: scale: expected fine, broad, binary or a list of levels, found ",
    "cutoff = "
    + 6000 * "9"
    + "\n": r":1: this TOML cannot be read: it has a number with thousands of digits, or is nested too deeply$",
    "scale = "
    + 20_000 * "["
    + "\n": r":1: this TOML cannot be read: it has a number with thousands of digits, or is nested too deeply$",
    "same_artist = true\n": r":1: same_artist: expected keep or drop, found True$",
    'system_from = "name"\n': r":1: system_from: expected file or tag, found 'name'$",
    'not_artists = "Various Artists"\n': r":1: not_artists: expected a list of texts, found 'Various Artists'$",
}


@pytest.mark.parametrize(("text", "error"), ERRORS.items())
def test_settings_that_break_a_rule_are_refused_where_they_do(tmp_path, text, error):
    with pytest.raises(FormatError, match=r"^[^\n]*collection\.toml" + error):
        read(tmp_path, text)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEVELS = st.lists(st.floats(0, 1e6), min_size=2, max_size=5, unique=True).map(lambda levels: tuple(sorted(levels)))
SCALES = st.sampled_from([FINE, BROAD, BINARY]) | LEVELS.map(lambda levels: Scale("custom", levels))


@pytest.mark.slow
@given(
    settings=st.builds(
        Settings, TEXTS, SCALES, st.integers(1, 10**6), st.frozensets(TEXTS, max_size=3), task=st.none() | TEXTS
    )
)
def test_settings_that_are_written_are_read_again(tmp_path_factory, settings):
    path = tmp_path_factory.mktemp("settings") / "collection.toml"
    write_text(path, settings_lines(settings))
    assert read_settings(path) == settings
