"""Draw how a ranking settles as judgments come in: docs/settling.png, the README's first picture, and one for phones.

    python docs/draw_settling.py

It plays a campaign on the demo: `drawn` chooses the pairs, and fixtures/demo/truth.qrels has the grades. Crosses mark
the scores by all judgments, which the campaign does not see.
"""

from pathlib import Path

from matplotlib import pyplot

import audiosim

DOCS = Path(__file__).resolve().parent
DEMO = DOCS.parent / "fixtures" / "demo"
MOMENTS = (0, 50, 150)  # judgments
DOTS = 110  # per inch
# name, rows and columns of frames, size in inches
PICTURES = (("settling", (1, 3), (10.5, 3.5)), ("settling-phone", (3, 1), (4.2, 8.4)))
TRUE = {"marker": "x", "color": "#c2571a", "zorder": 3, "linestyle": "none", "label": "by all 600 judgments"}


def main() -> None:
    """Draw every picture."""
    for name, grid, size in PICTURES:
        draw(name, grid, size)


def draw(name: str, grid: tuple[int, int], size: tuple[float, float]) -> None:
    """Play the campaign and draw its ranking at each moment."""
    judged = audiosim.Collection.load(DEMO, judgments=DEMO / "truth.qrels")
    grades, true = judged.grades(), audiosim.evaluate(judged, "CG@5").to_frame()["mean"]
    campaign = audiosim.Campaign(audiosim.Collection.load(DEMO))
    figure, frames = pyplot.subplots(*grid, figsize=size, sharex=True, layout="constrained")
    for moment, axes in zip(MOMENTS, frames, strict=True):
        while campaign.selection.judged < moment:
            (pair,) = campaign.ask()
            campaign.tell(audiosim.Judgment(*pair, grade=grades[pair]))
        ranking = campaign.selection.ranking
        ranking.plot(axes)
        order = [ranking.systems[place] for place in ranking.order]
        axes.plot(true[order], range(len(order)), **TRUE)
        axes.set_title(f"{moment or 'no'} judgments: confidence {ranking.confidence:.2f}", fontsize=10)
    handles = frames[0].get_lines()[-1:]
    figure.legend(handles=handles, frameon=False, fontsize=9, loc="outside lower center")
    figure.savefig(DOCS / f"{name}.png", dpi=DOTS)


if __name__ == "__main__":
    main()
