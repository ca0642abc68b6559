"""collection.toml: a collection's name, and how to read its grades and rankings; every key is optional."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import cast, get_args

from audiosim.collection.kinds import JudgeSettings, MachineKind, SameArtist, SystemFrom
from audiosim.collection.values import SCALES, JudgmentSequence, Scale, parse_scale
from audiosim.errors import FormatError, InputError
from audiosim.tables.toml import line_of, read_table
from audiosim.text import did_you_mean, shortened

READING = ("scale", "cutoff", "not_artists", "system_from", "same_artist")
KEYS = ("name", "task", *READING, "edition_of", "evidence", "judges", "set_aside", "sounds")
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
        for name in self.set_aside:
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
    try:
        return Settings(
            name=_text("name", table.get("name")),
            task=_text("task", table.get("task")),
            cutoff=_cutoff(table.get("cutoff")),
            not_artists=_not_artists(table.get("not_artists", [])),
            system_from=_system_from(table.get("system_from")),
            same_artist=_same_artist(table.get("same_artist")),
            edition_of=_text("edition_of", table.get("edition_of")),
            sounds=_text("sounds", table.get("sounds")),
            evidence=_evidence(table.get("evidence", {})),
            judges=_judges(table.get("judges", {})),
            set_aside=_set_aside(table.get("set_aside", [])),
            scale=_scale(table.get("scale")),
        )
    except _WrongValueError as error:
        raise FormatError(path, line_of(text, error.key), str(error)) from None


class _WrongValueError(InputError):
    """Wrong value of a key."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key


def _text(key: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _WrongValueError(key, f"expected text, found {value!r}")
    return value


def _scale(value: object) -> Scale | None:
    if value is None:
        return None
    if not isinstance(value, str) and not (isinstance(value, list) and all(map(_is_number, value))):
        raise _WrongValueError("scale", f"expected {', '.join(SCALES)} or a list of levels, found {value!r}")
    try:
        return parse_scale(value)
    except InputError as error:
        raise _WrongValueError("scale", str(error)) from None
    except OverflowError:
        raise _WrongValueError("scale", "expected levels that are finite") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cutoff(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= DEEPEST):
        raise _WrongValueError("cutoff", f"expected a whole number of 1 to {DEEPEST}, found {shortened(repr(value))}")
    return value


def _system_from(value: object) -> SystemFrom | None:
    if value not in (None, *get_args(SystemFrom)):
        raise _WrongValueError("system_from", f"expected file or tag, found {value!r}")
    return cast("SystemFrom | None", value)


def _same_artist(value: object) -> SameArtist | None:
    if value not in (None, *get_args(SameArtist)):
        raise _WrongValueError("same_artist", f"expected keep or drop, found {value!r}")
    return cast("SameArtist | None", value)


def _evidence(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(path, str) and path for path in value.values()):
        raise _WrongValueError("evidence", f"expected a table of names and files, found {shortened(repr(value))}")
    return {str(name): path for name, path in value.items()}


def _judges(value: object) -> dict[str, JudgeSettings]:
    tables = value.items() if isinstance(value, dict) else ()
    if not isinstance(value, dict) or not all(isinstance(table, dict) for _, table in tables):
        raise _WrongValueError("judges", f"expected tables such as [judges.NAME], found {shortened(repr(value))}")
    return {str(name): _judge(name, table) for name, table in tables}


def _judge(name: str, table: Mapping[str, object]) -> JudgeSettings:
    known = [part.name for part in fields(JudgeSettings)]
    for key, value in table.items():
        if key not in known:
            expected = f"expected {', '.join(known)}{did_you_mean(key, known)}"
            raise _WrongValueError("judges", f"{name}: unknown key {key}, {expected}")
        if not isinstance(value, str):
            raise _WrongValueError("judges", f"{name}: {key}: expected text, found {shortened(repr(value))}")
    if table.get("kind", "machine") not in get_args(MachineKind):
        raise _WrongValueError("judges", f"{name}: kind: expected machine, found {table['kind']!r}")
    return JudgeSettings(**table)  # type: ignore[arg-type]  # checked above


def _not_artists(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(artist, str) for artist in value):
        raise _WrongValueError("not_artists", f"expected a list of texts, found {value!r}")
    return frozenset(value)


def _set_aside(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise _WrongValueError("set_aside", f"expected a list of names, found {shortened(repr(value))}")
    return tuple(dict.fromkeys(value))


def settings_lines(settings: Settings) -> list[str]:
    """The lines of a collection.toml; a scale other than fine, broad or binary is written as its levels."""
    lines = []
    if settings.name is not None:
        lines.append(f"name = {_quote(settings.name)}")
    if settings.task is not None:
        lines.append(f"task = {_quote(settings.task)}")
    if settings.scale is not None:
        named = SCALES.get(settings.scale.name) == settings.scale
        levels = ", ".join(map(repr, settings.scale.levels))
        lines.append(f"scale = {_quote(settings.scale.name) if named else f'[{levels}]'}")
    if settings.cutoff is not None:
        lines.append(f"cutoff = {settings.cutoff}")
    if settings.not_artists:
        lines.append(f"not_artists = [{', '.join(map(_quote, sorted(settings.not_artists)))}]")
    if settings.same_artist is not None:
        lines.append(f"same_artist = {_quote(settings.same_artist)}")
    if settings.edition_of is not None:
        lines.append(f"edition_of = {_quote(settings.edition_of)}")
    if settings.sounds is not None:
        lines.append(f"sounds = {_quote(settings.sounds)}")
    for name, judge in settings.judges.items():
        lines += [f"[judges.{name}]", *(f"{key} = {_quote(value)}" for key, value in asdict(judge).items() if value)]
    return lines


def _quote(text: str) -> str:
    # A JSON string is a valid TOML string, except for one character that TOML requires to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
