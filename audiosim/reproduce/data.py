"""The published data, where it is there."""

from pathlib import Path

from audiosim.corpus.collection import Collection


def mirex_2011(folder: Path) -> Collection | None:
    """MIREX 2011 Audio Music Similarity; None where the data is not there."""
    return Collection.load(folder / "mirex2011") if (folder / "mirex2011").is_dir() else None
