"""Formats beyond libsndfile's: written by FFmpeg's coders, read back, and compared with the original."""

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from audiosim.errors import SoundError
from audiosim.sound import formats as more_formats
from audiosim.sound.channel import SoundLimits
from audiosim.sound.decode import Whole, read
from audiosim.sound.index import extract

av = pytest.importorskip("av")

RATE_HZ = 44_100
LOSSLESS = {"alac.m4a": "alac", "flac.mka": "flac", "flac.ogg": "flac", "x.wv": "wavpack", "x.tta": "tta"}
LOSSLESS |= {"alac.caf": "alac", "alac.mp4": "alac"}
LOSSY = {"aac.m4a": "aac", "x.webm": "libopus", "x.aac": "aac", "x.ac3": "ac3", "x.wma": "wmav2"}
LOSSY |= {"one.wma": "wmav1", "aac.mka": "aac", "opus.mka": "libopus", "aac.3gp": "aac", "x.asf": "wmav2"}


def write(path, codec, samples):
    """Write in stereo, in 16 bits if the coder takes whole numbers, with the second channel half as loud."""
    options = {"bit_rate": 192_000} if path.name in LOSSY else {}
    with av.open(str(path), "w") as container:
        rate_hz = 48_000 if codec == "libopus" else RATE_HZ
        stream = container.add_stream(codec, rate=rate_hz, layout="stereo", **options)
        stream.format = {"wavpack": "s16p", "tta": "s16"}.get(codec, stream.format)
        frame = av.AudioFrame.from_ndarray(np.stack([samples, samples / 2]).astype(np.float32), "fltp", "stereo")
        frame.sample_rate, frame.pts = RATE_HZ, 0
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    return path


@pytest.fixture(scope="module")
def album(tmp_path_factory, music):
    """A clip in each format."""
    folder = tmp_path_factory.mktemp("formats")
    for name, codec in (LOSSLESS | LOSSY).items():
        write(folder / name, codec, music(3, rate_hz=RATE_HZ))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSLESS)
def test_lossless_formats_are_read_to_the_last_bit(album, music, name):
    signal = read(album / name, RATE_HZ)
    expected = 0.75 * music(3, rate_hz=RATE_HZ)
    assert len(signal.samples) == len(expected)
    np.testing.assert_allclose(signal.samples, expected, atol=2.0**-15)
    assert signal.notes in ((), ("may be truncated: its container does not give its length",))


@pytest.mark.parametrize("name", LOSSY)
def test_lossy_formats_are_read_as_near_as_coders_come(album, music, name):
    from scipy.signal import correlate  # takes a second, so imported only here

    found, expected = read(album / name).samples, read_wav(album, music)
    assert abs(len(found) - len(expected)) < 0.1 * 22_050  # coders pad, and some begin late
    late = int(correlate(found, expected, method="fft").argmax()) - len(expected) + 1
    assert abs(late) < 2000
    n = min(len(found), len(expected)) - 4000
    assert np.corrcoef(found[2000 + late : n + late], expected[2000:n])[0, 1] > 0.99


def read_wav(album, music):
    soundfile.write(album / "plain.wav", 0.75 * music(3, rate_hz=RATE_HZ), RATE_HZ)
    return read(album / "plain.wav").samples


@pytest.mark.slow
def test_a_folder_of_them_is_described_in_workers(album):
    result = extract({name: album / name for name in LOSSLESS}, n_jobs=2)
    assert result.failed == ()
    assert len(result) == len(LOSSLESS)


def test_a_file_cut_in_two_is_refused(album, tmp_path):
    data = (album / "x.tta").read_bytes()
    (tmp_path / "x.tta").write_bytes(data[: len(data) // 2])
    with pytest.raises(SoundError, match=r"x\.tta: truncated or damaged: only [345]\d % of the sound that its header"):
        read(tmp_path / "x.tta")


def flipped(path, count, seed=0):
    """The file with `count` bytes replaced after its header."""
    rng, data = np.random.default_rng(seed), bytearray(path.read_bytes())
    for place in rng.integers(3000, len(data) - 3000, count):
        data[place] ^= int(rng.integers(1, 256))
    path.write_bytes(data)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("name", "codec"), [("x.flac", "flac"), ("x.m4a", "aac"), ("alac.m4a", "alac")])
def test_behind_damaged_bytes_decoding_goes_on(music, tmp_path, name, codec):
    samples = music(20, rate_hz=RATE_HZ)
    if codec == "flac":
        soundfile.write(tmp_path / name, samples, RATE_HZ)
    else:
        write(tmp_path / name, codec, samples)
    whole = extract([tmp_path / name])
    damaged = extract([flipped(tmp_path / name, 10)])
    (note,) = (recording.note for recording in damaged.recordings)
    assert note.startswith("damaged: ")
    share = float(note.split()[1]) / 100
    assert 0.8 < share < 1
    assert damaged.recordings[0].seconds == pytest.approx(20 * share, abs=0.1)
    soundfile.write(tmp_path / "other.wav", music(20, seed=1, rate_hz=RATE_HZ), RATE_HZ)
    other = extract([tmp_path / "other.wav"])
    near, far = (next(iter(whole.neighbours_of(one, 1, proximity=False).values()))[0] for one in (damaged, other))
    assert near.divergence < far.divergence / 10


def test_without_pyav_a_damaged_flac_is_refused(music, tmp_path, monkeypatch):
    monkeypatch.setattr(more_formats, "find_spec", lambda name: None)
    soundfile.write(tmp_path / "x.flac", music(20), 22_050)
    with pytest.raises(SoundError, match=r"truncated: only \d+ % of the sound that its header promises"):
        read(flipped(tmp_path / "x.flac", 10))


@pytest.mark.slow
def test_opus_is_the_same_by_either_decoder(music, tmp_path, monkeypatch):
    path = tmp_path / "x.opus"
    soundfile.write(path, music(10, rate_hz=48_000), 48_000, format="OGG", subtype="OPUS")
    by_pyav = extract([path])
    monkeypatch.setattr(more_formats, "find_spec", lambda name: None)
    by_libsndfile = extract([path])
    (near,) = next(iter(by_pyav.neighbours_of(by_libsndfile, 1, proximity=False).values()))
    assert near.divergence < 1e-3


def test_limits_hold_here_too(album):
    with pytest.raises(SoundError, match=r"alac\.m4a: lasts 3 s or more, expected at most 2 s$"):
        read(album / "alac.m4a", limits=SoundLimits(seconds=2))


@pytest.mark.parametrize("name", ["x.m4a", "x.wma", "x.mp3", "x.wav"])
def test_noise_is_refused_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(np.random.default_rng(0).bytes(30_000))
    known = ", or an undamaged file of another format" if name in ("x.m4a", "x.wma") else ""
    said = "its content is no known sound format" if name == "x.mp3" else "Format not recognised"
    with pytest.raises(SoundError) as raised:
        read(tmp_path / name)
    expected = f"{tmp_path / name}: cannot be decoded ({said}), expected WAV, FLAC, Ogg, MP3 or AIFF{known}"
    assert str(raised.value) == expected


def test_a_stream_whose_sound_changes_form_more_than_once_is_read(tmp_path, music):
    whole = b""
    for rate_hz, channels in ((44_100, 2), (32_000, 1), (48_000, 1), (44_100, 2)):
        samples = music(3, rate_hz=rate_hz)
        soundfile.write(tmp_path / "piece.mp3", np.stack([samples] * channels, axis=1), rate_hz)
        whole += (tmp_path / "piece.mp3").read_bytes()
    (tmp_path / "x.mp3").write_bytes(whole)
    found = more_formats.decode_other(tmp_path / "x.mp3", lambda *_: None, lambda rate_hz: Whole())
    assert found.frames / found.rate_hz == pytest.approx(12, abs=0.5)


def test_playlists_open_nothing(tmp_path, album):
    (tmp_path / "x.m4a").write_text(f"#EXTM3U\n#EXTINF:3,\n{album / 'x.aac'}\n#EXT-X-ENDLIST\n")
    with pytest.raises(SoundError, match="cannot be decoded"):
        read(tmp_path / "x.m4a")


def test_without_pyav_a_file_says_what_would_read_it(album, music, monkeypatch):
    read_wav(album, music)
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr(more_formats, "find_spec", lambda name: None)
    remedy = r"; audiosim\[formats\] reads \.m4a files: pip install 'audiosim\[formats\]'$"
    with pytest.raises(SoundError, match=rf"expected WAV, FLAC, Ogg, MP3 or AIFF{remedy}"):
        read(album / "aac.m4a")
    result = extract([album / "aac.m4a", album / "plain.wav"])
    assert [failure.path for failure in result.failed] == [str(album / "aac.m4a")]


@pytest.mark.slow
def test_nothing_that_looks_like_sound_is_passed_over(run, tmp_path, music):
    soundfile.write(tmp_path / "x.wav", music(2), 22_050)
    (tmp_path / "broken.m4a").write_bytes(b"no sound")
    code, _, err = run("extract", tmp_path, "-o", tmp_path / "index")
    assert code == 1
    assert err.startswith(f"audiosim: {tmp_path}/broken.m4a: cannot be decoded (")
    assert err.splitlines()[1:] == ["audiosim: 1 file left out, the index has the others"]


def test_speex_is_read():
    """The file is from write_speex.py: three notes."""
    signal = read(Path(__file__).with_name("notes.spx"), 8_000)
    assert signal.duration_s == pytest.approx(2, abs=0.05)
    for number, hertz in enumerate((220, 440, 880)):
        part = signal.samples[number * 5_333 + 1_000 : number * 5_333 + 5_000]
        assert 2 * np.abs(np.fft.rfft(part)).argmax() == pytest.approx(hertz, abs=4)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="writes by the ffmpeg command")
def test_opus_that_libsndfile_gives_up_is_read(music, tmp_path, monkeypatch):
    # libsndfile takes much of the ffmpeg command's output for malformed at nine seconds: libsndfile issue 888.
    wave, path = tmp_path / "x.wav", tmp_path / "x.opus"
    soundfile.write(wave, np.tile(music(3, rate_hz=RATE_HZ), 4), RATE_HZ)
    subprocess.run(["ffmpeg", "-v", "error", "-i", wave, "-c:a", "libopus", path], check=True)
    assert (read(path).duration_s, read(path).notes) == (pytest.approx(12, abs=0.05), ())
    try:
        soundfile.read(path)
    except soundfile.LibsndfileError:
        monkeypatch.setattr(more_formats, "find_spec", lambda name: None)
        with pytest.raises(SoundError, match=r"x\.opus: damaged: only 7\d % of the sound"):
            read(path)


def with_chunk(wave, chunk):
    """A WAV with bytes between its header and its format."""
    return wave[:12] + chunk + wave[12:]


def without_length(wave):
    """A WAV as a recorder leaves it that loses its power: sizes of 0."""
    place = wave.index(b"data") + 4
    return wave[:4] + bytes(4) + wave[8:place] + bytes(4) + wave[place + 4 :]


UNUSUAL = {
    "crashed.wav": without_length,
    "nameless.wav": lambda wave: with_chunk(wave, bytes(8)),
    "control.wav": lambda wave: with_chunk(wave, b"\1\2\3\4" + struct.pack("<I", 4) + b"abcd"),
    "odd.wav": lambda wave: with_chunk(wave, b"abcd" + struct.pack("<I", 7) + bytes(8)),
    "large.wav": lambda wave: with_chunk(wave, b"\x80\xff\xfe\x01" + struct.pack("<I", 70_000) + bytes(70_000)),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_one_of_the_decoders_plays_is_read_whole(music, tmp_path, name):
    soundfile.write(tmp_path / "plain.wav", music(3, rate_hz=22_050), 22_050)
    (tmp_path / name).write_bytes(UNUSUAL[name]((tmp_path / "plain.wav").read_bytes()))
    signal = read(tmp_path / name)
    np.testing.assert_array_equal(signal.samples, read(tmp_path / "plain.wav").samples)
    doubt = ("may be truncated: its header does not give its length",) if name == "crashed.wav" else ()
    assert signal.notes == doubt


@pytest.mark.slow
@pytest.mark.parametrize("fill", ["zeros", "noise"])
@pytest.mark.parametrize("name", ["xing.mp3", "plain.mp3"])
def test_an_mp3_is_read_if_a_quarter_of_it_can_be_decoded_around_the_damage(music, tmp_path, name, fill):
    soundfile.write(tmp_path / name, music(30), 22_050)
    whole, path, rng = (tmp_path / name).read_bytes(), tmp_path / name, np.random.default_rng(2)
    if name == "plain.mp3":  # without its first frame, which gives the length; libsndfile guesses a wrong one
        whole = whole[whole.index(whole[:2], 100) :]
    for share in (0, 0.1, 0.3, 0.5, 0.65):
        start, stop = (int(len(whole) * (0.5 + sign * share / 2)) for sign in (-1, 1))
        hole = bytes(stop - start) if fill == "zeros" else rng.bytes(stop - start)
        path.write_bytes(whole[:start] + hole + whole[stop:])
        signal = read(path)
        assert signal.duration_s == pytest.approx(30 * (1 - share), abs=1)
        if name == "xing.mp3" and share:
            found = float(re.search(r"^damaged: ([\d.]+) % of", signal.notes[0])[1])
            assert found == pytest.approx(100 - 100 * share, abs=2)


@pytest.mark.slow
def test_an_mp3_without_its_end_or_with_too_little_left_is_refused(music, tmp_path):
    soundfile.write(tmp_path / "x.mp3", music(30), 22_050)
    whole = (tmp_path / "x.mp3").read_bytes()
    tenth = len(whole) // 10
    (tmp_path / "x.mp3").write_bytes(whole[:tenth] + bytes(8 * tenth) + whole[9 * tenth :])
    with pytest.raises(SoundError, match=r"damaged: only \d+ % of the sound that .* expected at least 25 %$"):
        read(tmp_path / "x.mp3")
    (tmp_path / "x.mp3").write_bytes(whole[: 5 * tenth])
    with pytest.raises(SoundError, match=r"truncated: only \d+ % of the sound .* expected at least 90 %$"):
        read(tmp_path / "x.mp3")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["mp3", "wav", "flac", "aiff", "ogg", "m4a"])
def test_noise_is_never_taken_for_sound(tmp_path, suffix):
    rng, path = np.random.default_rng(5), tmp_path / f"x.{suffix}"
    for size in (1_000, 30_000, 100_000, 400_000):
        path.write_bytes(rng.bytes(size))
        with pytest.raises(SoundError, match=r": cannot be decoded \("):
            read(path)
