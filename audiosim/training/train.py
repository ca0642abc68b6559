"""Training of a model on the judgments of some collections: fit, validate, describe."""

from collections.abc import Callable, Sequence

from audiosim.corpus.collection import Collection
from audiosim.training.describing import describe_model
from audiosim.training.findings import Training
from audiosim.training.held_out import validate_model
from audiosim.training.model_fit import fit_model
from audiosim.training.notes import Notes
from audiosim.training.plan import Plan


def train(
    collections: Sequence[Collection],
    plan: Plan,
    say: Callable[[str], None] = lambda _: None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Training:
    """Fit a model to the judgments of some collections, pooled, and validate it.

    collections  of one scale
    say          is told what is left out, and why
    progress     is told how many fits of the validation are done, and of how many
    """
    notes = Notes(say)
    fitted = fit_model(collections, plan, notes)
    validated = validate_model(fitted, plan, progress, notes)
    return describe_model(fitted, validated, plan, notes)
