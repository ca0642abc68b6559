"""Peers by name, and the packages they use."""

from collections.abc import Mapping

from audiosim.errors import InputError, MissingPackageError
from audiosim.results.value import has_package
from audiosim.text import did_you_mean
from peers.model_peers import gaussian_process, mtc, teams
from peers.packages import choix, cje, glide, ppi
from peers.sampling import active, means_by_t, shrunken, statap
from peers.task import Peer

PEERS: Mapping[str, Peer] = {
    "gp": gaussian_process,
    "mtc": mtc,
    "active": active,
    "statap": statap,
    "means": means_by_t,
    "shrunken": shrunken,
    "teams": teams,
    "ppi": ppi,
    "cje": cje,
    "choix": choix,
    "glide": glide,
}
# Packages by the names under which they are imported and installed.
NEEDED = {"ppi": ("ppi_py", "ppi-python"), "cje": ("cje", "cje-eval"), "choix": ("choix", "choix")}
GLIDE = "glide"  # name that several packages have


def check_installed(name: str) -> None:
    """Raise a MissingPackageError, with instructions, if a peer's package is not installed."""
    package, called = NEEDED.get(name, (None, None))
    if package is not None and not has_package(package):
        raise MissingPackageError(f"peer {name} needs {called}: pip install {called}")
    if name == GLIDE:
        _check_glide()


def _check_glide() -> None:
    try:
        from glide.estimators import ASIMeanEstimator  # noqa: F401  checks that it is installed
    except ImportError:
        raise MissingPackageError(
            "peer glide needs glide-py: pip install glide-py with Python 3.12 or later, or put its source on PYTHONPATH"
        ) from None


def chosen_peers(text: str) -> tuple[dict[str, Peer], list[str]]:
    """Peers by name, and a message about each one left out because its package is missing.

    text  names joined by commas, whose packages must be installed; or `all`
    """
    names = list(PEERS) if text == "all" else [name.strip() for name in text.split(",")]
    found, lacking = {}, []
    for name in names:
        if name not in PEERS:
            raise InputError(f"unknown peer {name!r}, expected one of {', '.join(PEERS)}{did_you_mean(name, PEERS)}")
        try:
            check_installed(name)
            found[name] = PEERS[name]
        except MissingPackageError as error:
            if text != "all":
                raise
            lacking.append(str(error))
    return found, lacking
