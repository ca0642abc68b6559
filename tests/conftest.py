"""Small collections whose every number can be worked out by hand, and where the real data is."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Before numpy comes: as many tests at once as there are cores leave each of them one thread to multiply matrices with.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["MPLBACKEND"] = "Agg"  # plots need no screen

from audiosim import cli
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import FINE, Document, Judgment, Run

# How long a test takes says nothing on a busy machine; benchmarks measure time.
settings.register_profile("audiosim", deadline=None)
settings.load_profile("audiosim")

# What `make test-fast` leaves out: tests of these fixtures, and those that are marked slow themselves.
SLOW_FIXTURES = {"postgres", "chromium"}
# What to install for tests that were skipped, by a word of the reason that they give.
WANTED = {
    "Chromium": "apt-get install chromium",
    "PostgreSQL": "apt-get install postgresql",
    "ffmpeg": "apt-get install ffmpeg",
    "psycopg": 'pip install "audiosim[postgres]"',
    "data": "the public data beside the checkout, see README.md",
}

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs a browser or PostgreSQL."""
    for item in items:
        chosen = getattr(item, "callspec", None)
        if SLOW_FIXTURES & {*getattr(item, "fixturenames", ()), *(map(str, chosen.params.values()) if chosen else ())}:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line at the end how many tests were skipped for want of what, and how to have it."""
    reasons = [
        str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])
    ]
    parts = []
    for reason, count in Counter(reasons).most_common():
        remedy = next((command for word, command in WANTED.items() if word.lower() in reason.lower()), None)
        parts.append(f"{count} ({reason}{f': {remedy}' if remedy else ''})")
    if parts:
        terminalreporter.write_line(f"skipped: {', '.join(parts)}", yellow=True)


@pytest.fixture(scope="session")
def mirex2011() -> Collection:
    """MIREX 2011 Audio Music Similarity, where the real data is at hand."""
    folder = SHARED / "mirex2011"
    if not folder.is_dir():
        pytest.skip("the MIREX 2011 data is not here: shared/data/mirex2011 beside the checkout")
    return Collection.load(folder)


@pytest.fixture
def tiny() -> Collection:
    """Three systems of two teams, two queries, cutoff 2.

    query  A      B      C        genre of the query
    q1     a b    a c    d a      rock
    q2     b e    e b    e f      jazz

    a, b rock; c, d jazz; e of an unknown genre; f, nothing known. Artists: a, c of X; b of Y; d, e of Z.
    """
    documents = [
        Document("a", "X", "rock"),
        Document("b", "Y", "rock"),
        Document("c", "X", "jazz"),
        Document("d", "Z", "jazz"),
        Document("e", "Z"),
        Document("q1", "Q", "rock"),
        Document("q2", "Q", "jazz"),
    ]
    runs = (
        Run("A", {"q1": ("a", "b"), "q2": ("b", "e")}),
        Run("B", {"q1": ("a", "c"), "q2": ("e", "b")}),
        Run("C", {"q1": ("d", "a"), "q2": ("e", "f")}),
    )
    return Collection(
        identifier="tiny",
        name="tiny",
        scale=FINE,
        cutoff=2,
        runs=runs,
        documents={document.identifier: document for document in documents},
        teams={"A": "one", "B": "one", "C": "two"},
    )


TINY_TRUTH = {
    ("q1", "a"): 90,
    ("q1", "b"): 60,
    ("q1", "c"): 20,
    ("q1", "d"): 10,
    ("q2", "b"): 30,
    ("q2", "e"): 70,
    ("q2", "f"): 0,
}


@pytest.fixture
def tiny_truth() -> list[Judgment]:
    """A grade for every pair of the tiny collection's pool."""
    return [Judgment(query, document, float(grade)) for (query, document), grade in TINY_TRUTH.items()]


@pytest.fixture
def run(monkeypatch, capsys):
    """The command in this process: exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["audiosim", *map(str, arguments)])
        handlers = logging.root.handlers[:]
        with pytest.raises(SystemExit) as ended:
            cli.main()
        logging.root.handlers[:] = handlers  # `serve` logs to a stderr that ends with the test
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return call


class Counted:
    """A learned feature that counts the rows it computes."""

    def __init__(self, inner):
        self.inner, self.rows = inner, []

    def compute(self, pool, grades, rows):
        self.rows.append(rows.tolist())
        return self.inner.compute(pool, grades, rows)

    def touched(self, pool, index):
        return self.inner.touched(pool, index)


@pytest.fixture
def counted():
    """Turns a learned feature into one that counts the rows it computes."""
    return Counted


def _programs():
    found = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    return Path(found).resolve().parent if found else None


class Cluster:
    """A PostgreSQL server of our own, on a socket in a folder of its own, to be started, stopped and frozen."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        root = os.geteuid() == 0  # which it refuses
        self._user: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if root else {}
        if root:
            shutil.chown(folder, "nobody")
        self._call("initdb", "-U", "audiosim", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql://audiosim@/postgres?host={self._folder}"

    def start(self) -> None:
        settings = f"-c listen_addresses='' -k {self._folder} -c fsync=off"
        self._call("pg_ctl", "start", "-w", "-l", self._folder / "log", "-o", settings)

    def stop(self) -> None:
        self._call("pg_ctl", "stop", "-m", "immediate")

    def signal(self, wish: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        first = int((self._folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="utf-8").split()
        for process in (first, *map(int, children)):
            os.kill(process, wish)

    def _call(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), "-D", str(self._folder / "data"), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder, **self._user)


@contextmanager
def _cluster() -> Iterator[Cluster]:
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: initdb is not found")
    pytest.importorskip("psycopg", reason="psycopg is not installed: audiosim[postgres]")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        cluster = Cluster(programs, folder)
        cluster.start()
        try:
            yield cluster
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have stopped it
                cluster.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server that listens on a socket of its own; skips where none is installed."""
    with _cluster() as cluster:
        yield cluster.url


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server that the test may stop and freeze; skips where none is installed."""
    with _cluster() as cluster:
        yield cluster
