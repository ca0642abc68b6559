"""The settings of the service: options, variables of the environment, or lines of a file."""

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from audiosim.collection.kinds import SameArtist, SystemFrom
from audiosim.errors import InputError
from audiosim.ranking.about import DifferenceDistribution
from audiosim.text import did_you_mean


class LogForm(StrEnum):
    """Form of the service's log."""

    text = "text"
    json = "json"


class UnaskedForm(StrEnum):
    """Treatment of judgments of pairs that were not handed out to the assessor."""

    counted = "count"
    marked = "mark"
    refused = "refuse"


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take a file's settings as defaults; the command line and the environment take precedence."""
    if path is None or context.resilient_parsing:
        return path
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    known = {str(parameter.name): parameter for parameter in context.command.params if parameter.name != "config"}
    settings = {name.replace("-", "_"): value for name, value in said.items()}
    for name, value in settings.items():
        if name not in known:
            expected = ", ".join(other.replace("_", "-") for other in known)
            raise InputError(f"{path}: unknown setting {name!r}, expected one of {expected}{did_you_mean(name, known)}")
        if isinstance(value, list) != (known[name].multiple or known[name].nargs == -1):
            raise InputError(f"{path}: {name} must be {'one value' if isinstance(value, list) else 'a list'}")
    context.default_map = settings
    return path


def service_option(variable: str, text: str, **more: Any) -> Any:
    """Option of the service that can also be set in the environment."""
    return typer.Option(help=text, envvar=f"AUDIOSIM_{variable}", **more)


Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[COLLECTION]...",
        help="Folders of the collections, or one folder that holds them or is empty, as --home.",
        envvar="AUDIOSIM_COLLECTIONS",
        show_default=False,
    ),
]
HomeFolder = Annotated[
    Path | None,
    service_option(
        "HOME",
        "Folder for the collections that organisers make in the browser; those in it are served, too.",
        metavar="DIR",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    service_option(
        "CONFIG",
        "Settings as TOML: the names of these options, such as port = 8000, and collections = [...].",
        metavar="FILE",
        is_eager=True,
        callback=read_config,
        exists=True,
        dir_okay=False,
    ),
]
Model = Annotated[str | None, service_option("MODEL", "Model, as for `audiosim estimate`, for all collections.")]
Judgments = Annotated[
    str | None,
    service_option("JUDGMENTS", "Judgments from before the campaign, instead of the folder's.", metavar="FILE|none"),
]
NamedBy = Annotated[
    SystemFrom | None,
    service_option(
        "SYSTEM_FROM",
        "Source of system names in run files: tag or file; as for `audiosim estimate`.",
        show_default=False,
    ),
]
ScaleName = Annotated[
    str | None,
    service_option(
        "SCALE",
        "Scale of the grades: fine (0 to 100), broad (0 1 2), binary, or levels such as 0-3. Default: as in "
        "collection.toml, else guessed, with a note.",
        metavar="SCALE",
        show_default=False,
    ),
]
Partial = Annotated[
    bool,
    typer.Option(
        "--partial",
        help="Accept runs that answer fewer than 90 % of the queries; otherwise they are an error.",
        envvar="AUDIOSIM_PARTIAL",
    ),
]
Database = Annotated[
    str | None,
    service_option(
        "DB",
        "Database of the campaigns, such as sqlite:///campaign.db or postgresql://user@host/name. By default judgments "
        "are kept in memory, and lost when the service stops.",
        metavar="URL",
    ),
]
Tokens = Annotated[str | None, service_option("TOKENS", "Database with the tokens, if not --db.", metavar="URL")]
Host = Annotated[str, service_option("HOST", "Address to listen on; tokens are needed for any but this machine's own.")]
AllowedHosts = Annotated[
    list[str] | None,
    service_option(
        "ALLOWED_HOST",
        "A host name that browsers may use, beside localhost and --host; may be repeated; * for any. Tokens are "
        "needed for any but this machine's own.",
        metavar="NAME",
    ),
]
TrustedProxies = Annotated[
    list[str] | None,
    service_option(
        "TRUSTED_PROXY",
        "Address or network of a trusted proxy, such as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-For and "
        "X-Forwarded-Proto headers are believed; repeat for more. By default these headers are ignored.",
        metavar="ADDRESS",
    ),
]
Grants = Annotated[
    list[str] | None,
    service_option(
        "GRANT",
        "Role of people who sign in through the institution: ROLE=WHO or ROLE@COLLECTION=WHO, such as assessor=*, "
        "client=group:staff or organiser=olga@example.org; the first match counts; repeat for more.",
        metavar="ROLE=WHO",
    ),
]
LoginHeader = Annotated[
    str | None,
    service_option(
        "LOGIN_HEADER",
        "Header with the name of the signed-in person, from a trusted proxy, such as X-Remote-User; see --grant.",
        metavar="NAME",
    ),
]
GroupsHeader = Annotated[
    str | None, service_option("GROUPS_HEADER", "Header with their groups, separated by commas.", metavar="NAME")
]
Port = Annotated[int, service_option("PORT", "Port to listen on; 0 for any.", min=0, max=65535)]
MeasureName = Annotated[
    str | None,
    service_option("MEASURE", "Measure to rank the systems by. Default: CG at the collection's cutoff."),
]
StoppingRuleText = Annotated[
    str,
    typer.Option(
        help="When judging may stop, as in `audiosim simulate`.",
        envvar=["AUDIOSIM_STOPPING_RULE", "AUDIOSIM_GOAL"],  # the second name is that of versions up to 0.2
    ),
]
Batch = Annotated[int, service_option("BATCH", "Judgments between two predictions.", min=1)]
Lease = Annotated[
    float, service_option("LEASE", "Seconds that a pair stays reserved for its assessor.", metavar="SECONDS", min=1)
]
SelectionRuleName = Annotated[
    str | None,
    typer.Option(
        help="How to choose pairs, as in `audiosim next`.",
        envvar=["AUDIOSIM_SELECTION_RULE", "AUDIOSIM_RULE"],  # the second name is that of versions up to 0.2
    ),
]
QuestionsFile = Annotated[
    Path | None,
    service_option(
        "QUESTIONS",
        "Further questions about every pair, as TOML: one [[question]] each, with name, kind (choice, slider or "
        "text), text, levels.",
        metavar="FILE",
        exists=True,
        dir_okay=False,
    ),
]
Unasked = Annotated[
    UnaskedForm,
    service_option(
        "UNASKED",
        "Judgments of pairs that were not handed out: count, mark (keep, but do not use) or refuse.",
        metavar="WAY",
    ),
]
Listen = Annotated[
    float | None,
    service_option(
        "LISTEN",
        "Seconds that each clip must be heard; an earlier answer is marked as rushed. Kept with the campaign. Default "
        "with sound: 5.",
        metavar="SECONDS",
        min=0,
        max=600,
    ),
]
UploadLimit = Annotated[
    float,
    service_option(
        "UPLOAD_LIMIT",
        "Gigabytes of recordings and metadata per client token; organisers have no limit.",
        metavar="GB",
        min=0,
    ),
]
DistributionName = Annotated[
    DifferenceDistribution,
    service_option(
        "DISTRIBUTION", "Distribution of differences between systems: t or normal, as for `audiosim estimate`"
    ),
]
AboutWords = Annotated[
    list[str] | None,
    service_option(
        "ABOUT",
        "Subject of the ranking and the stopping rule: these queries, or queries of this kind, as for `audiosim "
        "estimate`. Default: these.",
        metavar="these|queries|panel",
        show_default=False,
    ),
]
FromOwnArtist = Annotated[
    SameArtist | None,
    service_option(
        "SAME_ARTIST",
        "Results that are the query's own recording, or by its artist: drop or keep them, as for `audiosim estimate`.",
        show_default=False,
    ),
]
SoundFolders = Annotated[
    list[Path] | None,
    service_option(
        "SOUNDS",
        "A further folder of sound files that may be played; repeat for more.",
        metavar="DIR",
        exists=True,
        file_okay=False,
    ),
]
Adopt = Annotated[
    bool,
    typer.Option(
        "--adopt",
        help="Continue a campaign that was started on another collection of this name, or on an earlier state of it.",
        envvar="AUDIOSIM_ADOPT",
    ),
]
KeepOpen = Annotated[
    int,
    service_option(
        "KEEP_OPEN",
        "Collections open at a time; further ones are opened on request, and the least used is closed.",
        min=1,
    ),
]
Seed = Annotated[int, service_option("SEED", "Seed of everything random.", min=0)]
Log = Annotated[LogForm, service_option("LOG", "One line per request, on stderr.")]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the start page in a browser.")]
