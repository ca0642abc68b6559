"""Changes to the code that no test notices: random mutants of the core, by Cosmic Ray.

    make mutants [SAMPLE=100] [SEED=0]
    python benchmarks/code_mutants.py [--sample 100] [--seed 0] [--rooms stats,relevance,expected,selection]

A place in the code is drawn, and a change that can be made there: another operator or comparison, a number one higher,
a negated condition, a loop that does not run, an exception that is not caught. In a scratch clone of the last commit,
tests run with the change until one fails: those of the room that name the changed module, the quick and the slow ones
of the room, and the quick ones of all other rooms. Prints the changes that survived, and the share noticed. The exit
code is 1 if that is less than .9.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec, TestOutcome
from figures import Figures

ROOT = Path(__file__).resolve().parents[1]
ROOMS = "stats,relevance,expected,selection"
NOTICED = 0.9  # least share
LIMIT_S = 900  # limit for a run of tests; a longer one hangs, which counts as noticed
LIVED = "LIVED"
SAME = ("BitOr", "ReplaceUnaryOperator_USub_UAdd")  # | joins types in annotations, which no test runs


def places(room: str) -> Iterator[list[MutationSpec]]:
    """The changes that can be made at each place of a room's code, except to arguments of decorators.

    Results do not depend on whether a dataclass has slots, compares or is frozen.
    """
    found = defaultdict[tuple[Path, tuple[int, int]], list[MutationSpec]](list)
    lines = {path: path.read_text(encoding="utf-8").splitlines() for path in Path("audiosim", room).rglob("*.py")}
    for item in _all_work_items(sorted(lines), {}):
        (change,) = item.mutations
        line = lines[Path(change.module_path)][change.start_pos[0] - 1]
        if not line.lstrip().startswith("@") and not any(word in change.operator_name for word in SAME):
            found[change.module_path, change.start_pos].append(change)
    yield from found.values()


def noticed(change: MutationSpec, room: str) -> tuple[str, str]:
    """Fate of a change ("LIVED" if no test fails with it), and the change as lines of a diff."""
    name, own, quick = Path(change.module_path).stem, f"tests/{room}", "-m 'not slow'"
    nearest = [str(path) for path in sorted(Path(own).rglob("test_*.py")) if name in path.read_text(encoding="utf-8")]
    stages = [" ".join(nearest)] if nearest else []
    for chosen in (*stages, f"{quick} {own}", f"-m slow {own}", f"{quick} tests --ignore {own}"):
        command = f"{shlex.quote(sys.executable)} -m pytest -q -x -p no:cacheprovider {chosen}"
        found = mutate_and_test([change], command, LIMIT_S)
        if found.test_outcome != TestOutcome.SURVIVED:
            return "hung" if found.output == "timeout" else "noticed", found.diff or ""
    return LIVED, found.diff or ""


def main() -> None:
    """Print the changes that lived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", default=ROOMS)
    options = parser.parse_args()
    rng, lived = np.random.default_rng(options.seed), []
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "checkout")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        Path(folder, "shared").symlink_to(ROOT.parent / "shared")  # the public data that some tests read
        os.chdir(clone)
        # Ahead of the installed checkout, because the clone's code is changed.
        os.environ["PYTHONPATH"] = str(clone)
        # No run writes bytecode: two changes within a second would share it, and the second would be overlooked.
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "audiosim", "service"],
            check=True,
        )
        every = [(room, place) for room in options.rooms.split(",") for place in places(room)]
        drawn = rng.choice(len(every), min(options.sample, len(every)), replace=False)
        begun = time.monotonic()
        for done, code in enumerate(drawn.tolist(), start=1):
            room, changes = every[code]
            change = changes[int(rng.integers(len(changes)))]
            fate, diff = noticed(change, room)
            where = f"{change.module_path}:{change.start_pos[0]}"
            minutes = (time.monotonic() - begun) / 60
            print(f"{done:4} of {len(drawn)}  {minutes:5.1f} min  {fate:7}  {where}", flush=True)
            if fate == LIVED:
                lived.append(where)
                print("\n".join(line for line in diff.splitlines() if line[:1] in "+-"), flush=True)
        os.chdir(ROOT)
    share = 1 - len(lived) / len(drawn)
    with Figures("code_mutants") as figures:
        figures.add(
            f"share of {len(drawn)} changes that a test notices, of {len(every):,} places",
            share,
            "",
            NOTICED,
            least=True,
        )
    sys.exit(share < NOTICED)


if __name__ == "__main__":
    main()
