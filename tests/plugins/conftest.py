"""Other packages, as installed by pip: a module, and metadata with its entry points."""

import sys

import pytest


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
