"""Settings of the documentation site: `make docs` builds it from the pages beside this file, without a network."""

import gc
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parent / "benchmarks"))  # last, because benchmarks/service.py is not the service

import altair  # noqa: E402
import figures  # noqa: E402
import generated_pages  # noqa: E402
from docutils import nodes  # noqa: E402
from latex2mathml.converter import convert  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.search.en import SearchEnglish  # noqa: E402

import audiosim  # noqa: E402
from audiosim.report.rendering import inline_svg  # noqa: E402

# Building takes a quarter less time when the garbage collector does not look through all pages again and again, and
# when the stem of a word is not found anew on each of them.
gc.freeze()
gc.set_threshold(50_000, 100)
SearchEnglish.stem = cache(SearchEnglish.stem)

project = "audiosim"
author = "The audiosim developers"
copyright = author  # noqa: A001, Sphinx's name for it
version = release = audiosim.__version__

extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["_build", "gallery/*.py", "sg_execution_times.rst", "**/README.md"]
myst_enable_extensions = ["deflist", "colon_fence", "dollarmath", "amsmath"]
myst_heading_anchors = 3
highlight_language = "none"
suppress_warnings = ["config.cache"]


def charts(_block: Any, block_vars: dict[str, Any], conf: dict[str, Any]) -> str:
    """The charts of a block of the gallery: each inline, with its numbers under the pointer, and as a thumbnail."""
    shown = block_vars["example_globals"].setdefault("__shown__", [])
    found = [one for one in block_vars["example_globals"].values() if isinstance(one, altair.TopLevelMixin)]
    new = [one for one in {id(one): one for one in found}.values() if not any(one is other for other in shown)]
    shown += new
    for chart, place in zip(new, block_vars["image_path_iterator"], strict=False):
        chart.save(place)
    svg = [inline_svg(one, "chart of this example").replace("\n", " ") for one in new]
    return "".join(f".. raw:: html\n\n   <figure>{one}</figure>\n\n" for one in svg)


sphinx_gallery_conf = {
    "image_scrapers": (charts,),
    "examples_dirs": [str(HERE.parent / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/[a-z]",
    "download_all_examples": False,
    "min_reported_time": 0,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "run_stale_examples": True,  # audiosim may have changed, though a script has not
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r".*\.rst",
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
CLIPS = ("d030", "d037")  # of the demo, played on the first page
html_static_path = ["static", *(f"../fixtures/demo/sounds/{clip}.ogg" for clip in CLIPS)]
html_css_files = ["site.css"]
html_title = "audiosim"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

RESULTS = figures.kept()
CHANGED = figures.changed(RESULTS)

# Links in pages of the repository, and their targets on the site.
ELSEWHERE = {
    "(../SECURITY.md)": "(project/security.md)",
    "(../CHANGELOG.md)": "(project/changelog.md)",
    "(../CONTRIBUTING.md)": "(project/contributing.md)",
    "(../README.md)": "(index.md)",
}


def lead_elsewhere(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Turn links to files outside of docs/ into links to the pages that show them."""
    for link, page in ELSEWHERE.items():
        source[0] = source[0].replace(link, page)


def mark_changed_figures(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Say below each table of figures whose code is no longer the measured one."""
    source[0] = figures.with_tables(source[0], RESULTS, CHANGED)


def write_pages(_app: Sphinx) -> None:
    """Write the generated pages: the commands, HTTP, Python, and the files of the repository's root."""
    generated_pages.write(HERE)


def inline_mathml(writer: Any, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers draw without a script from another site."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block_mathml(writer: Any, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect to Sphinx's build."""
    app.add_html_math_renderer("mathml", (inline_mathml, None), (block_mathml, None))
    app.connect("builder-inited", write_pages, priority=1)
    app.connect("source-read", lead_elsewhere)
    app.connect("source-read", mark_changed_figures)


# `make links`
linkcheck_timeout = 15
linkcheck_retries = 2
linkcheck_anchors = False
linkcheck_ignore = [r"http://(localhost|127\.0\.0\.1)", r"https?://[^/]*example\.(org|com)"]
