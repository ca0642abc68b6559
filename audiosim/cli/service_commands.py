"""Commands that set something going: the demo, the service."""

import webbrowser
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audiosim.campaign import CampaignSettings
from audiosim.cli import judging_options as handing
from audiosim.cli import service_options as settings
from audiosim.cli.options import As, Format, about_of, print_result
from audiosim.cli.service_settings import kept, parse_proxies
from audiosim.corpus.collection import Collection
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.judgments import read_judgments
from audiosim.errors import InputError
from audiosim.extras import need
from audiosim.plugins import find_stopping_rule
from audiosim.report.screen import console
from audiosim.report.views import demo_view

HOME = "audiosim-collections"  # folder of collections made in the browser, where none is given

if TYPE_CHECKING:
    from fastapi import FastAPI

    from audiosim.demo import DemoResult
    from audiosim.service.entrance.access import Access
    from audiosim.service.sign_in.institution import SignIn


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to put the demo's files.")] = Path(
        "audiosim-demo"
    ),
    target: Annotated[float, typer.Option(help="Confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    serve: Annotated[bool, typer.Option("--serve", help="Judge the pairs yourself, in a browser.")] = False,
    port: Annotated[int, typer.Option(help="Port of the pages.", min=1, max=65535)] = 8000,
    form: As = Format.table,
) -> None:
    """Run the whole job in half a minute, on the sound files that come with audiosim.

    It indexes the sound, predicts relevance, runs a judging campaign with a simulated listener, and says how right the
    ranking is. With --serve you are the listener: judge in a browser and watch the ranking settle.

    Examples: `audiosim demo my-demo`

    `audiosim demo --serve`
    """
    from audiosim.demo import run_demo

    need("sound" if serve else "plots,sound", "the demo")
    shown = console(stderr=form is not Format.table)
    if serve:
        _serve_demo(folder, port, lambda step: shown.print(step, style="dim"))
        return
    result = run_demo(folder, target, lambda step: shown.print(step, style="dim"))
    view = demo_view(result)
    shown.print(view)
    _write_report(result, folder / "report.html")
    if form is not Format.table:
        print_result(form, result.to_dict(), result.ranking.system_rows(), lambda: view)


def _write_report(result: "DemoResult", path: Path) -> None:
    from audiosim.expected.verdicts import Verdicts
    from audiosim.report.evaluation_page import campaign_page
    from audiosim.report.rendering import written_on

    ranking, curve = result.ranking, [(moment.judged, moment.confidence) for moment in result.curve]
    origin = {**written_on(date.today()), "Model": ranking.model, "Assessor": "simulated"}
    path.write_text(campaign_page("Demo", Verdicts(ranking), curve, origin=origin), encoding="utf-8")


def _serve_demo(folder: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve the demo's collection, nothing judged, and show its pages in a browser where there is one."""
    from audiosim.demo import prepare_demo
    from audiosim.service.app import create_app, run_server
    from audiosim.service.campaigns.campaigns import Judging

    collection = prepare_demo(folder, say)
    judging = Judging(f"sqlite:///{folder / 'campaign.db'}")
    pages = {page: f"http://127.0.0.1:{port}/{page}/{collection.identifier}" for page in ("judge", "organise")}
    say(f"judge pairs at {pages['judge']}, watch the ranking settle at {pages['organise']}")

    def make() -> "FastAPI":
        return create_app([collection], judging=judging, folders={collection.identifier: folder})

    run_server(make, port=port, show=lambda root: webbrowser.open(f"{root}judge/{collection.identifier}"))


def serve(
    collections: settings.Folders = None,
    config: settings.Config = None,
    model: settings.Model = None,
    judgments: settings.Judgments = None,
    system_from: settings.NamedBy = None,
    same_artist: settings.FromOwnArtist = None,
    scale: settings.ScaleName = None,
    partial: settings.Partial = False,
    db: settings.Database = None,
    home: settings.HomeFolder = None,
    tokens: settings.Tokens = None,
    host: settings.Host = "127.0.0.1",
    allowed_host: settings.AllowedHosts = None,
    trusted_proxy: settings.TrustedProxies = None,
    grant: settings.Grants = None,
    login_header: settings.LoginHeader = None,
    groups_header: settings.GroupsHeader = None,
    oidc_issuer: settings.OidcIssuer = None,
    oidc_audience: settings.OidcAudience = "audiosim",
    oidc_name: settings.OidcName = "sub",
    oidc_groups: settings.OidcGroups = "groups",
    port: settings.Port = 8000,
    measure: settings.MeasureName = None,
    stopping_rule: settings.StoppingRuleText = "confidence=0.95",
    batch: settings.Batch = 1,
    lease: settings.Lease = 1800,
    twice: handing.Twice = 0,
    second_opinions: handing.SecondOpinions = False,
    comparisons: handing.ComparisonShare = handing.ComparisonForm.none,
    candidates: handing.Candidates = 1,
    repeats: handing.Repeats = 0,
    known: handing.KnownFile = None,
    known_share: handing.KnownShare = 0,
    split_queries: handing.SplitQueries = False,
    cannot_limit: handing.CannotLimit = 2,
    selection_rule: settings.SelectionRuleName = None,
    distribution: settings.DistributionName = "t",
    about: settings.AboutWords = None,
    seed: settings.Seed = 0,
    questions: settings.QuestionsFile = None,
    unasked: settings.Unasked = settings.UnaskedForm.marked,
    listen: settings.Listen = None,
    sounds: settings.SoundFolders = None,
    upload_limit: settings.UploadLimit = 2.0,
    adopt: settings.Adopt = False,
    keep_open: settings.KeepOpen = 32,
    log: settings.Log = settings.LogForm.text,
    collector: settings.Collector = None,
    open_page: settings.OpenPage = False,
) -> None:
    """Serve predictions, judging and rankings over HTTP.

    The start page, http://127.0.0.1:8000/, leads to /judge/COLLECTION for assessors and to /organise/COLLECTION for
    organisers; --open shows it in a browser. Programs find the routes in /openapi.json.

    Without a collection, or with an empty folder, organisers make collections at /create, and judgments are kept there.

    A setting is taken from the command line, else from the environment (AUDIOSIM_PORT for --port), else from the file
    of --config. Without tokens everybody on this machine may do everything; see `audiosim token`. Once a database has
    held a token, tokens are always required. An institution's own sign-in replaces them if a proxy says who asks
    (--login-header), or if its OpenID Connect issuer makes the tokens (--oidc-issuer); --grant says who may do what.

    Examples: `audiosim serve my-demo --db sqlite:///my-demo/campaign.db`

    `AUDIOSIM_DB=postgresql://me@host/name audiosim serve --config service.toml --host 0.0.0.0 --allowed-host
    judge.example.org`

    A program that asks it: `audiosim estimate my-demo --model remote:http://127.0.0.1:8000`
    """
    from audiosim.service.app import create_app, run_server
    from audiosim.service.campaigns.campaigns import WAIT_S, Judging
    from audiosim.service.campaigns.questions import read_questions
    from audiosim.service.drafts.draft import Home
    from audiosim.service.entrance.limits import Limits
    from audiosim.service.shelf.open_collections import CollectionSource

    folders, home = _split_home(collections or (), home)
    if home is not None and db is None:
        db = f"sqlite:///{home / 'campaigns.db'}"
    db, tokens, proxies = (
        kept(db, "--db"),
        kept(tokens, "--tokens"),
        parse_proxies(trusted_proxy or ()),
    )
    own = read_questions(questions) if questions else ()
    going = CampaignSettings(
        batch,
        lease,
        twice,
        cannot_limit,
        selection_rule,
        seed,
        True,
        WAIT_S,
        unasked=unasked.value,
        adopt=adopt,
        distribution=distribution,
        about=about_of(about),
        whole_queries=not split_queries,
        second_opinions=second_opinions,
        comparisons=comparisons.value,
        candidates=candidates,
        repeats=repeats,
        known=known_share,
        known_grades={} if known is None else mean_grades(read_judgments(known)[1]),
    )
    judging = Judging(db, measure, find_stopping_rule(stopping_rule), own, going, tuple(sounds or ()), listen)

    issuer = (oidc_issuer, oidc_audience, oidc_name, oidc_groups)
    sign_in = _sign_in(grant or (), login_header, groups_header, proxies, issuer)

    def make() -> "FastAPI":
        access = _access(host, allowed_host or (), [url for url in dict.fromkeys((tokens, db)) if url], sign_in)

        def load(folder: Path) -> Collection:
            return Collection.load(
                folder, judgments, scale=scale, system_from=system_from, same_artist=same_artist, partial=partial
            )

        sources = [CollectionSource.of_folder(folder, bound(load, folder)) for folder in folders]
        limits, made_here = Limits(sender_bytes=int(upload_limit * 1e9)), None if home is None else Home(home)
        return create_app(sources, model, limits, judging, access=access, keep_open=keep_open, home=made_here)

    run_server(make, host, port, log.value, proxies, webbrowser.open if open_page else None, collector)


def _split_home(folders: Sequence[Path], home: Path | None) -> tuple[list[Path], Path | None]:
    """The folders of collections, and the folder in which organisers make further ones, made where it is not there.

    Without any it is HOME here; a single folder that is empty, or holds collections, is one.
    """
    from audiosim.service.drafts.draft import Home

    found = list(folders)
    if home is None and not found:
        home = Path(HOME)
    elif home is None and len(found) == 1 and Home.is_one(found[0]):
        home = found.pop()
    if home is not None:
        Home(home)
    return found, home


def _sign_in(
    grants: Sequence[str],
    header: str | None,
    groups_header: str | None,
    proxies: Sequence[str],
    issuer: tuple[str | None, str, str, str],
) -> "SignIn | None":
    """Sign-in by a proxy's header or by an issuer of tokens; None where neither is asked for."""
    if header is None and issuer[0] is None:
        if grants or groups_header:
            raise InputError("--grant and --groups-header need --login-header or --oidc-issuer, which identify people")
        return None
    from audiosim.service.sign_in.institution import Grant, SignIn
    from audiosim.service.sign_in.issuer import Issuer

    url, audience, name, groups = issuer
    made = None if url is None else Issuer(url, audience, name, groups)
    return SignIn(map(Grant.parse, grants), header, groups_header, proxies, made)


def _access(
    host: str, allowed_hosts: Sequence[str], databases: Sequence[str], sign_in: "SignIn | None" = None
) -> "Access":
    """Access by the tokens of the first database; locked where any of them ever held one."""
    from audiosim.service.callers.tokens import TokenStore
    from audiosim.service.entrance.access import Access

    stores = [TokenStore(url, upgrade=True) for url in databases]
    locked = any(store.was_used() for store in stores)
    for store in stores[1:]:
        store.close()
    return Access(host, allowed_hosts, stores[0] if stores else None, locked=locked, sign_in=sign_in)
