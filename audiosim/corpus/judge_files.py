"""Grades by judging machines, in the folder `judges/` of a collection, one table per machine.

    judges/NAME.tsv    header; `query`, `document`, and `grade` or `score`: any number, on any scale; empty is unknown

`[judges.NAME]` in collection.toml has further facts on one: `kind`, always "machine"; `maker`, `version` and `prompt`,
any text; `may_favour`, a team or system; `file`, the path of its table if it is elsewhere.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.array_files import check_regular
from audiosim.corpus.evidence_files import PIECE_NAME, RESERVED, spelled
from audiosim.corpus.identifiers import check_identifier
from audiosim.corpus.lines import finite, read_lines, shortest
from audiosim.corpus.metadata_tables import read_rows, tsv_line
from audiosim.corpus.model import Pair
from audiosim.errors import FormatError, InputError
from audiosim.messages import did_you_mean

JUDGES = "judges"
GRADE_COLUMNS = ("grade", "score")
MachineKind = Literal["machine"]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings of one judge in collection.toml.

    kind        always "machine"
    maker       who made it, any text; empty: unspecified
    version     its version; empty: unspecified
    prompt      its prompt, or where that is described; empty: unspecified
    may_favour  team or system that it may favour; empty: its maker, if that is one of them
    file        its table, relative to the collection's folder; empty: `judges/NAME.tsv`
    """

    kind: MachineKind = "machine"
    maker: str = ""
    version: str = ""
    prompt: str = ""
    may_favour: str = ""
    file: str = ""

    @property
    def given(self) -> bool:
        """True if anything is said of the machine itself."""
        return any((self.maker, self.version, self.prompt, self.may_favour))


@dataclass(frozen=True, eq=False)
class MachineJudge:
    """A machine that judges: grades of pairs on its own scale, higher for more relevant.

    name      letters, digits, - and _, beginning with a letter
    pairs     k distinct pairs
    grades    (k,) finite numbers
    settings  who made it, and whom it may favour
    source    file it was read from, or None
    """

    name: str
    pairs: tuple[Pair, ...]
    grades: Array
    settings: JudgeSettings = JudgeSettings()
    source: Path | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not PIECE_NAME.fullmatch(self.name) or self.name in RESERVED:
            raise InputError(
                f"judge {self.name!r:.80}: expected a name of letters, digits, - and _ that begins with a letter and "
                f"is none of {', '.join(RESERVED)}"
            )
        grades = np.array(self.grades, dtype=np.float64)
        grades.flags.writeable = False
        object.__setattr__(self, "grades", grades)
        if grades.shape != (len(self.pairs),) or not len(grades):
            raise InputError(
                f"judge {self.name}: expected a grade for each of {len(self.pairs)} pairs, got {grades.shape}"
            )
        if not np.all(np.isfinite(grades)):
            row = int(np.argmin(np.isfinite(grades)))
            raise InputError(
                f"judge {self.name}: {spelled(self.pairs[row])} has the grade {grades[row]}, expected a number"
            )
        if len(set(self.pairs)) < len(self.pairs):
            raise InputError(f"judge {self.name}: a pair occurs twice, expected it once")

    @classmethod
    def of(cls, name: str, grades: Mapping[Pair, float], settings: JudgeSettings = JudgeSettings()) -> "MachineJudge":
        """A judge from a mapping of (query, document) to numbers."""
        pairs = tuple(Pair(*pair) for pair in grades)
        try:
            return cls(name, pairs, np.array(list(grades.values()), dtype=np.float64), settings)
        except (ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"judge {name}: expected numbers: {error}") from None


def read_judges(folder: Path, settings: Mapping[str, JudgeSettings] | None = None) -> tuple[MachineJudge, ...]:
    """All machines that judge a collection: those named in collection.toml, then other tables of `judges/`."""
    settings, place = settings or {}, folder / JUDGES
    files = (
        {path.name.partition(".tsv")[0]: path for path in sorted(place.iterdir()) if _is_table(path)}
        if place.is_dir()
        else {}
    )
    paths = {
        name: folder / one.file if one.file else files.get(name, place / f"{name}.tsv")
        for name, one in settings.items()
    }
    for name, path in paths.items():
        if not path.exists():
            raise InputError(f"{path}: no such file, expected the grades of judge {name} named in collection.toml")
    return tuple(
        read_judge(path, name, settings.get(name, JudgeSettings()))
        for name, path in {**paths, **{name: path for name, path in files.items() if name not in paths}}.items()
    )


def read_judge(path: Path, name: str, settings: JudgeSettings = JudgeSettings()) -> MachineJudge:
    """The machine with the grades in a table; every error names the line."""
    check_regular(path)
    lines = read_lines(path, "a header with query, document and grade")
    grades: dict[Pair, float] = {}
    for number, row in read_rows(path, lines, _fields, ("query", "document"), None, GRADE_COLUMNS):
        column = next((one for one in GRADE_COLUMNS if one in row), None)
        if column is None:
            raise FormatError(path, 1, f"expected a column grade or score in the header, found {', '.join(row)}")
        if not row[column]:
            continue
        pair = Pair(row["query"], row["document"])
        for kind, identifier in zip(("query", "document"), pair, strict=True):
            check_identifier(path, number, kind, identifier)
        if pair in grades:
            raise FormatError(path, number, f"{spelled(pair)} occurs twice, expected it once")
        grades[pair] = finite(path, number, column, row[column])
    if not grades:
        raise FormatError(path, 1, "no pair has a grade, expected some")
    try:
        return MachineJudge(name, tuple(grades), np.array(list(grades.values())), settings, path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def judge_lines(judge: MachineJudge) -> list[str]:
    """The lines of a judge's table."""
    rows = ((*pair, str(shortest(grade))) for pair, grade in zip(judge.pairs, judge.grades.tolist(), strict=True))
    return [tsv_line(row) for row in [("query", "document", "grade"), *rows]]


def check_names_of_judges(judges: Iterable[MachineJudge], evidence: Iterable[str]) -> None:
    """Raise an error if two judges, or a judge and a piece of evidence, share a name."""
    taken = set(evidence)
    for judge in judges:
        if judge.name in taken:
            raise InputError(
                f"{_where(judge)}judge {judge.name}: another judge, or a piece of evidence, has the same name"
            )
        taken.add(judge.name)


def check_favoured(judges: Iterable[MachineJudge], names: Collection[str]) -> None:
    """Raise an error if a judge may favour what is not one of these teams and systems."""
    for judge in judges:
        favoured = judge.settings.may_favour
        if favoured and favoured not in names:
            expected = f"expected a team or a system in may_favour{did_you_mean(favoured, sorted(names))}"
            raise InputError(f"{_where(judge)}judge {judge.name}: {expected}, got {favoured!r}")


def _where(judge: MachineJudge) -> str:
    return "" if judge.source is None else f"{judge.source}: "


def _fields(_: int, line: str) -> list[str]:
    return line.split("\t")


def _is_table(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if not path.name.removesuffix(".gz").endswith(".tsv"):
        raise InputError(f"{path}: expected the grades of a judge in a file NAME.tsv")
    return True
