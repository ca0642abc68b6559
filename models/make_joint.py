"""Write joint-fine.json: how judgments hang together, learned from a judged collection, on top of a published mean.

    python models/make_joint.py COLLECTION

The collection is MIREX 2011 Audio Music Similarity, public at github.com/julian-urbano/Allcea in etc/. The mean is that
of loutput-fine, which was fitted to four years of MIREX: one year's systems would tell less of the next ones.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim.corpus.collection import Collection
from audiosim.relevance.provenance import Provenance, package_versions, source_of
from audiosim.relevance.published import load_model, save_model
from audiosim.training.examples import judged_pools
from audiosim.training.joint_fit import fit_joint

HERE = Path(__file__).parent


def main(folder: str) -> None:
    """Write the model file."""
    collection = Collection.load(Path(folder))
    judged = judged_pools([collection])
    mean = load_model("loutput-fine")
    rows = sum(int(np.sum(~np.isnan(grades))) for _, grades in judged)
    sources = tuple(source_of(pool, grades) for pool, grades in judged)
    source = f"{mean.source}; components and trend fitted to {rows:,} judgments of {collection.name}"
    training = Provenance(sources, rows, own_judgment=False, date=None, packages=package_versions())
    model = replace(fit_joint(judged, mean), name="joint-fine", source=source, training=training)
    save_model(model, HERE / f"{model.name}.json")


if __name__ == "__main__":
    main(sys.argv[1])
