"""Loudness in the description of sound: neighbours with and without it, for clips unchanged and at random gains.

    python benchmarks/loudness.py [--sounds FOLDER]

FOLDER has sound files and a documents.tsv with genres. Gains are drawn uniformly from -20 to 0 dB, so that nothing
clips, and applied in 16 bits as in files.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import soundfile
from figures import Figures
from neighbours import SOUNDS, quality

from audiosim.collection.kinds import read_documents
from audiosim.sound import decode
from audiosim.sound.descriptions import Searched, descriptions_of, neighbours_by
from audiosim.sound.index import AudioIndex, extract

RANGE_DB = 20.0


def at_random_gains(paths: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Copies of clips at random loudness."""
    rng = np.random.default_rng(3)
    found = {name: folder / f"{number}.wav" for number, name in enumerate(paths)}
    for name, path in found.items():
        signal = decode.read(paths[name])
        gain = 10 ** (-rng.uniform(0, RANGE_DB) / 20)
        soundfile.write(path, np.clip(signal.samples * gain, -1, 1), signal.rate_hz, subtype="PCM_16")
    return found


def row(index: AudioIndex, genre: dict[str, str | None], description: str) -> list[str | float]:
    searched = Searched((index,))
    kinds = descriptions_of(searched, [description])
    return quality(index, genre, neighbours_by(searched, kinds, None, len(index) - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sounds", type=Path, default=SOUNDS)
    options = parser.parse_args()
    documents = read_documents(options.sounds / "documents.tsv")
    genre = {name: document.genre for name, document in documents.items()}
    paths = {name: options.sounds / document.path for name, document in documents.items() if document.path}
    with tempfile.TemporaryDirectory() as scratch, Figures("loudness") as figures:
        indexes = {
            "as they are": extract(paths, n_jobs=-1),
            "at random gains": extract(at_random_gains(paths, Path(scratch)), n_jobs=-1),
        }
        rows = [
            [f"{description}, clips {what}", *row(index, genre, description)]
            for what, index in indexes.items()
            for description in ("gaussians", "levelled")
        ]
        title = f"nearest of the query's own genre, {len(paths)} clips of {len(set(genre.values()))} genres"
        figures.table(title, ["", "at 1", "at 5", "at 10", "MAP", "hubness"], rows)


if __name__ == "__main__":
    main()
