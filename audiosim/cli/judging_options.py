"""Options of `audiosim serve` on the questions of a campaign, and on the people who get them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from audiosim.campaign.settings import MOST_BESIDE, MOST_CHECKED
from audiosim.cli.service_options import service_option


class ComparisonForm(StrEnum):
    """Comparisons among the questions of a campaign."""

    none = "none"
    some = "some"
    only = "only"


Twice = Annotated[
    float, service_option("TWICE", "Share of the pairs that a second assessor also judges.", min=0, max=1)
]
SecondOpinions = Annotated[
    bool,
    typer.Option(
        "--second-opinions",
        help="Hand out pairs judged by others if a second opinion is worth more than an unjudged pair, and until the "
        "relative standard error of people's noise is below a quarter.",
        envvar="AUDIOSIM_SECOND_OPINIONS",
    ),
]
ComparisonShare = Annotated[
    ComparisonForm,
    service_option(
        "COMPARISONS",
        "Ask which of two documents is closer to the query: none, some (if a comparison gives more information "
        "per second than a grade) or only.",
        metavar="WHICH",
    ),
]
Candidates = Annotated[
    int,
    service_option(
        "CANDIDATES",
        "Candidates of one query beside one another on a page, each with its own grade.",
        min=1,
        max=MOST_BESIDE,
    ),
]
Repeats = Annotated[
    float,
    service_option(
        "REPEATS",
        "Share of each assessor's pairs that they have judged before, to measure the noise within a person.",
        min=0,
        max=MOST_CHECKED,
    ),
]
KnownShare = Annotated[
    float,
    service_option(
        "KNOWN_SHARE",
        "Share of each assessor's pairs that have a known grade (--known), to measure their attention.",
        min=0,
        max=MOST_CHECKED,
    ),
]
KnownFile = Annotated[
    Path | None,
    service_option("KNOWN", "File of known grades, in any form of judgments, of pairs in the pool.", metavar="FILE"),
]
SplitQueries = Annotated[
    bool,
    typer.Option(
        "--split-queries",
        help="Hand out pairs of a query even if another assessor has begun it. By default each query stays with its "
        "first assessor, which gives the same precision with fewer judgments.",
        envvar="AUDIOSIM_SPLIT_QUERIES",
    ),
]
CannotLimit = Annotated[
    int, service_option("CANNOT_LIMIT", "Stop asking for a pair that this many assessors could not judge.", min=1)
]
