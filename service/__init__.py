"""The web service: translates between HTTP requests and library calls.

It is imported as `audiosim.service`; in a checkout, a link of that name leads to this folder. Where the folder itself
can be imported as `service`, both names give the same modules.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

# Without the link, tracebacks name the files that developers edit, and breakpoints in them work.
__path__ = [str(Path(place).resolve()) for place in __path__]


class SameModules(MetaPathFinder, Loader):
    """Finder of `service.x`: the module `audiosim.service.x`, not a second copy of it."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the service; None for any other."""
        return ModuleSpec(fullname, self) if fullname.startswith("service.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module registered under its real name."""
        module = import_module(f"audiosim.{spec.name}")
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system has just replaced."""
        module.__spec__ = self._specs[module.__name__.removeprefix("audiosim.")]


if __name__ == "service":
    sys.meta_path.insert(0, SameModules())
