"""One file at a time: its Gaussian, or the reason why it has none."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from audiosim.errors import InputError
from audiosim.sound import frames as frames_module
from audiosim.sound.decode import Signal, read
from audiosim.sound.describe import Described, Failure, describe_all, describe_file, listed, summarise
from audiosim.sound.index import extract
from audiosim.sound.parameters import PLAIN, STANDARD_FRAMES
from audiosim.sound.sources import LeftOut
from audiosim.sound.store import Recording

TIME = np.arange(3 * 22_050) / 22_050
STEADY = r"steady: its frames do not vary in every direction, so [0-9.e-]+ was added to each variance$"


D = len(STANDARD_FRAMES.dimensions)


def described(path, parameters=STANDARD_FRAMES):
    return describe_file(listed({"x": path})[0], parameters)


def written(folder, samples):
    soundfile.write(folder / "x.wav", samples, 22_050, subtype="FLOAT")
    return folder / "x.wav"


@pytest.mark.slow
def test_a_row_is_the_mean_and_the_covariance_of_librosa_s_frames(tmp_path, music):
    # The frames agree to 1e-3 on coefficients that vary by about 10, so second moments agree to about 1e-2.
    librosa = pytest.importorskip("librosa")
    frames = librosa.feature.mfcc(y=music(), sr=22_050, n_mfcc=20)
    recording, row = described(written(tmp_path, music()), PLAIN)
    np.testing.assert_allclose(row[:20], frames.mean(axis=1), atol=1e-3)
    np.testing.assert_allclose(row[20:-1], np.cov(frames)[np.triu_indices(20)], rtol=1e-3, atol=1e-2)
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


# None of these has a density over all dimensions, because their frames lie in fewer dimensions, up to rounding.
FLAT = {
    "tone": 0.5 * np.sin(2 * np.pi * 440 * TIME),
    "tone on a bin": 0.5 * np.sin(2 * np.pi * 22_050 / 32 * TIME),
    "square": 0.5 * np.sign(np.sin(2 * np.pi * 220 * TIME)),
    "clicks": (np.arange(len(TIME)) % 5000 == 0).astype(float),
    "one click": (np.arange(len(TIME)) == 30_000).astype(float),
}
STILL = {
    "zeros": np.zeros(len(TIME)),
    "below the floor": np.random.default_rng(0).standard_normal(len(TIME)) * 1e-9,
    "constant": np.full(len(TIME), 0.25),
    "all but constant": 0.25 + 1e-7 * TIME,
    "three steps of 24 bits": np.random.default_rng(1).integers(-1, 2, len(TIME)) / 2**23,
}


def eigenvalues(row):
    covariance = np.zeros((D, D))
    covariance[np.triu_indices(D)] = row[D:-1]
    return np.linalg.eigvalsh(covariance + np.triu(covariance, 1).T)


@pytest.mark.parametrize("name", FLAT)
def test_sound_that_is_steady_gets_a_thin_ridge_and_a_note(tmp_path, name):
    recording, row = described(written(tmp_path, FLAT[name]))
    smallest, *_, largest = eigenvalues(row)
    # The ridge of 3e-6 of the largest, which `to_rows` raises to d 2^-23 of it, as rounding to single precision needs.
    # Each entry is rounded by up to 2^-24 of the largest one, which moves an eigenvalue by as much or more.
    assert smallest == pytest.approx(max(1e-3, D * 2.0**-23 * largest), rel=1e-3, abs=2.0**-24 * largest)
    assert re.search(STEADY, recording.note)
    assert not recording.silent


@pytest.mark.parametrize("name", STILL)
def test_what_cannot_be_heard_is_marked_silent_and_has_a_density_all_the_same(tmp_path, name):
    recording, row = described(written(tmp_path, STILL[name]))
    assert recording.silent
    assert "silent: " in recording.note
    assert np.isfinite(row).all()
    assert eigenvalues(row)[0] > 0


def test_a_covariance_with_its_ridge_survives_single_precision(tmp_path):
    for samples in (FLAT | STILL).values():
        _, row = described(written(tmp_path, samples))
        assert eigenvalues(row.astype(float))[0] > 0


def test_the_ridge_is_no_more_than_it_takes():
    # Frames of known covariance: 19 variances of 4, and one arbitrarily small.
    frames = np.random.default_rng(0).standard_normal((500, 20))
    centred = frames - frames.mean(axis=0)
    white = centred @ np.linalg.inv(np.linalg.cholesky(centred.T @ centred / 499)).T
    for smallest, ridge in ((1.0, 0), (1.1e-3, 0), (4e-4, 6e-4), (0, 1e-3)):
        gaussian, added, still = summarise([white * np.sqrt([smallest] + [4] * 19)])
        assert added == pytest.approx(ridge, abs=1e-9)
        np.testing.assert_allclose(np.diag(gaussian.covariance), [smallest + ridge] + [4 + ridge] * 19, atol=1e-9)
        assert not still
    assert summarise([np.ones((500, 20))])[1:] == (1e-3, True)


def divergences(rows):
    """Symmetrised Kullback-Leibler divergence written out pair by pair."""
    means = rows[:, :D]
    covariances = np.zeros((len(rows), D, D))
    covariances[:, *np.triu_indices(D)] = rows[:, D:-1]
    covariances += np.swapaxes(np.triu(covariances, 1), 1, 2)
    inverse = np.linalg.inv(covariances)
    traces = np.einsum("iab,jba->ij", inverse, covariances)
    differences = means[:, None] - means[None]
    squares = np.einsum("ija,iab,ijb->ij", differences, inverse, differences)
    return (traces + traces.T + squares + squares.T) / 2 - D


def test_neither_silent_nor_steady_recordings_are_neighbours_of_music(tmp_path, music):
    signals = [music(3, seed) for seed in range(6)] + list((FLAT | STILL).values())
    rows = np.stack([described(written(tmp_path, samples)).row for samples in signals])
    away = divergences(rows)
    assert np.isfinite(away).all()
    assert away[:6, 6:].min() > 10 * away[:6, :6].max()


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
    (usual,), (other,) = describe_all(files, STANDARD_FRAMES), describe_all(files, STANDARD_FRAMES, other_read)
    assert other.recording == usual.recording
    assert not np.array_equal(other.row, usual.row)


def test_no_worker_at_all_is_refused():
    with pytest.raises(InputError, match=r"^n_jobs must not be 0; -1 means one per processor$"):
        describe_all([Recording("x")], STANDARD_FRAMES, n_jobs=0)


def test_what_is_left_out_is_a_failure_and_is_not_opened(tmp_path, music):
    path = written(tmp_path, music())
    files = listed({"x/": LeftOut(str(path), "is a link, which is not followed")})
    assert list(describe_all(files, STANDARD_FRAMES)) == [Failure(str(path), "is a link, which is not followed")]


def test_a_recording_with_a_note_is_described_again(tmp_path, music):
    recording, row = described(written(tmp_path, np.clip(10 * music(), -1, 1)))
    assert recording.note
    assert np.array_equal(describe_file(recording, STANDARD_FRAMES).row, row)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(5, "Input/output error"), r"OSError: \[Errno 5\] Input/output error"),
        (KeyError("chunk"), "KeyError: 'chunk'"),
        (ValueError("two\nlines"), "ValueError: two lines"),
    ],
)
def test_a_decoder_that_raises_costs_one_file(tmp_path, music, error, said):
    def broken(path):
        raise error

    outcome = describe_file(listed({"x": written(tmp_path, music())})[0], STANDARD_FRAMES, broken)
    assert re.fullmatch(rf"its decoder failed \({said}\), expected WAV, FLAC, Ogg, MP3 or AIFF", outcome.error)


def test_a_recording_too_long_for_memory_costs_one_file(tmp_path, music):
    def greedy(path):
        raise MemoryError

    outcome = describe_file(listed({"x": written(tmp_path, music())})[0], STANDARD_FRAMES, greedy)
    assert outcome.error == "does not fit into memory, expected a shorter recording"


def test_one_frame_is_too_little(tmp_path, music):
    outcome = describe_file(
        Recording("x", "x.wav"), STANDARD_FRAMES, lambda path: Signal(np.ones(100, np.float32), 22_050)
    )
    assert outcome == Failure("x.wav", "lasts 0.00454 s, which is one frame, expected at least 2")


DECODERS = """
import os, signal, time
from audiosim.sound import decode

def read(path):
    if path.stem == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if path.stem == "hang":
        time.sleep(1000)
    return decode.read(path)
"""


@pytest.fixture
def dangerous(tmp_path, monkeypatch):
    (tmp_path / "dangerous_decoder.py").write_text(DECODERS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("dangerous_decoder").read
    del sys.modules["dangerous_decoder"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="ends a process by a signal")
def test_decoders_that_crash_and_hang_cost_one_file_each(tmp_path, music, dangerous):
    names = ["a", "crash", "b", "hang", "c", "d"]
    for name in names:
        soundfile.write(tmp_path / f"{name}.wav", music(2), 22_050)
    files = listed({name: tmp_path / f"{name}.wav" for name in names})
    outcomes = list(describe_all(files, STANDARD_FRAMES, dangerous, 1, limit_s=2.0))
    crash, hang = str(tmp_path / "crash.wav"), str(tmp_path / "hang.wav")
    expected = "expected WAV, FLAC, Ogg, MP3 or AIFF that it can read"
    assert outcomes[1] == Failure(crash, f"its decoder crashed (signal 11, Segmentation fault), {expected}")
    assert outcomes[3] == Failure(hang, f"its decoder took more than 2 s, {expected}")
    assert [outcome.recording.identifier for outcome in outcomes if isinstance(outcome, Described)] == list("abcd")


@pytest.mark.slow
def test_a_decoder_without_a_module_of_its_own_works_in_workers_too(tmp_path, music):
    files = listed({"x": written(tmp_path, music())})
    (outcome,) = describe_all(files, STANDARD_FRAMES, lambda path: read(path), n_jobs=1)
    assert np.array_equal(outcome.row, described(tmp_path / "x.wav").row)


def test_a_fit_is_the_mean_and_the_covariance_over_n_minus_1():
    frames = np.random.default_rng(7).standard_normal((300, 20)).astype(np.float32)
    fitted, ridge, _ = summarise([frames])
    assert ridge == 0
    np.testing.assert_allclose(fitted.mean, frames.astype(float).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fitted.covariance, np.cov(frames.astype(float).T), rtol=1e-9, atol=1e-12)


def test_a_fit_finds_the_gaussian_that_its_frames_come_from():
    rng = np.random.default_rng(8)
    mean, root = rng.standard_normal(5), rng.standard_normal((5, 5))
    covariance = root @ root.T + np.eye(5)
    fitted, ridge, _ = summarise([rng.multivariate_normal(mean, covariance, 200_000)])
    assert ridge == 0
    # In units of the deviations each is wrong by about 1 / 200,000 ** 0.5 = 0.0022.
    unit = np.linalg.inv(np.linalg.cholesky(covariance))
    np.testing.assert_allclose(unit @ (fitted.mean - mean), 0, atol=0.01)
    np.testing.assert_allclose(unit @ fitted.covariance @ unit.T, np.eye(5), atol=0.015)


# Hours, and bad bytes.


def test_pieces_of_any_length_make_the_same_description(music, tmp_path, monkeypatch):
    samples = music(20)
    at_once = frames_module.frames(Signal(samples, 22_050)).values
    mean, covariance = at_once.mean(axis=0), np.cov(at_once.T)
    monkeypatch.setattr(frames_module, "BLOCK", 100)
    monkeypatch.setattr(frames_module, "IN_MEMORY", 10_000)
    recording = frames_module.FrameBlocks(STANDARD_FRAMES)
    for piece in np.split(samples, [1, 700, 701, 60_000, 200_000]):
        recording.take(piece)
    recording.end()
    blocks = list(recording.values())
    assert [len(block) for block in blocks] == [100] * 8 + [1 + len(samples) // 512 - 800]
    gaussian, *_ = summarise(blocks)
    np.testing.assert_allclose(gaussian.mean, mean, atol=1e-4)
    np.testing.assert_allclose(gaussian.covariance, covariance, atol=1e-4 * np.abs(covariance).max())
    assert (recording.seconds, recording.frames, recording.silent) == (20.0, 1 + len(samples) // 512, False)


def test_a_long_recording_of_a_limited_band_is_read_again_and_filled(music, tmp_path, monkeypatch):
    samples = soxr.resample(soxr.resample(music(20), 22_050, 11_025), 11_025, 22_050)
    soundfile.write(tmp_path / "x.wav", samples, 22_050)
    expected = extract([tmp_path / "x.wav"])
    monkeypatch.setattr(frames_module, "BLOCK", 100)
    found = extract([tmp_path / "x.wav"])
    assert found.recordings[0].note == expected.recordings[0].note != ""
    assert found.recordings[0].limit_hz == expected.recordings[0].limit_hz == pytest.approx(11_025 / 2, rel=0.1)
    assert found.counts() == {"band_limited": 1, "silent": 0}
    np.testing.assert_allclose(found.means, expected.means, atol=1e-3)


PEAK = """
import sys
from pathlib import Path
from audiosim.sound.describe import describe_file, prepare_for
from audiosim.sound.store import Recording
from audiosim.sound.parameters import STANDARD_FRAMES

prepare_for(STANDARD_FRAMES)
described = describe_file(Recording("x", sys.argv[1]), STANDARD_FRAMES)
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(described.recording.seconds, int(peak.split()[1]) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak off /proc")
def test_a_long_recording_takes_no_more_memory_than_a_short_one(music, tmp_path):
    peaks = []
    for minutes in (4, 20):
        path, minute = tmp_path / f"{minutes}.wav", music(60.0)
        with soundfile.SoundFile(path, "w", 22_050, 1) as file:
            for _ in range(minutes):
                file.write(minute)
        command = [sys.executable, "-c", PEAK, str(path)]
        seconds, peak_mb = map(
            float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        )
        assert seconds == 60 * minutes
        peaks.append(peak_mb)
        path.unlink()
    assert peaks[1] < peaks[0] + 10  # the samples of a minute are 5 MB
    assert peaks[1] <= 150
