"""Tags of a sound file: artist, genre, album, title."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import lazy_loader

from audiosim.sound.formats import FILE_ALONE, av

mutagen = lazy_loader.load("mutagen")

# Names of each tag in ID3, in Vorbis and APE comments, in MP4 atoms and in ASF; the first non-empty one counts.
NAMES = {
    "artist": ("tpe1", "artist", "\xa9art", "author", "tpe2", "albumartist", "album artist", "aart", "wm/albumartist"),
    "genre": ("tcon", "genre", "\xa9gen", "wm/genre"),
    "album": ("talb", "album", "\xa9alb", "wm/albumtitle"),
    "title": ("tit2", "title", "\xa9nam"),
}


class Tags(NamedTuple):
    """Tags of a recording; None where unknown."""

    artist: str | None = None
    genre: str | None = None
    album: str | None = None
    title: str | None = None


def read_tags(path: str | Path) -> Tags:
    """The tags of a sound file; empty if it has none that can be read."""
    try:
        file = mutagen.File(path)
        tags: Mapping[str, Any] = {} if file is None or file.tags is None else dict(file.tags.items())
    except Exception:  # damaged tags count as missing; the decoder reports damaged sound
        return Tags()
    named = {str(name).lower(): value for name, value in (tags or _by_pyav(path)).items()}
    return Tags(**{field: _first(named, names) for field, names in NAMES.items()})


def _by_pyav(path: str | Path) -> Mapping[str, Any]:
    """Tags that mutagen does not read, such as those of a RIFF's INFO; none without PyAV."""
    try:
        with av.open(str(path), options=FILE_ALONE, metadata_errors="replace") as container:
            return dict(container.metadata)
    except Exception:  # as above
        return {}


def _first(tags: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        if name in tags and (text := _text(tags[name])):
            return text
    return None


def _text(value: Any) -> str:
    """A tag as one line; if it has several values, the first non-empty one."""
    genres = getattr(value, "genres", None)  # ID3 may give numbers for genres
    values = genres or getattr(value, "text", None) or (value if isinstance(value, list) else [value])
    lines = ("".join(sign if sign.isprintable() else " " for sign in str(one)).split() for one in values)
    return next((" ".join(words) for words in lines if words), "")
