"""The published data, if available."""

from functools import cache
from pathlib import Path

from audiosim.collection.collection import Collection


@cache  # seven parts of the comparison read it
def mirex_2011(folder: Path) -> Collection | None:
    """MIREX 2011 Audio Music Similarity; None if the data are missing."""
    return Collection.load(folder / "mirex2011") if (folder / "mirex2011").is_dir() else None
