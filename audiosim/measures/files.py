"""Scores directly from files of runs and judgments, without a collection."""

from collections.abc import Iterable
from pathlib import Path

from audiosim.corpus.collection import Collection
from audiosim.corpus.judgments import read_judgments
from audiosim.corpus.matching import check_judgments
from audiosim.corpus.model import Scale
from audiosim.corpus.runs import read_runs
from audiosim.measures.system_scores import JudgedRuns, Unjudged, check_unjudged, judged_runs


def judged_files(
    runs: Iterable[str | Path],
    judgments: str | Path,
    cutoff: int,
    scale: Scale | None = None,
    unjudged: Unjudged = "error",
) -> JudgedRuns:
    """The rankings of run files down to a cutoff, with the grades of their documents.

    runs       run files, in any form that a collection may have
    judgments  file of judgments, in any form that a collection may have
    scale      scale of the grades; None: guessed from them
    unjudged   treatment of a document without judgment: `error`; `zero`, it gains 0; `skip`, lower ones move up

    Queries are the judged ones: one that a run does not answer counts 0 for it, and `notes` say so.
    """
    check_unjudged(unjudged)
    scale, judged = read_judgments(judgments, scale)
    name = str(judgments)
    collection = Collection(name, name, scale, cutoff, read_runs(runs), judgments=judged)
    check_judgments(collection.runs, judged, judgments)
    return judged_runs(collection, cutoff, unjudged)
