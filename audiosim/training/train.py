"""Training of a model on the judgments of some collections: fit, validate, describe."""

from collections.abc import Callable, Sequence

from audiosim.collection.grading import on_scale
from audiosim.training.findings import Training, describe_model
from audiosim.training.fit import fit_model
from audiosim.training.plan import Notes, Plan, plan_of
from audiosim.training.validate import validate_model
from audiosim.workers import Workers


def train(
    collections: object,
    plan: str | Sequence[str] | Plan = "output",
    say: Callable[[str], None] = lambda _: None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    jobs: int = 1,
    scheduler: str | None = None,
    *,
    judgments: object = None,
    scale: str | None = None,
) -> Training:
    """Fit a model to the judgments of some collections, pooled, and validate it.

    collections  one or several judged collections of one scale, or their folders; or runs in memory
    plan         plan, or only a list of features, such as "output", "joint", "fSYS,fGEN,fSYS:fGEN" or ["fSYS", "fGEN"]
    say          called with omissions and their reasons
    progress     called with the number of validation fits done and their total
    jobs         processes that fit joint models for the validation
    scheduler    address of a Dask cluster that does the work instead; see `each_in_turn`
    judgments    as for `estimate`, as is scale; the same for all collections
    """
    several = collections if isinstance(collections, Sequence) and not isinstance(collections, str) else [collections]
    plan = plan if isinstance(plan, Plan) else plan_of(plan if isinstance(plan, str) else ",".join(plan))
    notes = Notes(say)
    fitted = fit_model([on_scale(one, scale, judgments) for one in several], plan, notes)
    validated = validate_model(fitted, plan, progress, notes, Workers(jobs, scheduler))
    return describe_model(fitted, validated, plan, notes)
