"""Activations computed by TensorFlow with musicnn: for a small network, written beside them, and for the package's own.

python tests/reference/small_musicnn.py

It needs tensorflow, tf_keras, librosa and `pip install --no-deps musicnn`; TensorFlow 2.21, librosa 0.11 and musicnn
0.1.0 wrote the files. The layers are built by musicnn's own code with fewer filters; the weights are random.
"""

import os
from pathlib import Path

import numpy as np

RATE_HZ, SECONDS, SEED = 16_000, 7, 31
FILTERS, DEEPER, UNITS = 0.035, 3, 6  # four filters of timbre and one of rhythm of each kind


def sound() -> np.ndarray:
    """A tone that rises, and a click every quarter of a second."""
    time = np.arange(SECONDS * RATE_HZ) / RATE_HZ
    tone = 0.4 * np.sin(2 * np.pi * (200 * time + 90 * time**2))
    return (tone + 0.5 * (np.arange(len(time)) % (RATE_HZ // 4) < 40)).astype(np.float32)


def main(folder: Path) -> None:
    """Write the checkpoint, and a row of activations for each three seconds of the sound."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import librosa
    import tensorflow as tf
    from musicnn import models

    tf.compat.v1.disable_eager_execution()
    power = librosa.feature.melspectrogram(y=sound(), sr=RATE_HZ, n_fft=512, hop_length=256, n_mels=96).T
    levels = np.log10(10_000 * power + 1)
    patches = np.stack([levels[:187], levels[187:374]])
    x = tf.compat.v1.placeholder(tf.float32, [None, 187, 96])
    front = models.frontend(x, False, 96, num_filt=FILTERS, type="7774timbraltemporal")
    middle = models.midend(tf.concat(front, 2), False, DEEPER)
    _, penultimate, _, _ = models.backend(tf.concat(middle, 2), False, 2, UNITS, type="globalpool_dense")
    rng = np.random.default_rng(SEED)
    with tf.compat.v1.Session() as session:
        for variable in tf.compat.v1.global_variables():
            variable.load(values(variable.name, tuple(variable.shape), rng), session)
        found = session.run(penultimate, {x: patches})
        saver = tf.compat.v1.train.Saver()
        saver.save(session, str(folder / "network"), write_meta_graph=False)
    (folder / "checkpoint").unlink()
    np.savetxt(folder / "penultimate.csv", found, fmt="%.7g", delimiter=",")
    tf.compat.v1.reset_default_graph()
    x = tf.compat.v1.placeholder(tf.float32, [None, 187, 96])
    *_, penultimate = models.define_model(x, False, "MSD_musicnn", 50)
    with tf.compat.v1.Session() as session:
        tf.compat.v1.train.Saver().restore(session, f"{Path(models.__file__).parent}/MSD_musicnn/")
        np.savetxt(folder.with_name("musicnn.csv"), session.run(penultimate, {x: patches}), fmt="%.7g", delimiter=",")


def values(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Random weights that keep activations near 1."""
    if "variance" in name:
        return rng.uniform(0.5, 2, shape)
    return rng.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[:-1])))


if __name__ == "__main__":
    place = Path(__file__).with_name("small_musicnn")
    place.mkdir(exist_ok=True)
    main(place)
