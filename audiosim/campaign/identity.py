"""Identity of the collection that a log belongs to: scale, task and pairs, to detect another collection."""

import base64
import hashlib
import json
import zlib
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from audiosim.campaign.store import Store
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import InputError, StoreError


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """The collection that a campaign judges.

    scale   name of its scale
    levels  levels of the scale
    cutoff  cutoff of the collection, not of the campaign's measure
    pairs   pairs of its pool down to that cutoff
    task    question that grades answer; empty if unspecified
    """

    scale: str
    levels: tuple[float, ...]
    cutoff: int
    pairs: frozenset[Pair]
    task: str = ""

    @classmethod
    def of(cls, collection: Collection, pool: Pool | None = None) -> "Identity":
        """The current identity of a collection.

        pool  pool of the collection, down to any cutoff, if the caller has one
        """
        if pool is None or pool.cutoff != collection.cutoff:
            pool = build_pool(collection, collection.cutoff)
        scale, pairs = collection.scale, frozenset(pool.pairs)
        return cls(scale.name, scale.levels, collection.cutoff, pairs, collection.task)

    @property
    def digest(self) -> str:
        """SHA-256 of the pairs, in their alphabetical order."""
        return hashlib.sha256(json.dumps(sorted(self.pairs)).encode()).hexdigest()

    def dump(self) -> str:
        """The identity as text: JSON, the pairs packed."""
        packed = base64.b85encode(zlib.compress(json.dumps(sorted(self.pairs)).encode(), 9)).decode()
        said = {"scale": self.scale, "levels": list(self.levels), "cutoff": self.cutoff, "task": self.task}
        return json.dumps(said | {"pool": self.digest, "pairs": packed})

    @classmethod
    def load(cls, text: str) -> "Identity":
        """An identity from the text of `dump`."""
        said: dict[str, Any] = json.loads(text)
        pairs = json.loads(zlib.decompress(base64.b85decode(said["pairs"])))
        known = frozenset(Pair(query, name) for query, name in pairs)
        return cls(said["scale"], tuple(said["levels"]), said["cutoff"], known, said.get("task", ""))


def check_same(then: Identity, now: Identity, judged: Container[Pair]) -> None:
    """Raise an error unless a collection is the one that a log belongs to, possibly with more pairs.

    judged  pairs with judgments in the log
    """
    changes = []
    if (then.scale, then.levels) != (now.scale, now.levels):
        changes.append(f"it was judged on the {then.scale} scale, this one is on the {now.scale} scale")
    if then.task and now.task and then.task != now.task:
        changes.append(f"its task was {then.task!r:.200}, that of this one is {now.task!r:.200}")
    if gone := then.pairs - now.pairs:
        lost = sum(pair in judged for pair in gone)
        one = min(gone)
        changes.append(
            f"{len(gone)} of its {len(then.pairs)} pairs are not in this one, {lost} of them judged, "
            f"such as document {one.document} for query {one.query}; {len(now.pairs - then.pairs)} are new"
        )
    if changes:
        raise InputError(
            f"the campaign in the database is of another collection: {'; '.join(changes)}; "
            "--adopt continues with it anyway"
        )


def identify(
    store: Store, collection: Collection, judged: Container[Pair], adopt: bool, pool: Pool | None = None
) -> None:
    """Compare a collection with the one that a log belongs to, and store its identity beside the log.

    adopt  True to accept another collection
    pool   as for `Identity.of`
    """
    now, (about, rules) = Identity.of(collection, pool), store.described()
    if about and not adopt:
        check_same(Identity.load(about), now, judged)
    if about != (said := now.dump()):
        with suppress(StoreError):  # a log that is not writable may still be readable
            store.describe(said, rules)
