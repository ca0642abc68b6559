"""Contract of embeddings: good ones pass, and violations are reported."""

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.sound.embedding import Embedding
from audiosim.sound.embeddings import EMBEDDING_POINT, TONAL, check_embedding, find_embedding


def spectrum(y, sr):
    return np.add.reduceat(np.abs(np.fft.rfft(y[: 2 * sr])), np.arange(0, sr, sr // 8))[:8]


def check(function):
    check_embedding(Embedding("mine", function), np.random.default_rng(0))


@pytest.mark.slow
def test_the_embedding_of_librosa_keeps_its_contract():
    assert find_embedding("tonal") is TONAL
    assert EMBEDDING_POINT.names()[0] == "tonal"
    check_embedding(TONAL, np.random.default_rng(0))


def test_frames_may_be_as_many_as_there_are():
    check(lambda y, sr: np.stack([spectrum(y, sr)] * (len(y) // sr), axis=1))


def test_an_unknown_embedding_is_told_the_others():
    with pytest.raises(InputError, match=r"^unknown embedding 'tonnal', expected one of tonal, musicnn; .*tonal"):
        find_embedding("tonnal")


def drawn(y, sr, rng=np.random.default_rng(0)):  # noqa: B008 - one that goes on is what is wrong with it
    return rng.normal(size=4)


def careless(y, sr):
    y *= 0.5
    return np.ones(3)


def broken(y, sr):
    raise ValueError("no")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (drawn, "gives a different vector the second time$"),
        (careless, "changes the samples$"),
        (broken, "fails on 3 s of sound: ValueError: no$"),
        (lambda y, sr: np.ones(3), "gives the same vector for two different sounds$"),
        (lambda y, sr: np.zeros(3), "gives a vector of length 0 for 3 s of sound$"),
        (lambda y, sr: np.arange(len(y) // sr) + 1.0, "gives 3 numbers for 3 s but 30 for 30 s, expected as many"),
        (lambda y, sr: np.array([np.inf]), "gives numbers that are not finite$"),
    ],
)
def test_what_an_embedding_does_wrong_is_said(function, said):
    with pytest.raises(InputError, match=said):
        check(function)
