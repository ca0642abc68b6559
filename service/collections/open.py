"""Collections that a service opens on request, and closes when others are used more often.

An open collection holds its pool, its model and its campaign in memory. A closed one consists of its log and its files,
and continues where it was when opened again.
"""

import hashlib
import json
import logging
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock

import audiosim
from audiosim.campaign import DatabaseStore, Store
from audiosim.collection.arrivals import Arrivals, Stamp, arrivals_stamp
from audiosim.collection.collection import Collection
from audiosim.collection.folder import folder_stamp
from audiosim.collection.layouts import find_file, find_runs, open_folder
from audiosim.collection.task import TASK_FILE, TaskTable, read_task
from audiosim.errors import AudiosimError, InputError, StoreError
from audiosim.service.access.callers import NotServedError
from audiosim.service.collections.served import ServedCollection
from audiosim.text import nearest_name

LOG = logging.getLogger("service")
KEEP_OPEN = 32
SHOWN = 10  # names listed in an error
THIS_PROCESS = secrets.token_hex(8)


class UnopenedError(StoreError):
    """A served collection cannot be opened now."""


@dataclass(frozen=True, slots=True, eq=False)
class CollectionSource:
    """Source from which a collection is loaded each time it is opened.

    identifier  name under which it is served
    load        function that loads it
    folder      folder of its sound files and additions, or None
    in_memory   True if `load` returns a value in memory, which does not include later additions
    options     options of `load`, and stamps of the files named in them
    """

    identifier: str
    load: Callable[[], Collection]
    folder: str | Path | None = None
    in_memory: bool = False
    options: str = ""

    @classmethod
    def of(cls, collection: Collection, folder: str | Path | None = None) -> "CollectionSource":
        """The source of a collection that is already loaded."""
        return cls(collection.identifier, lambda: collection, folder, True)

    @classmethod
    def of_folder(cls, folder: str | Path, load: Callable[[], Collection], options: str = "") -> "CollectionSource":
        """The source of a folder with runs; the runs are not read yet."""
        folder = open_folder(folder)
        find_runs(folder)
        return cls(folder.resolve().name, load, folder, options=options)

    def again(self) -> Collection:
        """The collection as its files are now; one in memory with the additions that are in its folder now."""
        found = self.load()
        return found.with_arrivals(Arrivals.of(self.folder)) if self.in_memory and self.folder is not None else found

    def basis(self, settings: str, database: Path | None) -> str:
        """Digest of everything the collection would be opened from now; for one in memory, valid only in this process.

        settings  settings of its campaign and model
        database  an SQLite file, which may lie in its folder
        """
        stamp = () if self.folder is None else folder_stamp(self.folder, database)
        known = [audiosim.__version__, settings, self.options, stamp, THIS_PROCESS if self.in_memory else ""]
        return hashlib.sha256(json.dumps(known).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(slots=True)
class Left:
    """State of a closed collection, needed to open it again.

    store       its log: the log itself if in memory; in a database, the last acknowledged line
    collection  the collection with its additions, unless they are read again
    stamp       stamp of its folder at the last check
    """

    store: Store
    collection: Collection | None
    stamp: Stamp


Opening = Callable[[CollectionSource, Collection, Store | None], ServedCollection]


class OpenCollections:
    """Collections by name; the most recently used are open.

    Any number of threads may ask for a collection; a single thread opens it. A request may still use a closed one,
    which works until released, because several campaigns may be open on one log.

    sources    sources of all collections
    make       function that opens one from its source, the collection, and its earlier log if any
    keep_open  number open at a time, besides those held by requests
    basis      function of a source; returns a digest of everything it would be opened from now, except its log
    """

    def __init__(
        self,
        sources: Sequence[CollectionSource],
        make: Opening,
        keep_open: int = KEEP_OPEN,
        basis: Callable[[CollectionSource], str] = lambda source: source.basis("", None),
    ) -> None:
        if keep_open < 1:
            raise InputError(f"at least 1 collection must be kept open, got {keep_open}")
        self._sources = {source.identifier: source for source in sources}
        self._make, self._keep_open, self._basis = make, keep_open, basis
        self._open: OrderedDict[str, ServedCollection] = OrderedDict()
        self._left: dict[str, Left] = {}
        self._held: Counter[str] = Counter()
        self._broken: dict[str, str] = {}
        self._state, self._turns = RLock(), {name: Lock() for name in self._sources}
        self.closed = 0  # number of times a collection was closed
        self.closing: Callable[[str, ServedCollection], object] = lambda name, one: None

    @property
    def names(self) -> list[str]:
        """Names of all, in the given order."""
        return list(self._sources)

    @property
    def open(self) -> dict[str, ServedCollection]:
        """The open collections, in the order of all."""
        with self._state:
            return {name: self._open[name] for name in self._sources if name in self._open}

    @property
    def fit(self) -> bool:
        """True if all may be open at the same time."""
        return len(self._sources) <= self._keep_open

    def at_hand(self, name: str) -> ServedCollection | None:
        """The collection with a name if it is open, counted as a use; None if it is closed."""
        self.check(name)
        with self._state:
            one = self._open.get(name)
            if one is not None:
                self._open.move_to_end(name)
            return one

    def task_of(self, name: str) -> TaskTable:
        """Keys of a collection's task, read from its folder if it is closed; the usual ones if it has no task."""
        there, folder = self.at_hand(name), self._sources[name].folder
        task = None if there is None else there.collection.assessor_task
        if there is None and folder is not None:
            with suppress(InputError):  # opening the collection reports the error
                path = find_file(Path(folder), TASK_FILE)
                task = None if path is None else read_task(path)
        return TaskTable() if task is None else task.table

    def get(self, name: str) -> ServedCollection:
        """The collection with a name, opened if need be; which takes a moment, or seconds with many judgments."""
        one = self._got(name, True)
        self._close_least_used()
        return one

    def _got(self, name: str, used: bool) -> ServedCollection:
        one = self.at_hand(name) if used else self.open.get(name)
        if one is None:
            with self._turns[name]:
                one = self.at_hand(name) or self._tried(name)
                with self._state:
                    if not used and name in self._open:
                        self._open.move_to_end(name, last=False)
        return one

    def _tried(self, name: str) -> ServedCollection:
        """The collection, opened; a failure is logged once, and the next request tries again."""
        try:
            one = self._opened(name)
        except StoreError:
            raise
        except AudiosimError as error:
            if self._broken.get(name) != str(error):
                LOG.warning("collection %s cannot be opened: %s", name, error)
            self._broken[name] = str(error)
            raise UnopenedError(f"collection {name} cannot be opened; the service's log says why") from error
        if self._broken.pop(name, None) is not None:
            LOG.warning("collection %s is open again", name)
        return one

    def open_now(self) -> None:
        """Open all if they fit, else the first, so that wrong settings fail now."""
        for name in self.names[: None if self.fit else 1]:
            self._opened(name)

    @contextmanager
    def pinned(self, name: str) -> Iterator[None]:
        """Keep a collection open, once it is, until the end of the `with`."""
        with self._state:
            self._held[name] += 1
        try:
            yield
        finally:
            with self._state:
                self._held[name] -= 1

    @contextmanager
    def held(self, name: str, used: bool = True) -> Iterator[ServedCollection]:
        """The collection with a name, kept open until the end of the `with`.

        used  True to count this as a use; an unused one is the next to be closed
        """
        self.check(name)
        try:
            with self.pinned(name):
                yield self._got(name, used)
        finally:
            self._close_least_used()

    def again(self, name: str) -> Collection:
        """The collection with a name as its files are now."""
        return self._sources[name].again()

    def put(self, name: str, one: ServedCollection) -> None:
        """Serve a collection in place of the one with that name."""
        with self._state:
            self._open[name] = one
            self._open.move_to_end(name)
        self._close_least_used()

    def check(self, name: str) -> None:
        """Raise an error if no collection has this name."""
        if name not in self._sources:
            near = nearest_name(name, self._sources)
            known = f"one of {', '.join(self._sources)}" if len(self._sources) <= SHOWN else f"{near}, or another"
            raise NotServedError(f"unknown collection {name!r}, expected {known}")

    def add(self, source: CollectionSource, prepare: Callable[[ServedCollection], object]) -> None:
        """Serve a further collection; `prepare` is called with it before it can be reached."""
        name = source.identifier
        if name in self._sources:
            raise InputError(f"a collection called {name} is served already")
        for store in self.stores()[:1]:
            store.check_file()
        one = self._made(source, None)
        prepare(one)
        with self._state:
            self._turns[name] = Lock()
            self._open[name] = one
            self._sources = {**self._sources, name: source}  # readers keep the old mapping
        self._close_least_used()

    def logs(self) -> dict[str, Store]:
        """Logs of all collections that were ever opened, by name."""
        with self._state:
            closed = {name: left.store for name, left in self._left.items()}
            return closed | {name: one.store for name, one in self._open.items()}

    def stores(self) -> list[DatabaseStore]:
        """The logs in a database."""
        return [store for store in self.logs().values() if isinstance(store, DatabaseStore)]

    def basis(self, name: str) -> str:
        """Digest of everything that a collection would be opened from now, except its log; empty on failure."""
        return self._basis_of(self._sources[name])

    def _basis_of(self, source: CollectionSource) -> str:
        try:
            return self._basis(source)
        except (OSError, AudiosimError):  # opening the collection reports the error
            return ""

    def let_go(self) -> None:
        """Close the logs of closed collections again, because a request that still used one may have reopened it."""
        with self._state:
            stores = [left.store for left in self._left.values()]
        for store in stores:
            if isinstance(store, DatabaseStore):
                store.close()

    def _opened(self, name: str) -> ServedCollection:
        source = self._sources[name]
        with self._state:
            left = self._left.get(name)
        if left is None:
            for store in self.stores()[:1]:
                store.check_file()  # if the file is gone, a new connection would create another
        one = self._made(source, left)
        with self._state:
            self._open[name] = one
            self._left.pop(name, None)
        return one

    def _made(self, source: CollectionSource, left: Left | None) -> ServedCollection:
        # Basis and stamp are taken first, so that changes of the folder during reading are noticed later.
        basis = self._basis_of(source)
        stamp = () if source.folder is None else arrivals_stamp(source.folder)
        if left is None or left.collection is None:
            one = self._make(source, source.load(), None if left is None else left.store)
        else:
            one, stamp = self._make(source, left.collection, left.store), left.stamp
        one.stamp, one.basis = stamp, basis
        return one

    def _close_least_used(self) -> None:
        while (found := self._least_used()) is not None:
            name, one = found
            self.closing(name, one)
            if isinstance(one.store, DatabaseStore):
                one.store.close()  # a request that still uses it reopens its connections
            self.closed += 1

    def _least_used(self) -> tuple[str, ServedCollection] | None:
        """Remove and return the next collection to close; None if there is room for all."""
        with self._state:
            free = [name for name in self._open if not self._held[name]]
            if len(self._open) <= self._keep_open or not free:
                return None
            one = self._open.pop(free[0])
            kept = one.collection if self._sources[free[0]].in_memory else None
            self._left[free[0]] = Left(one.store, kept, one.stamp)
            return free[0], one
