"""Sound made for the tests: written once, read by many."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

RATE_HZ = 22_050
REAL = Path(__file__).parents[3] / "shared" / "data" / "sounds"


def make_music(seconds=5.0, seed=0, rate_hz=RATE_HZ):
    """Notes that change, with harmonics, over noise that comes and goes: nothing steady, peak near 0.5."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate_hz)) / rate_hz
    beat = (time * 4).astype(int)
    pitch = 110 * 2 ** (rng.integers(0, 36, beat[-1] + 1) / 12)
    phase = 2 * np.pi * np.cumsum(pitch[beat]) / rate_hz
    notes = sum(np.sin(k * phase) / k for k in (1, 2, 3, 4)) * np.exp(-3 * (time * 4 % 1))
    noise = rng.standard_normal(len(time)) * rng.uniform(0, 0.3, beat[-1] + 1)[beat]
    return (0.2 * notes + 0.1 * noise).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def _workers(forked_workers):
    """Fork the workers of all these tests: their start is tested in tests/workers."""


@pytest.fixture(scope="session")
def music():
    return make_music


@pytest.fixture(scope="session")
def real_clips():
    """The real clips beside the checkout."""
    clips = sorted(REAL.glob("*.ogg"))
    if not clips:
        pytest.skip("needs the real clips in ../shared/data/sounds, which are not part of the project")
    return clips


@pytest.fixture(scope="session")
def album(tmp_path_factory):
    """Six short recordings in two folders, in four formats, and files that are not sound."""
    folder = tmp_path_factory.mktemp("album")
    for name in ("a/one.wav", "a/two.flac", "a/three.ogg", "b/four.wav", "b/five.mp3", "six.wav"):
        (folder / name).parent.mkdir(exist_ok=True)
        soundfile.write(folder / name, make_music(2, seed=len(name) + ord(name[-5])), RATE_HZ)
    (folder / "cover.jpg").write_bytes(b"not sound")
    (folder / ".hidden.wav").write_bytes(b"not sound")
    return folder
