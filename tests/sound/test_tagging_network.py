"""The network of musicnn in NumPy: TensorFlow's activations, bad checkpoints, and no package."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from audiosim.errors import InputError, MissingPackageError
from audiosim.sound.embeddings import check_embedding, find_embedding
from audiosim.sound.musicnn import (
    INSTALL,
    MUSICNN,
    TaggingNetwork,
    installed_network,
    patches_of,
    read_checkpoint,
    tagging_vector,
)

# Written by TensorFlow and musicnn's own code: tests/reference/small_musicnn.py.
REFERENCE = Path(__file__).resolve().parents[1] / "reference"
SMALL = REFERENCE / "small_musicnn"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(REFERENCE / "small_musicnn.py"))


@pytest.fixture
def small_package(tmp_path, monkeypatch):
    """A package `musicnn` with the small network, and with code that must not run."""
    model = tmp_path / "musicnn" / "MSD_musicnn"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").write_text("raise RuntimeError('imported')\n")
    for file in SMALL.glob("network.*"):
        (model / file.name.removeprefix("network")).write_bytes(file.read_bytes())
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    installed_network.cache_clear()
    yield model
    installed_network.cache_clear()


def test_activations_are_those_of_tensorflow(script, small_package):
    expected = np.loadtxt(SMALL / "penultimate.csv", delimiter=",")
    found = find_embedding("musicnn").function(y=script["sound"](), sr=script["RATE_HZ"])
    # Seven digits were written; a sum of 200 products in single precision is good to about six.
    np.testing.assert_allclose(found.T, expected, atol=2e-5)


@pytest.mark.slow
def test_the_embedding_of_a_network_keeps_its_contract(small_package):
    check_embedding(MUSICNN, np.random.default_rng(0))


def test_the_weights_of_the_package_give_what_tensorflow_gives(script):
    """Needs musicnn: pip install --no-deps musicnn."""
    try:
        MUSICNN.prepare()
    except MissingPackageError as error:
        pytest.skip(str(error))
    expected = np.loadtxt(REFERENCE / "musicnn.csv", delimiter=",")
    found = tagging_vector(script["sound"](), script["RATE_HZ"])
    np.testing.assert_allclose(found.T, expected, atol=1e-4)


def test_a_sound_of_less_than_three_seconds_ends_in_silence():
    time = np.arange(16_000, dtype=np.float32) / 16_000
    (patch,) = patches_of(np.sin(2 * np.pi * 440 * time), 16_000)
    assert patch.shape == (187, 96)
    assert patch[:60].max(axis=1).min() > 1
    assert not patch[70:].any()


def test_without_the_package_the_command_that_installs_it_is_said(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingPackageError, match=re.escape(f"the embedding musicnn needs musicnn: {INSTALL}")):
        find_embedding("musicnn")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda index, data: (b"not a table", data), "its last bytes differ"),
        (lambda index, data: (index, data[:1000]), "the data file lacks the"),
        (lambda index, data: (index[:-48] + b"\xff" * 40 + index[-8:], data), ""),
    ],
    ids=["no table", "cut off", "astray"],
)
def test_files_that_are_no_checkpoint_are_refused(tmp_path, change, why):
    whole = (SMALL / "network.index").read_bytes(), (SMALL / "network.data-00000-of-00001").read_bytes()
    index, data = change(*whole)
    (tmp_path / "n.index").write_bytes(index)
    (tmp_path / "n.data-00000-of-00001").write_bytes(data)
    with pytest.raises(InputError, match=rf"n\.index: expected the index of a checkpoint of TensorFlow \(.*{why}"):
        read_checkpoint(str(tmp_path / "n"))


def test_a_network_without_a_layer_is_refused():
    weights = read_checkpoint(str(SMALL / "network"))
    del weights["conv2d_7/kernel"]
    with pytest.raises(InputError, match=r"a network of musicnn must have the layer conv2d_7/kernel"):
        TaggingNetwork(weights)
