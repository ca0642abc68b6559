"""Collections small enough to compute every number by hand, and the places of the real data."""

import csv
import gc
import importlib.util
import logging
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

if sys.platform != "win32":
    import fcntl

# Before numpy is imported: with as many tests at once as cores, each may use one thread for matrix products.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy import stats

from audiosim import Campaign, cli, package_files
from audiosim.campaign import DatabaseStore
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Judgment, Run
from audiosim.collection.written import write_judgments_csv
from audiosim.simulation.demo import prepare_demo
from audiosim.sound.index import extract

# On a busy machine the duration of a test means nothing; benchmarks measure time.
settings.register_profile("audiosim", deadline=None)
settings.load_profile("audiosim")

# Left out by `make test-fast`: tests with these fixtures, and those marked as slow themselves.
SLOW_FIXTURES = {"initialised", "postgres", "pooled", "chromium", "output"}
# What to install for skipped tests, by a word of their reason.
WANTED = {
    "Chromium": "apt-get install chromium-headless-shell",
    "Firefox": "apt-get install firefox-esr",
    "sound server": "apt-get install pulseaudio",
    "PostgreSQL": "apt-get install postgresql",
    "PgBouncer": "apt-get install pgbouncer",
    "ffmpeg": "apt-get install ffmpeg",
    "psycopg": 'pip install "audiosim[postgres]"',
    "data": "the public data beside the checkout, see README.md",
}


@pytest.fixture(scope="session")
def bounded_by_scipy() -> Callable[[np.ndarray], tuple[float, float]]:
    """Ends of the 95 % interval for the mean of values from 0 to 1: Beta's, with each end as one more value."""

    def ends(values: np.ndarray) -> tuple[float, float]:
        found = []
        for end, probability in ((0.0, 0.025), (1.0, 0.975)):
            more = np.append(values, end)
            size = more.mean() * (1 - more.mean()) / stats.sem(more) ** 2 - 1
            found.append(stats.beta(more.mean() * size, (1 - more.mean()) * size).ppf(probability))
        return found[0], found[1]

    return ends


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep collected tests until the end, so that the garbage collector need not scan them repeatedly."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20)  # the usual 700 objects would take a twentieth of the tests' time
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Begin with another part of each folder in each worker, so that no two compile the same files of a new clone."""
    report = yield
    if isinstance(collector, pytest.Directory):
        worker, workers = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
        first = len(report.result) * int(worker.removeprefix("gw")) // int(workers)
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a browser or PostgreSQL as slow; put the longest first, so that none is begun last."""
    items.sort(key=lambda item: (item.get_closest_marker("longest") is None, item.nodeid.partition("::")[0]))
    for item in items:
        chosen = getattr(item, "callspec", None)
        if SLOW_FIXTURES & {*getattr(item, "fixturenames", ()), *(map(str, chosen.params.values()) if chosen else ())}:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print in one line at the end how many tests were skipped, and how to install what they need."""
    reasons = [
        str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])
    ]
    parts = []
    for reason, count in Counter(reasons).most_common():
        remedy = next((command for word, command in WANTED.items() if word.lower() in reason.lower()), None)
        parts.append(f"{count} ({reason}{f': {remedy}' if remedy and remedy not in reason else ''})")
    if parts:
        terminalreporter.write_line(f"skipped: {', '.join(parts)}", yellow=True)


LONG = 100_000  # characters: work by the square of it takes minutes
MOST_S = 1.0  # of processor time; most of what is read takes a hundredth of it, the slowest a third on a busy machine
LETTERS = "ab" * (LONG // 2)
SHAPES = {
    "one name": LETTERS,
    "a name with one dot": f"{LETTERS}.{LETTERS}",
    "blanks": " " * LONG + "x",
    "tabs": "\t" * LONG + "x",
    "digits and a letter": "1" * LONG + "x",
    "brackets": "(" * LONG + "@" * LONG,
    "addresses": "(@" * LONG + ")",
    "lists": "[" * LONG,
    "objects": '{"a":' * LONG,
    "a list as a value": '{"query": ' + "[" * LONG + "\n",
    "a long key": f'{{"{LETTERS}": 1}}\n',
    "many keys": "{" + ",".join(f'"k{n}": 1' for n in range(LONG // 8)) + "}",
    "elements": "<a>" * LONG,
    "elements that end": "<?xml version='1.0'?>\n" + "<query>" * LONG + "</query>" * LONG,
    "attributes": "<a " + " ".join(f"a{n}='1'" for n in range(LONG // 8)) + "/>",
    "columns by commas": ",".join(f"c{n}" for n in range(LONG // 8)),
    "columns by tabs": "\t".join(f"c{n}" for n in range(LONG // 8)),
    "columns of one name": "\t".join(["artits"] * (LONG // 8)),
    "a key of many parts": "a." * LONG + "a = 1",
    "a table of many parts": "[" + "a." * LONG + "a]",
    "a key after blanks": " " * LONG + "scales = 1",
    "a long key of TOML": f"{LETTERS} = 1",
    "lists of TOML": "scale = " + "[" * LONG,
    "tables of TOML": "\n".join(f"[a{n}]" for n in range(LONG // 8)),
    "a file of MIREX": "name" + " " * LONG + "(@\nq\td,1\n",
    "a file of MIREX with an address": "name (" + "@" * LONG + "\n1\tb\nQ/R\t1\n1\t0\n",
    "quotes": '"' * LONG,
    "lines": "a\tb\n" * (LONG // 8),
}


@pytest.fixture(scope="session")
def shapes() -> dict[str, str]:
    """Texts of shapes that a careless reader takes for ever to read, by what they are."""
    return SHAPES


@pytest.fixture(scope="session", name="ended")
def _ended() -> Callable[[], AbstractContextManager[None]]:
    return ended


@contextmanager
def ended() -> Iterator[None]:
    """End the `with` after MOST_S of processor time, even within a regular expression, and fail."""

    def late(number: int, frame: object) -> None:
        pytest.fail(f"it has no end within {MOST_S} s")

    before = signal.signal(signal.SIGPROF, late)
    gc.disable()  # what goes through the objects of all former tests is no work of the reader
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.enable()
        signal.signal(signal.SIGPROF, before)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """A maker of read-only folders shared by all workers of a run, each made by the worker that asks first.

    The others wait until it exists, because making it twice would cost more.
    """
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    shared.mkdir(exist_ok=True)

    def find(name: str, make: Callable[[Path], object]) -> Path:
        with (shared / f"{name}.lock").open("w") as lock:
            if sys.platform != "win32":
                fcntl.flock(lock, fcntl.LOCK_EX)  # released when the process ends in any way
            if not (shared / name).exists():
                mine = Path(tempfile.mkdtemp(dir=shared))
                make(mine)
                with suppress(OSError):  # without a lock, another worker may have been faster
                    mine.rename(shared / name)
        return shared / name

    return find


QUERIES, SOUNDS = 10, 18
SPARE = ("dynamics", "fusion-nohubs", "spectrum", "timbre-diagonal", "timbre-means")


def _make_small_demo(whole: Path, folder: Path) -> None:
    """Make the collection of `audiosim demo` with fewer queries and sounds, and sixty judgments."""
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    queries = {f"q{number:02}" for number in range(1, QUERIES + 1)}
    for path in [*(folder / "runs").glob("*.trec"), folder / "truth.qrels"]:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if line.split()[0] in queries), encoding="utf-8")
    for system in SPARE:
        (folder / "runs" / f"{system}.trec").unlink()
    lines = (folder / "queries.tsv").read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.split("\t")[0] in {"query", *queries}]
    (folder / "queries.tsv").write_text("".join(kept), encoding="utf-8")
    described = (folder / "documents.tsv").read_text("utf-8")
    for path in sorted((folder / "sounds").iterdir())[SOUNDS:]:
        path.unlink()
        described = described.replace(f"sounds/{path.name}", "")
    (folder / "documents.tsv").write_text(described, encoding="utf-8")
    truth = Collection.load(folder, folder / "truth.qrels").grades()
    log = DatabaseStore(f"sqlite:///{folder / 'campaign.db'}", "demo")
    campaign = Campaign(Collection.load(folder), None, "CG@5", log)
    for pair in campaign.ask(60):
        campaign.tell(Judgment(*pair, grade=truth[pair], assessor="simulated"))
    write_judgments_csv(folder / "judgments.csv", campaign.judgments())
    log.close()


@pytest.fixture(scope="session")
def whole_demo(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The collection made by `audiosim demo`, read-only, with nothing judged."""
    import joblib

    with joblib.parallel_config("sequential"):  # one worker process instead of one per processor
        return made_once("demo", lambda folder: prepare_demo(folder, str))


@pytest.fixture(scope="session")
def small_demo(made_once: Callable[[str, Callable[[Path], object]], Path], whole_demo: Path) -> Path:
    """A small, read-only version of the collection made by `audiosim demo`, with sixty judgments."""
    return made_once("small-demo", partial(_make_small_demo, whole_demo))


@pytest.fixture(scope="session")
def real_sounds() -> Path:
    """The documents.tsv of the 96 real clips, if they are available."""
    table = SHARED / "sounds" / "documents.tsv"
    if not table.is_file():
        pytest.skip("needs the real clips in ../shared/data/sounds, which are not part of the project")
    return table


@pytest.fixture(scope="session")
def real_index(real_sounds: Path, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The index of the real clips."""
    return made_once("real", lambda folder: extract(real_sounds, into=folder / "index")) / "index"


PATIENCE_S = 180  # limit for any process on a busy machine

# A process is forked from one that has imported everything, which takes a tenth of the time of starting Python.
FORKS = multiprocessing.get_context("forkserver" if sys.platform != "win32" else "spawn")
FORKS.set_forkserver_preload(
    [
        "audiosim.service.demo",
        "audiosim.service.serving",
        "audiosim.service.app",
        "audiosim.service.access.tokens",
        "audiosim.cli.command",
        "audiosim.cli.options",
        "audiosim.cli.verbs",
        "anyio._backends._asyncio",
        "distributed.cli.dask_scheduler",
        "distributed.cli.dask_worker",
        "psycopg",
        "pyloudnorm",
        "soundfile",
        "uvloop",
        "sqlalchemy.dialects.postgresql",
        "sqlalchemy.dialects.sqlite",
        "typer.main",
        "uvicorn.lifespan.on",
        "uvicorn.loops.uvloop",
        "uvicorn.protocols.http.httptools_impl",
        "tests.forked",
    ]
)
# Without `freeze` the first collection of garbage writes to every inherited object, which copies the parent's memory.
ALONE = """
import gc, os, sys, warnings
gc.freeze()
os.dup2(os.open(_said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.dup2(1, 2)
warnings.simplefilter("error")
"""


@pytest.fixture
def together(tmp_path: Path) -> Callable[..., list[tuple[int | None, str]]]:
    """Runs code in several processes that start it at the same moment; returns exit code and output of each.

    The code is a text with `begin()` after its imports; `names` are its variables, separate for each process.
    """

    def run(code: str, *names: dict[str, Any]) -> list[tuple[int | None, str]]:
        begin = FORKS.Barrier(len(names), timeout=PATIENCE_S).wait  # one that fails earlier blocks no other
        said = [tmp_path / f"said {number}" for number in range(len(names))]
        known = [
            {"_said": str(path), "begin": begin, "__name__": "__main__"} | own
            for path, own in zip(said, names, strict=True)
        ]
        processes = [FORKS.Process(target=exec, args=(ALONE + code, own), daemon=True) for own in known]
        for process in processes:
            process.start()
        for process in processes:
            process.join(2 * PATIENCE_S)
        codes = [process.exitcode for process in processes]
        return [(code, path.read_text(encoding="utf-8")) for code, path in zip(codes, said, strict=True)]

    return run


COMMAND = """
begin()
sys.argv = ["audiosim", *arguments]
from audiosim.cli import main
main()
"""


@pytest.fixture
def apart(together: Callable[..., list[tuple[int | None, str]]]) -> Callable[..., tuple[int | None, str]]:
    """The command in a separate process, which it may end in any way: its exit code and output."""

    def call(*arguments: object) -> tuple[int | None, str]:
        return together(COMMAND, {"arguments": list(map(str, arguments))})[0]

    return call


@pytest.fixture(scope="session")
def mirex2011() -> Collection:
    """MIREX 2011 Audio Music Similarity, if the real data are available."""
    folder = SHARED / "mirex2011"
    if not folder.is_dir():
        pytest.skip("the MIREX 2011 data is not here: shared/data/mirex2011 beside the checkout")
    return Collection.load(folder)


@pytest.fixture(scope="session")
def demo() -> Collection:
    """The collection that comes with the package, judged in full."""
    folder = package_files.folder("fixtures") / "demo"
    return Collection.load(folder, folder / "truth.qrels")


@pytest.fixture(scope="session")
def scores(demo: Collection) -> dict[str, np.ndarray]:
    """CG@5 of every system of the demo for every query, by plain arithmetic."""
    grades = demo.grades()
    queries = list(dict.fromkeys(query for run in demo.runs for query in run.rankings))
    return {
        run.system: np.array([sum(grades[q, d] for d in run.rankings[q][:5]) / 500 for q in queries])
        for run in demo.runs
    }


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
        logging.root.handlers[:] = handlers  # `serve` logs to a stderr that is closed after the test
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def ranx(monkeypatch: pytest.MonkeyPatch) -> Any:
    """ranx with its functions in plain Python, because compiling them takes a minute of processor time."""
    monkeypatch.setattr(pytest.importorskip("numba").config, "DISABLE_JIT", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx")


@pytest.fixture
def unspread(forked_workers: None) -> Iterator[None]:
    """Do in this process what would be distributed over others: starting these takes seconds of processor time."""
    import joblib

    with joblib.parallel_config("sequential"):
        yield


@pytest.fixture(scope="module")
def forked_workers() -> Iterator[None]:
    """Fork worker processes, where their start is not what is tested: imports take most of their time."""

    def forked(*given: Any, env: object, **named: Any) -> BaseProcess:
        return FORKS.Process(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("joblib.externals.loky.backend.context.LokyContext.Process", staticmethod(forked))
        patch.setattr("joblib.externals.loky.backend.context.LokyContext", type(FORKS))
        patch.setattr("joblib.externals.loky.backend.process.LokyProcess", forked)
        yield


@pytest.fixture(scope="session")
def answer_study():
    """Fill in people's answers in a file of a study's examples."""

    def fill_in(path):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
        for number, row in enumerate(rows):
            row["answer"] = ["a", "b", "good", "bad"][number % 4]
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0], delimiter="\t")
            writer.writeheader()
            writer.writerows(rows)

    return fill_in


def _loaded(path: Path) -> Any:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OWN_POSTGRES = _loaded(Path(__file__).resolve().parents[1] / "benchmarks" / "own_postgres.py")


@pytest.fixture(scope="session")
def initialised(made_once: Callable[[str, Callable[[Path], object]], Path]) -> tuple[Path, Path]:
    """Folders of PostgreSQL's programs and of a data directory to copy; skips if it is not installed."""
    programs = OWN_POSTGRES.programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: initdb is not found")
    pytest.importorskip("psycopg", reason="psycopg is not installed: audiosim[postgres]")

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="pg") as open_to_all:
            OWN_POSTGRES.Cluster(programs, Path(open_to_all))
            subprocess.run(["cp", "-a", Path(open_to_all) / "data", folder / "data"], check=True)

    return programs, made_once("postgres", make)


@contextmanager
def _cluster(programs: Path, made: Path) -> Iterator[Any]:
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        cluster = OWN_POSTGRES.Cluster(programs, folder, made)
        cluster.start()
        try:
            yield cluster
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have stopped it
                cluster.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres(initialised: tuple[Path, Path]) -> Iterator[str]:
    """The URL of a PostgreSQL server on a private socket; skips if none is installed."""
    with _cluster(*initialised) as cluster:
        yield cluster.url


@pytest.fixture
def cluster(initialised: tuple[Path, Path]) -> Iterator[Any]:
    """A PostgreSQL server that the test may stop and freeze; skips if none is installed."""
    with _cluster(*initialised) as cluster:
        yield cluster


@pytest.fixture
def pooled(cluster: Any) -> Iterator[Any]:
    """A pooler before a server that acknowledges up to 10 s before its disk does; skips if one is not installed."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed: pgbouncer is not found")
    cluster.stop()
    cluster.start("synchronous_commit=off", "wal_writer_delay=10s")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    pooler = OWN_POSTGRES.Pooler(program, cluster, folder)
    try:
        yield pooler
    finally:
        pooler.stop()
        shutil.rmtree(folder)


# A process of a Dask cluster. Workers that watch themselves fifty times a second would take a fiftieth of the processor
# each while they wait; a task may take one of them along.
OF_CLUSTER = """
import gc, importlib, os
import dask
gc.freeze()
os.chdir(folder)
os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 1)
os.dup2(1, 2)
dask.config.set({
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.allowed-failures": 1,
})
importlib.import_module(f"distributed.cli.{program}").main(["--no-dashboard", *options])
"""


class LoopbackCluster:
    """A Dask cluster on this machine: its address and its processes, some of which tests may kill."""

    def __init__(self, folder, workers):
        self.folder, self.processes = folder, []
        known = folder / "scheduler.json"
        self.start("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", known)
        self.workers = [self.add_worker() for _ in range(workers)]
        deadline = time.monotonic() + 180
        while not known.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        import distributed  # slow to import, and not needed to collect tests

        with distributed.Client(scheduler_file=str(known), set_as_default=False) as client:
            self.address = client.scheduler.address
            if workers:
                client.wait_for_workers(workers, timeout=180)

    def add_worker(self):
        return self.start(
            "dask_worker", "--nthreads", "1", "--no-nanny", "--scheduler-file", self.folder / "scheduler.json"
        )

    def start(self, program, *options):
        log = self.folder / f"{len(self.processes)}.log"
        names = {"program": program, "options": list(map(str, options)), "folder": str(self.folder), "log": str(log)}
        known = {"__name__": "__main__"} | names
        self.processes.append(FORKS.Process(target=exec, args=(OF_CLUSTER, known), daemon=True))
        self.processes[-1].start()
        return self.processes[-1]

    def end(self):
        for process in self.processes:
            process.kill()
            process.join()


@pytest.fixture
def loopback(tmp_path):
    """Starts a separate Dask cluster with a number of workers."""
    (tmp_path / "cluster").mkdir()
    running = []

    def start(workers=2):
        running.append(LoopbackCluster(tmp_path / "cluster", workers))
        return running[-1]

    yield start
    for started in running:
        started.end()


@pytest.fixture(scope="module")
def dask_here(tmp_path_factory):
    """A Dask cluster of two workers for tests that do not change it."""
    started = LoopbackCluster(tmp_path_factory.mktemp("cluster"), 2)
    yield started
    started.end()


@pytest.fixture(scope="session")
def demo_pool():
    """The pool of the collection that comes with audiosim, without its judgments."""
    return build_pool(Collection.load(package_files.folder("fixtures") / "demo"))
