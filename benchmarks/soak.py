"""Repeated tests of every promise of reliability; prints the table of docs/reliability.md.

    python benchmarks/soak.py [--minutes 60] [--kills 25] [--only kills]

The tests are those of `make test`, with real servers, databases and files. Each round runs all of them, with KILLS
kills in tests that kill a server, until the time is up. The exit code is 1 if a promise was broken.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from figures import Figures

ROOT = Path(__file__).resolve().parents[1]
SERVICE = "tests/service"
FAULTS, DURABILITY = f"{SERVICE}/test_faults.py::test_", f"{SERVICE}/test_durability.py::test_"
COLUMNS = ("against", "promise", "how it is tested", "figure", "tests")


class Promise(NamedTuple):
    """A promise, and its tests.

    against  threat
    says     the promise
    how      form of the test
    tests    arguments for pytest
    """

    against: str
    says: str
    how: str
    tests: tuple[str, ...]

    def row(self, figure: str) -> tuple[str, ...]:
        """Row of the table, with a figure."""
        files = ", ".join(f"`{path}`" for path in dict.fromkeys(test.partition("::")[0] for test in self.tests))
        return self.against, self.says, self.how, figure, files


PROMISES = (
    Promise(
        "kills",
        "acknowledged data exist exactly once",
        "SIGKILL while judgments, undos, files of judgments, runs and documents arrive; SQLite",
        (f"{SERVICE}/test_kills.py",),
    ),
    Promise(
        "kills, of judging alone",
        "the same",
        "SIGKILL of one server, and of two servers on one database in turn; SQLite and PostgreSQL",
        (
            f"{DURABILITY}no_acknowledged_judgment_is_lost_or_doubled_when_the_server_is_killed",
            f"{DURABILITY}nothing_is_lost_or_doubled_while_two_servers_on_one_database_are_killed_in_turn",
        ),
    ),
    Promise(
        "slips",
        "a file that is moved, removed or replaced costs no judgment",
        "mv, rm and replacement under a server, then stop or SIGKILL, then start; plain copies under load",
        (
            f"{FAULTS}what_a_service_holds_of_a_file_that_is_gone_is_kept_when_it_stops",
            f"{FAULTS}beside_what_is_left_of_a_database_none_is_made",
            f"{FAULTS}under_a_load_that_never_ends_the_file_alone_has_what_is_older_than_seconds",
            f"{FAULTS}a_database_that_is_moved_away_takes_no_judgment_until_it_is_back",
        ),
    ),
    Promise(
        "upgrades, both ways",
        "reading upgrades nothing; older and newer servers on one database lose nothing, except "
        "[answers under identifiers that one of them does not know](deployment.md#upgrade-and-go-back)",
        "a server of the previous layout, from the repository's history, before and after the present one; "
        "SQLite and PostgreSQL",
        (
            f"{SERVICE}/test_rolling.py",
            "tests/campaign/test_schema.py::test_commands_that_read_change_nothing_and_read_every_layout",
            "tests/campaign/test_schema.py::test_a_program_from_before_the_upgrade_can_write_no_line_after_it",
            "tests/campaign/test_schema.py::test_what_an_older_version_wrote_is_all_there_and_goes_on",
        ),
    ),
    Promise(
        "disk",
        "a full or read-only disk gives 503, before a judgment fails; afterwards the service continues",
        "limits of file size, read-only files and sessions",
        (
            f"{DURABILITY}a_full_disk_is_answered_with_503_and_the_server_recovers_by_itself",
            f"{DURABILITY}a_read_only_database_is_answered_with_503_and_still_read",
            f"{DURABILITY}a_database_that_becomes_read_only_while_serving_is_answered_with_503_and_still_read",
        ),
    ),
    Promise(
        "clock",
        "no pair is handed out twice and no holder refused, whatever the machines' clocks",
        "three servers an hour apart on PostgreSQL; a clock that goes back",
        (f"{SERVICE}/test_clocks.py", "tests/campaign/test_clock.py"),
    ),
    Promise(
        "database gone or frozen",
        "reading continues, judging gives 503 within seconds, and the service recovers by itself",
        "PostgreSQL stopped and frozen (SIGSTOP), SQLite locked, a log that goes back or has a line of a later version",
        (
            f"{FAULTS}a_service_lives_and_reads_while_its_database_does_not_answer",
            f"{FAULTS}behind_a_locked_database_nobody_waits_in_line_and_reading_goes_on",
            f"{FAULTS}a_service_waits_for_a_database_that_is_starting",
            f"{FAULTS}a_log_that_goes_back_is_one_error_and_the_server_still_stops",
            f"{FAULTS}a_line_of_a_later_version_stops_judging_and_nothing_that_guards",
            f"{SERVICE}/test_supervised.py",
        ),
    ),
    Promise(
        "hostile files",
        "a damaged file gives an error of one line; nothing crashes or takes all memory",
        "seeded mutants of sound files in workers; files of evidence",
        ("tests/sound/test_mutants.py", "tests/collection/test_evidence.py"),
    ),
    Promise(
        "memory",
        "what is computed about a state goes with it, with an organiser's page open; freed memory is given back",
        "every answer of the page after each of several people's judgments, without the collector of cycles",
        (f"{SERVICE}/test_memory.py",),
    ),
    Promise(
        "a pooler, and a server that confirms early",
        "no acknowledged judgment is lost",
        "four writers through PgBouncer in transaction mode; `synchronous_commit = off`, and the disk 10 s late; "
        "the server killed",
        ("tests/campaign/test_pooler.py",),
    ),
    Promise(
        "callers without rights",
        "failures show no secret, and no more than the failing part; a path plays what `extract` takes, in the folder",
        "every request of the public, of assessors and of clients while the database is away, the log and six "
        "commands; paths to files of every kind: databases, tables, settings, links hard and soft",
        (f"{SERVICE}/test_what_callers_see.py",),
    ),
    Promise(
        "callers",
        "requests that are too large, too slow or malformed are refused, and others are served",
        "bodies of two million rows, slow heads, 950 idle connections, invented names",
        (
            f"{SERVICE}/test_hostile.py",
            f"{SERVICE}/test_limits.py",
            f"{FAULTS}invented_names_from_one_address_hold_half_of_the_pool_at_most",
        ),
    ),
    Promise(
        "remote models",
        "an impossible answer gives an error of one line",
        "servers that answer wrongly, break off, or send slowly",
        (f"{SERVICE}/test_remote.py",),
    ),
    Promise(
        "wrong inputs",
        "one line gives the problem, its place, and the expected form",
        "every error about lines, collections and options",
        (
            "tests/collection/test_lines.py",
            "tests/collection/test_judgments.py",
            "tests/collection/test_runs.py",
            "tests/test_cli_input.py",
        ),
    ),
)


def run(promise: Promise, kills: int) -> Counter[str]:
    """Outcome of testing a promise once: numbers of passed, failed and skipped cases, and their own counts."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "-p",
            "no:cacheprovider",
            "-o",
            "junit_family=legacy",
        ]
        done = subprocess.run(
            [*command, "--junitxml", str(report), *promise.tests],
            cwd=ROOT,
            env=os.environ | {"AUDIOSIM_KILLS": str(kills)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if not report.exists():
            sys.exit(f"pytest did not run: {done.stdout}")
        found = ElementTree.parse(report)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    seen = Counter(cases=0)
    for case in found.iter("testcase"):
        tags = {child.tag for child in case}
        seen["failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "cases"] += 1
    for each in found.iter("property"):
        if each.get("value", "").isdigit():
            seen[each.get("name", "")] += int(each.get("value", "0"))
    return seen


def figure(seen: Counter[str]) -> str:
    """The counts in words."""
    counted = [f"{count:,} {name}" for name, count in seen.items() if name not in ("cases", "failed", "skipped")]
    outcome = f"{seen['cases']} passed, {seen['failed']} failed" + (
        f", {seen['skipped']} skipped" if seen["skipped"] else ""
    )
    return "; ".join([outcome, ", ".join(counted)] if counted else [outcome])


def main() -> None:
    """Test for the requested time, and show the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kills", type=int, default=25, help="kills of a server in each round")
    parser.add_argument("--only", help="test only the promise against this")
    asked = parser.parse_args()
    chosen = [one for one in PROMISES if asked.only in (None, one.against)]
    if not chosen:
        parser.error(f"--only: expected one of {', '.join(one.against for one in PROMISES)}")
    seen = {one.against: Counter[str]() for one in chosen}
    begun, rounds = time.monotonic(), 0
    while not rounds or time.monotonic() < begun + 60 * asked.minutes:
        for one in chosen:
            if rounds and time.monotonic() > begun + 60 * asked.minutes:
                break
            seen[one.against].update(run(one, asked.kills))
            print(f"{(time.monotonic() - begun) / 60:6.1f} min  {one.against}: {figure(seen[one.against])}", flush=True)
        rounds += 1
    with Figures("soak", asked.only or "") as figures:
        rows = [one.row(figure(seen[one.against])) for one in chosen]
        figures.table("promises", COLUMNS, rows)
        figures.add("length of the run", (time.monotonic() - begun) / 60, "min", note=f"{rounds} rounds begun")
        figures.add("broken promises", sum(each["failed"] for each in seen.values()), "cases", limit=0)
    sys.exit(any(each["failed"] for each in seen.values()))


if __name__ == "__main__":
    main()
