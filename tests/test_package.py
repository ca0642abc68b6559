"""The package as newcomers use it: imported, built, and installed elsewhere."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib import import_module, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import audiosim
from audiosim import Collection
from audiosim.simulation.demo import MARK

ROOT = Path(__file__).resolve().parents[1]


def python(*arguments, cwd, **options):
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=True, **options)


def test_the_public_names_are_sorted_and_importable():
    stub = ast.parse((ROOT / "audiosim" / "__init__.pyi").read_text())
    named = [node.names[0].asname for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert sorted(named) == audiosim.__all__
    assert all(getattr(audiosim, name) is not None for name in audiosim.__all__)


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(AttributeError, match="has no attribute 'estimte'; did you mean estimate"):
        _ = audiosim.estimte
    assert not hasattr(audiosim, "__wrapped__")


def test_the_service_has_one_name_and_the_files_of_its_folder():
    from audiosim.service.operations import judging

    assert (ROOT / "audiosim" / "service").readlink() == Path("../service")
    with pytest.raises(ImportError, match=r"the service is imported as audiosim\.service"):
        import_module("service")
    assert judging.__spec__.name == judging.__name__ == "audiosim.service.operations.judging"
    assert judging.__file__ == str(ROOT / "service" / "operations" / "judging.py")


def test_importing_the_package_loads_nothing_heavy(tmp_path):
    heavy = ["numpy", "scipy", "pandas", "sklearn", "librosa", "sqlalchemy", "fastapi", "rich", "httpx", "soundfile"]
    code = f"import sys, audiosim; print([name for name in {heavy} if name in sys.modules])"
    assert python("-c", code, cwd=tmp_path).stdout.strip() == "[]"


@pytest.mark.slow
def test_ranking_from_files_and_forecasting_load_no_sound_no_tables_no_plots_and_no_network(tmp_path):
    heavy = ["pandas", "sklearn", "librosa", "sqlalchemy", "fastapi", "httpx", "soundfile", "scipy.optimize"]
    heavy += ["altair", "vl_convert"]
    code = f"""
import sys, audiosim
audiosim.estimate(audiosim.Collection.load(sys.argv[1]), "mout", "CG@5")
import audiosim.service.collections.outlook  # what a service's forecasts need in a process of their own
print([name for name in {heavy} if name in sys.modules])
"""
    assert python("-c", code, str(ROOT / "fixtures" / "demo"), cwd=tmp_path).stdout.strip() == "[]"


def test_the_constraints_pin_every_dependency_and_name_no_place():
    pins = (ROOT / "constraints.txt").read_text()
    assert "://" not in pins
    assert " @ " not in pins
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in pins.splitlines() if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = [*extras["all"], *extras["plots"], *extras["frames"]]
    wanted = [*project["dependencies"], *listed, *extras["postgres"], *extras["scale"], *extras["test"]]
    names = {re.split(r"[\[>]", requirement)[0].strip().lower().replace("_", "-") for requirement in wanted}
    assert names - {"audiosim"} <= pinned


def test_the_lowest_versions_are_those_of_the_project():
    said = python(".ci/lowest.py", "postgres", cwd=ROOT).stdout.split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["postgres"]]
    expected = {re.sub(r"\[.*?\]", "", one.split(";")[0]).replace(">=", "==").strip() for one in wanted if ">=" in one}
    assert {one for one in said if "==" in one} == expected
    assert "numpy==2.2" in said


def test_the_tests_bring_what_the_wheel_is_built_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {*project["build-system"]["requires"]} <= {*project["project"]["optional-dependencies"]["test"]}


def test_the_hosted_workflow_runs_what_there_is_from_the_lowest_python_on():
    import yaml

    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    steps = "\n".join(step["run"] for job in jobs.values() for step in job["steps"] if "run" in step)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"make ([\w-]+)", steps)} <= {*targets}
    assert all((ROOT / name).is_file() for name in re.findall(r"\.ci/[\w.]+", steps))
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    pythons = [job["strategy"]["matrix"]["python"] for job in jobs.values() if "strategy" in job]
    assert pythons == [[lowest, "3.12", "3.13"]] * 2


def required(wheel, extras=()):
    """Installed distributions required by a wheel with some extras, with all of their own requirements."""
    (described,) = (path for path in zipfile.Path(wheel).iterdir() if path.name.endswith(".dist-info"))
    found, left = {}, [(metadata.PathDistribution(described), frozenset(extras))]
    while left:
        distribution, extras = left.pop()
        for one in map(Requirement, distribution.requires or ()):
            wanted = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in {"", *extras})
            if wanted and (one.name, *sorted(one.extras)) not in found:
                found[one.name, *sorted(one.extras)] = metadata.distribution(one.name)
                left.append((metadata.distribution(one.name), one.extras))
    found.pop(("audiosim", *sorted(extras)), None)
    return [one for (name, *_), one in found.items() if name != "audiosim"]


CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder, env=CLEAN)
    (wheel,) = folder.glob("audiosim-*.whl")
    return wheel


def environment(root, wheel, extras=(), like=None):
    """Folders of programs and packages of an environment with only the wheel and its requirements.

    like  folder of packages to copy the installed wheel from, with its bytecode: pip and compiling take seconds
    """
    venv.create(root)
    programs = root / ("Scripts" if os.name == "nt" else "bin")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(root), "platbase": str(root)}))
    # Requirements are linked, not unpacked again: `make test` has just installed them, with the same pins.
    for distribution in required(wheel, extras):
        for name in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(distribution.locate_file(name))
    assert not (site / "pytest").exists()
    pip = ["-m", "pip", "--python", root, "--disable-pip-version-check"]
    if like is None:
        python(*pip, "install", "--quiet", "--no-compile", "--no-deps", "--no-index", wheel, cwd=root, env=CLEAN)
    for path in like.glob("audiosim*") if like else ():
        shutil.copytree(path, site / path.name)
    assert "No broken requirements" in python(*pip, "check", cwd=root, env=CLEAN).stdout
    return programs, site


@pytest.fixture(scope="module")
def core(wheel):
    """An environment with only the wheel."""
    return environment(wheel.parent / "core", wheel)


@pytest.fixture(scope="module")
def whole(core, wheel):
    """An environment with the wheel and audiosim[all]."""
    return environment(wheel.parent / "whole", wheel, ["all"], like=core[1])


BYTECODE = 1.15  # its bytes per byte of Python, as pip makes it, measured on the core
MOST_MB = 800


@pytest.mark.slow
def test_what_the_core_installs_is_small(wheel):
    # As installed by pip: all files unpacked, and the bytecode of all modules.
    size = 0.0
    with zipfile.ZipFile(wheel) as archive:
        size += sum(one.file_size * (1 + BYTECODE * one.filename.endswith(".py")) for one in archive.infolist())
    for distribution in required(wheel):
        files = {path for file in distribution.files if (path := file.locate()).suffix != ".pyc" and path.is_file()}
        size += sum(path.stat().st_size * (1 + BYTECODE * (path.suffix == ".py")) for path in files)
    assert size / 1e6 < MOST_MB


TOGETHER = """
import contextlib, io, json, sys
from audiosim.cli import main

def ran(words):
    sys.argv, out, err = ["audiosim", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            return end.code or 0, out.getvalue(), err.getvalue()

json.dump([ran(words) for words in json.load(sys.stdin)], sys.stdout)
"""


@pytest.fixture(scope="module")
def together(core, tmp_path_factory):
    """Commands of the core, and code after them, in one process: exit code, stdout and stderr of each command."""

    def call(commands, code=""):
        folder = tmp_path_factory.mktemp("elsewhere")
        asked = [core[0] / "python", "-c", TOGETHER + code]
        ran = subprocess.run(
            asked, input=json.dumps(commands), cwd=folder, env=CLEAN, capture_output=True, text=True, check=True
        )
        assert not list(folder.iterdir())
        return json.loads(ran.stdout)

    return call


PLOTS = "needs altair and vl-convert-python: pip install 'audiosim[plots]'"
NEEDS = {
    "report COLLECTION": f"a report {PLOTS}",
    "demo demo": f"the demo {PLOTS}",
    "train COLLECTION -o new.json --report new.html": f"--report {PLOTS}",
    "calibration COLLECTION --parts 2 --at 0,10 --report new.html": f"--report {PLOTS}",
}
IN_PYTHON = {
    "audiosim.estimate(demo).to_frame()": "to_frame needs pandas: pip install 'audiosim[frames]'",
    "audiosim.estimate(demo).plot()": f"a plot {PLOTS}",
    "audiosim.plot_recording('a.wav')": f"a picture of a recording {PLOTS}",
}


@pytest.mark.slow
def test_what_the_core_lacks_is_one_line_that_says_what_to_install(together):
    demo = ROOT / "fixtures" / "demo"
    code = f"""
import audiosim
demo = {str(demo)!r}
for code, expected in {IN_PYTHON!r}.items():
    try:
        eval(code)
    except audiosim.AudiosimError as error:
        assert str(error) == expected, error
    else:
        raise AssertionError(code)
assert "best timbre-full" in audiosim.estimate(demo)._repr_html_()
"""
    said = together([words.replace("COLLECTION", str(demo)).split() for words in NEEDS], code)
    for (words, expected), (code, _, err) in zip(NEEDS.items(), said, strict=True):
        assert (code, err.strip().splitlines()[-1]) == (1, f"audiosim: {expected}"), words


@pytest.mark.slow
def test_the_core_ranks_predicts_and_plans_with_the_same_numbers(core, together, tmp_path, run):
    demo = str(ROOT / "fixtures" / "demo")
    commands = [[verb, demo] for verb in ("estimate", "predict", "next")]
    commands.append(["plan", demo, "--campaigns", "2", "--stopping-rule", "judgments=30"])
    commands.append(["evaluate", demo, "--judgments", f"{demo}/truth.qrels"])
    asked = [[*words, *form] for words in commands for form in ([], ["--format", "json"])]
    found = together(asked)
    program = [core[0] / "audiosim", "estimate", demo]
    ran = subprocess.run(program, cwd=tmp_path, env=CLEAN, capture_output=True, text=True, check=True)
    assert ran.stdout == found[0][1]
    for words, (code, out, err) in zip(asked, found, strict=True):
        assert code == 0, err
        if "json" not in words:
            assert "\n" in out
            continue
        code, said, _ = run(*words)
        assert code == 0
        assert json.loads(out) == json.loads(said)


@pytest.mark.slow
def test_the_wheel_runs_the_demo_in_a_bare_environment_outside_the_checkout(whole, tmp_path, run):
    programs, _ = whole
    demo = tmp_path / "demo"
    demo.mkdir()
    for left in (MARK, "report.html"):  # from an earlier demo, which is replaced
        (demo / left).touch()
    command = [programs / "python", "-m", "audiosim", "demo", demo, "--format", "json"]
    one = CLEAN | {"LOKY_MAX_CPU_COUNT": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=one)
    summary = json.loads(ran.stdout)
    assert summary["confidence"] >= 0.95
    assert summary["accuracy"] > 0.8
    assert len(summary["systems"]) >= 7
    assert "note: 72 sound files described" in ran.stderr
    for name in ("sounds.index", "campaign.db", "judgments.csv", "report.html"):
        assert str(demo / name) in summary["files"]
    assert (demo / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    # Its output is a collection: estimate finds the same ranking in it.
    code, said, err = run("estimate", demo, "--format", "json")
    assert code == 0, err
    ranking = json.loads(said)
    assert summary["confidence"] == pytest.approx(ranking["confidence"], rel=1e-9)
    for there, here in zip(summary["systems"], ranking["systems"], strict=True):
        assert there.pop("system") == here.pop("system")
        assert there == pytest.approx({key: here[key] for key in there}, rel=1e-9)


@pytest.mark.slow
def test_the_wheel_takes_no_name_but_its_own(wheel):
    # When two packages contain the same file, pip keeps either version, and removes it with either package.
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert names == {"audiosim", f"audiosim-{audiosim.__version__}.dist-info"}


ASKED = """
import json
import sys
import urllib.request
from importlib.metadata import entry_points

import service
from audiosim import Client, Collection, estimate

assert service.NAME == "theirs"
(remote,) = entry_points(group="audiosim.estimators", name="remote")
assert remote.load().__module__ == "audiosim.service.estimator"
with Client(sys.argv[1]) as client:
    pair = client.next("demo", assessor="ann").pairs[0]
    print(pair.query)
    assert client.judge("demo", pair.query, pair.document, grade=50, assessor="ann").query == pair.query
with urllib.request.urlopen(sys.argv[1] + pair.query_peaks) as answer:  # sound is decoded without librosa
    assert json.load(answer)["duration_s"] > 1
"""


@pytest.mark.slow
def test_the_wheel_serves_beside_another_package_called_service(core, tmp_path):
    programs, site = core
    for name in ("__init__", "app", "client"):
        (site / "service").mkdir(exist_ok=True)
        (site / "service" / f"{name}.py").write_text("NAME = 'theirs'\n", encoding="utf-8")
    command = [programs / "audiosim", "serve", ROOT / "fixtures" / "demo", "--port", "0", "--model", "mout"]
    with subprocess.Popen(command, cwd=tmp_path, env=CLEAN, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = next((line for line in server.stderr if "serving demo at" in line), "")
        (url,) = re.findall(r"at (http://\S+);", said)
        asked = [programs / "python", "-c", ASKED, url]
        ran = subprocess.run(asked, cwd=tmp_path, env=CLEAN, capture_output=True, text=True, check=True)
        server.terminate()
        server.stderr.read()
    assert server.returncode == 0
    assert ran.stdout.strip() in Collection.load(ROOT / "fixtures" / "demo").runs[0].rankings
