"""Cost of scoring runs from files, beside trec_eval (pytrec_eval), ir_measures and ranx.

    python benchmarks/measures.py [--systems 50] [--queries 1000] [--documents 100] [--runs 3] [--slow]

Each program is a separate process: it starts, loads the run files and the judgments, computes the mean scores of each
system and ends. Both processor time and time by the clock are given, the best of the runs. All compute the same
measures over whole lists, and the means must agree. Peers run if they are installed (pip install audiosim[bench]).
`--slow` adds the ERR of ir_measures, a Perl script that takes minutes.
"""

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from figures import Figures

LIMIT_S, LIMIT_CPU_S, LIMIT_MB = 3.0, 2.0, 450
CANDIDATES, POSSIBLE = 300, 7000

READ = """
import json, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
folder, depth = Path(sys.argv[1]), int(sys.argv[2])
runs, qrels = sorted(folder.glob("*.trec")), folder / "judgments.qrels"
means = {}
"""

OURS = f"""{READ}
from audiosim.collection.values import parse_scale
from audiosim.measures.scores import judged_files
judged = judged_files(runs, qrels, depth, parse_scale(range(5)))
written = {{"nDCG": "nDCG", "RBP": "RBP(form=original)", "ERR": "ERR(gain=exponential,form=original)"}}
for name in sys.argv[3:]:
    means[name] = judged.scores(f"{{written[name]}}@{{depth}}").means.tolist()
print(json.dumps(means))
"""

TREC_EVAL = f"""{READ}
import pytrec_eval
with qrels.open() as stream:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(stream), {{f"ndcg_cut.{{depth}}"}})
means["nDCG"] = []
for path in runs:
    with path.open() as stream:
        found = evaluator.evaluate(pytrec_eval.parse_run(stream))
    means["nDCG"].append(sum(values[f"ndcg_cut_{{depth}}"] for values in found.values()) / len(found))
print(json.dumps(means))
"""

IR_MEASURES = f"""{READ}
import ir_measures
known = {{"nDCG": ir_measures.nDCG @ depth, "ERR": ir_measures.ERR @ depth}}
wanted = {{name: known[name] for name in sys.argv[3:]}}
evaluator = ir_measures.evaluator(list(wanted.values()), list(ir_measures.read_trec_qrels(str(qrels))))
found = [evaluator.calc_aggregate(ir_measures.read_trec_run(str(path))) for path in runs]
print(json.dumps({{name: [means[measure] for means in found] for name, measure in wanted.items()}}))
"""

RANX = f"""{READ}
from ranx import Qrels, Run, evaluate
judgments, wanted = Qrels.from_file(str(qrels), kind="trec"), [f"ndcg@{{depth}}", "rbp.80"]
found = [evaluate(judgments, Run.from_file(str(path), kind="trec"), wanted, make_comparable=True) for path in runs]
highest = 4  # ranx gives RBP in gain units
print(json.dumps({{"nDCG": [f[wanted[0]] for f in found], "RBP": [f[wanted[1]] / highest for f in found]}}))
"""

PEAK = """
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

PEERS = {"pytrec_eval": (TREC_EVAL, ["nDCG"]), "ir_measures": (IR_MEASURES, ["nDCG"]), "ranx": (RANX, ["nDCG", "RBP"])}


def write_files(folder: Path, systems: int, queries: int, documents: int) -> None:
    """Runs and judgments as TREC files; each run ranks some of the judged candidates of a query, best score first."""
    rng = np.random.default_rng(1)
    names = np.array([f"d{i:06d}" for i in range(POSSIBLE)])
    candidates = [names[rng.choice(POSSIBLE, max(CANDIDATES, documents), replace=False)] for _ in range(queries)]
    grades = [rng.choice(5, len(some), p=[0.5, 0.2, 0.15, 0.1, 0.05]) for some in candidates]
    with (folder / "judgments.qrels").open("w") as stream:
        for query, (some, given) in enumerate(zip(candidates, grades, strict=True), start=1):
            stream.writelines(f"{query} 0 {name} {grade}\n" for name, grade in zip(some, given, strict=True))
    for system in range(systems):
        with (folder / f"system{system:03d}.trec").open("w") as stream:
            for query, some in enumerate(candidates, start=1):
                ranked = some[rng.permutation(len(some))[:documents]]
                scores = np.arange(documents, 0, -1) - rng.random(documents) / 2  # no ties: ranx breaks them otherwise
                lines = enumerate(zip(ranked, scores, strict=True), start=1)
                stream.writelines(f"{query} Q0 {name} {rank} {score:.7f} s{system}\n" for rank, (name, score) in lines)


class Measured(NamedTuple):
    """Least processor time and time by the clock of a process, its peak memory in MB, and the means it printed."""

    cpu: float
    clock: float
    peak: float
    means: dict[str, list[float]]


def measured(script: str, arguments: list[str], runs: int) -> Measured:
    """Best times of a process over some runs."""
    times = []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", script + PEAK, *arguments], capture_output=True, text=True, check=True
        )
        clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock))
    cpu, clock = map(min, zip(*times, strict=True))
    *_, means, peak = done.stdout.splitlines()
    return Measured(cpu, clock, float(peak), json.loads(means))


def compare(peer: str, script: str, names: list[str], folder: list[str], runs: int, figures: Figures) -> bool:
    """Compare with a peer on the measures it has; true if audiosim is faster, with the same means."""
    theirs, ours = (measured(code, [*folder, *names], runs) for code in (script, OURS))
    close = 1e-9 if "ERR" not in names else 1e-5  # its ERR has five decimals
    agree = all(np.allclose(ours.means[name], theirs.means[name], rtol=0, atol=close) for name in names)
    faster = f"{theirs.cpu / ours.cpu:.1f} times as fast, by the clock {theirs.clock / ours.clock:.1f}"
    verdict = (
        f"ours {ours.cpu:.2f} s, {faster}; {theirs.peak:.0f} MB, ours {ours.peak:.0f}" if agree else "MEANS DIFFER"
    )
    figures.add(f"{'+'.join(names)} by {peer}", theirs.cpu, "s", note=verdict)
    return agree and ours.clock < theirs.clock


def main() -> int:
    parser = argparse.ArgumentParser(description="Score runs from files, compared with other programs.")
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--slow", action="store_true", help="also the ERR of ir_measures, in Perl")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Figures("measures") as figures:
        write_files(Path(name), options.systems, options.queries, options.documents)
        folder = [name, str(options.documents)]
        ours = measured(OURS, [*folder, "nDCG", "RBP", "ERR"], options.runs)
        lines = options.systems * options.queries * options.documents
        figures.add(f"nDCG+RBP+ERR of {lines:,} lines, whole process", ours.cpu, "s", LIMIT_CPU_S)
        figures.add("peak memory", ours.peak, "MB", LIMIT_MB)
        figures.add("by the clock", ours.clock, "s", LIMIT_S)
        peers = [(peer, *PEERS[peer]) for peer in PEERS if importlib.util.find_spec(peer)]
        peers += [("ir_measures", IR_MEASURES, ["ERR"])] if options.slow else []
        faster = [compare(peer, script, names, folder, options.runs, figures) for peer, script, names in peers]
    return 0 if ours.clock <= LIMIT_S and all(faster) else 1


if __name__ == "__main__":
    sys.exit(main())
