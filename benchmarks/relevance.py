"""Accuracy of trained models on unseen queries, each figure beside the expected one.

    python benchmarks/relevance.py [COLLECTION]

COLLECTION is a folder with judgments; the expectations are for MIREX 2011, the default. Errors are of grades over the
scale's maximum, on ten folds by query; no feature of a fitted row uses a held-out judgment. If a share of each held-out
query is judged, the rest is scored, and the mean over draws is given.
"""

import sys
import time
from pathlib import Path

import numpy as np
from figures import Figures

from audiosim.collection.collection import Collection
from audiosim.training.findings import Findings
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirex2011"
HELD_OUT = "10 folds by query"
THESIS = "output"
BEST = "fSYS,fART,sGEN,fGEN,sGEN:fGEN,oSYS,oGEN,oGEN:oGEN,fART:fPOOL,cART,fTEAM,cGEN"
UNJUDGED = {  # terms without judgments of the query itself: expected largest RMSE
    "the thesis's terms": (THESIS, 0.2446),
    "  and oSYS": (f"{THESIS},oSYS", 0.2425),
    "  and oSYS, oGEN": (f"{THESIS},oSYS,oGEN", 0.2370),
    "the best known": (BEST, 0.2325),
}
SHARES = (0.05, 0.1, 0.2)
LIMITS = (0.236, 0.230, 0.225)
JUDGED = {
    "M_jud's, and the thesis's": f"{THESIS},aSYS,aART",
    "the thesis's, and aDOC": f"{THESIS},aDOC",
    "the thesis's, and aDOC, aGEN, aART": f"{THESIS},aDOC,aGEN,aART",
    "the best known, and aDOC, aGEN, aART": f"{BEST},aDOC,aGEN,aART",
}
PREDICTORS = {"fit to all": "model", "fit at share": "model fitted at this share"}
SEEDS = 3
VERSIONS = {  # M_jud in sample, by use of the pair's own judgment: R^2 and RMSE
    "included": (0.887, 0.096),
    "left out": (0.61, 0.17),
}


def findings(collection: Collection, terms: str, **plan: object) -> Findings:
    """The report of training some terms."""
    return train([collection], Plan(parse_terms(terms), **plan)).findings


def unjudged(collection: Collection, figures: Figures) -> None:
    """Error, log score and coverage if nothing of the query is judged."""
    of = "nothing of the query judged, "
    for label, (terms, limit) in UNJUDGED.items():
        scores = {row.predictor: row for row in findings(collection, terms).scores if row.sample == HELD_OUT}
        model = scores["model"]
        figures.add(f"{of}{label.strip()}: RMSE", model.rmse, "", limit)
        figures.add(f"{of}{label.strip()}: log score", model.log_score, "", 2.0980)
        figures.add(f"{of}{label.strip()}: 95 % sets hold", model.coverage_95, "", note="expected .93 to .97")
    figures.add(f"{of}levels' shares: RMSE", scores["historical, of these"].rmse, "")


def judged(collection: Collection, figures: Figures) -> None:
    """Error if a share of the query is judged, for the model and for one fitted at this share."""
    shown = []
    for label, terms in JUDGED.items():
        found = [findings(collection, terms, judged=SHARES, seed=seed) for seed in range(SEEDS)]
        for share, limit in zip(SHARES, LIMITS, strict=True):
            sample = f"{HELD_OUT}, {100 * share:g} % of each judged"
            for name, predictor in PREDICTORS.items():
                rows = [r for report in found for r in report.scores if (r.predictor, r.sample) == (predictor, sample)]
                error, inside = (np.mean([getattr(row, key) for row in rows]) for key in ("rmse", "coverage_95"))
                shown.append((f"{label}, {100 * share:g} %, {name}", float(error), limit, float(inside)))
    title = f"a share of the query judged, mean of {SEEDS} draws"
    figures.table(title, ["", "RMSE", "at most", "95 % sets hold"], shown)


def own_judgment(collection: Collection, figures: Figures) -> None:
    """Apparent accuracy of M_jud with the pair's own judgment among its features, and its true accuracy."""
    of = "M_jud in sample, the pair's own judgment "
    for row in findings(collection, "judgment", folds=0).versions:
        squared, error = VERSIONS.get(row.own_judgment, (None, None))
        if row.r_squared is not None:
            figures.add(f"{of}{row.own_judgment}: R^2", row.r_squared, "", note=f"expected about {squared}")
        beside = "" if error is None else f"expected about {error}; "
        promised = f"{beside}promised {np.sqrt(row.mean_variance):.4f}"
        figures.add(f"{of}{row.own_judgment}: RMSE", row.rmse, "", note=promised)


def main() -> None:
    """Print the figures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    if not folder.is_dir():
        print(f"skipped: no collection at {folder.name}; name one: python benchmarks/relevance.py FOLDER")
        return
    collection, start = Collection.load(folder), time.process_time()
    with Figures("relevance") as figures:
        for part in (unjudged, judged, own_judgment):
            part(collection, figures)
        figures.add("processor time", time.process_time() - start, "s")


if __name__ == "__main__":
    main()
