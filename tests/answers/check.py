"""Do the answers of audiosim still stand? `make answers`, or `python tests/answers/check.py [--only WORD] [--record]`.

Runs the commands of cases.py and requests to a served collection, on the fixtures and on real data in ../shared/data,
and compares each answer with the recorded one: JSON by keys and values, numbers within 1e-6 (or the tolerance of the
case), exit codes, and for errors one line without a traceback. Recorded answers are no truth, for which the tests have
sources outside this code: they name what a change changes.
"""

import argparse
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from cases import COMMANDS, REQUESTS

ap = argparse.ArgumentParser()
ap.add_argument("--audiosim", default=".venv/bin/audiosim")
ap.add_argument("--only", default="")
ap.add_argument("--jobs", type=int, default=2)
ap.add_argument("--record", action="store_true")
opt = ap.parse_args()
ROOT = HERE.parents[1]
DATA, FIX = ROOT.parent / "shared" / "data", ROOT / "fixtures"
WORK = Path(tempfile.mkdtemp(prefix="golden-"))
KEPT = 40  # first entries of long lists that are compared, and their number
ENV = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "120"}


def short(value):
    if isinstance(value, dict):
        return {k: short(v) for k, v in value.items()}
    if isinstance(value, list):
        cut = [short(v) for v in value[:KEPT]]
        return cut if len(value) <= KEPT else [*cut, f"... {len(value)} in all"]
    return value


def places(args, work):
    return [a.replace("{DATA}", str(DATA)).replace("{FIX}", str(FIX)).replace("{WORK}", str(work)) for a in args]


def run(case):
    name, args, more = case
    work = WORK / name.replace("/", "-").replace(" ", "-")
    work.mkdir(exist_ok=True)
    for folder in more.get("copies", ()):
        source = Path(places([folder], work)[0])
        shutil.copytree(source, work / source.name)
    for path, text in more.get("files", {}).items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    found = {"rc": None}
    for step in more.get("before", ()):
        subprocess.run([opt.audiosim, *places(step, work)], capture_output=True, env=ENV, timeout=600)
    try:
        done = subprocess.run([opt.audiosim, *places(args, work)], capture_output=True, text=True, env=ENV, timeout=600)
    except subprocess.TimeoutExpired:
        return name, {"rc": "over 600 s"}
    found["rc"] = done.returncode
    if done.returncode:
        said = done.stderr.strip().splitlines()
        found["traceback"] = any(line.startswith("Traceback") for line in said)
    elif more.get("text"):
        found["out"] = done.stdout[:4000]
    elif "--format" in args and args[args.index("--format") + 1] == "json":
        found["out"] = short(json.loads(done.stdout))
    for path in more.get("made", ()):
        found[path] = (work / path).exists() and (work / path).stat().st_size > 0
    return name, found


def close(a, b, tolerance):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(1, abs(a), abs(b))


def differences(old, new, path, tolerance, skipped):
    if any(word in path for word in skipped):
        return
    number = (int, float)
    if isinstance(old, number) and isinstance(new, number) and not isinstance(old, bool) and not isinstance(new, bool):
        if not close(old, new, tolerance):
            yield path, old, new
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key not in new:
                yield f"{path}.{key}", old[key], "(missing)"
            else:
                yield from differences(old[key], new[key], f"{path}.{key}", tolerance, skipped)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path} (length)", len(old), len(new)
        for i, (a, b) in enumerate(zip(old, new, strict=False)):
            yield from differences(a, b, f"{path}[{i}]", tolerance, skipped)
    elif old != new:
        yield path, old, new


def requests():
    """Answers of a served collection, one after the other, as REQUESTS lists them."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    folder = WORK / "served"
    shutil.copytree(FIX / "demo", folder / "demo", ignore=shutil.ignore_patterns("truth*"))
    server = subprocess.Popen(
        [opt.audiosim, "serve", str(folder / "demo"), "--port", str(port), "--db", f"sqlite:///{WORK}/served.db"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENV,
    )
    base, found = f"http://127.0.0.1:{port}", []
    try:
        for _ in range(600):
            try:
                if urllib.request.urlopen(base + "/health/ready", timeout=2).status == 200:
                    break
            except OSError:
                time.sleep(0.1)
        for name, method, path, body, more in REQUESTS:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json"} | more.get("headers", {})
            for _ in range(more.get("times", 1)):
                try:
                    with urllib.request.urlopen(
                        urllib.request.Request(base + path, data, headers, method=method), timeout=60
                    ) as answer:
                        status, kind, text = answer.status, answer.headers.get("content-type", ""), answer.read()
                except urllib.error.HTTPError as error:
                    status, kind, text = error.code, error.headers.get("content-type", ""), error.read()
            one = {"status": status}
            if "json" in kind:
                one["body"] = short(json.loads(text))
            found.append((f"http {name}", one))
    finally:
        server.terminate()
        server.wait(30)
    return found


cases = [(name, args, more) for name, args, more in COMMANDS if opt.only in name]
begun = time.time()
with ThreadPoolExecutor(opt.jobs) as pool:
    results = list(pool.map(run, cases))
if opt.only in "http":
    results += requests()
elif opt.only.startswith("http"):
    results += [one for one in requests() if opt.only in one[0]]
shutil.rmtree(WORK, ignore_errors=True)
answers = HERE / "answers.json"
if opt.record:
    before = json.loads(answers.read_text()) if opt.only else {}  # answers of other cases stay
    answers.write_text(
        json.dumps(before | dict(results), sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    )
    print(f"{len(results)} answers recorded in {time.time() - begun:.0f} s")
    sys.exit()
known, wrong = json.loads(answers.read_text()), 0
options = {name: more for name, _, more in COMMANDS} | {f"http {name}": more for name, _, _, _, more in REQUESTS}
for name, found in results:
    more = options[name]
    if name not in known:
        print(f"new      {name}")
        continue
    apart = list(differences(known[name], found, "", more.get("tolerance", 1e-6), more.get("skip", ())))
    wrong += bool(apart)
    for path, a, b in apart[:6]:
        print(f"differs  {name}  {path}: was {str(a)[:90]}, is {str(b)[:90]}")
    if len(apart) > 6:
        print(f"         ... and {len(apart) - 6} more")
print(f"{len(results) - wrong} of {len(results)} answers stand, {time.time() - begun:.0f} s")
sys.exit(bool(wrong))
