"""The command that says how each person, and each machine, judges."""

from audiosim.cli import options
from audiosim.corpus.pool import build_pool
from audiosim.relevance.who_judges import Judges
from audiosim.report.judges_view import judges_view


def judges(
    folder: options.CollectionFolder,
    judgments: options.JudgmentsFile = None,
    system_from: options.NamedBy = None,
    same_artist: options.FromOwnArtist = None,
    scale: options.ScaleName = None,
    form: options.As = options.Format.table,
) -> None:
    """Report how each person and each machine judges: severity, favourites, and what their judgments are worth.

    Severity is by how much their grades lie above those of listeners at large, a share of the scale. Noise is the
    standard deviation of the same judgment made again. Worth of a person is how many judgments of somebody of the usual
    noise theirs stand for.

    A machine is held against people's judgments: its favourites in standard deviations of its own grades, its agreement
    as the correlation with people's scores of the systems, its worth as the further human judgments that it saves now.
    All have 95 % intervals. Under the table stands whom a machine surely favours, first the systems of its own maker.

    Examples: `audiosim judges my-demo --judgments my-demo/truth.qrels`

    `audiosim judges my-demo --judgments my-demo/truth.qrels --format json`
    """
    collection = options.load_collection(folder, judgments, system_from, same_artist, scale)
    found = Judges.of(build_pool(collection), collection.judgments)
    people, machines = ([one.to_dict() for one in some] for some in (found.people, found.machines))
    options.print_result(form, found.to_dict(), found.flat_rows(), lambda: judges_view(people, machines))
