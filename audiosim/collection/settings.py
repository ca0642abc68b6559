"""collection.toml: a collection's name, and how to read its grades and rankings; every key is optional."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from audiosim.collection.evidence import JudgeSettings, MachineKind
from audiosim.collection.kinds import SystemFrom
from audiosim.collection.values import SCALES, JudgmentSequence, SameArtist, Scale, parse_scale
from audiosim.errors import FormatError, InputError
from audiosim.tables.toml import line_of, read_table, written
from audiosim.text import choices, shortened

READING = ("scale", "cutoff", "not_artists", "system_from", "same_artist")
KEYS = ("name", "task", *READING, "edition_of", "evidence", "judges", "set_aside", "sounds")
WRITTEN = ("name", "task", "scale", "cutoff", "not_artists", "same_artist", "edition_of", "sounds")
DEEPEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a collection.toml; None for a missing one.

    evidence      file of each piece of evidence by its name, relative to the folder
    judges    settings of each judging machine, by its name
    set_aside people to ignore: their judgments in the folder's files do not count
    sounds    further folder of recordings that `serve` may play, relative to the collection's
    edition_of  identifier of a collection that this one is another edition of, or a name they share
    """

    name: str | None = None
    scale: Scale | None = None
    cutoff: int | None = None
    not_artists: frozenset[str] = frozenset()
    system_from: SystemFrom | None = None
    same_artist: SameArtist | None = None
    task: str | None = None
    edition_of: str | None = None
    sounds: str | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, JudgeSettings] = field(default_factory=dict)
    set_aside: tuple[str, ...] = ()

    def counting(self, judgments: JudgmentSequence, say: Callable[[str], object]) -> JudgmentSequence:
        """The judgments that count, without those of people set aside; `say` gets one line for each such person."""
        for name in dict.fromkeys(self.set_aside):
            count = sum(one.assessor == name for one in judgments)
            left = f"{count:,} {'judgment' if count == 1 else 'judgments'} by {name} left out"
            say(f"{left}: they are in set_aside of collection.toml" if count else f"set_aside: {name} has no judgments")
        return tuple(one for one in judgments if one.assessor not in self.set_aside) if self.set_aside else judgments


def read_settings(path: str | Path) -> Settings:
    """The settings of a collection.toml."""
    path = Path(path)
    text, table = read_table(path, KEYS)
    if not text.strip():
        raise FormatError(path, 1, f"the file is empty, expected {', '.join(KEYS)}")
    found: dict[str, Any] = {}
    for key, value in table.items():
        kind, wanted = KINDS.get(key, (str, "text"))
        try:
            found[key] = msgspec.convert(value, kind)
            if key in MADE:
                found[key] = MADE[key](found[key])
        except msgspec.ValidationError:
            problem = f"{key}: expected {wanted}, found {shortened(repr(value))}"
            raise FormatError(path, line_of(text, key), problem) from None
        except InputError as error:
            raise FormatError(path, line_of(text, key), f"{key}: {error}") from None
    return Settings(**found)


def _judge(name: str, table: Mapping[str, Any]) -> JudgeSettings:
    known = [part.name for part in fields(JudgeSettings)]
    for key, value in table.items():
        if key not in known:
            raise InputError(f"{name}: unknown key {key}, expected {choices(key, known)}")
        if not isinstance(value, str):
            raise InputError(f"{name}: {key}: expected text, found {shortened(repr(value))}")
    if table.get("kind", "machine") not in get_args(MachineKind):
        raise InputError(f"{name}: kind: expected machine, found {table['kind']!r}")
    return JudgeSettings(**table)


Filled = Annotated[str, Meta(min_length=1)]
# What a key that is no text may be, and in words.
KINDS: Mapping[str, tuple[Any, str]] = {
    "scale": (str | list[float], f"{', '.join(SCALES)} or a list of levels"),
    "cutoff": (Annotated[int, Meta(ge=1, le=DEEPEST)], f"a whole number of 1 to {DEEPEST}"),
    "not_artists": (frozenset[str], "a list of texts"),
    "set_aside": (tuple[Filled, ...], "a list of names"),
    "system_from": (SystemFrom, "file or tag"),
    "same_artist": (SameArtist, "keep or drop"),
    "evidence": (dict[str, Filled], "a table of names and files"),
    "judges": (dict[str, dict[str, Any]], "tables such as [judges.NAME]"),
}
MADE: Mapping[str, Callable[[Any], object]] = {
    "scale": parse_scale,
    "judges": lambda tables: {name: _judge(name, table) for name, table in tables.items()},
}


def settings_lines(settings: Settings) -> list[str]:
    """The lines of a collection.toml; a scale other than fine, broad or binary is written as its levels."""
    said: dict[str, Any] = {name: getattr(settings, name) for name in WRITTEN}
    if (scale := settings.scale) is not None:
        said["scale"] = scale.name if SCALES.get(scale.name) == scale else list(scale.levels)
    said["not_artists"] = sorted(settings.not_artists) or None
    lines = [f"{key} = {written(value)}" for key, value in said.items() if value is not None]
    for name, judge in settings.judges.items():
        lines += [f"[judges.{name}]", *(f"{key} = {written(value)}" for key, value in asdict(judge).items() if value)]
    return lines
