"""The service started from its settings."""

import webbrowser
from collections.abc import Iterable, Sequence
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audiosim.campaign import CampaignSettings
from audiosim.campaign.engine import in_memory, open_engine
from audiosim.collection.collection import Collection
from audiosim.collection.folder import file_stamp
from audiosim.ranking.about import About
from audiosim.ranking.stopping import parse_stopping_rule
from audiosim.service.access.access import Access
from audiosim.service.access.sign_in import Grant, SignIn
from audiosim.service.access.tokens import TokenStore
from audiosim.service.app import create_app, run_server
from audiosim.service.collections.campaigns import WAIT_S, Judging
from audiosim.service.collections.drafts import Home
from audiosim.service.collections.open import CollectionSource
from audiosim.service.collections.questions import read_questions
from audiosim.service.http.limits import Limits
from audiosim.service.settings import Settings
from audiosim.text import NOTES

if TYPE_CHECKING:
    from fastapi import FastAPI

HOME = "audiosim-collections"  # default folder of collections made in the browser
CAMPAIGN = (
    *("batch", "twice", "cannot_limit", "selection_rule", "seed", "unasked", "adopt", "distribution"),
    *("second_opinions", "repeats", "comparisons", "candidates"),
)  # settings of a campaign that have the same names in `CampaignSettings`


def serve(settings: Settings) -> None:
    """Serve predictions, judging and rankings over HTTP.

    The start page, http://127.0.0.1:8000/, leads to /judge/COLLECTION for assessors and to /organise/COLLECTION for
    organisers; --open shows it in a browser. Programs find the routes in /openapi.json.

    Without a collection, or with an empty folder, organisers make collections at /create, and judgments are kept there.

    A setting is taken from the command line, else from the environment (AUDIOSIM_PORT for --port), else from the file
    of --config (port = 8000). Further settings, such as batch, known or grant, are set in the environment or in the
    file alone: `make docs` builds a page of all, Configuration of the service. Without tokens everybody on this machine
    may do everything; see `audiosim token`. Once a database has held a token, tokens are always required. An
    institution's own sign-in replaces them if a proxy says who asks (login-header, grant).

    Examples: `audiosim serve demo --db sqlite:///demo/campaign.db`

    `AUDIOSIM_DB=postgresql://me@host/name audiosim serve --config service.toml --host 0.0.0.0 --allowed-host
    judge.example.org`

    A program that asks it: `audiosim estimate demo --model remote:http://127.0.0.1:8000`
    """
    folders, home = _split_home(settings.collections, settings.home)
    kept_by_default = None if home is None else f"sqlite:///{home / 'campaigns.db'}"
    db = _kept(kept_by_default if settings.db is None else settings.db, "--db")
    tokens, judging, sign_in = _kept(settings.tokens, "--tokens"), judging_of(settings, db), _sign_in(settings)
    load, stamp = bound(_load, settings), _stamp(settings)

    def make() -> "FastAPI":
        access = _access(settings, [url for url in dict.fromkeys((tokens, db)) if url], sign_in)
        sources = [CollectionSource.of_folder(folder, bound(load, folder), stamp) for folder in folders]
        limits, made_here = Limits(sender_bytes=int(settings.upload_limit * 1e9)), None if home is None else Home(home)
        return create_app(
            sources, settings.model, limits, judging, access=access, keep_open=settings.keep_open, home=made_here
        )

    show = webbrowser.open if settings.open else None
    run_server(make, settings.host, settings.port, settings.log, settings.trusted_proxy, show)


def judging_of(settings: Settings, database: str | None) -> Judging:
    """The settings of the campaigns, with their database."""
    own = read_questions(settings.questions) if settings.questions else ()
    same: dict[str, Any] = {name: getattr(settings, name) for name in CAMPAIGN}
    campaign = CampaignSettings(
        lease_s=settings.lease,
        learn_later=True,
        patience_s=WAIT_S,
        about=About.parse(settings.about),
        whole_queries=not settings.split_queries,
        **same,
    )
    return Judging(
        database,
        settings.measure,
        parse_stopping_rule(settings.stopping_rule),
        own,
        campaign,
        settings.sounds,
        settings.listen,
        settings.known,
        settings.known_share,
    )


def _load(settings: Settings, folder: Path) -> Collection:
    return Collection.load(
        folder,
        settings.judgments,
        scale=settings.scale,
        system_from=settings.system_from,
        same_artist=settings.same_artist,
        partial=settings.partial,
    )


def _stamp(settings: Settings) -> str:
    """Way of reading collections, and a stamp of the judgments outside their folders."""
    how = settings.scale, settings.system_from, settings.same_artist, settings.partial
    return f"{file_stamp(settings.judgments)} {how}"


def _sign_in(settings: Settings) -> SignIn | None:
    """Sign-in by a proxy's header; None if not requested."""
    if settings.login_header is None:
        return None
    grants = map(Grant.parse, settings.grant)
    return SignIn(grants, settings.login_header, settings.groups_header, settings.trusted_proxy)


def _access(settings: Settings, databases: Iterable[str], sign_in: SignIn | None) -> Access:
    """Access by the tokens of the first database; locked if any database ever held one."""
    stores = [TokenStore(url, upgrade=True) for url in databases]
    locked = any(store.was_used() for store in stores)
    for store in stores[1:]:
        store.close()
    tokens = stores[0] if stores else None
    return Access(settings.host, settings.allowed_host, tokens, locked=locked, sign_in=sign_in)


def _kept(url: str | None, option: str) -> str | None:
    """The database of a URL; None, and a note, if it is in memory and would be lost at the end.

    A URL that names no database is an error at once, not after everything else has been read.
    """
    if url is None:
        return None
    if not in_memory(url):
        open_engine(url, 1.0).dispose()  # checks the URL without connecting
        return url
    NOTES.info("%s %s is memory, not a file: everything in it is lost when the service stops", option, url)
    return None


def _split_home(folders: Sequence[Path], home: Path | None) -> tuple[list[Path], Path | None]:
    """The folders of collections, and the folder in which organisers make new ones, created if missing.

    Without folders it is HOME in the current folder; a single folder that is empty, or holds collections, is the home.
    """
    found = list(folders)
    if home is None and not found:
        home = Path(HOME)
    elif home is None and len(found) == 1 and Home.is_one(found[0]):
        home = found.pop()
    if home is not None:
        Home(home)
    return found, home
