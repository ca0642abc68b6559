"""Sound over HTTP: by identifier, in ranges, and as waveforms."""

import http.client
import os
import shutil
from dataclasses import replace
from itertools import pairwise
from urllib.parse import quote

import httpx
import numpy as np
import pytest
import soundfile

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Run
from audiosim.errors import SoundError
from audiosim.service.collections.sounds import Sounds, UntaggedSounds, extremes, loudness_db
from audiosim.sound.folder import collect

RATE_HZ = 22_050
SOUND = "/v1/documents/a/sound"


def document(name, path):
    return Document(name, path=path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection with sound: a sine of amplitude 1/2 for 2 s, silence, what is no sound, and what lies outside."""
    root = tmp_path_factory.mktemp("outside")
    documents = {
        "a": "sounds/sine.wav",
        "q1": "sounds/silent.wav",
        "AC/DC": "sounds/sine.wav",
        "text": "sounds/text.ogg",
        "away": "sounds/link.wav",
        "inside": "sounds/inside.wav",
        "up": "../secret.wav",
        "root": str(root / "secret.wav"),
        "gone": "sounds/gone.wav",
        "folder": "sounds",
        "later": "sounds/later.wav",
    }
    collection = Collection(
        "heard",
        "heard",
        FINE,
        2,
        (Run("S", {"q1": ("a", "AC/DC")}),),
        {name: document(name, path) for name, path in documents.items()},
    )
    collection.save(root / "heard")
    (root / "heard" / "sounds").mkdir()
    time = np.arange(2 * RATE_HZ) / RATE_HZ
    for path, samples in {
        root / "secret.wav": np.sin(2 * np.pi * 440 * time) / 2,
        root / "heard" / "sounds" / "sine.wav": np.sin(2 * np.pi * 441 * time) / 2,
        root / "heard" / "sounds" / "later.wav": np.sin(2 * np.pi * 441 * time) / 2,
        root / "heard" / "sounds" / "silent.wav": np.zeros(2 * RATE_HZ),
    }.items():
        soundfile.write(path, samples, RATE_HZ)
    (root / "heard" / "sounds" / "text.ogg").write_text("no sound at all", encoding="utf-8")
    (root / "heard" / "sounds" / "link.wav").symlink_to(root / "secret.wav")
    (root / "heard" / "sounds" / "inside.wav").symlink_to("sine.wav")
    return root / "heard"


@pytest.fixture(scope="module")
def server(commanded, folder, tmp_path_factory):
    with commanded([folder], tmp_path_factory.mktemp("log") / "log") as running:
        yield running


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.url, timeout=180) as one:
        yield one


@pytest.fixture
def whole(folder):
    return (folder / "sounds" / "sine.wav").read_bytes()


def test_a_sound_is_sent_whole_with_its_type_and_what_tells_whether_it_changed(client, whole):
    answer = client.get(SOUND)
    assert answer.status_code == 200
    assert answer.content == whole
    assert answer.headers["content-type"] == "audio/wav"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"]
    assert answer.headers["last-modified"]
    head = client.head(SOUND)
    assert head.headers["content-length"] == str(len(whole))
    assert head.content == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [("bytes=0-0", 0, 1), ("bytes=100-199", 100, 200), ("bytes=44-", 44, None), ("bytes=-7", -7, None),
     ("bytes=10-999999999", 10, None)],
)  # fmt: skip
def test_a_range_is_sent_alone(client, whole, asked, first, end):
    answer = client.get(SOUND, headers={"Range": asked})
    assert answer.status_code == 206
    assert answer.content == whole[first:end]
    start = first % len(whole)
    assert answer.headers["content-range"] == f"bytes {start}-{start + len(answer.content) - 1}/{len(whole)}"


def test_a_range_of_a_file_that_has_changed_is_the_whole_file(client, whole):
    headers = {"Range": "bytes=0-9", "If-Range": '"another"'}
    assert client.get(SOUND, headers=headers).content == whole
    headers["If-Range"] = client.head(SOUND).headers["etag"]
    assert client.get(SOUND, headers=headers).content == whole[:10]


@pytest.mark.parametrize(
    "asked",
    ["bytes=99999999-", "bytes=5-4", "bytes=-0", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=0-1,5-9", "bytes=0x1-",
     "bytes=" + ",".join(f"{i}-{i}" for i in range(1000)), "bytes=" + "9" * 5000 + "-"],
    ids=lambda asked: asked[:20],
)  # fmt: skip
def test_a_range_that_is_not_there_and_many_ranges_are_416(client, whole, asked):
    answer = client.get(SOUND, headers={"Range": asked})
    assert answer.status_code == 416
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["content-range"] == f"bytes */{len(whole)}"
    assert answer.json()["detail"] == f"expected one range within the {len(whole)} bytes"


@pytest.mark.parametrize(
    "identifier",
    ["../secret.wav", "..%2fsecret.wav", "%2e%2e/secret.wav", "%2e%2e%2fsecret.wav", "a%00", "%00", "sounds/sine.wav",
     "away", "up", "root", "gone", "folder", "nobody", "..", ".", "%2Fetc%2Fpasswd", "a/../a", "%ff"],
)  # fmt: skip
def test_what_is_no_identifier_of_a_sound_inside_the_folder_is_404(server, identifier):
    # A plain connection, as clients normalise dots before they send.
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    for what in ("sound", "peaks"):
        connection.request("GET", f"/v1/documents/{identifier}/{what}")
        answer = connection.getresponse()
        assert answer.status == 404, answer.read()
        assert b"passwd:" not in answer.read()
    connection.close()


def test_a_link_within_the_folder_and_an_identifier_with_a_slash_are_fine(client, whole):
    assert client.get("/v1/documents/inside/sound").content == whole
    assert client.get(f"/v1/documents/{quote('AC/DC', safe='')}/sound").content == whole
    assert client.get("/v1/documents/a/sound?collection=heard").status_code == 200
    assert client.get("/v1/documents/a/sound?collection=other").status_code == 404


def test_a_file_that_became_a_link_outside_is_404(client, folder):
    path = folder / "sounds" / "later.wav"
    assert client.get("/v1/documents/later/sound").status_code == 200
    os.replace(path, folder / "kept.wav")  # noqa: PTH105
    path.symlink_to(folder.parent / "secret.wav")
    assert client.get("/v1/documents/later/sound").status_code == 404


def test_a_waveform_is_drawn_of_the_lowest_and_highest_sample_of_each_stretch(client):
    drawn = client.get("/v1/documents/a/peaks").json()
    assert drawn["duration_s"] == 2
    # Every 55 samples contain a full period of 50, whose highest sample is sin(2 pi 12 / 50) / 2.
    peak = round(127 * np.sin(2 * np.pi * 12 / 50) / 2)
    assert drawn["high"] == [peak] * 800
    assert drawn["low"] == [-peak] * 800
    # Its mean square is 1/8, and the recommendation's filters, by their coefficients, raise 441 Hz by .01 dB.
    assert drawn["loudness_db"] == pytest.approx(-0.691 + 10 * np.log10(1 / 8) + 0.01, abs=0.1)
    silent = client.get("/v1/documents/q1/peaks").json()
    assert set(silent["low"]) == set(silent["high"]) == {0}
    assert silent["loudness_db"] is None


def test_what_is_no_sound_cannot_be_drawn(client):
    answer = client.get("/v1/documents/text/peaks")
    assert answer.json()["detail"].startswith("the sound of document 'text' cannot be drawn: text.ogg: ")
    assert "/heard/" not in answer.text
    assert answer.status_code == 422
    assert "cannot be decoded" in answer.json()["detail"]


def test_a_pair_to_judge_comes_with_the_addresses_of_its_sounds(client, whole):
    pairs = client.post("/v1/collections/heard/next", json={"assessor": "a", "count": 9}).json()["pairs"]
    assert len(pairs) == 2
    for pair in pairs:
        assert client.get(pair["document_sound"]).content == whole
        assert len(client.get(pair["document_peaks"]).json()["high"]) == 800
        assert client.get(pair["query_sound"]).status_code == 200


def test_an_answer_that_is_looked_back_on_comes_with_the_addresses_of_its_sounds(client):
    (pair,) = client.post("/v1/collections/heard/next", json={"assessor": "a"}).json()["pairs"]
    said = {"query": pair["query"], "document": pair["document"], "assessor": "a", "fine": 50}
    assert "query_sound" not in client.post("/v1/collections/heard/judgments", json=said).json()
    (answer,) = client.get("/v1/collections/heard/answers?assessor=a").json()["answers"]
    names = [f"{side}_{what}" for side in ("query", "document") for what in ("sound", "peaks")]
    assert [answer[name] for name in names] == [pair[name] for name in names]


def test_stretches_agree_with_cutting_the_sound_by_hand():
    samples = np.random.default_rng(1).normal(size=1003).astype(np.float32)
    low, high = extremes(samples, 10)
    starts = [0, 100, 200, 300, 401, 501, 601, 702, 802, 902, 1003]
    pieces = [samples[a:b] for a, b in pairwise(starts)]
    assert low.tolist() == [piece.min() for piece in pieces]
    assert high.tolist() == [piece.max() for piece in pieces]
    assert extremes(samples[:3], 10)[0].tolist() == samples[:3].tolist()


def tone(decibels, hertz=997, seconds=4.0, rate_hz=48_000):
    """A sine at a level in decibels of full scale."""
    times = np.arange(int(seconds * rate_hz)) / rate_hz
    return (10 ** (decibels / 20) * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


# ITU-R BS.1770-4, annex 1: a sine of 997 Hz at full scale in one channel has -3.01 LKFS; parts more than 10 LU below
# the loudness of the other parts are excluded. EBU Tech 3341 allows .1 LU.
@pytest.mark.parametrize("rate_hz", [22_050, 48_000])
def test_loudness_is_that_of_the_recommendation(rate_hz):
    assert loudness_db(tone(0, rate_hz=rate_hz), rate_hz) == pytest.approx(-3.01, abs=0.1)
    assert loudness_db(tone(-20, rate_hz=rate_hz), rate_hz) == pytest.approx(-23.01, abs=0.1)
    pauses = np.concatenate([tone(-20, seconds=10, rate_hz=rate_hz), tone(-50, seconds=10, rate_hz=rate_hz)])
    assert loudness_db(pauses, rate_hz) == pytest.approx(-23.01, abs=0.15)
    bass, treble = (loudness_db(tone(-20, hertz, rate_hz=rate_hz), rate_hz) for hertz in (40, 4000))
    assert bass < -26
    assert treble > -21
    assert loudness_db(np.zeros(2 * rate_hz, np.float32), rate_hz) is None


def test_copies_for_assessors_take_bounded_room_and_those_not_heard_for_longest_go_first(tmp_path):
    rng = np.random.default_rng(7)
    sounds = [tmp_path / f"{name}.wav" for name in "abc"]
    for path in sounds:
        soundfile.write(path, rng.uniform(-1, 1, RATE_HZ), RATE_HZ)  # noise, which FLAC hardly compresses
    kept, alone = tmp_path / "copies", tmp_path / "alone"
    kept.mkdir()
    alone.mkdir()
    one = UntaggedSounds(alone).copy_of(sounds[0]).stat().st_size
    copies = UntaggedSounds(kept, most=5 * one // 2)  # two, not three
    first, second = map(copies.copy_of, sounds[:2])
    whole = second.read_bytes()
    assert copies.copy_of(sounds[0]) == first  # played once more
    third = copies.copy_of(sounds[2])
    assert set(kept.iterdir()) == {first, third}
    assert copies.copy_of(sounds[1]).read_bytes() == whole  # made again
    assert set(kept.iterdir()) == {second, third}
    assert soundfile.info(str(second)).frames == RATE_HZ
    small = UntaggedSounds(alone, most=1)
    assert small.copy_of(sounds[2]).exists()  # a requested copy always exists


def test_a_copy_that_cannot_be_written_is_an_error_of_the_system_and_leaves_nothing(tmp_path):
    soundfile.write(tmp_path / "some.wav", np.zeros(RATE_HZ), RATE_HZ)
    with pytest.raises(OSError, match="cannot be written"):
        UntaggedSounds(tmp_path / "gone").copy_of(tmp_path / "some.wav")
    (tmp_path / "some.wav").write_bytes(b"RIFF, as it says")
    (tmp_path / "copies").mkdir()
    with pytest.raises(SoundError):
        UntaggedSounds(tmp_path / "copies").copy_of(tmp_path / "some.wav")
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_path_that_leads_nowhere_is_no_sound(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    documents = {"loop": document("loop", "loop"), "nul": document("nul", "a\0b"), "none": document("none", None)}
    collection = Collection("c", "c", FINE, 1, (Run("S", {"q": ("loop",)}),), documents)
    sounds = Sounds(collection, tmp_path)
    assert all(sounds.path(name) is None for name in documents)
    assert "loop" not in Sounds(collection, None)


@pytest.fixture
def scattered(folder, tmp_path):
    """A collection of three queries with sounds in its own folder, in another folder, and nowhere."""
    (tmp_path / "elsewhere").mkdir()
    sine = (folder / "sounds" / "sine.wav").read_bytes()
    (tmp_path / "elsewhere" / "b.wav").write_bytes(sine)
    documents = {"a": "a.wav", "b": str(tmp_path / "elsewhere" / "b.wav"), "c": "c.wav", "q1": "a.wav", "q2": "a.wav"}
    runs = (Run("S", {"q1": ("a", "b", "c"), "q2": ("b", "a")}), Run("T", {"q1": ("b",), "q2": ("c",)}))
    known = {name: document(name, path) for name, path in documents.items()}
    Collection("scattered", "scattered", FINE, 3, runs, known).save(tmp_path / "scattered")
    (tmp_path / "scattered" / "a.wav").write_bytes(sine)
    return tmp_path / "scattered"


SCATTERED = "/v1/collections/scattered"


def handed_out(http):
    pairs = http.post(f"{SCATTERED}/next", json={"assessor": "ann", "count": 10}).json()["pairs"]
    return {(pair["query"], pair["document"]) for pair in pairs}


@pytest.mark.slow
def test_what_init_makes_of_a_folder_elsewhere_is_heard(tmp_path):
    music = tmp_path / "music"
    music.mkdir()
    for number in range(1, 5):
        shutil.copy(package_files.folder("fixtures") / "demo" / "sounds" / f"d00{number}.ogg", music)
    made = collect(music, tmp_path / "campaigns" / "mine", queries=2)
    collection, pairs = Collection.load(made.collection), build_pool(Collection.load(made.collection)).pairs
    assert Sounds(collection, made.collection).coverage(pairs) == ""
    hidden = Sounds(replace(collection, sound_folder=None), made.collection)
    assert "allow its folder by the setting sounds" in hidden.coverage(pairs)


@pytest.mark.slow
def test_pairs_that_cannot_be_heard_are_not_handed_out_and_it_is_said_why(commanded, scattered, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "b.wav"
    remedy = "allow its folder by the setting sounds, or `sounds` in collection.toml"
    why = f"b ({elsewhere} is outside {scattered}: {remedy}); their pairs are not handed out"
    said = f"3 of 5 documents can be played; 2 have no sound, such as {why}"
    with commanded([scattered], tmp_path / "log") as server, server.client() as http:
        assert handed_out(http) == {("q1", "a"), ("q2", "a")}
        assert http.get(f"{SCATTERED}/campaign").json()["sounds"] == said
        assert server.says(f"scattered: {said}")


def test_a_folder_that_is_named_may_be_heard_too(commanded, scattered, tmp_path):
    sounds = str(tmp_path / "elsewhere")
    said = "4 of 5 documents can be played; 1 has no sound, c (c.wav is not a file); its pairs are not handed out"
    with commanded([scattered], tmp_path / "log", AUDIOSIM_SOUNDS=sounds) as server, server.client() as http:
        assert handed_out(http) == {("q1", "a"), ("q1", "b"), ("q2", "a"), ("q2", "b")}
        assert http.get(f"{SCATTERED}/campaign").json()["sounds"] == said
        sound = http.get("/v1/documents/b/sound", params={"collection": "scattered"})
        assert sound.content == (tmp_path / "elsewhere" / "b.wav").read_bytes()


def test_where_no_pair_can_be_heard_it_is_said_instead_of_nothing(commanded, scattered, tmp_path):
    (scattered / "a.wav").unlink()
    with commanded([scattered], tmp_path / "log") as server, server.client() as http:
        answer = http.post(f"{SCATTERED}/next", json={"assessor": "ann"})
        assert answer.status_code == 409
        assert answer.json()["detail"].startswith(
            "no pair can be heard: 0 of 5 documents can be played; 5 have no sound, such as "
        )


@pytest.mark.slow
def test_an_answer_before_both_clips_were_heard_is_marked_and_the_rule_stays_with_the_campaign(
    commanded, scattered, tmp_path
):
    database = ("--db", f"sqlite:///{tmp_path / 'campaign.db'}")

    def judge(http, pair, query_s, document_s):
        heard = {"query_played_s": query_s, "document_played_s": document_s} if query_s is not None else {}
        said = {"query": pair[0], "document": pair[1], "assessor": "ann", "fine": 50, **heard}
        return http.post(f"{SCATTERED}/judgments", json=said).json()["details"].get("rushed", False)

    with commanded([scattered], tmp_path / "log", *database, AUDIOSIM_LISTEN="2") as server, server.client() as http:
        assert http.get(f"{SCATTERED}/questions", params={"ask": "fine"}).json()["listen_s"] == 2
        one, other = sorted(handed_out(http))
        assert judge(http, one, 1, 30) is True
        assert judge(http, one, 0, 0) is False  # a revision: they heard it before
        assert judge(http, other, None, None) is True  # unknown playing times count as nothing heard
    with commanded([scattered], tmp_path / "log 2", *database) as server, server.client() as http:
        assert http.get(f"{SCATTERED}/questions").json()["listen_s"] == 2  # the campaign's setting
        rows = http.get(f"{SCATTERED}/judgments?format=jsonl").text
        assert rows.count('"rushed": true') == 1  # among valid judgments
    with commanded([scattered], tmp_path / "log 3", *database, AUDIOSIM_LISTEN="0") as server, server.client() as http:
        http.post(f"{SCATTERED}/undo", json={"assessor": "ann"})
        assert judge(http, other, 0, 0) is False


@pytest.mark.parametrize(
    ("seconds", "listen_s", "enough"),
    [((5, 4.97), 5, True), ((5, 4), 5, False), ((10, 10), 30, True), ((9, 10), 30, False), ((None, 10), 30, False)],
)
def test_a_clip_of_ten_seconds_is_heard_after_the_seconds_asked_for_or_its_own(seconds, listen_s, enough):
    folder = package_files.folder("fixtures") / "demo"
    collection = Collection.load(folder)
    assert Sounds(collection, folder).heard("q13", ("d010",), seconds, listen_s) is enough
