"""One file at a time: its Gaussian, or why there is none."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from audiosim.audio.decode import Signal, read
from audiosim.audio.describe import Described, Failure, describe, describe_all, listed
from audiosim.audio.mfcc import STANDARD
from audiosim.audio.store import Recording
from audiosim.errors import InputError

TIME = np.arange(3 * 22_050) / 22_050
STEADY = "steady, as a pure tone is: its frames do not vary in every direction, expected sound that changes"


def described(path):
    return describe(listed({"x": path})[0], STANDARD)


def written(folder, samples):
    soundfile.write(folder / "x.wav", samples, 22_050, subtype="FLOAT")
    return folder / "x.wav"


def test_a_row_is_the_mean_and_the_covariance_of_librosa_s_frames(tmp_path, music):
    # The frames agree to 1e-3 on coefficients that vary by about 10, so second moments agree to about 1e-2.
    librosa = pytest.importorskip("librosa")
    frames = librosa.feature.mfcc(y=music(), sr=22_050, n_mfcc=20)
    recording, row = described(written(tmp_path, music()))
    np.testing.assert_allclose(row[:20], frames.mean(axis=1), atol=1e-3)
    np.testing.assert_allclose(row[20:], np.cov(frames)[np.triu_indices(20)], rtol=1e-3, atol=1e-2)
    assert (recording.seconds, recording.frames, recording.note) == (5.0, 216, "")


def test_the_notes_of_a_signal_are_kept(tmp_path, music):
    recording, _ = described(written(tmp_path, np.clip(10 * music(), -1, 1)))
    assert recording.note.startswith("clipped: ")


def test_a_recording_remembers_its_file(tmp_path, music):
    path = written(tmp_path, music())
    recording = described(path).recording
    status = path.stat()
    assert recording.path == str(path)
    assert (recording.size_bytes, recording.mtime_ns) == (status.st_size, status.st_mtime_ns)


# None of these has a density over 20 coefficients: the frames keep to fewer directions, up to rounding.
@pytest.mark.parametrize(
    "samples",
    [
        0.5 * np.sin(2 * np.pi * 440 * TIME),
        0.5 * np.sin(2 * np.pi * 22_050 / 32 * TIME),
        0.5 * np.sign(np.sin(2 * np.pi * 220 * TIME)),
        (np.arange(len(TIME)) % 5000 == 0).astype(float),
        np.random.default_rng(0).standard_normal(len(TIME)) * 1e-9,
        0.25 + 1e-7 * TIME,
    ],
    ids=["tone", "tone on a bin", "square", "clicks", "below the floor", "all but constant"],
)
def test_sound_that_does_not_vary_is_refused(tmp_path, samples):
    path = written(tmp_path, samples)
    assert described(path) == Failure(str(path), STEADY)


@pytest.mark.parametrize(
    "samples",
    [
        np.random.default_rng(0).integers(-1, 2, len(TIME)) / 2**15,
        0.5 * np.sin(2 * np.pi * (100 * TIME + 900 * TIME**2)),
        0.1 * np.random.default_rng(0).standard_normal(len(TIME)),
    ],
    ids=["one step of 16 bits", "sweep", "noise"],
)
def test_sound_that_varies_is_accepted_however_dull(tmp_path, samples):
    outcome = described(written(tmp_path, samples))
    assert isinstance(outcome, Described)
    assert np.isfinite(outcome.row).all()


def test_the_shortest_recording_has_enough_frames(tmp_path, music):
    assert described(written(tmp_path, music(1))).recording.frames == 44


def test_a_failure_names_the_file_once(tmp_path):
    assert described(tmp_path / "none.wav") == Failure(
        str(tmp_path / "none.wav"), "cannot be read (No such file or directory), expected a sound file"
    )


def other_read(path: Path) -> Signal:
    return Signal(read(path).samples[::-1].copy(), 22_050)


def test_another_decoder_can_be_handed_in(tmp_path, music):
    files = listed({"x": written(tmp_path, music())})
    (usual,), (other,) = describe_all(files, STANDARD), describe_all(files, STANDARD, other_read)
    assert other.recording == usual.recording
    assert not np.array_equal(other.row, usual.row)


def test_no_worker_at_all_is_refused():
    with pytest.raises(InputError, match=r"^n_jobs must not be 0; -1 means one per processor$"):
        describe_all([Recording("x")], STANDARD, n_jobs=0)
