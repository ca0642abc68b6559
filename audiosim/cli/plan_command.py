"""Command that predicts the judgments and hours needed to meet a stopping rule."""

from typing import Annotated

import typer

from audiosim.cli import options
from audiosim.cli.flattened import flattened
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import as_measure
from audiosim.report.rank import effort_view
from audiosim.simulation.plan import plan as plan_effort
from audiosim.simulation.remaining import BATCH, SIMULATED_CAMPAIGNS
from audiosim.stats.threads import one_thread


@flattened
def plan(
    folder: options.CollectionFolder,
    model: options.ModelName = None,
    measure: options.MeasureName = "CG",
    stopping_rule: Annotated[
        str, typer.Option("--stopping-rule", help="Such as confidence=0.95, every=0.9, error=0.02 or judgments=200.")
    ] = "confidence=0.95",
    listeners: Annotated[int, typer.Option(help="Number of people who judge at the same time.", min=1)] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(help="Seconds per judgment. Default: the pace of the judgments so far, or 30.", min=0.1),
    ] = None,
    batch: Annotated[int, typer.Option(help="Number of pairs handed out at a time.", min=1)] = BATCH,
    campaigns: Annotated[
        int, typer.Option(help="Number of campaigns to simulate, with grades drawn from the predictions.", min=1)
    ] = SIMULATED_CAMPAIGNS,
    time_limit: Annotated[float, typer.Option(help="Start no simulation after this many seconds.", min=1)] = 120,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    distribution: options.DistributionName = "t",
    about: options.AboutWords = None,
    seed: options.Seed = 0,
    *,
    reading: options.CollectionOptions,
    aspect: options.AspectName = None,
    form: options.As = options.Format.table,
) -> None:
    """Predict how many judgments and hours a stopping rule will take, and which systems will remain tied.

    Campaigns are simulated to the stop with grades drawn from the model: the answer is as good as the model. Pairs of
    systems that remain tied are listed with the number of queries that would separate them. The last lines count the
    pairs that would be separated by more queries, by a deeper cutoff or by second opinions.

    Example: `audiosim plan my-demo --stopping-rule confidence=0.95 --listeners 6 --judgments none`

    On a cluster: `audiosim plan my-demo --campaigns 100 --scheduler tcp://10.0.0.1:8786`
    """
    subject = options.about_of(about)
    collection = reading.load(folder, aspect)
    what = as_measure(measure, collection.cutoff)
    options.say_measures(collection, [what])
    options.check_scheduler(scheduler, jobs)
    with one_thread():
        found = plan_effort(
            collection,
            lambda pool: make_estimator(pool, model),
            what,
            stopping_rule=stopping_rule,
            batch=batch,
            campaigns=campaigns,
            seconds=seconds,
            listeners=listeners,
            distribution=distribution,
            about=subject,
            seed=seed,
            time_limit=time_limit,
            jobs=jobs or 1,
            scheduler=scheduler,
        )
    options.print_result(form, found.to_dict(), list(found.unsettled), lambda: effort_view(found))
