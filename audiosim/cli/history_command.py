"""The command that shows a ranking at several times."""

from io import BytesIO, StringIO
from pathlib import Path
from typing import Annotated

import typer

from audiosim.campaign.history import LOOKS, RankingHistory
from audiosim.campaign.history import history as look_back
from audiosim.cli import options
from audiosim.errors import InputError
from audiosim.report.rank import history_view
from audiosim.results.value import need
from audiosim.tables.text import check_output_file, write_texts

PLOTTED = {".png", ".svg", ".pdf"}


def history(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Collections, or saved results: JSON of `estimate --format json`, or bundles of `report`.",
            show_default=False,
        ),
    ],
    model: options.ModelName = None,
    measure: Annotated[
        str | None,
        typer.Option("--measure", help="Measure for collections. Default: that of the saved results, else CG@5."),
    ] = None,
    looks: Annotated[int, typer.Option(help="Number of looks at each collection, evenly spaced.", min=1)] = LOOKS,
    distribution: options.DistributionName = "t",
    about: options.AboutWords = None,
    judgments: options.JudgmentsFile = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the scores at each look: .png, .svg or .pdf.", show_default=False),
    ] = None,
    form: options.As = options.Format.table,
) -> None:
    """Show how the ranking and its confidence changed: during a campaign, or from release to release.

    A collection is ranked after its first judgments, after some more, and so on, in the order of judging. `--judgments
    sqlite:///campaign.db` shows the campaign in that database, with dates. Saved results are shown side by side, in the
    order given. Swapped is the number of pairs of systems that changed places since the last look.

    Examples: `audiosim history my-demo --judgments sqlite:///my-demo/campaign.db --looks 5`

    Releases: `audiosim history release-1.json release-2.json --plot releases.png`
    """
    if plot is not None:
        need("plots", "--plot")
        _check_plot(plot)
    found = look_back(
        *sources,
        model=model,
        measure=measure,
        looks=looks,
        distribution=distribution,
        about=options.about_of(about),
        judgments=judgments,
    )
    if plot is not None:
        _save_plot(found, plot)
    options.print_result(form, found.to_dict(), found.rows(), lambda: history_view(found.to_dict()))


def _check_plot(path: Path) -> None:
    if path.suffix not in PLOTTED:
        raise InputError(f"{path}: expected a name that ends in .png, .svg or .pdf")
    check_output_file(path)


def _save_plot(found: RankingHistory, path: Path) -> None:
    drawn = StringIO() if path.suffix == ".svg" else BytesIO()
    found.plot().save(drawn, format=path.suffix[1:], scale_factor=2)
    content = drawn.getvalue()
    write_texts({path: content.encode() if isinstance(content, str) else content})
