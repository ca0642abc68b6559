"""Settings of the service, as words and as values: read from the command line, the environment and a file."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from audiosim.campaign.settings import CANNOT_LIMIT, LEASE_S, MOST_BESIDE, MOST_CHECKED
from audiosim.collection.kinds import SystemFrom
from audiosim.collection.values import SameArtist
from audiosim.errors import InputError, of_argument, placed
from audiosim.measures.measure import as_measure
from audiosim.ranking.about import About, DifferenceDistribution
from audiosim.ranking.stopping import parse_stopping_rule
from audiosim.tables.toml import read_toml
from audiosim.text import NOTES, choices, nearest_name, quoted

PREFIX = "AUDIOSIM_"
BEYOND = {"TOKEN", "TOKEN_HOST", "CACHE"}  # variables of the client and of the index, not of the service


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the service. Names and words are those of `audiosim serve`, of its file and of its variables.

    collections     folders of the collections, or one folder that holds them or is empty, as home
    config          file of settings as TOML: the names here, such as port = 8000, and collections = [...]
    open            open the start page in a browser

    db              database of the campaigns, such as sqlite:///campaign.db or postgresql://user@host/name. By default
                    judgments are kept in memory, and lost when the service stops
    home            folder for the collections that organisers make in the browser; those in it are served, too
    tokens          database with the tokens, if not that of the campaigns

    host            address to listen on; tokens are needed for any but this machine's own
    port            port to listen on; 0 for any
    allowed_host    a host name that browsers may use, beside localhost and host; several may be given; * for any.
                    Tokens are needed for any but this machine's own
    trusted_proxy   address or network of a trusted proxy, such as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-For and
                    X-Forwarded-Proto headers are believed; several may be given. By default these headers are ignored
    login_header    header with the name of the signed-in person, from a trusted proxy, such as X-Remote-User; see grant
    groups_header   header with their groups, separated by commas
    grant           role of people who sign in through the institution: ROLE=WHO or ROLE@COLLECTION=WHO, such as
                    assessor=*, client=group:staff or organiser=olga@example.org; the first that covers a person counts

    model           model, as for `audiosim estimate`, for all collections
    measure         measure to rank the systems by. Default: CG at the collection's cutoff
    stopping_rule   when judging may stop, as in `audiosim simulate`
    about           subject of the ranking and the stopping rule: these queries, or queries of this kind, as for
                    `audiosim estimate`. Default: these
    distribution    distribution of differences between systems: t or normal, as for `audiosim estimate`
    selection_rule  how to choose pairs, as in `audiosim next`
    seed            seed of everything random

    comparisons     ask which of two documents is closer to the query: none, some (if a comparison gives more
                    information per second than a grade) or only
    candidates      candidates of one query beside one another on a page, each with its own grade
    batch           judgments between two predictions
    lease           seconds that a pair stays reserved for its assessor
    twice           share of the pairs that a second assessor also judges
    second_opinions  hand out pairs judged by others if a second opinion is worth more than an unjudged pair, and until
                    the relative standard error of people's noise is below a quarter
    split_queries   hand out pairs of a query even if another assessor has begun it. By default each query stays with
                    its first assessor, which gives the same precision with fewer judgments
    repeats         share of each assessor's pairs that they have judged before, to measure the noise within a person
    known           file of known grades, in any form of judgments, of pairs in the pool
    known_share     share of each assessor's pairs that have a known grade, to measure their attention
    cannot_limit    stop asking for a pair that this many assessors could not judge
    questions       file of further questions about every pair, as TOML: one [[question]] each, with name, kind (choice,
                    slider or text), text, levels
    unasked         judgments of pairs that were not handed out: count, mark (keep, but do not use) or refuse
    listen          seconds that each clip must be heard; an earlier answer is marked as rushed. Kept with the campaign.
                    Default with sound: 5
    sounds          a further folder of sound files that may be played; several may be given

    judgments       file of judgments from before the campaign, instead of the folder's; or none
    system_from     source of system names in run files: tag or file; as for `audiosim estimate`
    same_artist     results that are the query's own recording, or by its artist: drop or keep them, as for
                    `audiosim estimate`
    scale           scale of the grades: fine (0 to 100), broad (0 1 2), binary, or levels such as 0-3. Default: as in
                    collection.toml, else guessed, with a note
    partial         accept runs that answer fewer than 90 % of the queries; otherwise they are an error

    adopt           continue a campaign that was started on another collection of this name, or on an earlier
                    state of it
    upload_limit    gigabytes of recordings and metadata per client token; organisers have no limit
    keep_open       collections open at a time; further ones are opened on request, and the least used is closed
    log             one line per request, on stderr: text or json
    """

    # Options of the command: what an organiser types to try something out, or to start a service. The others are
    # decided once for a campaign or a site, and belong into its file.
    TYPED: ClassVar = (
        *("collections", "config", "db", "home", "tokens", "host", "port", "allowed_host", "trusted_proxy"),
        *("model", "measure", "stopping_rule", "about", "comparisons", "candidates", "open"),
    )
    PLACED: ClassVar = ("collections",)  # typed in their place, without a name

    collections: tuple[Path, ...] = ()
    config: Path | None = None
    open: bool = False

    db: str | None = None
    home: Path | None = None
    tokens: str | None = None

    host: str = "127.0.0.1"
    port: Annotated[int, Ge(0), Le(65535)] = 8000
    allowed_host: tuple[str, ...] = ()
    trusted_proxy: tuple[str, ...] = ()
    login_header: str | None = None
    groups_header: str | None = None
    grant: tuple[str, ...] = ()

    model: str | None = None
    measure: str | None = None
    stopping_rule: str = "confidence=0.95"
    about: tuple[str, ...] = ()
    distribution: DifferenceDistribution = "t"
    selection_rule: str | None = None
    seed: Annotated[int, Ge(0)] = 0

    comparisons: Literal["none", "some", "only"] = "none"
    candidates: Annotated[int, Ge(1), Le(MOST_BESIDE)] = 1
    batch: Annotated[int, Ge(1)] = 1
    lease: Annotated[float, Ge(1)] = LEASE_S
    twice: Annotated[float, Ge(0), Le(1)] = 0.0
    second_opinions: bool = False
    split_queries: bool = False
    repeats: Annotated[float, Ge(0), Le(MOST_CHECKED)] = 0.0
    known: Path | None = None
    known_share: Annotated[float, Ge(0), Le(MOST_CHECKED)] = 0.0
    cannot_limit: Annotated[int, Ge(1)] = CANNOT_LIMIT
    questions: Path | None = None
    unasked: Literal["count", "mark", "refuse"] = "mark"
    listen: Annotated[float | None, Ge(0), Le(600)] = None
    sounds: tuple[Path, ...] = ()

    judgments: str | None = None
    system_from: SystemFrom | None = None
    same_artist: SameArtist | None = None
    scale: str | None = None
    partial: bool = False

    adopt: bool = False
    upload_limit: Annotated[float, Ge(0)] = 2.0
    keep_open: Annotated[int, Ge(1)] = 32
    log: Literal["text", "json"] = "text"

    def __post_init__(self) -> None:
        if self.known_share and self.known is None:
            raise InputError("known-share needs known, the file of known grades")
        if self.login_header is None and (self.grant or self.groups_header):
            raise InputError("grant and groups-header need login-header, which identifies people")

    @classmethod
    def read(cls, typed: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> "Settings":
        """The settings that were said: on the command line, else in the environment, else in the file of `config`.

        typed    texts of options, or lists of texts, by name; None: not typed
        environ  variables; an empty one is not set

        What is wrong in an option is an ArgumentError; in a variable or the file, an InputError that names it.
        """
        kinds = {name: kind for name, kind in get_type_hints(cls, include_extras=True).items() if name in _NAMES}
        said = {name: value for name, value in typed.items() if value not in (None, [], (), False) and name in _NAMES}
        found = {}
        for name, kind in kinds.items():
            variable = f"{PREFIX}{name.upper()}"
            if name in said:
                with of_argument(name):
                    found[name] = _value(name, kind, said[name])
            elif text := environ.get(variable):
                with placed(variable):
                    found[name] = _value(name, kind, _split(kind, text))
        for variable in environ:
            _note_unknown(variable)
        path = found.get("config")
        for name, value in ({} if path is None else _file(path)).items():
            with placed(f"{path}: {name.replace('_', '-')}"):
                found.setdefault(name, _value(name, kinds[name], value))
        return cls(**found)


_NAMES = {one.name: one.name.replace("_", "-") for one in fields(Settings)}


def _file(path: Path) -> dict[str, Any]:
    """Settings of a file, by names of fields."""
    _, said = read_toml(path)
    settings = {name.replace("-", "_"): value for name, value in said.items()}
    for name in settings:
        if name not in _NAMES or name == "config":
            known = [word for word in _NAMES.values() if word != "config"]
            raise InputError(f"{path}: unknown setting {name!r}, expected one of {choices(name, known)}")
    return settings


def _note_unknown(variable: str) -> None:
    """Say that a variable sets nothing, if it has the name of none that does, such as AUDIOSIM_GRNAT."""
    name = variable.removeprefix(PREFIX)
    if variable.startswith(PREFIX) and name not in BEYOND and name.lower() not in _NAMES:
        near = nearest_name(name, map(str.upper, _NAMES))
        hint = "" if near is None else f"; did you mean {PREFIX}{near}?"
        NOTES.info("the variable %s sets nothing%s", variable, hint)


def elsewhere(option: str) -> str:
    """The place of a setting that is no option of the command, such as --grant, in words; empty if there is none."""
    name = option.removeprefix("--").replace("-", "_")
    return f"set {_NAMES[name]} in the file of --config, or {PREFIX}{name.upper()}" if name in _NAMES else ""


def _split(kind: Any, text: str) -> str | list[str]:
    """A variable's text; for several values, between colons if they are paths, else between spaces."""
    if get_origin(kind) is not tuple:
        return text
    return [part for part in (text.split(os.pathsep) if get_args(kind)[0] is Path else text.split()) if part]


def _value(name: str, kind: Any, said: Any) -> Any:
    """The value of a setting, of text or of a value of TOML."""
    from pydantic import TypeAdapter, ValidationError  # takes .1 s, and only `serve` needs it

    adapter = TypeAdapter(kind)
    try:
        is_text, is_list = isinstance(said, str), isinstance(said, list)
        value = adapter.validate_strings(said) if is_text else adapter.validate_python(said, strict=not is_list)
    except ValidationError:
        raise InputError(f"expected {_expected(adapter.json_schema())}, got {_shown(said)}") from None
    if name in CHECKS:
        CHECKS[name](value)
    return value


def _expected(schema: Mapping[str, Any]) -> str:
    """Words for what a value must be, by its JSON schema."""
    schema = schema.get("anyOf", [schema])[0]  # the other may be null
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    low, high = schema.get("minimum"), schema.get("maximum")
    within = f" in [{low}, {high}]" if high is not None else "" if low is None else f" of at least {low}"
    return EXPECTED[schema.get("format", schema["type"])] + within


def _shown(said: Any) -> str:
    return quoted(said) if isinstance(said, str) else str(said).lower() if isinstance(said, bool) else repr(said)


EXPECTED = {"string": "a text", "path": "a path", "boolean": "true or false", "array": "a list"}
EXPECTED |= {"integer": "a whole number", "number": "a number"}


def _check_folders(paths: tuple[Path, ...]) -> None:
    for path in paths:
        if not path.is_dir():
            raise InputError(f"{path}: no such folder, expected one with sound files")


def _check_proxies(texts: tuple[str, ...]) -> None:
    import ipaddress

    for text in texts:
        try:
            network = ipaddress.ip_network(text)
        except ValueError:
            raise InputError(f"expected an address or a network of a proxy, such as 10.0.0.0/8, got {text!r}") from None
        if network.prefixlen == 0:
            raise InputError(f"{text} would trust everyone, expected the addresses of proxies")


def _check_grants(texts: tuple[str, ...]) -> None:
    from audiosim.service.access.sign_in import Grant

    for text in texts:
        Grant.parse(text)


# What a text must be, beyond its kind.
CHECKS: dict[str, Callable[[Any], object]] = {
    "measure": lambda text: as_measure(text, 1),
    "stopping_rule": parse_stopping_rule,
    "about": lambda words: About.parse(list(words)),
    "sounds": _check_folders,
    "trusted_proxy": _check_proxies,
    "grant": _check_grants,
}
