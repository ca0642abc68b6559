"""The arrays of librosa and scipy, compared with their formulas; and their storage."""

import subprocess
import sys

import numpy as np
import pytest

from audiosim.sound.filters import CACHE, filter_banks
from audiosim.sound.parameters import Parameters

SETS = [Parameters(), Parameters(44_100, 4096, 1024, 40, 13), Parameters(8_000, 512, 256, first=False)]
FIRST_USE = "from audiosim.sound.filters import filter_banks; from audiosim.sound.parameters import Parameters"
IMPORTS = f"import sys; {FIRST_USE}; filter_banks(Parameters()); print('librosa' in sys.modules)"


def hertz(mel):
    """Slaney (1998): linear below 1 kHz at 200 / 3 Hz per mel, logarithmic above, 27 steps for a factor of 6.4."""
    return np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))


@pytest.mark.parametrize("parameters", SETS, ids=str)
def test_the_mel_filters_are_slaney_s_triangles(parameters):
    nyquist = parameters.rate_hz / 2
    top = 15 + 27 * np.log(nyquist / 1000) / np.log(6.4)
    edges = hertz(np.linspace(0, top, parameters.bands + 2))
    bins = np.arange(parameters.frame // 2 + 1) * parameters.rate_hz / parameters.frame
    expected = np.zeros((parameters.bands, len(bins)))
    for band in range(parameters.bands):
        low, centre, high = edges[band : band + 3]
        triangle = np.interp(bins, [low, centre, high], [0, 1, 0])
        expected[band] = triangle * 2 / (high - low)
    banks = filter_banks(parameters)
    np.testing.assert_allclose(banks.mel, expected, atol=1e-7)
    np.testing.assert_allclose(banks.centres_hz, edges[1:-1])
    np.testing.assert_allclose(banks.bins_hz, bins)


@pytest.mark.parametrize("parameters", SETS, ids=str)
def test_window_and_cosines_follow_their_formulas(parameters):
    frame, n = parameters.frame, parameters.bands
    start = 0 if parameters.first else 1
    order = np.arange(start, start + parameters.coefficients)
    transform = np.sqrt(2 / n) * np.cos(np.pi * (np.arange(n)[:, None] + 0.5) * order / n)
    transform[:, order == 0] /= np.sqrt(2)
    banks = filter_banks(parameters)
    np.testing.assert_allclose(banks.window, 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame), atol=1e-7)
    np.testing.assert_allclose(banks.cosines, transform, atol=1e-6)


@pytest.mark.slow
def test_librosa_is_imported_once_and_a_broken_file_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    filter_banks.cache_clear()
    filter_banks(Parameters())
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    (kept,) = (tmp_path / "cache").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:1000])
    filter_banks.cache_clear()
    filter_banks(Parameters())
    assert [*(tmp_path / "cache").iterdir()] == [kept]
    assert kept.read_bytes() == whole


@pytest.mark.slow
def test_where_nothing_can_be_kept_the_arrays_are_made_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(CACHE, str(tmp_path / "file" / "cache"))
    parameters = Parameters(11_025, 1024, 256, 64)
    filter_banks.cache_clear()
    assert filter_banks(parameters).mel.shape == (64, 513)
    assert (tmp_path / "file").read_text() == "in the way"
