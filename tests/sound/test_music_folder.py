"""A folder of music with tags in several formats, names unfit for runs, and duplicate recordings."""

import json
import shutil
import struct

import mutagen.flac
import mutagen.mp3
import mutagen.oggvorbis
import mutagen.wave
import numpy as np
import pytest
import soundfile
from mutagen import id3

from audiosim.collection.collection import Collection
from audiosim.collection.values import Document
from audiosim.errors import InputError
from audiosim.sound.decode import read
from audiosim.sound.folder import collect, draw_queries, safe_identifier
from audiosim.sound.index import AudioIndex
from audiosim.sound.tags import Tags, read_tags


@pytest.fixture(scope="module")
def source(tmp_path_factory, music):
    """Seven recordings by three artists: one exists three times, one is not sound, one has no tags."""
    folder = tmp_path_factory.mktemp("Musik für alle")
    (folder / "Die Ärzte").mkdir()
    names = ["Die Ärzte/Rock 'n' Roll.flac", "Die Ärzte/Äpfel & Birnen.mp3", "café #1.ogg", "tagless.wav", "other.wav"]
    for seed, name in enumerate(names):
        soundfile.write(folder / name, music(6, seed), 22_050)
    flac = mutagen.flac.FLAC(folder / names[0])
    flac.update({"artist": "Die Ärzte", "genre": "Punk", "album": "13", "title": "Rock\t'n'\nRoll"})
    flac.save()
    mp3 = mutagen.mp3.MP3(folder / names[1])
    mp3.add_tags()
    for frame in (id3.TPE1(3, ["Die Ärzte"]), id3.TCON(3, ["(17)"]), id3.TALB(3, ["13"]), id3.TIT2(3, ["Äpfel"])):
        mp3.tags.add(frame)
    mp3.save()
    ogg = mutagen.oggvorbis.OggVorbis(folder / names[2])
    ogg.update({"ARTIST": ["", "Zoë"], "GENRE": "Chanson"})
    ogg.save()
    wave = mutagen.wave.WAVE(folder / names[4])
    wave.add_tags()
    wave.tags.add(id3.TPE1(3, ["Zoë"]))
    wave.save()
    shutil.copy(folder / "tagless.wav", folder / "tagless (copy).wav")
    soundfile.write(folder / "quieter.flac", 0.3 * read(folder / "tagless.wav").samples, 22_050)
    (folder / "noise.mp3").write_bytes(np.random.default_rng(0).bytes(5000))
    return folder


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    return collect(source, tmp_path_factory.mktemp("made") / "collection", queries=4)


def test_tags_are_read_in_every_form(source):
    assert read_tags(source / "Die Ärzte/Rock 'n' Roll.flac") == Tags("Die Ärzte", "Punk", "13", "Rock 'n' Roll")
    assert read_tags(source / "Die Ärzte/Äpfel & Birnen.mp3") == Tags("Die Ärzte", "Rock", "13", "Äpfel")  # ID3: 17
    assert read_tags(source / "café #1.ogg") == Tags("Zoë", "Chanson")
    assert read_tags(source / "other.wav") == Tags("Zoë")
    assert read_tags(source / "tagless.wav") == read_tags(source / "noise.mp3") == read_tags("nowhere.mp3") == Tags()


def test_tags_of_mp4_are_read(source, tmp_path):
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "x.m4a"), "w") as container:
        container.metadata.update({"artist": "Zoë", "genre": "Chanson", "album": "Une", "title": "Deux"})
        stream = container.add_stream("aac", rate=22_050, layout="mono")
        frame = av.AudioFrame.from_ndarray(read(source / "other.wav").samples[None], "fltp", "mono")
        frame.sample_rate = 22_050
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    assert read_tags(tmp_path / "x.m4a") == Tags("Zoë", "Chanson", "Une", "Deux")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_tags_of_riff_are_read(source, tmp_path, encoding):
    pytest.importorskip("av")
    texts = {b"IART": "Zoë", b"IGNR": "Chanson", b"IPRD": "Une", b"INAM": "Deux"}
    said = b"INFO"
    for name, text in texts.items():
        content = text.encode(encoding) + b"\0"
        said += name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
    wave = (source / "tagless.wav").read_bytes() + b"LIST" + struct.pack("<I", len(said)) + said
    (tmp_path / "x.wav").write_bytes(wave[:4] + struct.pack("<I", len(wave) - 8) + wave[8:])
    artist = "Zoë" if encoding == "utf-8" else "Zo\ufffd"
    assert read_tags(tmp_path / "x.wav") == Tags(artist, "Chanson", "Une", "Deux")


def test_the_collection_is_one_that_all_commands_read(made):
    collection = Collection.load(made.collection)
    assert len(collection.documents) == len(made.documents) == 7
    punk = collection.documents["Die_Ärzte_Rock_n_Roll"]
    assert (punk.artist, punk.genre, punk.more["album"], punk.more["title"]) == (
        "Die Ärzte",
        "Punk",
        "13",
        "Rock 'n' Roll",
    )
    assert punk.more["seconds"] == "6.0"
    for document in collection.documents.values():
        assert (made.collection / document.path).is_file()
        assert len(document.identifier.split()) == 1
    assert set(AudioIndex.load(made.collection / "sounds.index").ids) == set(collection.documents)
    (run,) = collection.runs
    assert set(run.rankings) == set(made.queries)
    artist = {name: document.artist for name, document in collection.documents.items()}
    for query, found in run.rankings.items():
        assert query not in found
        assert artist[query] is None or artist[query] not in {artist[name] for name in found}


def test_what_is_wrong_and_what_is_not_known_is_said(made, source):
    (failure,) = made.failed
    assert (failure.path, failure.error.split(",")[0]) == (
        str(source / "noise.mp3"),
        "cannot be decoded (its content is no known sound format)",
    )
    assert made.unknown == {"artist": 3, "genre": 4}


def test_recordings_that_are_there_twice_are_named(made):
    copies = {"tagless", "tagless_copy", "quieter"}
    assert {frozenset((pair.one, pair.other)) for pair in made.twins} == {
        frozenset(pair) for pair in (("tagless", "tagless_copy"), ("tagless", "quieter"), ("tagless_copy", "quieter"))
    }
    assert all(pair.divergence < 0.05 and pair.seconds == 6.0 for pair in made.twins)
    assert len(copies & set(made.queries)) <= 1


@pytest.mark.slow
def test_real_clips_are_no_twins_and_their_copies_are(real_clips, tmp_path):
    for number, path in enumerate(real_clips[::16]):
        samples = read(path).samples
        soundfile.write(tmp_path / f"{number}.wav", samples, 22_050)
        soundfile.write(
            tmp_path / f"{number} softly.mp3", 0.5 * samples, 22_050, bitrate_mode="CONSTANT", compression_level=0
        )
    found = {frozenset((pair.one, pair.other)) for pair in collect(tmp_path, tmp_path / "made").twins}
    copies = {frozenset((f"{number}", f"{number}_softly")) for number in range(6)}
    assert found <= copies
    assert len(found) >= 5


@pytest.mark.slow
def test_the_same_again_goes_on(source, music, tmp_path):
    shutil.copytree(source, tmp_path / "source")
    first = collect(tmp_path / "source", tmp_path / "made", queries=3)
    soundfile.write(tmp_path / "source/new.wav", music(6, 77), 22_050)
    (tmp_path / "source/other.wav").unlink()
    again = collect(tmp_path / "source", tmp_path / "made", queries=3)
    before, after = ({document.identifier for document in one.documents} for one in (first, again))
    assert (after - before, before - after) == ({"new"}, {"other"})
    assert len(Collection.load(tmp_path / "made").documents) == 7


def test_what_its_owner_changed_in_the_collection_is_kept(music, tmp_path):
    for seed in range(6):
        soundfile.write(tmp_path / f"{seed}.wav", music(2, seed), 22_050)
    folder = collect(tmp_path, tmp_path / "made").collection
    (folder / "documents.tsv").write_text("document\tartist\tmood\tseconds\n0\tZoë\tcalm\t99\n1\t\tlively\t\n")
    (folder / "queries.tsv").write_text("query\tdocument\nfirst\t0\n5\t5\n")
    settings = 'name = "Mine"  # ours\nnot_artists = ["Various"]\nscale = "broad"\n'
    (folder / "collection.toml").write_text(settings)
    soundfile.write(tmp_path / "6.wav", music(2, 6), 22_050)
    (tmp_path / "5.wav").unlink()
    again = collect(tmp_path, folder)
    read = Collection.load(folder)
    assert (read.documents["0"].artist, read.documents["0"].more) == ("Zoë", {"mood": "calm", "seconds": "2.0"})
    assert (read.documents["1"].more["mood"], set(read.documents)) == ("lively", {*"012346"})
    assert (read.query_documents, again.queries, again.kept) == ({"first": "0"}, {"first": "0"}, True)
    assert [row["document"] for row in again.rows() if row["query"]] == ["0"]
    assert list(read.runs[0].rankings) == ["first"]
    assert "0" not in read.runs[0].rankings["first"]
    assert (folder / "collection.toml").read_text() == f'sounds = ".."\n{settings}'
    collect(tmp_path, folder)
    assert (folder / "collection.toml").read_text() == f'sounds = ".."\n{settings}'


def test_a_folder_by_one_artist_has_a_baseline(music, tmp_path):
    for seed in range(3):
        soundfile.write(tmp_path / f"{seed}.wav", music(2, seed), 22_050)
        wave = mutagen.wave.WAVE(tmp_path / f"{seed}.wav")
        wave.add_tags()
        wave.tags.add(id3.TPE1(3, ["Zoë"]))
        wave.save()
    (run,) = Collection.load(collect(tmp_path, tmp_path / "made").collection).runs
    assert {query: set(found) for query, found in run.rankings.items()} == {
        "0": {"1", "2"}, "1": {"0", "2"}, "2": {"0", "1"},
    }  # fmt: skip


def test_a_folder_with_one_recording_is_refused(music, tmp_path):
    soundfile.write(tmp_path / "a.wav", music(2, 1), 22_050)
    soundfile.write(tmp_path / "silent.wav", 0 * music(2, 1), 22_050)
    with pytest.raises(InputError, match=r": 1 recording with sound, expected at least 2 to compare$"):
        collect(tmp_path, tmp_path / "made")


def test_a_collection_of_another_folder_is_not_continued(music, tmp_path):
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        for seed in range(2):
            soundfile.write(tmp_path / place / f"{seed}.wav", music(2, seed), 22_050)
    collect(tmp_path / "one", tmp_path / "made")
    with pytest.raises(
        InputError, match=r"made: was made of \.\./one, got \.\./two; expected the same folder, or another"
    ):
        collect(tmp_path / "two", tmp_path / "made")


def test_a_collection_of_others_is_not_overwritten(source, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/mine.trec").write_text("q Q0 d 1 1 mine\n")
    with pytest.raises(InputError, match=r"runs: would become part of the new collection: move or delete it$"):
        collect(source, tmp_path)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("a b/c  d", "a_b_c_d"),
        ("Bjo\u0308rk/Jóga", "Björk_Jóga"),
        ("50% off? (live) #2", "50_off_live_2"),
        ("東京/事変 - 1.5", "東京_事変_-_1.5"),
        ("???", "_"),
    ],
)
def test_identifiers_are_safe(place, expected):
    assert safe_identifier(place) == expected


def test_names_that_become_one_are_told_apart(music, tmp_path):
    for seed, name in enumerate(("a b.wav", "a_b.wav", "a?b.wav")):
        soundfile.write(tmp_path / name, music(2, seed), 22_050)
    made = collect(tmp_path, tmp_path / "made")
    assert [document.identifier for document in made.documents] == ["a_b", "a_b-2", "a_b-3"]


def test_queries_are_drawn_from_all_genres_and_artists():
    documents = [Document(f"{g}{a}{i}", f"{g}{a}", g) for g, n in (("x", 8), ("y", 2)) for a in "12" for i in range(n)]
    drawn = draw_queries(documents, {"y10"}, 6, seed=1)
    assert sorted(name[:2] for name in drawn[:4]) == ["x1", "x2", "y1", "y2"]
    assert len(set(drawn)) == 6
    assert "y10" not in drawn
    assert draw_queries(documents, (), 99, seed=1)[:0] == ()
    assert set(draw_queries(documents, (), 99, seed=2)) == {document.identifier for document in documents}


@pytest.mark.slow
def test_the_command_shows_all_of_it(run, source, tmp_path):
    code, out, err = run("init", source, "-o", tmp_path / "made", "--queries", "3", "--format", "json")
    shown = json.loads(out)
    assert code == 1  # one file is left out
    assert (shown["documents"], len(shown["queries"]), len(shown["near_duplicates"])) == (7, 3, 3)
    assert err.splitlines() == [f"audiosim: {shown['failed'][0]['path']}: {shown['failed'][0]['error']}"]
    code, out, _ = run("init", source, "-o", tmp_path / "made", "--queries", "3")
    assert code == 1
    assert "7 recordings in" in out
    assert "3 of 7 files have no artist tag, 4 of 7 files have no genre tag." in out
    assert "tagless_copy" in out
    assert f"Next: audiosim serve {tmp_path / 'made'} --db sqlite:///{tmp_path / 'made'}/campaign.db --open" in out
    # `check` and `report` handle a collection of one system and so few recordings.
    code, out, _ = run("check", tmp_path / "made")
    assert (code, out.splitlines()[-1]) == (0, "Nothing looks wrong.")
    code, _, err = run("report", tmp_path / "made", "-o", tmp_path / "made.html")
    assert code == 0, err
    assert "Confidence in each pair" not in (tmp_path / "made.html").read_text("utf-8")


def test_a_folder_without_sound_and_no_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"^no sound found in "):
        collect(tmp_path, tmp_path / "made")
    with pytest.raises(InputError, match=r"nowhere: is not a folder, expected one with sound files$"):
        collect(tmp_path / "nowhere", tmp_path / "made")
    with pytest.raises(InputError, match=r"^at least one query must be drawn, got 0$"):
        collect(tmp_path, tmp_path / "made", queries=0)
