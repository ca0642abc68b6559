"""Pictures of recordings over HTTP, for organisers."""

from io import BytesIO

import numpy as np
import pytest
import soundfile

from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Document, Run
from audiosim.service.access.access import check_allowed
from audiosim.service.access.callers import Caller, DeniedError, scopes_of
from audiosim.service.app import create_app
from audiosim.sound.clips import picture_of_signal
from audiosim.sound.decode import Signal

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
pytest.importorskip("librosa", reason="librosa is not installed")

RATE_HZ = 22_050
PICTURE = "/v1/collections/heard/picture"
LEFT, RIGHT = (0.25, 0.4), (0.55, 0.7)  # shares of the width: within the two halves of the time axis


def tones(seconds, first_hz, second_hz):
    """A sine, and another one in the second half."""
    half = np.arange(round(seconds * RATE_HZ / 2), dtype=np.float32) / RATE_HZ
    parts = [np.sin(2 * np.pi * hz * half) / 2 for hz in (first_hz, second_hz)]
    return np.concatenate(parts).astype(np.float32)


def brightest(content, where):
    """The brightest row of a picture between the frame's upper and lower edge, as a share of its height."""
    image = np.asarray(Image.open(BytesIO(content)).convert("L"), float)
    height, width = image.shape
    left, right = (round(share * width) for share in where)
    inside = image[round(0.08 * height) : round(0.7 * height), left:right]
    return 0.08 + int(inside.mean(1).argmax()) / height


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures") / "heard"
    files = {"a": "rising.wav", "query-a": "falling.wav", "text": "text.ogg", "gone": "gone.wav"}
    documents = {name: Document(name, path=path) for name, path in files.items()}
    runs = (Run("S", {"q1": ("a", "text", "gone")}),)
    made = Collection("heard", "heard", FINE, 3, runs, documents, query_documents={"q1": "query-a"})
    made.save(folder)
    soundfile.write(folder / "rising.wav", tones(4, 500, 4000), RATE_HZ)
    soundfile.write(folder / "falling.wav", tones(4, 4000, 500), RATE_HZ)
    (folder / "text.ogg").write_text("no sound at all", encoding="utf-8")
    return create_app([made], "uniform", folders={"heard": folder})


@pytest.fixture
def client(in_process, app):
    with in_process(app) as one:
        yield one


@pytest.mark.slow
def test_a_picture_shows_the_sound_of_the_document_or_of_the_query(client):
    answer = client.get(PICTURE, params={"document": "a"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
    assert answer.headers["cache-control"] == "private, max-age=3600"
    # The mel axis points upwards: 4 kHz is above 500 Hz by far more than a fifth of the picture.
    assert brightest(answer.content, RIGHT) < brightest(answer.content, LEFT) - 0.2
    falling = client.get(PICTURE, params={"query": "q1"}).content
    assert brightest(falling, LEFT) < brightest(falling, RIGHT) - 0.2
    assert client.get(PICTURE, params={"document": "query-a"}).content == falling


@pytest.mark.slow
def test_a_picture_of_twenty_minutes_has_its_tones_where_one_of_seconds_has_them():
    short, long = (picture_of_signal(Signal(tones(seconds, 500, 4000), RATE_HZ)) for seconds in (4, 1200))
    for half in (LEFT, RIGHT):
        assert brightest(long, half) == pytest.approx(brightest(short, half), abs=0.03)


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({}, 422, "name one recording: ?document=NAME or ?query=NAME"),
        ({"document": "a", "query": "q1"}, 422, "name one recording: ?document=NAME or ?query=NAME"),
        ({"document": "gone"}, 404, "there is no sound of document 'gone'"),
        ({"document": "../../x"}, 404, "there is no sound of document '../../x'"),
        ({"query": "q9"}, 404, "there is no sound of query 'q9'"),
        ({"document": "text"}, 422, "the sound of document 'text' cannot be drawn: text.ogg: "),
    ],
)
def test_what_cannot_be_drawn_is_one_clear_line(client, asked, status, said):
    answer = client.get(PICTURE, params=asked)
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(said)
    assert "\n" not in answer.json()["detail"]
    assert "/heard/" not in answer.json()["detail"]


def test_without_altair_the_answer_says_what_to_install(client, monkeypatch):
    monkeypatch.setattr("audiosim.results.value.has_package", lambda name: name != "altair")
    answer = client.get(PICTURE, params={"document": "a"})
    assert answer.status_code == 501
    assert answer.json()["detail"] == "a picture of a recording needs altair: pip install 'audiosim[plots]'"


def test_pictures_are_for_organisers_alone(app):
    (route,) = (one for one in app.routes if getattr(one, "name", "") == "show_picture")
    check_allowed(Caller("organiser"), scopes_of(route), "heard")
    for role in ("assessor", "client", "reader"):
        with pytest.raises(DeniedError, match="organiser"):
            check_allowed(Caller(role), scopes_of(route), "heard")


def test_the_campaign_says_whether_there_is_sound(client, in_process, small):
    assert client.get("/v1/collections/heard/campaign").json()["heard"] is True
    with in_process(create_app([small], "uniform")) as silent:
        assert silent.get("/v1/collections/small/campaign").json()["heard"] is False
