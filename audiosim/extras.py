"""Optional packages: checks for those that a feature needs, and what to install."""

from importlib.machinery import PathFinder

from audiosim.errors import MissingPackageError

# Packages of each extra, by import name; `all` includes sound, plots and frames.
EXTRAS = {
    "sound": ("librosa", "mutagen"),  # also installs LLVM; without it, arrays replace machine code
    "plots": ("matplotlib",),
    "frames": ("pandas",),
    "hover": ("matplotlib", "altair", "vl_convert"),
    "all": ("sklearn",),
    "maps": ("umap",),
    "approximate": ("faiss",),
    "peers": ("choix", "cje", "ppi_py"),
}
CALLED = {
    "cje": "cje-eval",
    "faiss": "faiss-cpu",
    "ppi_py": "ppi-python",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "umap": "umap-learn",
}  # packages installed under another name


def has_package(name: str) -> bool:
    """True if a package can be imported."""
    # Not `importlib.util.find_spec`, which would load lazily registered modules.
    return PathFinder.find_spec(name) is not None


def missing(extras: str) -> list[str]:
    """Packages of some extras, joined by commas, that are not installed."""
    names = [name for extra in extras.split(",") for name in EXTRAS[extra]]
    return [CALLED.get(name, name) for name in names if not has_package(name)]


def need(extras: str, what: str) -> None:
    """Raise a MissingPackageError unless all packages of some extras are installed.

    extras  joined by commas, as pip takes them
    what    feature that needs them: subject of the message, singular
    """
    if names := missing(extras):
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        raise MissingPackageError(f"{what} needs {listed}: pip install 'audiosim[{extras}]'")
