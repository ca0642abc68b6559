"""Settings of the service, as the command reads them from its options, grouped by subject."""

import ipaddress
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.campaign import CampaignSettings
from audiosim.cli import judging_options as handing
from audiosim.cli import service_options as options
from audiosim.cli.options import about_of
from audiosim.collection.collection import Collection
from audiosim.collection.folder import file_stamp
from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import mean_grades
from audiosim.errors import InputError
from audiosim.ranking.stopping import parse_stopping_rule

HOME = "audiosim-collections"  # default folder of collections made in the browser

if TYPE_CHECKING:
    from audiosim.service.access.access import Access
    from audiosim.service.access.sign_in import SignIn
    from audiosim.service.collections.campaigns import Judging


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options for reading the files of a collection."""

    judgments: options.Judgments = None
    system_from: options.NamedBy = None
    same_artist: options.FromOwnArtist = None
    scale: options.ScaleName = None
    partial: options.Partial = False

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

    db: options.Database = None
    home: options.HomeFolder = None
    tokens: options.Tokens = None


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """Sign-in by an institution, and the roles of its people."""

    grant: options.Grants = None
    login_header: options.LoginHeader = None
    groups_header: options.GroupsHeader = None

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

    host: options.Host = "127.0.0.1"
    allowed_host: options.AllowedHosts = None
    trusted_proxy: options.TrustedProxies = None
    sign_in: SignInOptions = SignInOptions()
    port: options.Port = 8000

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

    twice: handing.Twice = 0
    second_opinions: handing.SecondOpinions = False
    comparisons: handing.ComparisonShare = handing.ComparisonForm.none
    candidates: handing.Candidates = 1
    repeats: handing.Repeats = 0
    known: handing.KnownFile = None
    known_share: handing.KnownShare = 0
    split_queries: handing.SplitQueries = False
    cannot_limit: handing.CannotLimit = 2


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """Options for choosing pairs and for statements about a ranking."""

    selection_rule: options.SelectionRuleName = None
    distribution: options.DistributionName = "t"
    about: options.AboutWords = None
    seed: options.Seed = 0


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Questions about each pair, and conditions on the answers."""

    questions: options.QuestionsFile = None
    unasked: options.Unasked = options.UnaskedForm.marked
    listen: options.Listen = None
    sounds: options.SoundFolders = None


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """Settings of the campaigns."""

    measure: options.MeasureName = None
    stopping_rule: options.StoppingRuleText = "confidence=0.95"
    batch: options.Batch = 1
    lease: options.Lease = 1800
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
        return Judging(database, self.measure, stopping_rule, own, settings, sounds, answers.listen)

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
            known=handing.known_share,
            known_grades={} if handing.known is None else mean_grades(read_judgments(handing.known)[1]),
            comparisons=handing.comparisons.value,
            candidates=handing.candidates,
        )


@dataclass(frozen=True, slots=True)
class RunningOptions:
    """Limits of the running service, its log and its start page."""

    upload_limit: options.UploadLimit = 2.0
    adopt: options.Adopt = False
    keep_open: options.KeepOpen = 32
    log: options.Log = options.LogForm.text
    open_page: options.OpenPage = False


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
