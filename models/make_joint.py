"""Write joint-fine.json: the correlation of judgments, and its variation between collections.

    python models/make_joint.py MIREX2011 OTHER...

The first collection is MIREX 2011 Audio Music Similarity, public at github.com/julian-urbano/Allcea in etc/. Components
and trend are learned there, on top of a published mean: that of loutput-fine, which was fitted to four years of MIREX,
because one year's systems would tell less about the next ones. The variation of both between collections is learned
from that collection, as if nothing were known about its documents, and from the others, which are fully judged too;
SOURCES lists the shipped ones. The share carried over to an edition with the same systems is learned from halves of the
queries of each; the share carried over to other systems, from the two collections of CLEF eHealth.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.ordinal.model import Between, Provenance, load_model, package_versions, save_model, source_of
from audiosim.simulation.trials import draw_parts
from audiosim.training.examples import TENTHS, judged_pools, make_examples
from audiosim.training.fit import with_patterns
from audiosim.training.joint import EditionPair, Estimates, estimates_of, fit_joint, learn_between, learn_carried

# Collections of one source share teams and habits, so together they count as one; by the name of their folder.
SOURCES = {
    "mirex2011": "MIREX 2011 Audio Music Similarity (julian-urbano/Allcea)",
    "dl2019": "TREC 2019 deep learning, passages (Parry-Parry/sigir25-annotation)",
    "ehealth2013": "CLEF eHealth 2013 and 2014 task 3 (CLEFeHealth)",
    "ehealth2014": "CLEF eHealth 2013 and 2014 task 3 (CLEFeHealth)",
    "covid1": "TREC-COVID round 1 (castorini)",
    "ted-ende": "WMT 2021 TED English-German, MQM (google/wmt-mqm-human-evaluation)",
}
HALVINGS = 3  # of the queries of each collection
HERE = Path(__file__).parent


def main(folders: Sequence[str]) -> None:
    """Write the model file."""
    collections = [Collection.load(Path(folder)) for folder in folders]
    judged = judged_pools(collections[:1])
    # Grades from 0 to 100 are rounded to the middles of tenths; the paper names its ten levels 0, 11, ..., 99.
    whole = replace(load_model("loutput-fine"), name="joint-fine", levels=TENTHS, fallback="historical-fine")
    mean = with_patterns(whole, make_examples(judged, whole.features))
    rows = sum(int(np.sum(~np.isnan(grades))) for _, grades in judged)
    sources = tuple(source_of(pool, grades) for pool, grades in judged)
    found = estimates(collections)
    between = between_of(found)
    between = replace(between, carried=learn_carried(editions(collections, found), between))
    source = (
        f"{mean.source}; components and trend fitted to {rows:,} judgments of {collections[0].name}; "
        f"how they vary between collections: {', '.join(between.sources)}"
    )
    training = Provenance(sources, rows, own_judgment=False, date=None, packages=package_versions())
    model = replace(fit_joint(judged, mean, vary=False), between=between)
    save_model(replace(model, name="joint-fine", source=source, training=training), HERE / "joint-fine.json")


def estimates(collections: Sequence[Collection]) -> list[Estimates]:
    """Estimates of each collection."""
    pools = [pool for collection in collections for pool in judged_pools([collection])]
    return [estimates_of(pool, grades, SOURCES.get(pool.collection)) for pool, grades in pools]


def editions(collections: Sequence[Collection], found: Sequence[Estimates]) -> list[EditionPair]:
    """Pairs of editions: halves of the queries of each collection, and collections of one source.

    found  estimates of each collection
    """
    pairs = []
    for collection in collections:
        for part in draw_parts(collection, HALVINGS, np.random.default_rng(0), held_out="queries"):
            one, other = estimates([part.of(collection), part.rest(collection)])
            pairs.append(EditionPair("systems", one, other, 1 / HALVINGS))
    same = ((one, other) for one, other in combinations(found, 2) if one.source == other.source)
    return [*pairs, *(EditionPair("edition", one, other) for one, other in same)]


def between_of(found: Sequence[Estimates], without: str | None = None) -> Between:
    """Distribution of collections.

    without  source to leave out
    """
    return learn_between([one for one in found if one.source != without])


if __name__ == "__main__":
    main(sys.argv[1:])
