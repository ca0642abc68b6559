"""Peers that come with audiosim, by name, and the packages they use."""

from collections.abc import Mapping

from audiosim.errors import MissingPackageError
from audiosim.peers.model_peers import gaussian_process, mtc, teams
from audiosim.peers.packages import choix, cje, glide, ppi
from audiosim.peers.sampling import active, means_by_t, shrunken, statap
from audiosim.peers.task import Peer
from audiosim.results.value import CALLED, has_package

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
NEEDED = {"ppi": "ppi_py", "cje": "cje", "choix": "choix"}  # packages of the extra `peers`, by import name
GLIDE = "glide"  # name that several packages have


def check_installed(name: str) -> None:
    """Raise a MissingPackageError, with instructions, if a peer's package is not installed."""
    package = NEEDED.get(name)
    if package is not None and not has_package(package):
        raise MissingPackageError(f"peer {name} needs {CALLED.get(package, package)}: pip install 'audiosim[peers]'")
    if name == GLIDE:
        _check_glide()


def _check_glide() -> None:
    try:
        from glide.estimators import ASIMeanEstimator  # noqa: F401  checks that it is installed
    except ImportError:
        raise MissingPackageError(
            "peer glide needs glide-py: pip install glide-py with Python 3.12 or later, or put its source on PYTHONPATH"
        ) from None


def peers_there(names: Mapping[str, Peer]) -> tuple[dict[str, Peer], list[str]]:
    """The peers with installed packages, and messages about the others."""
    found, lacking = {}, []
    for name, peer in names.items():
        try:
            check_installed(name)
            found[name] = peer
        except MissingPackageError as error:
            lacking.append(str(error))
    return found, lacking
