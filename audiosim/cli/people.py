"""The command that says how each person judges."""

from audiosim.cli import options
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.relevance.estimators import JOINT, estimator_of
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.judges import Panel
from audiosim.report.views import rows_view


def judges(
    folder: options.CollectionFolder,
    judgments: options.JudgmentsFile = None,
    system_from: options.NamedBy = None,
    same_artist: options.FromOwnArtist = None,
    scale: options.ScaleName = None,
    form: options.As = options.Format.table,
) -> None:
    """Report how each person judges: how severe they are, how noisy, and what their judgments are worth.

    Severity is by how much their grades lie above those of listeners at large; noise is the standard deviation of the
    same judgment made again. Both are shares of the scale, with 95 % intervals. Worth is how many judgments of somebody
    of the usual noise theirs stand for.

    Example: `audiosim judges my-demo --judgments my-demo/truth.qrels`
    """
    collection = options.load_collection(folder, judgments, system_from, same_artist, scale)
    pool = build_pool(collection, None)
    panel = Panel.of(pool, collection.judgments)
    estimator = estimator_of(pool, JOINT)
    if not panel.judges or not isinstance(estimator, JointEstimator):
        raise InputError(f"nobody has judged a pair of {collection.name}")
    rows = [one.to_dict() for one in estimator.judge_reports(panel)]
    options.print_result(form, rows, rows, lambda: rows_view(rows, left_out=["kind"]))
