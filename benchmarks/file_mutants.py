"""Damaged files of every form except sound: each is read or rejected in one line; none hangs or fills the memory.

    python benchmarks/file_mutants.py [--mutants 100] [--seed 0] [FORM...]

Prints a row per form. The exit code is 1 if a mutant ends in an error that is not one of ours, takes longer than its
limit, or needs more memory than the address space of this process allows: 2 GB beyond its size at the start.
"""

import argparse
import gzip
import json
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments, read_pairs, read_runs
from audiosim.errors import AudiosimError
from audiosim.measures.scores import judged_files
from audiosim.ordinal.model import load_model
from audiosim.people.answers import read_answers

LIMIT_S = 20
ROOM = 2 * 2**30  # bytes
RUN = "".join(f"q{q} Q0 d{d} {d} {9 - d}.5 {s}\n" for s in "ST" for q in range(6) for d in range(6))
GRADES = [(f"q{q}", f"d{d}", (q * d) % 4) for q in range(6) for d in range(6)]
MATRIX = "Matrix 0.1\n" + "".join(f"{i}\t/a/d{i}.wav\n" for i in range(1, 5)) + "Q/R\t1\t2\t3\t4\n"
WORDS = (
    b"\0",
    b"\xff\xfe",
    b"nan",
    b"1e999",
    b"-1",
    b"9" * 400,
    b"\n",
    b"\t",
    b",",
    b'"',
    b"{",
    b"[" * 3000,
    b"<",
    b"]]>",
)

Reader = Callable[[Path], object]


def _table(header: str, rows: list[Any], separator: str) -> str:
    return "\n".join([header, *(separator.join(map(str, row)) for row in rows)]) + "\n"


def _npz(**arrays: Any) -> bytes:
    file = BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _npy(array: Any) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


def _parquet() -> bytes:
    import pandas as pd

    file, vectors = BytesIO(), np.arange(24.0).reshape(6, 4) + 1
    pd.DataFrame({"document": [f"d{d}" for d in range(6)], "vector": vectors.tolist()}).to_parquet(file)
    return file.getvalue()


def _folder(name: str) -> Reader:
    """A reader of a collection in which the file has this name."""

    def read(path: Path) -> object:
        place = path.parent / "collection"
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        if not name.startswith("runs"):
            (place / "runs.trec").write_text(RUN, encoding="utf-8")
        if name.endswith(".npy"):
            (place / name).with_suffix(".ids").write_text("".join(f"d{d}\n" for d in range(6)), encoding="utf-8")
        (place / name).write_bytes(path.read_bytes())
        return Collection.load(place, partial=True)

    return read


def _runs(path: Path) -> object:
    return read_runs([path])


def _scored(path: Path) -> object:
    qrels = path.with_name("truth.qrels")
    qrels.write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in GRADES), encoding="utf-8")
    return judged_files([path], qrels, 5, unjudged="zero")


def forms() -> Mapping[str, tuple[str, bytes, Reader]]:
    """A whole file of each form, its name, and its reader."""
    ids, vectors = np.array([f"d{d}" for d in range(6)]), np.arange(24.0).reshape(6, 4) + 1
    nested = {q: {d: grade for other, d, grade in GRADES if other == q} for q in dict.fromkeys(q for q, _, _ in GRADES)}
    xml = "".join(f'<judgment query="{q}" document="{d}"><broad>{g % 3}</broad></judgment>\n' for q, d, g in GRADES)
    sparse = "Sparse\n" + "".join(f"d{q}.wav\td{q + 1}.wav,0.1\td{q + 2}.wav,0.2\n" for q in range(5))
    matrix = MATRIX + "".join(f"{i}\t0.1\t0.2\t0.3\t0.4\n" for i in range(1, 5))
    lines = "".join(json.dumps({"query": q, "document": d, "grade": g, "assessor": "ann"}) + "\n" for q, d, g in GRADES)
    answers = "answer\tquery\tA1\tB1\tbroad_A1\tbroad_B1\n" + "a\tq\td\te\t2\t1\n" * 6
    model = next(package_files.folder("models").glob("*.json")).read_bytes()
    names = [(f"d{d}", "jazz", "") for d in range(6)]
    own = [(f"q{q}", f"d{q}") for q in range(6)]
    groups = [(q, d, g + 1) for q, d, g in GRADES]
    years = [(f"d{d}", 1990 + d) for d in range(6)]
    texts: dict[str, tuple[str, str, Reader]] = {
        "TREC run": ("x.trec", RUN, _runs),
        "TREC run, as arrays": ("y.trec", RUN, _scored),
        "list run": ("x.run", "".join(f"S q{q} d{d}\n" for q in range(4) for d in range(4)), _runs),
        "sparse list": ("x.sparse", sparse, _runs),
        "distance matrix": ("x.matrix", matrix, _runs),
        "ranx run": ("x.json", json.dumps(nested), _runs),
        "qrels": ("j.qrels", "".join(f"{q} 0 {d} {g}\n" for q, d, g in GRADES), read_judgments),
        "judgments CSV": ("j.csv", _table("query,document,grade", GRADES, ","), read_judgments),
        "judgments TSV": ("j.tsv", _table("query\tdocument\tgrade", GRADES, "\t"), read_judgments),
        "judgments JSON Lines": ("j.jsonl", lines, read_judgments),
        "judgments XML": ("j.xml", f"<?xml version='1.0'?>\n<all>\n{xml}</all>\n", read_judgments),
        "ranx qrels": ("j.json", json.dumps(nested, indent=4), read_judgments),
        "groups": ("groups.tsv", _table("query\tdocument\tgroup", groups, "\t"), read_judgments),
        "documents.tsv": ("d", _table("document\tgenre\tpath", names, "\t"), _folder("documents.tsv")),
        "queries.tsv": ("q", _table("query\tdocument", own, "\t"), _folder("queries.tsv")),
        "systems.tsv": ("s", "system\tteam\nS\tA\nT\tB\n", _folder("systems.tsv")),
        "collection.toml": ("c", 'name = "x"\nscale = [0, 1, 2, 3]\ncutoff = 5\n', _folder("collection.toml")),
        "evidence CSV": ("a.csv", _table("document,year", years, ","), _folder("evidence/a.csv")),
        "evidence TSV": ("a.tsv", _table("query\tdocument\tclicks", GRADES, "\t"), _folder("evidence/a.tsv")),
        "pairs": ("pairs", "".join(f"{q}\t{d}\n" for q, d, _ in GRADES), read_pairs),
        "answers": ("answers", answers, read_answers),
    }
    binary: dict[str, tuple[str, bytes, Reader]] = {
        "TREC run, gzip": ("x.trec.gz", gzip.compress(RUN.encode()), _runs),
        "TREC run, gzip, as arrays": ("y.trec.gz", gzip.compress(RUN.encode()), _scored),
        "evidence npy": ("x9", _npy(vectors), _folder("evidence/a.npy")),
        "evidence npz": ("x10", _npz(document=ids, vector=vectors), _folder("evidence/a.npz")),
        "evidence Parquet": ("x11", _parquet(), _folder("evidence/a.parquet")),
        "model": ("x12.json", model, load_model),
    }
    return {form: (name, text.encode(), read) for form, (name, text, read) in texts.items()} | binary


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """A damaged file: with flipped bits, a piece cut out, doubled, moved or overwritten, or its end cut off."""
    place, kind = int(rng.integers(len(data) + 1)), int(rng.integers(6))
    end = min(len(data), place + int(rng.integers(1, 40)))
    if kind == 0:
        bits = np.frombuffer(data, np.uint8).copy()
        for _ in range(int(rng.integers(1, 9))):
            bits[rng.integers(len(bits))] ^= 1 << int(rng.integers(8))
        return bits.tobytes()
    if kind == 1:
        return data[:place] + data[end:]
    if kind == 2:
        return data[:end] + data[place:end] * int(rng.integers(1, 50)) + data[end:]
    if kind == 3:
        return data[:place] + WORDS[rng.integers(len(WORDS))] + data[end:]
    if kind == 4:
        return data[:place] + rng.integers(0, 256, 8, dtype=np.uint8).tobytes() + data[place + 8 :]
    return data[:place]


def judge(read: Reader, path: Path) -> str:
    """Outcome of reading a file: read, refused, or the failure."""
    signal.alarm(LIMIT_S)
    try:
        read(path)
    except AudiosimError as error:
        return "refused" if str(error).isprintable() else f"not one line: {str(error)!r:.80}"
    except BaseException as error:  # any such error is a finding
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {str(error)[:80]}"
    finally:
        signal.alarm(0)
    return "read"


def _late(*_: object) -> None:
    raise TimeoutError(f"longer than {LIMIT_S} s")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("forms", nargs="*", help="all by default")
    arguments.add_argument("--mutants", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _late)
    chosen = {form: of for form, of in forms().items() if not given.forms or form in given.forms}
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    wrong = 0
    for number, (form, (name, data, read)) in enumerate(chosen.items()):
        rng, outcomes = np.random.default_rng([given.seed, number]), Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            for place in range(given.mutants + 1):
                path = Path(folder, str(place), name)
                path.parent.mkdir()
                path.write_bytes(mutant(data, rng) if place else data)
                outcome = judge(read, path)
                outcomes[outcome] += 1
                assert place or outcome == "read", f"the whole {form} is {outcome}"
        others = {outcome: count for outcome, count in outcomes.items() if outcome not in ("read", "refused")}
        wrong += sum(others.values())
        print(f"{form:28}{outcomes['read']:6} read {outcomes['refused']:6} refused", *others.items(), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
