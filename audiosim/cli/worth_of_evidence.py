"""The command that measures the worth of each piece of evidence."""

from typing import Annotated

import typer

from audiosim.cli import options
from audiosim.cli.flattened import flattened
from audiosim.measures.measure import as_measure
from audiosim.report.simulate import worth_view
from audiosim.results.progress import progress
from audiosim.simulation.worth import worth as worth_of
from audiosim.training.plan import parse_shares


@flattened
def worth(
    folder: options.CollectionFolder,
    measure: options.MeasureName = "CG",
    judged: Annotated[
        str, typer.Option(metavar="SHARES", help="Shares of the pairs that count as judged, such as 0,0.1,0.2.")
    ] = "0,0.1",
    splits: Annotated[
        int, typer.Option(help="Number of random draws of pairs, or of halves of the queries.", min=1)
    ] = 2,
    target: Annotated[float, typer.Option(help="Confidence at which replays stop.", min=0.5, max=1)] = 0.95,
    replays: Annotated[
        bool, typer.Option("--replays/--no-replays", help="Also replay campaigns, which takes minutes.")
    ] = True,
    seed: options.Seed = 0,
    *,
    reading: options.CollectionOptions,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    form: options.As = options.Format.table,
) -> None:
    """Measure what each piece of evidence is worth: genre, artist, sound, and the files in `evidence/`.

    Its worth is the increase in error of held-out grades, and the drop in their log score, when it is withheld, with
    95 % intervals over queries. If the whole pool is judged, a replay also shows how many judgments it saves. Evidence
    whose interval contains 0 may be worth nothing. On a collection that the model knows, models are learned on other
    queries.

    Example: `audiosim worth my-demo --judgments my-demo/truth.qrels --judged 0,0.1 --no-replays`
    """
    options.check_scheduler(scheduler, jobs)
    shares = parse_shares(judged)
    collection = reading.load(folder)
    what = as_measure(measure, collection.cutoff)
    options.say_measures(collection, [what])
    with progress("leaving out") as show:
        found = worth_of(
            collection,
            measure=what,
            judged=shares,
            splits=splits,
            target=target if replays else None,
            seed=seed,
            progress=show,
            jobs=jobs or 1,
            scheduler=scheduler,
        )
    value = found.to_dict()
    options.print_result(form, value, value["evidence"], lambda: worth_view(found))
