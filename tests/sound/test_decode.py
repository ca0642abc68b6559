"""Sound files that are right or wrong in every way, and the messages about them."""

import numpy as np
import pytest
import soundfile

from audiosim.errors import InputError, SoundError
from audiosim.sound.channel import SoundLimits
from audiosim.sound.decode import RATE_HZ, Signal, read


def cut(path, share):
    """The file without its end."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


@pytest.fixture
def write(tmp_path):
    """Write samples to a file of some format."""

    def written(samples, name="sound.wav", rate_hz=RATE_HZ, **options):
        soundfile.write(tmp_path / name, samples, rate_hz, **options)
        return tmp_path / name

    return written


def refused(path):
    """The error about a file: one line that starts with the path."""
    with pytest.raises(SoundError) as caught:
        read(path)
    complaint = str(caught.value)
    assert complaint.startswith(f"{path}: ")
    assert "\n" not in complaint
    return complaint.removeprefix(f"{path}: ")


# libsndfile scales by 2 ** 15 - 1 on the way in and 2 ** 15 on the way out: up to a step of 16 bits.
@pytest.mark.parametrize(
    ("name", "subtype", "error"),
    [
        ("s.wav", "PCM_16", 2**-15),
        ("s.wav", "PCM_24", 2**-23),
        ("s.wav", "FLOAT", 0),
        ("s.wav", "DOUBLE", 0),
        ("s.flac", "PCM_16", 2**-15),
        ("s.aiff", "PCM_16", 2**-15),
    ],
)
def test_lossless_files_come_back_as_they_were_written(write, music, name, subtype, error):
    signal = read(write(music(), name, subtype=subtype))
    assert np.abs(signal.samples - music()).max() <= error
    assert (signal.rate_hz, signal.duration_s, signal.notes) == (22_050, 5.0, ())


@pytest.mark.parametrize(("name", "subtype"), [("s.ogg", "VORBIS"), ("s.mp3", "MPEG_LAYER_III")])
def test_lossy_files_come_back_nearly_as_they_were_written(write, music, name, subtype):
    signal = read(write(music(), name, subtype=subtype))
    assert signal.duration_s == 5.0
    assert signal.notes == ()
    assert np.corrcoef(signal.samples, music())[0, 1] > 0.95


def test_opus_is_brought_from_its_48_khz(write, music):
    signal = read(write(music(rate_hz=48_000), "s.opus", 48_000, format="OGG", subtype="OPUS"))
    assert signal.duration_s == pytest.approx(5, abs=1 / 22_050)
    assert np.corrcoef(signal.samples[: 5 * 22_050], music()[: len(signal.samples)])[0, 1] > 0.3


def test_mono_is_the_mean_of_the_channels(write, music):
    channels = np.stack([music(seed=1), music(seed=2), music(seed=3)], axis=1)
    np.testing.assert_allclose(read(write(channels, subtype="FLOAT")).samples, channels.mean(axis=1), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 44_100, 48_000, 96_000])
def test_resampling_is_librosa_s(write, music, rate_hz):
    librosa = pytest.importorskip("librosa")
    channels = np.stack([music(2, 1, rate_hz), music(2, 2, rate_hz)], axis=1)
    path = write(channels, rate_hz=rate_hz, subtype="FLOAT")
    expected = librosa.resample(librosa.to_mono(channels.T), orig_sr=rate_hz, target_sr=22_050)
    samples = read(path).samples
    assert len(samples) == len(expected)
    np.testing.assert_allclose(samples, expected, atol=1e-6)


def test_another_rate_can_be_asked_for(write, music):
    signal = read(write(music()), rate_hz=8_000)
    assert (signal.rate_hz, len(signal.samples)) == (8_000, 40_000)


def test_a_path_may_be_a_string(write, music):
    assert read(str(write(music()))).duration_s == 5.0


def test_a_missing_file_is_refused(tmp_path):
    missing = "cannot be read (No such file or directory), expected a sound file"
    assert refused(tmp_path / "none.wav") == missing
    assert refused(tmp_path / "none") == f"{missing} or a folder that exists"


def test_an_unreadable_file_is_refused(tmp_path):
    loop = tmp_path / "loop.wav"
    loop.symlink_to(loop)
    assert refused(loop).startswith("cannot be read (Too many levels of symbolic links")


def test_a_folder_is_refused(tmp_path):
    assert refused(tmp_path) == "is not a file, expected a sound file"


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "empty.wav").touch()
    assert refused(tmp_path / "empty.wav") == "is empty, expected a sound file"


@pytest.mark.parametrize("content", [b"hello", b"<html>" * 500, b"RIFF", bytes(5000), b"OggS" + bytes(500), b"fLaC"])
@pytest.mark.parametrize("name", ["x.wav", "x.mp3", "x.txt"])
def test_a_file_that_is_no_sound_is_refused(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    assert refused(tmp_path / name).startswith("cannot be decoded (")
    assert refused(tmp_path / name).endswith("), expected WAV, FLAC, Ogg, MP3 or AIFF")


def test_samples_without_a_header_are_refused(tmp_path):
    (tmp_path / "x.raw").write_bytes(bytes(50_000))
    assert refused(tmp_path / "x.raw") == "cannot be decoded (it has no header), expected WAV, FLAC, Ogg, MP3 or AIFF"


def test_silence_is_accepted_with_a_note(write):
    signal = read(write(np.zeros(50_000)))
    assert signal.notes == ("silent: every sample is 0 in the mean of the channels",)
    assert signal.silent
    assert not signal.samples.any()


@pytest.mark.parametrize("subtype", ["FLOAT", "PCM_16"])  # whole numbers leave a rest of half a step
def test_channels_that_cancel_are_silent_and_the_note_says_why(write, music, subtype):
    signal = read(write(np.stack([music(), -music()], axis=1), subtype=subtype))
    assert signal.silent
    assert signal.notes == ("silent: its channels are of opposite phase and cancel each other in their mean",)


def test_a_constant_is_silent(write):
    signal = read(write(np.full(50_000, 0.25)))
    assert signal.silent
    assert signal.notes == ("silent: every sample is 0.25 in the mean of the channels",)


# A step of 16 bits is 3.1e-5 of full scale and silence ends at 1e-4, so up to three steps.
@pytest.mark.parametrize(("steps", "silent"), [(1, True), (3, True), (4, False), (1000, False)])
@pytest.mark.parametrize("offset", [0, 0.5])
def test_silence_ends_80_db_below_full_scale_whatever_the_mean(write, steps, silent, offset):
    samples = offset + np.random.default_rng(0).choice([-1, 1], 50_000) * steps / 2**15
    assert read(write(samples)).silent == silent


def test_a_click_is_not_silence(write):
    samples = np.zeros(50_000)
    samples[25_000] = 0.01
    assert not read(write(samples)).silent


def test_a_short_recording_is_refused_with_its_length(write, music):
    assert refused(write(music(0.5))) == "lasts 0.50 s, expected at least 1 s"
    assert read(write(music(1.0))).duration_s == 1.0


def test_a_recording_without_samples_is_refused(write):
    assert refused(write(np.zeros(0))) == "lasts 0.00 s, expected at least 1 s"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
def test_samples_that_are_not_finite_are_refused(write, music, bad, subtype):
    samples = np.stack([music(), music()], axis=1)
    samples[70_000] = bad, -bad
    assert refused(write(samples, subtype=subtype)) == "holds samples that are NaN or infinite, expected finite ones"


def test_samples_beyond_any_scale_are_refused(write, music):
    complaint = refused(write(1e20 * music(), subtype="FLOAT"))
    assert complaint.startswith("holds samples ")
    assert complaint.endswith("e+19 times full scale, expected at most 1e+06")


def test_a_clipped_recording_is_accepted_with_a_note(write, music):
    loud = np.clip(10 * music(), -1, 1)
    share = 100 * np.mean(np.abs(loud) == 1)
    assert share > 1
    assert read(write(loud)).notes == (f"clipped: {share:.1f} % of samples at full scale",)


def test_a_few_samples_at_full_scale_are_not_clipping(write, music):
    samples = music()
    samples[::2000] = 1
    assert read(write(samples)).notes == ()


def test_a_quiet_recording_is_accepted_with_a_note(write):
    dither = np.random.default_rng(0).integers(-1, 2, 50_000) / 2**15
    assert read(write(dither)).notes == ("quiet: its peak is at -90 dB of full scale",)


@pytest.mark.parametrize("name", ["s.wav", "s.flac", "s.mp3", "s.aiff"])
def test_half_a_file_is_refused(write, music, name):
    complaint = refused(cut(write(music(), name), 0.5))
    assert complaint.startswith("truncated: only ")
    assert complaint.endswith(" % of the sound that its header promises can be decoded, expected at least 90 %")
    assert int(complaint.split()[2]) == pytest.approx(50, abs=6)


@pytest.mark.parametrize("name", ["s.wav", "s.flac", "s.mp3", "s.aiff"])
def test_a_file_that_lacks_little_is_accepted_with_a_note(write, music, name):
    signal = read(cut(write(music(20), name), 0.95))
    assert 18 < signal.duration_s < 20
    (note,) = signal.notes
    assert note == f"truncated: {100 * signal.duration_s / 20:.1f} % of the promised sound was decoded"


def ogg_pages(data):
    """Start and end of each page of an Ogg file: RFC 3533, section 6."""
    pages, start = [], 0
    while start < len(data):
        assert data[start : start + 4] == b"OggS"
        segments = data[start + 26]
        end = start + 27 + segments + sum(data[start + 27 : start + 27 + segments])
        pages.append((start, end))
        start = end
    return pages


@pytest.mark.slow
@pytest.mark.parametrize(("subtype", "rate_hz"), [("VORBIS", 22_050), ("OPUS", 24_000)])
def test_an_ogg_without_its_last_page_is_accepted_with_a_note(write, music, subtype, rate_hz):
    # Ogg files state no length, so the missing part is unknown.
    path = write(music(20, rate_hz=rate_hz), "s.ogg", rate_hz, subtype=subtype)
    assert read(path).notes == ()
    assert read(cut(path, 0.8)).notes == ("may be truncated: its last Ogg page is cut or does not mark the end",)


@pytest.mark.slow
def test_an_ogg_cut_between_pages_is_noticed(write, music):
    path = write(music(20), "s.ogg")
    data = path.read_bytes()
    path.write_bytes(data[: ogg_pages(data)[-1][0]])
    assert read(path).notes == ("may be truncated: its last Ogg page is cut or does not mark the end",)


def page_removed(data, start, end):
    return data[:start] + data[end:]


def bit_flipped(data, start, end):
    middle = (start + end) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def name_of_page_overwritten(data, start, end):
    return data[:start] + b"xxxx" + data[start + 4 :]


def end_of_page_lost(data, start, end):
    return data[: end - 100] + data[end:]


@pytest.mark.slow
@pytest.mark.parametrize(("subtype", "rate_hz"), [("VORBIS", 22_050), ("OPUS", 24_000)])
def test_an_ogg_that_lost_one_page_in_the_middle_is_accepted_with_a_note(write, music, subtype, rate_hz):
    path = write(music(20, rate_hz=rate_hz), "s.ogg", rate_hz, subtype=subtype)
    data = path.read_bytes()
    pages = ogg_pages(data)
    for harm in (page_removed, bit_flipped, name_of_page_overwritten, end_of_page_lost):
        path.write_bytes(harm(data, *pages[len(pages) // 2]))
        (note,) = read(path).notes
        assert note.startswith("damaged: ")
        assert note.endswith(" % of the promised sound was decoded")
        # Pages hold nearly the same number of bytes, and two are headers.
        assert float(note.split()[1]) == pytest.approx(100 * (1 - 1 / (len(pages) - 2)), abs=1)


def test_a_real_ogg_that_lost_a_page_is_accepted_with_a_note(real_clips, tmp_path):
    data = real_clips[0].read_bytes()
    pages = ogg_pages(data)
    (tmp_path / "x.ogg").write_bytes(page_removed(data, *pages[10]))
    (note,) = read(tmp_path / "x.ogg").notes
    assert float(note.removeprefix("damaged: ").split()[0]) == pytest.approx(100 * (1 - 1 / (len(pages) - 2)), abs=1)


@pytest.mark.slow
def test_an_ogg_that_lost_many_pages_is_refused(write, music):
    path = write(music(40), "s.ogg")
    data = path.read_bytes()
    pages = ogg_pages(data)
    left = len(pages) // 6
    path.write_bytes(data[: pages[4][0]] + data[pages[-left][0] :])
    complaint = refused(path)
    assert complaint.startswith("damaged: only ")
    assert complaint.endswith("expected at least 25 %")
    assert int(complaint.split()[2]) == pytest.approx(100 * (left + 2) / (len(pages) - 2), abs=4)


@pytest.mark.slow
def test_noise_between_the_pages_of_an_ogg_does_no_harm(write, music):
    path = write(music(20), "s.ogg")
    data = path.read_bytes()
    start, _ = ogg_pages(data)[5]
    path.write_bytes(data[:start] + b"OggS" + bytes(100) + data[start:] + bytes(50))
    assert read(path).notes == ()


def test_a_chain_of_oggs_is_accepted_with_a_note(write, music):
    both = write(music(5), "a.ogg").read_bytes() + write(music(5, seed=1), "b.ogg").read_bytes()
    path = write(music(5), "s.ogg")
    path.write_bytes(both)
    assert read(path).duration_s == 5
    assert read(path).notes == ("may be truncated: it is a chain of Ogg streams; only the first is decoded",)


def test_a_wav_written_to_a_pipe_promises_nothing(write, music):
    # ffmpeg leaves 0xFFFFFFFF in the sizes it cannot go back to.
    path = write(music())
    data = bytearray(path.read_bytes())
    data[4:8] = data[40:44] = b"\xff" * 4
    path.write_bytes(data)
    assert (read(path).duration_s, read(path).notes) == (5.0, ())


def test_chunks_before_the_sound_are_stepped_over(write, music):
    path = write(music())
    data = path.read_bytes()
    path.write_bytes(data[:36] + b"junk\x03\0\0\0abc\0" + data[36:])
    assert read(path).notes == ()
    assert read(cut(path, 0.95)).notes == ("truncated: 95.0 % of the promised sound was decoded",)


def test_a_flac_without_its_length_is_accepted_with_a_note(write, music):
    path = write(music(), "s.flac")
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # part of the 36 bits of the number of samples
    data[22:26] = bytes(4)
    path.write_bytes(data)
    signal = read(path)
    assert signal.notes == ("may be truncated: its header does not give its length",)
    assert signal.duration_s == 5


def test_an_mp3_without_its_length_is_accepted_with_a_note(write, music):
    path = write(music(), "s.mp3", bitrate_mode="CONSTANT", compression_level=0.5)
    data = path.read_bytes()
    path.write_bytes(data[data.index(data[:2], 4) :])
    signal = read(path)
    assert signal.notes == ("may be truncated: this MP3 has no frame that gives its length",)
    assert signal.duration_s == pytest.approx(5, abs=0.2)


def test_an_mp3_behind_an_id3_tag_is_read(write, music):
    path = write(music(), "s.mp3")
    path.write_bytes(b"ID3\x04\0\0\0\0\x20\0" + bytes(0x20 * 128) + path.read_bytes())
    assert (read(path).duration_s, read(path).notes) == (5.0, ())


@pytest.mark.slow
def test_an_mp3_is_read_behind_a_hole(write, music):
    pytest.importorskip("av")
    path = write(music(20), "s.mp3")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(5000) + data[len(data) // 2 :])
    signal = read(path)
    assert signal.notes == ("damaged: 99.9 % of the promised sound was decoded",)
    assert np.corrcoef(signal.samples[-100_000:], music(20)[-100_000:])[0, 1] > 0.95


@pytest.mark.slow
def test_the_real_clips_are_all_there(real_clips):
    notes = {note.split(":")[0] for path in real_clips[::4] for note in read(path).notes}
    assert notes <= {"clipped"}


@pytest.mark.slow
def promising(path, frames):
    """The FLAC with another number of frames in its header, 36 bits from the low half of byte 21 on."""
    data = bytearray(path.read_bytes())
    data[21] = data[21] & 0xF0 | frames >> 32
    data[22:26] = (frames & 0xFFFFFFFF).to_bytes(4, "big")
    path.write_bytes(data)
    return path


def test_a_small_file_that_unpacks_to_a_gigabyte_is_refused_from_its_header(tmp_path):
    # 2 ** 28 samples, a gigabyte once they are floats.
    path = tmp_path / "bomb.flac"
    soundfile.write(path, np.zeros((2**18, 8), np.int16), 44_100)
    promising(path, 2**25)
    assert path.stat().st_size < 700_000
    assert refused(path) == (
        f"unpacks to {2**28} samples or more from {path.stat().st_size} bytes, "
        "expected at most 250000000, or 100 per byte"
    )
    assert refused(cut(path, 0.02)).startswith(f"unpacks to {2**28} samples or more"), "without looking at the sound"


def test_more_than_two_hours_are_refused_from_the_header(write, music):
    path = promising(write(music(), "s.flac"), 7_201 * 22_050)
    assert refused(path) == "lasts 7201 s or more, expected at most 7200 s"


def test_more_frames_than_memory_is_for_are_refused_from_the_header(write, music):
    path = promising(write(music(rate_hz=96_000), "s.flac", 96_000), 2**28 + 1)
    assert refused(path) == "holds 268435457 frames or more, expected at most 268435456"


def test_a_header_that_hides_the_length_does_not_help(write, music):
    path = promising(write(music(20), "s.flac"), 0)
    with pytest.raises(SoundError, match=r"s\.flac: lasts \d+ s or more, expected at most 10 s$"):
        read(path, limits=SoundLimits(seconds=10))
    assert read(path, limits=SoundLimits(seconds=20)).duration_s == 20


@pytest.mark.parametrize("rate_hz", [999, 768_001])
def test_rates_that_no_recording_has_are_refused(write, music, rate_hz):
    assert refused(write(music(), rate_hz=rate_hz)) == f"has a rate of {rate_hz} Hz, expected 1000 to 768000 Hz"


def test_more_channels_than_any_recording_has_are_refused(write):
    assert refused(write(np.zeros((25_000, 33)))) == "has 33 channels, expected at most 32"


def test_limits_can_be_raised_and_lowered(write, music):
    path = write(music())
    assert read(path, limits=SoundLimits(seconds=5)).duration_s == 5
    with pytest.raises(SoundError, match=r": lasts 5 s or more, expected at most 4 s$"):
        read(path, limits=SoundLimits(seconds=4))
    with pytest.raises(InputError, match=r"^limits must be above 0, got SoundLimits\(seconds=0, .*\)$"):
        SoundLimits(seconds=0)


@pytest.mark.slow
def test_a_long_recording_is_read_whole(write):
    # More than the initial buffer holds, in a little more than three blocks.
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, 2**22 + 2**19 + 1000).astype(np.float32)
    np.testing.assert_array_equal(read(write(samples, subtype="FLOAT")).samples, samples)


@pytest.mark.parametrize(
    ("samples", "found"),
    [
        (np.zeros(0, np.float32), r"\(0,\) float32"),
        (np.zeros((2, 2), np.float32), r"\(2, 2\) float32"),
        (np.zeros(2), r"\(2,\) float64"),
    ],
)
def test_a_signal_is_one_row_of_float32(samples, found):
    with pytest.raises(InputError, match=rf"^samples must be \(n,\) float32 with n at least 1, got {found}$"):
        Signal(samples, 22_050)


def test_a_signal_is_finite_and_has_a_rate():
    with pytest.raises(InputError, match=r"^samples must be finite$"):
        Signal(np.array([np.nan], np.float32), 22_050)
    with pytest.raises(InputError, match=r"^rate must be at least 1 Hz, got 0$"):
        Signal(np.zeros(1, np.float32), 0)
