"""Build of the wheel: what the checkout has in service/ is installed as `audiosim.service`.

Another package may be called `service`, too: of two that install files of one name pip keeps the last.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IMPORT = re.compile(r"^(\s*(?:from|import) )service\b", re.MULTILINE)


def installed(text: str) -> str:
    """The text of a module with its imports of the service as they are once it is installed."""
    return IMPORT.sub(r"\1audiosim.service", text)


class InstalledService(BuildHookInterface):  # type: ignore[type-arg]
    """Puts service/ below audiosim/, and what imports it there in its place; an editable install is the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to those of the wheel."""
        if version == "editable":
            return
        self._folder = TemporaryDirectory()
        root = Path(self.root)
        for path in sorted((root / "service").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                self._add(build_data, path, f"audiosim/{path.relative_to(root).as_posix()}")
        for path in sorted((root / "audiosim").rglob("*.py")):
            if IMPORT.search(path.read_text(encoding="utf-8")):
                self._add(build_data, path, path.relative_to(root).as_posix())

    def _add(self, build_data: dict[str, Any], path: Path, target: str) -> None:
        if path.suffix == ".py":
            text = installed(path.read_text(encoding="utf-8"))
            path = Path(self._folder.name, target)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        build_data["force_include"][str(path)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written on the way."""
        if version != "editable":
            self._folder.cleanup()
