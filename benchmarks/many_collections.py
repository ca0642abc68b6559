"""A service of many collections: seconds until it is ready, memory, open files, and the time to list all.

The list is requested twice from a service that never opened most of them, and once after a restart of that service.

    python benchmarks/many_collections.py [--collections 500]

Each is a synthetic collection of 8 systems x 20 queries x 10 documents, about 850 pairs, in a separate folder. The
service is started by the command that users run, on one thread, with its logs in an SQLite file. Seconds are processor
time.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np
from figures import Figures

from audiosim.simulation import Design, synthetic_collection

SIZES = (1, 50, 200, 500)
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
WAIT_S = 600


class Running(NamedTuple):
    """A service that is ready: its address, and its process."""

    url: str
    process: subprocess.Popen[bytes]

    def seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        """Peak memory so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found
        return int(found[1]) / 1000

    def files(self) -> int:
        """Number of its open files and sockets."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextmanager
def serving(folders: list[Path], where: Path) -> Iterator[Running]:
    """A service of some folders, once it is ready."""
    log, database = where / "log", where / f"campaign-{len(folders)}.db"
    command = [sys.executable, "-m", "audiosim", "serve", *map(str, folders), "--port", "0"]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "--db", f"sqlite:///{database}"], stderr=stream, env=os.environ | ONE_THREAD
        )
    try:
        while (found := re.search(r"serving .* at (http://[^;\s]+)", log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            time.sleep(0.01)
        yield Running(found[1], process)
    finally:
        process.terminate()
        process.wait()


def measured(folders: list[Path], where: Path) -> list[float]:
    """Figures of a service of some folders."""
    with serving(folders, where) as one, httpx.Client(base_url=one.url, timeout=WAIT_S) as http:
        row: list[float] = [one.seconds(), one.peak_mb(), one.files()]
        began = one.seconds()
        assert http.get(f"/v1/collections/{folders[-1].name}").status_code == 200
        row.append(one.seconds() - began)
        row += [_listing(one, http, len(folders)), _listing(one, http, len(folders)), one.peak_mb(), one.files()]
    with serving(folders, where) as one, httpx.Client(base_url=one.url, timeout=WAIT_S) as http:
        return [*row, one.seconds(), _listing(one, http, len(folders)), one.peak_mb()]


def _listing(one: Running, http: httpx.Client, count: int) -> float:
    """Seconds to list all collections."""
    began = one.seconds()
    assert len(http.get("/v1/collections").json()) == count
    return one.seconds() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collections", type=int, default=500)
    most = parser.parse_args().collections
    made = synthetic_collection(np.random.default_rng(0), Design(8, 4, 20, 10, 100))
    columns = ["collections", "ready, s", "MB", "files", "first opened, s", "first list, s", "list again, s"]
    with tempfile.TemporaryDirectory() as name, Figures("many_collections") as figures:
        where = Path(name)
        folders = [where / f"collection-{number:03}" for number in range(most)]
        for folder in folders:
            made.save(folder)
            (folder / "judgments.qrels").unlink()
        rows = [(f"{size}", *measured(folders[:size], where)) for size in SIZES if size <= most]
        columns += ["MB after that", "files after that", "ready again, s", "list after restart, s", "MB after restart"]
        figures.table("many collections", columns, rows)


if __name__ == "__main__":
    main()
