"""Draw how a ranking settles as judgments come in: docs/settling.png, the README's first picture, and one for phones.

    python docs/draw_settling.py

It plays a campaign on the demo: `drawn` chooses the pairs, and fixtures/demo/truth.qrels has the grades. Crosses mark
the scores by all judgments, which the campaign does not see.
"""

from pathlib import Path

import altair

import audiosim

DOCS = Path(__file__).resolve().parent
DEMO = DOCS.parent / "fixtures" / "demo"
MOMENTS = (0, 50, 150)  # judgments
PICTURES = (("settling", 3, 230), ("settling-phone", 1, 280))  # name, frames beside each other, width of each
TRUE = "by all 600 judgments"


def main() -> None:
    """Draw every picture."""
    frames = played()
    for name, columns, width in PICTURES:
        chart = altair.concat(*(frame.properties(width=width) for frame in frames), columns=columns)
        chart.resolve_scale(x="shared").save(DOCS / f"{name}.png", scale_factor=1.5)


def played() -> list[altair.LayerChart]:
    """The ranking at each moment of a campaign."""
    judged = audiosim.Collection.load(DEMO, judgments=DEMO / "truth.qrels")
    grades, true = judged.grades(), audiosim.evaluate(judged, "CG@5").to_frame()["mean"]
    campaign = audiosim.Campaign(audiosim.Collection.load(DEMO))
    crosses = altair.Chart(altair.Data(values=[{"name": one, "score": true[one], "by": TRUE} for one in true.index]))
    crosses = crosses.mark_point(shape="cross", filled=True, color="#c2571a", size=40).encode(
        y=altair.Y("name:N", sort=None),
        x="score:Q",
        shape=altair.Shape(
            "by:N", scale=altair.Scale(range=["cross"]), legend=altair.Legend(orient="bottom", title=None)
        ),
    )
    frames = []
    for moment in MOMENTS:
        while campaign.selection.judged < moment:
            (pair,) = campaign.ask()
            campaign.tell(audiosim.Judgment(*pair, grade=grades[pair]))
        ranking = campaign.selection.ranking
        title = f"{moment or 'no'} judgments: confidence {ranking.confidence:.2f}"
        frames.append((ranking.plot() + crosses).properties(title=title))
    return frames


if __name__ == "__main__":
    main()
