"""State of a running service: a value with a field for each of the parts, kept as `app.state.service`."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from fastapi import Depends, FastAPI, Request

from audiosim.errors import StoreError
from audiosim.service.callers.joining_limits import JoiningLimits
from audiosim.service.callers.open_links import OpenLinkStore
from audiosim.service.campaigns.shares import Shares
from audiosim.service.campaigns.training_store import TrainingStore
from audiosim.service.campaigns.trainings import Trainings
from audiosim.service.drafts.draft import Home
from audiosim.service.entrance.access import Access
from audiosim.service.entrance.limits import Entrance, Gate, Limits, Shared
from audiosim.service.files.additions import Receiver
from audiosim.service.files.import_store import ImportStore
from audiosim.service.files.published_records import PublicationStore
from audiosim.service.interface.cards import Cards
from audiosim.service.operation.followers import Followers
from audiosim.service.operation.keeper import Keeper
from audiosim.service.operation.metrics import Metrics
from audiosim.service.operation.observation import Seen
from audiosim.service.shelf.outlook import Outlooks
from audiosim.service.shelf.shelf import Served

LOG = logging.getLogger("service")
RANKINGS, RANKINGS_WAITING = 2, 4  # by measures other than the campaign's own; they may take seconds


@dataclass(frozen=True)
class ServiceState:
    """Parts of a running service, one of each.

    served     collections and models
    home       folder in which organisers make collections, or None
    access     access rules
    imports    uploaded judgments that are waiting to be written
    outlooks   forecasts for organisers
    cards      entries in lists of collections
    keeper     background tasks
    receiver   additions to served collections
    followers  clients that follow the changes of campaigns
    shares     fair shares of the pairs of a campaign
    open_links  open links to campaigns, and the people who joined by them
    publications  published bundles
    trainings  training of models
    joining    limits on the number of people who join
    rankings   rankings in progress, by measures other than a campaign's own
    entrance   admission of requests
    gate       limit on concurrent predictions
    metrics    figures for operators
    finished   functions called after each request
    """

    served: Served
    home: Home | None
    access: Access
    imports: ImportStore
    outlooks: Outlooks
    cards: Cards
    keeper: Keeper
    receiver: Receiver
    followers: Followers
    shares: Shares
    open_links: OpenLinkStore
    publications: PublicationStore
    trainings: Trainings
    joining: JoiningLimits
    rankings: Shared
    entrance: Entrance
    gate: Gate
    metrics: Metrics
    finished: list[Callable[[Seen], object]]

    @classmethod
    def of(cls, served: Served, home: Home | None, access: Access, limits: Limits) -> Self:
        """The state at the start of a service."""
        database = served.judging.database
        imports, outlooks = ImportStore(database), Outlooks()
        open_links = OpenLinkStore(database)
        gate, cards = Gate(limits.at_work, limits.waiting), Cards(served.collections)
        metrics = Metrics(
            gate, lambda: {name: one.campaign.current_state for name, one in served.collections.open.items()}
        )
        return cls(
            served=served,
            home=home,
            access=access,
            imports=imports,
            outlooks=outlooks,
            cards=cards,
            keeper=Keeper(served, access, imports, outlooks, cards, open_links),
            receiver=Receiver(served),
            followers=Followers(),
            shares=Shares(),
            open_links=open_links,
            publications=PublicationStore(database),
            trainings=Trainings(served.keep_model, None if database is None else TrainingStore(database)),
            joining=JoiningLimits(),
            rankings=Shared(Gate(RANKINGS, RANKINGS_WAITING, "rankings")),
            entrance=Entrance(access, limits),
            gate=gate,
            metrics=metrics,
            finished=[metrics.finished],
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the background tasks within the `with`."""
        self.keeper.start()
        self.receiver.start()
        try:
            yield
        finally:
            self.access.close()
            self.keeper.stop()
            self.trainings.stop()
            self.cards.keep_open_ones()
            try:
                self.keeper.rescue()
            except StoreError:
                LOG.exception("the database file is gone, and its contents could not be saved")
            self.receiver.stop()  # last, because it may wait for a recording that is being described


def state_of(app: FastAPI) -> ServiceState:
    """State of an application made by `create_app`."""
    state: ServiceState = app.state.service
    return state


def part(take: Callable[[ServiceState], object]) -> Any:
    """Dependency of a route on a part of the service's state."""

    async def find(request: Request) -> object:
        return take(state_of(request.app))

    return Depends(find)
