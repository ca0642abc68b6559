"""State of a running service: an object with each of the parts, kept as `app.state.service`."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request

from audiosim.errors import StoreError
from audiosim.service.access.access import Access
from audiosim.service.access.links import JoiningLimits, OpenLinkStore
from audiosim.service.collections.additions import Receiver
from audiosim.service.collections.drafts import Home
from audiosim.service.collections.imports import ImportStore
from audiosim.service.collections.outlook import Outlooks
from audiosim.service.collections.publications import PublicationStore
from audiosim.service.collections.quotas import Shares
from audiosim.service.collections.shelf import Served
from audiosim.service.collections.trainings import Trainings, TrainingStore
from audiosim.service.http.limits import Entrance, Gate, Limits, Shared
from audiosim.service.http.observation import Metrics, Seen
from audiosim.service.tasks.cards import Cards
from audiosim.service.tasks.followers import Followers
from audiosim.service.tasks.keeper import Keeper

LOG = logging.getLogger("service")
RANKINGS, RANKINGS_WAITING = 2, 4  # by measures other than the campaign's own; they may take seconds


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

    def __init__(self, served: Served, home: Home | None, access: Access, limits: Limits) -> None:
        database = served.judging.database
        self.served, self.home, self.access = served, home, access
        self.imports, self.outlooks, self.cards = ImportStore(database), Outlooks(), Cards(served.collections)
        self.open_links, self.publications = OpenLinkStore(database), PublicationStore(database)
        self.keeper = Keeper(served, access, self.imports, self.outlooks, self.cards, self.open_links)
        self.receiver, self.followers, self.shares = Receiver(served), Followers(), Shares()
        self.trainings = Trainings(served.keep_model, None if database is None else TrainingStore(database))
        self.joining, self.rankings = JoiningLimits(), Shared(Gate(RANKINGS, RANKINGS_WAITING, "rankings"))
        self.entrance, self.gate = Entrance(access, limits), Gate(limits.at_work, limits.waiting)
        self.metrics = Metrics(
            self.gate, lambda: {name: one.campaign.current_state for name, one in served.collections.open.items()}
        )
        self.finished: list[Callable[[Seen], object]] = [self.metrics.finished]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the background tasks within the `with`."""
        self.keeper.start()
        self.receiver.start()
        try:
            yield
        finally:
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
