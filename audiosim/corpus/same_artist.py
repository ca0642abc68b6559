"""Trivial results: the query's own recording, and others by its artist."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from audiosim.corpus.mirex import Exclusions
from audiosim.corpus.model import Run
from audiosim.corpus.rankings import coded, on_one_table
from audiosim.errors import InputError

SameArtist = Literal["keep", "drop"]


def without_same_artist(
    runs: Sequence[Run], exclusions: Exclusions, choice: SameArtist | None
) -> tuple[tuple[Run, ...], str | None]:
    """The runs to evaluate, and a sentence on such results in them, or None.

    exclusions  document of each query, and the artists; an unlisted query is the document of the same name
    choice      `drop` leaves such results out and moves up those below, as MIREX does; `keep` keeps them; None keeps
                them with a note
    """
    if choice not in (None, *get_args(SameArtist)):
        raise InputError(f"same_artist must be keep or drop, got {choice!r}")
    if choice == "keep" or not _any(runs, exclusions):
        return tuple(runs), None
    own, artist, example = 0, 0, ""
    kept = []
    for run in runs:
        rankings = {}
        for query, documents in run.rankings.items():
            document = exclusions.query_documents.get(query, query)
            admitted = exclusions.admit(document, list(documents))
            itself = int(document in documents)
            own, artist = own + itself, artist + len(documents) - len(admitted) - itself
            if len(admitted) < len(documents) and not example:
                first = next(name for name in documents if name not in admitted)
                example = f"such as document {first} for query {query} in system {run.system}"
            rankings[query] = admitted
        kept.append(replace(run, rankings=rankings))
    if not own + artist:
        return tuple(runs), None
    found = f"{_results(own)} the query's own recording, {_results(artist)} by its artist, {example}"
    if choice == "drop":
        return tuple(kept), f"{found}: left out"
    return tuple(runs), f"{found}: kept; --same-artist drop leaves them out, keep omits this note"


def _any(runs: Sequence[Run], exclusions: Exclusions) -> bool:
    """True if any result is the query's own recording, or by its artist."""
    rankings = on_one_table([coded(run.rankings) for run in runs])
    names = rankings[0].names if rankings else ()
    queries = {exclusions.query_documents.get(query, query) for one in rankings for query in one.queries}
    if not exclusions.artists and queries.isdisjoint(names):
        return False
    codes = {name: code for code, name in enumerate(names)}
    artists: dict[str, int] = {}
    for name in exclusions.artists.values():
        artists.setdefault(name, len(artists))
    known = (exclusions.artists.get(name) for name in names)
    artist = np.array([-2 if name is None else artists[name] for name in known], dtype=np.int64)
    for one in rankings:
        asked = [exclusions.query_documents.get(query, query) for query in one.queries]
        own = np.array([codes.get(document, -1) for document in asked], dtype=np.int64)
        by = (exclusions.artists.get(document) for document in asked)
        theirs = np.array([-1 if name is None else artists[name] for name in by], dtype=np.int64)
        query = np.repeat(np.arange(len(asked)), one.lengths)
        if np.any((one.documents == own[query]) | (artist[one.documents] == theirs[query])):
            return True
    return False


def _results(count: int) -> str:
    return f"{count:,} {'result is' if count == 1 else 'results are'}"
