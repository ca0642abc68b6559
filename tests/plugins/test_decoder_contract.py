"""Decoders: audiosim's own keeps the contract; a violation is reported."""

import dataclasses

import numpy as np
import pytest

from audiosim.errors import InputError, SoundError
from audiosim.plugins import check_decoder, other_decoders
from audiosim.sound.channel import Decoded, Decoder, decoded_whole
from audiosim.sound.completeness import Completeness
from audiosim.sound.decode import DECODERS, read


def rng():
    return np.random.default_rng(2)


@pytest.fixture
def clip(tmp_path):
    """Two seconds of noise in a file with a word, then only samples."""
    path = tmp_path / "clip.raw1"
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, 16_000).astype(np.float32)
    path.write_bytes(b"RAW1" + samples.tobytes())
    return path


def right(path, size_bytes, limits):
    content = path.read_bytes()
    if content[:4] != b"RAW1":
        raise SoundError(f"{path}: is no such file")
    samples = np.frombuffer(content, np.float32, offset=4)
    problem = limits.problem(len(samples), 1, 8000, size_bytes)
    if problem:
        raise SoundError(f"{path}: {problem}")
    return decoded_whole(samples[:, None], 8000)


def changed(**fields):
    """A correct decoder, with some fields of its result changed."""

    def decode(path, size_bytes, limits):
        found = right(path, size_bytes, limits)
        kept = dataclasses.asdict(found) | {"known": Completeness()}
        return Decoded(**(kept | fields))

    return decode


@pytest.mark.parametrize("name", list(DECODERS))
def test_audiosim_s_own_decoders_keep_the_contract(wav, name):
    check_decoder(DECODERS[name], wav, rng())


def test_a_decoder_of_one_s_own_keeps_the_contract_and_is_read_by_its_suffix(clip):
    mine = Decoder("mine", (".raw1",), right)
    check_decoder(mine, clip, rng())
    signal = read(clip, 8000, decoders=[mine])
    assert signal.samples.tolist() == np.frombuffer(clip.read_bytes(), np.float32, offset=4).tolist()
    with pytest.raises(SoundError, match="cannot be decoded"):
        read(clip, 8000)


def test_the_mean_of_channels_and_the_loudest_of_all():
    found = decoded_whole(np.array([[0.5, -1.0], [0.25, 0.0]], dtype=np.float32), 8000)
    assert found.samples.tolist() == [-0.25, 0.125]
    assert (found.peak, found.at_full_scale) == (1.0, 0.25)


def blank(path, size_bytes, limits):
    return decoded_whole(np.zeros((8000, 1), dtype=np.float32), 8000)


def unnamed(path, size_bytes, limits):
    raise SoundError("cannot be decoded")


def raising(path, size_bytes, limits):
    raise ValueError("no head")


def unlimited(path, size_bytes, limits):
    return right(path, 2**40, type(limits)())


NOISE = np.random.default_rng(1)


def other_each_time(path, size_bytes, limits):
    found = right(path, size_bytes, limits)
    return decoded_whole(found.samples[:, None] * NOISE.random(), 8000)


@pytest.mark.parametrize(
    ("decode", "message"),
    [
        (blank, "noise must be refused with a SoundError"),
        (unnamed, "its SoundError must name the file, got cannot be decoded"),
        (raising, "noise must be a SoundError, raises ValueError: no head"),
        (unlimited, "a file beyond the limits must be refused with a SoundError"),
        (changed(samples=np.zeros(8000)), "samples must be a row of float32, the mean of the channels"),
        (
            changed(samples=np.zeros((8000, 2), np.float32)),
            "samples must be a row of float32, the mean of the channels",
        ),
        (changed(rate_hz=0), "rate_hz must be a whole number above 0, got 0"),
        (changed(rate_hz=8000.0), "rate_hz must be a whole number above 0, got 8000.0"),
        (changed(peak=0.1), "the peak of the channels is below that of their mean"),
        (other_each_time, "the same file gives different samples the second time"),
    ],
)
def test_a_decoder_that_breaks_the_contract_is_told_how(clip, decode, message):
    with pytest.raises(InputError, match=f"^decoder mine: {message}$"):
        check_decoder(Decoder("mine", (".raw1",), decode), clip, rng())


def test_a_file_that_it_does_not_open_cannot_be_tried(wav):
    with pytest.raises(InputError, match="^decoder mine opens .raw1, got .*wav$"):
        check_decoder(Decoder("mine", (".raw1",), right), wav, rng())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("my own", (".raw1",)), "the name of a decoder must be letters and digits, got 'my own'"),
        (("mine", ("raw1",)), r"the suffixes of decoder mine must look like .wav, got \('raw1',\)"),
        (("mine", (".RAW",)), r"the suffixes of decoder mine must look like .wav, got \('.RAW',\)"),
        (("mine", ()), r"the suffixes of decoder mine must look like .wav, got \(\)"),
    ],
)
def test_a_decoder_that_is_none_is_refused(fields, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        Decoder(*fields, right)


def test_a_broken_decoder_is_one_line_that_names_the_package(install):
    install("broken", "mine = 3", ("audiosim.decoders", "mine", "broken:mine"))
    with pytest.raises(InputError, match=r"^mine \(broken:mine\) of package broken must be a Decoder, got int$"):
        other_decoders()
