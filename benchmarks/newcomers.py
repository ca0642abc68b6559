"""First minutes of four newcomers with their own data: everything they type, how long it takes, what they read.

    python benchmarks/newcomers.py [--only trec|notebook|music|program]

    trec      a folder with twelve runs and a qrels file, judged 0 to 3 in part, under names that audiosim does not know
    notebook  the same data as two pandas frames
    music     a folder of MP3 files with tags
    program   only curl, with a service of the music folder

Their files are made from the demo before the clock starts; each newcomer has a fresh folder and the commands of the
environment that runs this script. Seconds are by the clock, including each start of Python.
"""

import argparse
import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import soundfile
from figures import Figures
from mutagen.id3 import ID3, TCON, TIT2, TPE1

from audiosim import package_files

DEMO = package_files.folder("fixtures") / "demo"
FUSED = (("fusion", "timbre-full"), ("rhythm", "harmony"))  # two more systems alternate between these
JUDGED, LEVEL = 0.3, 25  # share of the judgments that the newcomer has; width of a level in grades
SHOWN = 18  # lines of an answer
NOTEBOOK = """\
import audiosim, pandas
runs, judgments = pandas.read_csv("runs.csv"), pandas.read_csv("judgments.csv")
ranking = audiosim.estimate(runs, judgments)
print(ranking)
print(ranking.to_frame()[["expectation", "low", "high"]].round(3))
"""
JSON = "-H 'content-type: application/json'"
BEFORE = {
    "trec": "scale taken for 0 to 100: on dl2019 the best score was .028 instead of .691",
    "notebook": "files had to be written first",
    "music": "one system, yet .940 [.902, .978] and confidence 1.000; no clip could be judged",
    "program": "no example and no page to try them on",
}


class Session:
    """Lines that a newcomer types in a folder, with the answers and the time they take."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.typed, self.seconds, self.read = folder, 0, 0.0, ""

    def type(self, line: str, program: Sequence[str] = ("sh", "-c"), shown: str | None = None) -> str:
        """Run and print a line, and return its answer; an error ends the script."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        print(f"\n$ {shown or line}", flush=True)
        begun = time.monotonic()
        done = subprocess.run(
            [*program, line], cwd=self.folder, env=os.environ | {"PATH": path, "COLUMNS": "100"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        took = time.monotonic() - begun
        lines = done.stdout.splitlines()
        more = [f"… {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
        print(*[one[:150] for one in lines[:SHOWN]], *more, f"({took:.1f} s)", sep="\n", flush=True)
        if done.returncode:
            raise SystemExit(f"exit code {done.returncode}")
        self.typed, self.seconds, self.read = self.typed + 1, self.seconds + took, done.stdout
        return done.stdout


def demo_runs() -> dict[str, list[list[str]]]:
    """Lines of twelve systems, by name: the demo's ten, and two that alternate between two others."""
    runs = {path.stem: [line.split() for line in path.read_text().splitlines()] for path in (DEMO / "runs").iterdir()}
    for number, names in enumerate(FUSED, 1):
        lines = []
        for query in dict.fromkeys(row[0] for row in runs[names[0]]):
            lists = [[row[2] for row in runs[name] if row[0] == query] for name in names]
            taken = list(dict.fromkeys(chain.from_iterable(zip(*lists, strict=True))))[: len(lists[0])]
            lines += [
                [query, "Q0", one, str(rank), str(1 / rank), f"turns-{number}"] for rank, one in enumerate(taken, 1)
            ]
        runs[f"turns-{number}"] = lines
    return runs


def some_judgments() -> list[tuple[str, str, int]]:
    """Query, document and level from 0 to 3 for some pairs."""
    rows = [line.split() for line in (DEMO / "truth.qrels").read_text().splitlines()]
    chosen = np.random.default_rng(0).permutation(len(rows))[: int(JUDGED * len(rows))]
    return [(rows[i][0], rows[i][2], min(3, int(float(rows[i][3])) // LEVEL)) for i in sorted(chosen.tolist())]


def trec(session: Session) -> None:
    """A folder of TREC files under any names."""
    (session.folder / "task").mkdir()
    for name, rows in demo_runs().items():
        (session.folder / "task" / f"input.{name}").write_text("\n".join(map(" ".join, rows)) + "\n")
    qrels = "".join(f"{query} 0 {document} {level}\n" for query, document, level in some_judgments())
    (session.folder / "task" / "2026.qrels.txt").write_text(qrels)
    session.type("audiosim check task")
    session.type("audiosim estimate task")
    session.type("audiosim next task -n 5")


def notebook(session: Session) -> None:
    """Frames in memory, and five typed lines of Python."""
    tables = {
        "runs.csv": [("query", "document", "rank", "system")]
        + [(row[0], row[2], row[3], row[5]) for rows in demo_runs().values() for row in rows],
        "judgments.csv": [("query", "document", "grade"), *some_judgments()],
    }
    for name, rows in tables.items():
        with (session.folder / name).open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
    session.type(NOTEBOOK, (sys.executable, "-c"), NOTEBOOK.replace("\n", "\n  ").rstrip())
    session.typed = len(NOTEBOOK.splitlines())


def music_folder(folder: Path) -> None:
    """The demo's recordings as MP3 files with artist, genre and title."""
    folder.mkdir()
    for line in (DEMO / "documents.tsv").read_text().splitlines()[1:]:
        fields = dict(zip(("document", "artist", "genre", "path"), line.split("\t"), strict=False))
        target = folder / f"{fields['document']}.mp3"
        soundfile.write(target, *soundfile.read(next((DEMO / "sounds").glob(f"{fields['document']}.*"))), format="MP3")
        tags = ID3()
        for kind, text in ((TPE1, fields["artist"]), (TCON, fields["genre"]), (TIT2, fields["document"])):
            tags.add(kind(text=text))
        tags.save(target)


def music(session: Session) -> None:
    """A folder of MP3 files, and nothing else."""
    music_folder(session.folder / "music")
    session.type("audiosim init music -o mine")
    session.type("audiosim check mine")
    session.type("audiosim estimate mine")
    session.type("audiosim next mine -n 5")


def program(session: Session) -> None:
    """Curl, with a service of the music folder."""
    music_folder(session.folder / "music")
    making = [Path(sys.executable).parent / "audiosim", "init", "music", "-o", "mine", "--queries", "12"]
    subprocess.run(making, cwd=session.folder, check=True, capture_output=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    serve = f"audiosim serve mine --db sqlite:///campaign.db --port {port}"
    running = subprocess.Popen(
        [Path(sys.executable).parent / "audiosim", *serve.split()[1:]], cwd=session.folder, stderr=subprocess.DEVNULL
    )
    at = f"http://127.0.0.1:{port}"
    try:
        print(f"\n$ {serve} &")
        session.type(f"curl -sf --retry 99 --retry-all-errors --retry-delay 1 {at}/health/ready")
        asked = session.type(f'curl -s {at}/v1/collections/mine/next {JSON} -d \'{{"assessor": "ann"}}\'')
        pair = json.loads(asked)["pairs"][0]
        session.type(f"curl -s {at}/v1/documents/{pair['document']}/sound -o clip.mp3 -w '%{{size_download}} bytes\\n'")
        grade = f'{{"query": "{pair["query"]}", "document": "{pair["document"]}", "fine": 70, "assessor": "ann"}}'
        session.type(f"curl -s {at}/v1/collections/mine/judgments {JSON} -d '{grade}'")
        session.type(f"curl -s {at}/v1/collections/mine/ranking")
    finally:
        running.terminate()
        running.wait()


NEWCOMERS: dict[str, tuple[str, Callable[[Session], None]]] = {
    "trec": ("twelve runs and a qrels file", trec),
    "notebook": ("two frames in a notebook", notebook),
    "music": ("a folder of 72 MP3 files", music),
    "program": ("curl", program),
}


def main() -> None:
    """Run every newcomer's first minutes."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", choices=NEWCOMERS)
    only, rows = options.parse_args().only, []
    for name, (has, first_minutes) in NEWCOMERS.items():
        if only not in (None, name):
            continue
        folder = Path(tempfile.mkdtemp())
        print(f"\n## {has}")
        try:
            session = Session(folder)
            first_minutes(session)
            rows.append([has, str(session.typed), f"{session.seconds:.1f}", BEFORE[name]])
        finally:
            shutil.rmtree(folder)
    with Figures("newcomers", only or "") as figures:
        figures.table("first minutes", ["they have", "lines typed", "seconds in all", "earlier versions"], rows)


if __name__ == "__main__":
    main()
