"""Settings of the service, as the command reads them from its options, grouped by subject."""

import ipaddress
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audiosim.campaign import CampaignSettings
from audiosim.campaign.settings import MOST_BESIDE, MOST_CHECKED
from audiosim.cli.options import about_of
from audiosim.cli.service_options import LogForm, UnaskedForm, service_option
from audiosim.collection.collection import Collection
from audiosim.collection.folder import file_stamp
from audiosim.collection.kinds import SystemFrom
from audiosim.collection.mirex import SameArtist
from audiosim.errors import InputError
from audiosim.ranking.about import DifferenceDistribution
from audiosim.ranking.stopping import parse_stopping_rule

HOME = "audiosim-collections"  # default folder of collections made in the browser

if TYPE_CHECKING:
    from audiosim.service.access.access import Access
    from audiosim.service.access.sign_in import SignIn
    from audiosim.service.collections.campaigns import Judging


class ComparisonForm(StrEnum):
    """Comparisons among the questions of a campaign."""

    none = "none"
    some = "some"
    only = "only"


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options for reading the files of a collection."""

    judgments: Annotated[
        str | None,
        service_option(
            "JUDGMENTS", "Judgments from before the campaign, instead of the folder's.", metavar="FILE|none"
        ),
    ] = None
    system_from: Annotated[
        SystemFrom | None,
        service_option(
            "SYSTEM_FROM",
            "Source of system names in run files: tag or file; as for `audiosim estimate`.",
            show_default=False,
        ),
    ] = None
    same_artist: Annotated[
        SameArtist | None,
        service_option(
            "SAME_ARTIST",
            "Results that are the query's own recording, or by its artist: drop or keep them, as for "
            "`audiosim estimate`.",
            show_default=False,
        ),
    ] = None
    scale: Annotated[
        str | None,
        service_option(
            "SCALE",
            "Scale of the grades: fine (0 to 100), broad (0 1 2), binary, or levels such as 0-3. Default: as in "
            "collection.toml, else guessed, with a note.",
            metavar="SCALE",
            show_default=False,
        ),
    ] = None
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Accept runs that answer fewer than 90 % of the queries; otherwise they are an error.",
            envvar="AUDIOSIM_PARTIAL",
        ),
    ] = False

    def load(self, folder: Path) -> Collection:
        """The collection of a folder."""
        return Collection.load(
            folder,
            self.judgments,
            scale=self.scale,
            system_from=self.system_from,
            same_artist=self.same_artist,
            partial=self.partial,
        )

    @property
    def stamp(self) -> str:
        """The options, and a stamp of the judgments outside the collections' folders."""
        options = self.scale, self.system_from, self.same_artist, self.partial
        return f"{file_stamp(self.judgments)} {options}"


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Places of campaigns, tokens and collections made in the browser."""

    db: Annotated[
        str | None,
        service_option(
            "DB",
            "Database of the campaigns, such as sqlite:///campaign.db or "
            "postgresql://user@host/name. By default judgments "
            "are kept in memory, and lost when the service stops.",
            metavar="URL",
        ),
    ] = None
    home: Annotated[
        Path | None,
        service_option(
            "HOME",
            "Folder for the collections that organisers make in the browser; those in it are served, too.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None
    tokens: Annotated[str | None, service_option("TOKENS", "Database with the tokens, if not --db.", metavar="URL")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """Sign-in by an institution, and the roles of its people."""

    grant: Annotated[
        list[str] | None,
        service_option(
            "GRANT",
            "Role of people who sign in through the institution: ROLE=WHO or ROLE@COLLECTION=WHO, such as assessor=*, "
            "client=group:staff or organiser=olga@example.org; the first match counts; repeat for more.",
            metavar="ROLE=WHO",
        ),
    ] = None
    login_header: Annotated[
        str | None,
        service_option(
            "LOGIN_HEADER",
            "Header with the name of the signed-in person, from a trusted proxy, such as X-Remote-User; see --grant.",
            metavar="NAME",
        ),
    ] = None
    groups_header: Annotated[
        str | None, service_option("GROUPS_HEADER", "Header with their groups, separated by commas.", metavar="NAME")
    ] = None

    def open(self, proxies: Iterable[str]) -> "SignIn | None":
        """Sign-in by a proxy's header; None if not requested."""
        if self.login_header is None:
            if self.grant or self.groups_header:
                raise InputError("--grant and --groups-header need --login-header, which identifies people")
            return None
        from audiosim.service.access.sign_in import Grant, SignIn

        return SignIn(map(Grant.parse, self.grant or ()), self.login_header, self.groups_header, tuple(proxies))


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """Address of the service, and the hosts and people allowed to reach it."""

    host: Annotated[
        str, service_option("HOST", "Address to listen on; tokens are needed for any but this machine's own.")
    ] = "127.0.0.1"
    allowed_host: Annotated[
        list[str] | None,
        service_option(
            "ALLOWED_HOST",
            "A host name that browsers may use, beside localhost and --host; may be repeated; * for any. Tokens are "
            "needed for any but this machine's own.",
            metavar="NAME",
        ),
    ] = None
    trusted_proxy: Annotated[
        list[str] | None,
        service_option(
            "TRUSTED_PROXY",
            "Address or network of a trusted proxy, such as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-For and "
            "X-Forwarded-Proto headers are believed; repeat for more. By default these headers are ignored.",
            metavar="ADDRESS",
        ),
    ] = None
    sign_in: SignInOptions = SignInOptions()
    port: Annotated[int, service_option("PORT", "Port to listen on; 0 for any.", min=0, max=65535)] = 8000

    def access(self, databases: Iterable[str], sign_in: "SignIn | None") -> "Access":
        """Access by the tokens of the first database; locked if any database ever held one."""
        from audiosim.service.access.access import Access
        from audiosim.service.access.tokens import TokenStore

        stores = [TokenStore(url, upgrade=True) for url in databases]
        locked = any(store.was_used() for store in stores)
        for store in stores[1:]:
            store.close()
        tokens = stores[0] if stores else None
        return Access(self.host, self.allowed_host or (), tokens, locked=locked, sign_in=sign_in)


@dataclass(frozen=True, slots=True)
class HandingOptions:
    """Options for handing pairs out to assessors."""

    twice: Annotated[
        float, service_option("TWICE", "Share of the pairs that a second assessor also judges.", min=0, max=1)
    ] = 0
    second_opinions: Annotated[
        bool,
        typer.Option(
            "--second-opinions",
            help="Hand out pairs judged by others if a second opinion is worth more than an unjudged "
            "pair, and until the "
            "relative standard error of people's noise is below a quarter.",
            envvar="AUDIOSIM_SECOND_OPINIONS",
        ),
    ] = False
    comparisons: Annotated[
        ComparisonForm,
        service_option(
            "COMPARISONS",
            "Ask which of two documents is closer to the query: none, some (if a comparison gives more information "
            "per second than a grade) or only.",
            metavar="WHICH",
        ),
    ] = ComparisonForm.none
    candidates: Annotated[
        int,
        service_option(
            "CANDIDATES",
            "Candidates of one query beside one another on a page, each with its own grade.",
            min=1,
            max=MOST_BESIDE,
        ),
    ] = 1
    repeats: Annotated[
        float,
        service_option(
            "REPEATS",
            "Share of each assessor's pairs that they have judged before, to measure the noise within a person.",
            min=0,
            max=MOST_CHECKED,
        ),
    ] = 0
    known: Annotated[
        Path | None,
        service_option(
            "KNOWN", "File of known grades, in any form of judgments, of pairs in the pool.", metavar="FILE"
        ),
    ] = None
    known_share: Annotated[
        float,
        service_option(
            "KNOWN_SHARE",
            "Share of each assessor's pairs that have a known grade (--known), to measure their attention.",
            min=0,
            max=MOST_CHECKED,
        ),
    ] = 0
    split_queries: Annotated[
        bool,
        typer.Option(
            "--split-queries",
            help="Hand out pairs of a query even if another assessor has begun it. By default each query "
            "stays with its "
            "first assessor, which gives the same precision with fewer judgments.",
            envvar="AUDIOSIM_SPLIT_QUERIES",
        ),
    ] = False
    cannot_limit: Annotated[
        int, service_option("CANNOT_LIMIT", "Stop asking for a pair that this many assessors could not judge.", min=1)
    ] = 2


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """Options for choosing pairs and for statements about a ranking."""

    selection_rule: Annotated[
        str | None,
        typer.Option(
            help="How to choose pairs, as in `audiosim next`.",
            envvar=["AUDIOSIM_SELECTION_RULE", "AUDIOSIM_RULE"],  # the second name is that of versions up to 0.2
        ),
    ] = None
    distribution: Annotated[
        DifferenceDistribution,
        service_option(
            "DISTRIBUTION", "Distribution of differences between systems: t or normal, as for `audiosim estimate`"
        ),
    ] = "t"
    about: Annotated[
        list[str] | None,
        service_option(
            "ABOUT",
            "Subject of the ranking and the stopping rule: these queries, or queries of this kind, as for `audiosim "
            "estimate`. Default: these.",
            metavar="these|queries|panel",
            show_default=False,
        ),
    ] = None
    seed: Annotated[int, service_option("SEED", "Seed of everything random.", min=0)] = 0


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Questions about each pair, and conditions on the answers."""

    questions: Annotated[
        Path | None,
        service_option(
            "QUESTIONS",
            "Further questions about every pair, as TOML: one [[question]] each, with name, kind (choice, slider or "
            "text), text, levels.",
            metavar="FILE",
            exists=True,
            dir_okay=False,
        ),
    ] = None
    unasked: Annotated[
        UnaskedForm,
        service_option(
            "UNASKED",
            "Judgments of pairs that were not handed out: count, mark (keep, but do not use) or refuse.",
            metavar="WAY",
        ),
    ] = UnaskedForm.marked
    listen: Annotated[
        float | None,
        service_option(
            "LISTEN",
            "Seconds that each clip must be heard; an earlier answer is marked as rushed. Kept with "
            "the campaign. Default "
            "with sound: 5.",
            metavar="SECONDS",
            min=0,
            max=600,
        ),
    ] = None
    sounds: Annotated[
        list[Path] | None,
        service_option(
            "SOUNDS",
            "A further folder of sound files that may be played; repeat for more.",
            metavar="DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """Settings of the campaigns."""

    measure: Annotated[
        str | None,
        service_option("MEASURE", "Measure to rank the systems by. Default: CG at the collection's cutoff."),
    ] = None
    stopping_rule: Annotated[
        str,
        typer.Option(
            help="When judging may stop, as in `audiosim simulate`.",
            envvar=["AUDIOSIM_STOPPING_RULE", "AUDIOSIM_GOAL"],  # the second name is that of versions up to 0.2
        ),
    ] = "confidence=0.95"
    batch: Annotated[int, service_option("BATCH", "Judgments between two predictions.", min=1)] = 1
    lease: Annotated[
        float, service_option("LEASE", "Seconds that a pair stays reserved for its assessor.", metavar="SECONDS", min=1)
    ] = 1800
    handing: HandingOptions = HandingOptions()
    selection: SelectionOptions = SelectionOptions()
    answers: AnswerOptions = AnswerOptions()

    def judging(self, database: str | None, adopt: bool) -> "Judging":
        """The settings, in the form that the service expects."""
        from audiosim.service.collections.campaigns import Judging
        from audiosim.service.collections.questions import read_questions

        answers = self.answers
        own = read_questions(answers.questions) if answers.questions else ()
        settings, stopping_rule = self._settings(adopt), parse_stopping_rule(self.stopping_rule)
        sounds = tuple(answers.sounds or ())
        known, share = self.handing.known, self.handing.known_share
        return Judging(database, self.measure, stopping_rule, own, settings, sounds, answers.listen, known, share)

    def _settings(self, adopt: bool) -> CampaignSettings:
        from audiosim.service.collections.campaigns import WAIT_S

        handing, selection = self.handing, self.selection
        return CampaignSettings(
            batch=self.batch,
            lease_s=self.lease,
            twice=handing.twice,
            cannot_limit=handing.cannot_limit,
            selection_rule=selection.selection_rule,
            seed=selection.seed,
            learn_later=True,
            patience_s=WAIT_S,
            unasked=self.answers.unasked.value,
            adopt=adopt,
            distribution=selection.distribution,
            about=about_of(selection.about),
            whole_queries=not handing.split_queries,
            second_opinions=handing.second_opinions,
            repeats=handing.repeats,
            known=handing.known_share if handing.known is None else 0.0,  # refused, as there are no known grades
            comparisons=handing.comparisons.value,
            candidates=handing.candidates,
        )


@dataclass(frozen=True, slots=True)
class RunningOptions:
    """Limits of the running service, its log and its start page."""

    upload_limit: Annotated[
        float,
        service_option(
            "UPLOAD_LIMIT",
            "Gigabytes of recordings and metadata per client token; organisers have no limit.",
            metavar="GB",
            min=0,
        ),
    ] = 2.0
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt",
            help="Continue a campaign that was started on another collection of this name, or on an "
            "earlier state of it.",
            envvar="AUDIOSIM_ADOPT",
        ),
    ] = False
    keep_open: Annotated[
        int,
        service_option(
            "KEEP_OPEN",
            "Collections open at a time; further ones are opened on request, and the least used is closed.",
            min=1,
        ),
    ] = 32
    log: Annotated[LogForm, service_option("LOG", "One line per request, on stderr.")] = LogForm.text
    open_page: Annotated[bool, typer.Option("--open", help="Open the start page in a browser.")] = False


def parse_proxies(texts: Iterable[str]) -> list[str]:
    """Addresses and networks of trusted proxies; a network that covers every address is refused."""
    found = []
    for text in texts:
        try:
            network = ipaddress.ip_network(text.strip())
        except ValueError:
            raise InputError(
                f"a trusted proxy must be an address or a network, such as 10.0.0.0/8, got {text!r}"
            ) from None
        if network.prefixlen == 0:
            raise InputError(f"{text} would trust everyone, expected the addresses of proxies")
        found.append(text.strip())
    return found


def kept(url: str | None, option: str) -> str | None:
    """The database of a URL; None, and a note, if it is in memory and would be lost at the end.

    A URL that names no database is an error at once, not after everything else has been read.
    """
    from audiosim.campaign.engine import open_engine

    if url is None:
        return None
    if not in_memory(url):
        open_engine(url, 1.0).dispose()  # checks the URL without connecting
        return url
    sys.stderr.write(f"note: {option} {url} is memory, not a file: everything in it is lost when the service stops\n")
    return None


def in_memory(url: str) -> bool:
    """True if a URL names an SQLite database in memory."""
    scheme, _, path = url.partition("://")
    return scheme.partition("+")[0] == "sqlite" and (
        path.partition("?")[0] in ("", "/", "/:memory:") or ":memory:" in path or "mode=memory" in path
    )
