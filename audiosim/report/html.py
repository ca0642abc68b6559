"""Pages that need no other file: their style, light or dark as the reader's screen is, their tables and figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --ink: #1d2530; --soft: #5b6675; --line: #dfe4ea; --ground: #ffffff;
  --panel: #f6f8fa; --accent: #0b6e8a; --alarm: #9b1c1c; --alarm-ground: #fdecec; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa6b4; --line: #323b46; --ground: #14181d;
  --panel: #1b2128; --accent: #56bdd8; --alarm: #ffb3b3; --alarm-ground: #3a1c1f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 4rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { max-width: 48rem; margin: .5rem 0; } .soft, figcaption { color: var(--soft); font-size: .9rem; }
.alarm { color: var(--alarm); background: var(--alarm-ground); border-left: 4px solid; padding: .75rem 1rem;
  font-weight: 600; max-width: none; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem 1.1rem .3rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } .word { text-align: left; } code { overflow-wrap: anywhere; }
tr.best td { font-weight: 600; }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: .75rem 0; padding: 1rem;
  width: fit-content; background: var(--panel);
  border: 1px solid var(--line); border-radius: 8px; } figcaption { max-width: 24rem; margin-top: .6rem; }
svg { display: block; max-width: 100%; height: auto; } .plot-text { fill: var(--ink); font-size: 13px; }
.plot-axis { fill: none; stroke: var(--soft); } .plot-grid { stroke: var(--line); }
.plot-ideal { stroke: var(--soft); stroke-dasharray: 5 5; }
.plot-line { fill: none; stroke: var(--accent); stroke-width: 2; }
.plot-dot, .plot-bar { fill: var(--accent); } .plot-1 { stroke: var(--soft); }
summary { color: var(--soft); cursor: pointer; }
.matrix { font-size: .8rem; } .matrix th, .matrix td { padding: .2rem .45rem; } .matrix .open { color: var(--soft); }
.matrix .sure { background: var(--panel); font-weight: 600; }
"""


def document(title: str, parts: Iterable[str]) -> str:
    """A whole page: its title, and what it shows below it."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    top = f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
    return f"{top}\n<body>\n<h1>{escape(title)}</h1>\n{joined(parts)}\n</body></html>"


def table(
    keys: Sequence[str], heads: Sequence[str], rows: Iterable[Mapping[str, Any]], spell: Callable[[str, Any], str]
) -> str:
    """A table of rows; one whose `predictor` is the model is marked.

    keys   of the columns
    heads  what stands above them
    spell  a column's key and a value -> text
    """
    rows = list(rows)
    kinds = ["word" if rows and isinstance(rows[0][key], str) else "number" for key in keys]
    head = "".join(f'<th class="{kind}">{escape(text)}</th>' for kind, text in zip(kinds, heads, strict=True))
    body = []
    for row in rows:
        cells = (
            f'<td class="{kind}">{escape(spell(key, row[key]))}</td>' for kind, key in zip(kinds, keys, strict=True)
        )
        mark = ' class="best"' if row.get("predictor", "").startswith("model") else ""
        body.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def figure(drawing: str, caption: str) -> str:
    """A drawing with its caption."""
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def folded(content: str) -> str:
    """Part that the reader may open: the numbers behind a figure."""
    return f"<details><summary>The numbers</summary>{content}</details>"


def joined(parts: Iterable[str]) -> str:
    """Parts one below the other, empty ones left out."""
    return "\n".join(part for part in parts if part)
