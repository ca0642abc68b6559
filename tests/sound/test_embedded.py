"""Vectors of recordings made by a function: kept beside an index, and made again when a file changes."""

import os
import re
import sys
import textwrap
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
import soundfile

from audiosim.collection.evidence import read_vectors
from audiosim.errors import InputError
from audiosim.sound.decode import read
from audiosim.sound.descriptions import Searched, descriptions_of
from audiosim.sound.embedding import Embedding
from audiosim.sound.embeddings import check_embedding
from audiosim.sound.folder import collect
from audiosim.sound.index import extract, split
from audiosim.sound.neighbours import neighbours
from audiosim.sound.search import neighbours_by
from audiosim.sound.vectors import embed, embed_index

N = 6
ROOT = Path(__file__).resolve().parents[2]


def powers(y, sr):
    """Powers of two, by the octaves of a spectrum: frames of half a second."""
    frames = y[: len(y) // (sr // 2) * (sr // 2)].reshape(-1, sr // 2)
    spectrum = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    edges = 2 ** np.arange(3, 12)
    return np.add.reduceat(spectrum[:, : edges[-1]], edges[:-1], axis=1).T


def failing(y, sr):
    if len(y) < 3 * sr:
        raise ValueError("too short")
    return powers(y, sr)


@pytest.fixture(scope="module")
def source(tmp_path_factory, music):
    folder = tmp_path_factory.mktemp("sounds")
    for seed in range(N):
        soundfile.write(folder / f"r{seed}.wav", music(4, seed), 22_050, subtype="FLOAT")
    soundfile.write(folder / "still.wav", np.zeros(44_100), 22_050)
    return folder


@pytest.fixture
def folder(source, tmp_path):
    extract(source, into=tmp_path / "index")
    return tmp_path / "index"


def test_each_recording_that_is_heard_has_the_mean_of_its_frames(folder, source):
    assert embed_index(folder, Embedding("powers", powers)) == ()
    (piece,) = read_vectors(folder)
    assert (piece.name, piece.of_sound, sorted(piece.keys)) == ("powers", True, [f"r{n}" for n in range(N)])
    expected = powers(read(source / "r3.wav").samples, 22_050).mean(axis=1)
    np.testing.assert_allclose(piece.values[piece.keys.index("r3")], expected, rtol=1e-6)


def test_the_function_gets_samples_at_its_own_rate(folder):
    embed_index(folder, Embedding("rate", lambda y, sr: np.array([sr, len(y)], float), 16_000))
    (piece,) = read_vectors(folder)
    np.testing.assert_array_equal(piece.values, np.tile([16_000, 64_000], (N, 1)))


@pytest.mark.slow
def test_workers_give_what_this_process_does(folder):
    embed_index(folder, Embedding("powers", powers))
    (alone,) = read_vectors(folder)
    assert embed_index(folder, Embedding("again", lambda y, sr: powers(y, sr)), 2) == ()
    again, _ = read_vectors(folder)
    np.testing.assert_array_equal(again.values, alone.values)


def test_only_what_changed_is_described_again(source, folder, tmp_path, music):
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    for name in ("r0", "r1"):
        os.link(source / f"{name}.wav", sounds / f"{name}.wav")
    asked = []

    def counted(y, sr):
        asked.append(len(y))
        return powers(y, sr)

    for expected in (2, 0):
        extract(sounds, into=tmp_path / "some")
        asked.clear()
        embed_index(tmp_path / "some", Embedding("powers", counted))
        assert len(asked) == expected
    (sounds / "r1.wav").unlink()
    soundfile.write(sounds / "r1.wav", music(3, 9), 22_050)
    extract(sounds, into=tmp_path / "some")
    embed_index(tmp_path / "some", Embedding("powers", counted))
    assert asked == [3 * 22_050]
    (piece,) = read_vectors(tmp_path / "some")
    np.testing.assert_allclose(
        piece.values[piece.keys.index("r1")], powers(music(3, 9), 22_050).mean(axis=1), rtol=1e-3
    )


def test_what_fails_is_said_and_costs_its_recording(source, tmp_path, music):
    soundfile.write(tmp_path / "short.wav", music(2), 22_050)
    extract([source / "r0.wav", tmp_path / "short.wav"], into=tmp_path / "index")
    (lost,) = embed_index(tmp_path / "index", Embedding("failing", failing))
    assert lost.path.endswith("short.wav")
    assert lost.error == "embedding failing fails: ValueError: too short"
    (piece,) = read_vectors(tmp_path / "index")
    assert piece.keys == ("r0",)
    (lost, _) = embed_index(tmp_path / "index", Embedding("nothing", lambda y, sr: np.zeros(3)))
    assert lost.error == "embedding nothing gives a vector of length 0"


def test_a_name_or_a_rate_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="a name of letters, digits, - and _ that begins with a letter, none of"):
        Embedding("gaussians", powers)
    with pytest.raises(InputError, match="must have a rate of at least 1 Hz, got 0"):
        Embedding("x", powers, 0)
    cube = Embedding("cube", lambda y, sr: np.zeros((2, 2, 2)))
    with pytest.raises(InputError, match=r"must give \(d,\) or \(d, frames\) numbers, d up to 4,096, got \(2, 2, 2\)"):
        cube.vector(np.zeros(9, np.float32))
    bad = Embedding("bad", lambda y, sr: np.array([np.nan]))
    with pytest.raises(InputError, match="embedding bad gives numbers that are not finite"):
        bad.vector(np.zeros(9, np.float32))


@pytest.mark.slow
def test_the_harmony_of_librosa_is_a_description_by_name(folder, source, run):
    librosa = pytest.importorskip("librosa")
    assert embed(folder, "tonal", jobs=1) == ()
    (piece,) = read_vectors(folder)
    samples = read(source / "r2.wav").samples
    chroma = librosa.feature.chroma_stft(y=samples, sr=22_050, tuning=0.0).mean(axis=1)
    np.testing.assert_allclose(
        piece.values[piece.keys.index("r2")][:12], (chroma - 0.36) / 0.16 / np.sqrt(12), rtol=1e-4, atol=1e-5
    )
    # A sound outside the index gets a vector as well: its copy is nearest by both.
    found = neighbours(folder, 3, like=source / "r2.wav")
    assert found.found["r2"][0] == ("r2", 0.0, 1.0)
    code, out, err = run("neighbours", folder, "--like", source / "r2.wav", "--by", "tonal", "-k", 1)
    assert (code, err) == (0, "")
    assert "r2" in out
    code, _, err = run("neighbours", folder, "--by", "tonal=much")
    assert code == 2
    assert "expected a number as the weight of tonal, got much" in " ".join(err.split())


@pytest.mark.slow
def test_vectors_that_no_installed_embedding_made_cannot_be_asked_for_by_example(folder, source):
    embed_index(folder, Embedding("powers", powers))
    found = neighbours(folder, 2, like=source / "r1.wav")
    assert found.found["r1"][0].identifier == "r1", "the Gaussians alone count"
    with pytest.raises(InputError, match="the sounds to query by cannot be described by powers: the embedding"):
        neighbours(folder, 2, like=source / "r1.wav", by=["gaussians", "powers"])


@pytest.mark.slow
def test_shards_answer_as_one_index_does(folder, source, tmp_path):
    embed_index(folder, Embedding("powers", powers))
    whole = neighbours(folder, 4)
    shards = split(folder, tmp_path / "shards", 3)
    for shard in shards:
        embed_index(shard, Embedding("powers", powers))
    parts = neighbours(shards, 4)
    assert parts.found.keys() == whole.found.keys()
    for name, near in whole.found.items():
        assert [one.identifier for one in parts.found[name]] == [one.identifier for one in near]
        np.testing.assert_allclose([one.proximity for one in parts.found[name]], [one.proximity for one in near])


def test_the_baseline_of_a_music_folder_goes_by_all_descriptions(source, tmp_path):
    made = collect(source, tmp_path / "made", queries=3, embeddings=[Embedding("powers", powers)])
    searched = Searched.load([made.collection / "sounds.index"])
    expected = neighbours_by(searched, descriptions_of(searched), made.queries, 5)
    lines = [line.split() for line in (made.collection / "runs/audiosim-nearest.trec").read_text().splitlines()]
    for query in made.queries:
        assert [line[2] for line in lines if line[0] == query] == [one.identifier for one in expected[query]]
    assert made.failed == ()


class _Tensor(np.ndarray):
    def numpy(self):
        return np.asarray(self)


class _Network:
    """Stand-in for CLAP in `transformers`: levels in 512 bands of each piece of ten seconds, shorter ones repeated."""

    heard: ClassVar[list] = []

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def eval(self):
        return self

    def __call__(self, pieces, *, sampling_rate, return_tensors):
        assert (sampling_rate, return_tensors) == (48_000, "pt")
        self.heard.append([len(piece) for piece in pieces])
        return {"input_features": np.array([np.resize(piece, 480_000) for piece in pieces])}

    def get_audio_features(self, input_features):
        spectrum = np.abs(np.fft.rfft(input_features))[:, :102_400]
        return np.log(spectrum.reshape(len(spectrum), 512, 200).mean(axis=2) + 1e-6).view(_Tensor)


@pytest.mark.slow
def test_the_recipe_for_a_network_keeps_the_contract(monkeypatch):
    text = (ROOT / "docs" / "sound.md").read_text("utf-8")
    (recipe,) = re.findall(r"\n((?: {4}[^\n]*\n|\n)*? {4}CLAP = [^\n]*\n)", text[text.index("LAION's CLAP") :])
    torch, transformers = ModuleType("torch"), ModuleType("transformers")
    torch.no_grad = nullcontext
    transformers.ClapModel = transformers.ClapFeatureExtractor = _Network
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    made = {}
    exec(textwrap.dedent(recipe), made)
    _Network.heard.clear()
    vector = made["CLAP"].vector(np.random.default_rng(0).normal(size=1_000_000).astype(np.float32))
    assert _Network.heard == [[480_000, 480_000]], "what is left over is shorter than a second"
    assert vector.shape == (512,)
    check_embedding(made["CLAP"], np.random.default_rng(0))
