"""A baseline system: it retrieves the recordings that sound nearest to the query's own recording."""

from collections.abc import Mapping

from audiosim.audio.index import AudioIndex
from audiosim.audio.search import Divergence
from audiosim.corpus.model import Run


def nearest_run(
    index: AudioIndex,
    system: str,
    queries: Mapping[str, str],
    k: int,
    artists: Mapping[str, str | None] | None = None,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
) -> Run:
    """The baseline system that retrieves for each query the recordings nearest to its own; see `neighbours`.

    queries  query -> its own recording
    """
    nearest = index.neighbours(dict.fromkeys(queries.values()), k, artists, divergence=divergence, proximity=proximity)
    return Run(system, {query: tuple(near.identifier for near in nearest[own]) for query, own in queries.items()})
