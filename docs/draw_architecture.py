"""Draw the rooms of audiosim and their imports, as docs/architecture.svg.

    python docs/draw_architecture.py            needs matplotlib: pip install "audiosim[docs]"

The rooms and their floors are those of docs/architecture.md; lines and their widths are from the imports.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).resolve().parents[1]
WIDTH, HEIGHT = 2.3, 0.68  # of a room's box, in units of the axes
FLOOR = 0.5  # inches from floor to floor: enough for both lines of a label


def rooms() -> list[str]:
    """The rooms, top first: `audiosim.cli`, `service`, ...; `service` and `audiosim.stats` are one room each."""
    listed = re.findall(r"^(\S+?)/?  +\S", (ROOT / "docs/architecture.md").read_text().split("```")[1], re.MULTILINE)
    names = [path.removesuffix(".py").split("/") for path in listed]
    return list(dict.fromkeys(".".join(name[: 1 if name[0] == "service" else 2]) for name in names))


def room_of(module: str, known: list[str]) -> str | None:
    """The room of a module; None for the package's own `__init__`."""
    return next((room for room in known if module == room or module.startswith(room + ".")), None)


def lines(known: list[str]) -> dict[str, int]:
    """Number of lines of Python in each room."""
    count: Counter[str] = Counter()
    for path, module in sources():
        room = room_of(module, known)
        count[room or ""] += len(path.read_text().splitlines())
    return count


def sources() -> list[tuple[Path, str]]:
    """The modules of the packages, by path and name."""
    paths = [path for package in ("audiosim", "service") for path in sorted((ROOT / package).rglob("*.py"))]
    return [(path, ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")) for path in paths]


def imports(known: list[str]) -> Counter[tuple[str, str]]:
    """Number of import statements from one room to another."""
    found: Counter[tuple[str, str]] = Counter()
    for path, module in sources():
        own = room_of(module, known)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and own:
                other = room_of(re.sub(r"^audiosim\.service\b", "service", node.module), known)
                if other and other != own:
                    found[own, other] += 1
    return found


def draw(known: list[str]) -> Figure:
    """One room per floor, in a zigzag; a line for each pair of rooms, as wide as the number of imports."""
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "audiosim"
    shown = [
        room
        for room in known
        if room not in {"audiosim.stats.arrays", "audiosim.errors", "audiosim.text", "audiosim.package_files"}
    ]
    figure = Figure(figsize=(9, FLOOR * (len(shown) + 0.6)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 9), ylim=(-0.6, len(shown)))
    axes.set_axis_off()
    where = {room: ((1.6, 4.5, 7.4)[(0, 1, 2, 1)[i % 4]], len(shown) - 1 - i) for i, room in enumerate(shown)}
    for (own, other), count in sorted(imports(known).items(), key=lambda item: item[1]):
        if own in where and other in where:
            (x, y), (u, v) = where[own], where[other]
            arrow = FancyArrowPatch(
                (x, y - HEIGHT / 2), (u, v + HEIGHT / 2), arrowstyle="-|>", mutation_scale=7,
                connectionstyle=f"arc3,rad={0.12 if u >= x else -0.12}", linewidth=0.4 + count / 12,
                color="#5b7a99", alpha=0.55, zorder=1,
            )  # fmt: skip
            axes.add_patch(arrow)
    size = lines(known)
    for room, (x, y) in where.items():
        box = (x - WIDTH / 2, y - HEIGHT / 2)
        style = {"facecolor": "#eef3f8", "edgecolor": "#2f4a63", "linewidth": 1.0, "zorder": 2}
        axes.add_patch(FancyBboxPatch(box, WIDTH, HEIGHT, boxstyle="round,pad=0.02,rounding_size=0.08", **style))
        axes.text(x, y + 0.14, room.removeprefix("audiosim."), ha="center", va="center", fontsize=11, zorder=3)
        axes.text(x, y - 0.2, f"{size[room]:,} lines", ha="center", va="center", fontsize=8, color="#555", zorder=3)
    return figure


if __name__ == "__main__":
    draw(rooms()).savefig(ROOT / "docs" / "architecture.svg", metadata={"Date": None})
