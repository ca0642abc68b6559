"""Worth of a second description of sound: neighbours by Gaussians, by vectors, and by both.

    python benchmarks/embeddings.py [FOLDER] [--with tonal]... [--seed 0]

FOLDER has sound files and a documents.tsv with genres; a neighbour is right if it has the query's genre. `--with` names
an installed embedding; it may be repeated, and each is compared with the Gaussians alone. Weights are learned from the
genres of half of the queries and used on the other half, and vice versa. Prints the share of right ones among the
nearest 1, 5 and 10, mean average precision, and the skewness of how often a recording is among the ten nearest, with
bootstrap intervals over queries.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from figures import Figures
from neighbours import SOUNDS, chance, quality

from audiosim.collection.kinds import read_documents
from audiosim.collection.values import Pair
from audiosim.sound.descriptions import Searched, descriptions_of, neighbours_by
from audiosim.sound.index import extract
from audiosim.sound.neighbours import learned_weights
from audiosim.sound_functions import embed


def found_by(searched: Searched, weights: dict[str, float]) -> dict:
    """Neighbours of all recordings by some descriptions."""
    kinds = descriptions_of(searched, weights)
    return neighbours_by(searched, kinds, None, len(searched) - 1, weights=list(weights.values()))


def learned(
    searched: Searched, by: tuple[str, ...], genre: dict[str, str | None], seed: int
) -> tuple[dict, list[list[float]]]:
    """Neighbours by some descriptions, with weights learned from the other half of the queries; and these weights."""
    kinds, names = descriptions_of(searched, by), np.random.default_rng(seed).permutation(searched.ids).tolist()
    half, near, weights = len(names) // 2, {}, []
    for asked, judged in ((names[:half], names[half:]), (names[half:], names[:half])):
        pairs = ((one, other) for one in judged for other in searched.ids if other != one)
        grades = {Pair(one, other): float(genre[one] == genre[other]) for one, other in pairs}
        found = learned_weights(searched, kinds, {name: name for name in judged}, grades)
        weights.append([round(float(weight), 2) for weight in found])
        near |= neighbours_by(searched, kinds, asked, len(searched) - 1, weights=found)
    return {name: near[name] for name in searched.ids}, weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=SOUNDS)
    parser.add_argument("--with", dest="names", action="append")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = options.names or ["tonal"]
    genre = {name: one.genre for name, one in read_documents(options.folder / "documents.tsv").items()}
    with tempfile.TemporaryDirectory() as made, Figures("embeddings") as figures:
        index = extract(options.folder / "documents.tsv", n_jobs=-1, into=Path(made) / "index")
        embed(Path(made) / "index", names)
        searched = Searched.load([Path(made) / "index"])
        rows: list = [chance([genre[name] for name in index.ids])]
        rows.append(["gaussians", *quality(index, genre, found_by(searched, {"gaussians": 1.0}))])
        for name in names:
            for way in ({name: 1.0}, {"gaussians": 1.0, name: 1.0}, {"gaussians": 4.0, name: 1.0}):
                called = ", ".join(one if weight == 1 else f"{one} x {weight:g}" for one, weight in way.items())
                rows.append([called, *quality(index, genre, found_by(searched, way))])
            near, weights = learned(searched, ("gaussians", name), genre, options.seed)
            said = " and ".join("/".join(map(str, one)) for one in weights)
            rows.append([f"gaussians, {name}, learned: {said}", *quality(index, genre, near)])
        title = f"nearest of the query's own genre, {len(index)} clips of {len(set(genre.values()))} genres"
        figures.table(title, ["", "at 1", "at 5", "at 10", "MAP", "hubness"], rows)


if __name__ == "__main__":
    main()
