"""Other packages, as installed by pip: a module, and metadata with its entry points."""

import sys

import numpy as np
import pytest
import soundfile

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package of one module into this process, with name, code, and (group, name, value) of its plugins."""
    modules = []

    def call(package, code, *points):
        module = package.replace("-", "_")
        modules.append(module)
        folder = tmp_path / package
        metadata = folder / f"{module}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (folder / f"{module}.py").write_text(code)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        sections = [f"[{group}]\n{name} = {value}\n" for group, name, value in points]
        (metadata / "entry_points.txt").write_text("\n".join(sections))
        monkeypatch.syspath_prepend(folder)

    yield call
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture(scope="session")
def demo_pool():
    """The pool of the collection that comes with audiosim, without its judgments."""
    return build_pool(Collection.load(package_files.folder("fixtures") / "demo"))


@pytest.fixture
def wav(tmp_path):
    """Two seconds of noise on two channels."""
    path = tmp_path / "noise.wav"
    soundfile.write(path, np.random.default_rng(0).uniform(-0.5, 0.5, (16_000, 2)), 8000)
    return path
