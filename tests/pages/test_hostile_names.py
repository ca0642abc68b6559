"""Names that are markup, in every place for a name, shown by the pages in a real browser: none of it runs."""

import json
import shutil
from urllib.parse import quote

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

# Texts that would run if taken for markup: in an element, an attribute, a script, a style, a template or an address.
IMAGE = "<img/src=x/onerror=window.pwned=1>"
ATTRIBUTE = "\"autofocus/onfocus=window.pwned=1//'onmouseover=window.pwned=1//"
SCRIPT = "</script><script>window.pwned=1</script><!--"
ADDRESS = "javascript:window.pwned=1"
TEMPLATE = "${window.pwned=1}{{constructor.constructor('window.pwned=1')()}}<svg/onload=window.pwned=1>"
NAMES = (IMAGE, ATTRIBUTE, SCRIPT, ADDRESS, TEMPLATE)
BACKWARDS = "\u202e"  # following text runs from right to left, up to the end of its isolation
FOREIGN = "img[src=x], svg[onload], [onerror], [onload], [onfocus], [onmouseover], a[href^=javascript]"


@pytest.fixture(scope="module")
def hostile(demo, tmp_path_factory):
    """The demo collection, with sound, in which every name is one of these."""
    folder = tmp_path_factory.mktemp("hostile") / "demo"
    shutil.copytree(demo, folder)
    settings = (folder / "collection.toml").read_text(encoding="utf-8").splitlines()
    name = json.dumps(f"{BACKWARDS}{''.join(NAMES)}")
    settings = [f"name = {name}", *(line for line in settings if not line.startswith("name"))]
    (folder / "collection.toml").write_text("\n".join(settings) + "\n", encoding="utf-8")
    documents = [line.split("\t") for line in (folder / "documents.tsv").read_text(encoding="utf-8").splitlines()]
    header, rows = documents[0], documents[1:]
    columns = {column: header.index(column) for column in ("document", "artist", "genre")}
    renamed = {}
    for number, row in enumerate(rows):
        renamed[row[columns["document"]]] = f"{row[columns['document']]}{NAMES[number % len(NAMES)]}"
        row[columns["document"]] = renamed[row[columns["document"]]]
        row[columns["artist"]] += IMAGE
        row[columns["genre"]] += SCRIPT
    (folder / "documents.tsv").write_text("".join("\t".join(row) + "\n" for row in documents), encoding="utf-8")
    queries = [line.split("\t") for line in (folder / "queries.tsv").read_text(encoding="utf-8").splitlines()]
    lines = ["\t".join(queries[0])] + [f"{query}{ATTRIBUTE}\t{renamed[document]}" for query, document in queries[1:]]
    (folder / "queries.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    systems = {}
    for number, path in enumerate(sorted((folder / "runs").iterdir())):
        fields = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        system = systems.setdefault(fields[0][5], f"{BACKWARDS}{fields[0][5]}{NAMES[number % len(NAMES)]}")
        text = "".join(
            f"{q}{ATTRIBUTE} {zero} {renamed[d]} {rank} {score} {system}\n" for q, zero, d, rank, score, _ in fields
        )
        path.write_text(text, encoding="utf-8")
    teams = [line.split("\t") for line in (folder / "systems.tsv").read_text(encoding="utf-8").splitlines()]
    lines = ["\t".join(teams[0])] + [f"{systems[system]}\t{team}{TEMPLATE}" for system, team in teams[1:]]
    (folder / "systems.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def live(hostile, commanded, tmp_path):
    with commanded(
        [hostile], tmp_path / "log", "--db", f"sqlite:///{tmp_path / 'campaign.db'}", "--model", "mout"
    ) as running:
        yield running


# Texts in which a name reverses what follows: beside others in a block, without <bdi> or isolating characters.
TURNED = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    const open = data.replace(/\\u2068[^\\u2069]*\\u2069/g, "");
    if (!open.includes("\\u202e") || parentElement.closest("bdi, option, title, script")) continue;
    let block = parentElement;
    while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    if (block.textContent.trim() !== data.trim() || !data.trim().startsWith("\\u202e")) found.push(block.outerHTML);
  }
  return found;
}"""


def check_harmless(page):
    assert page.evaluate("window.pwned") is None
    assert page.locator(FOREIGN).count() == 0
    assert page.evaluate(TURNED) == []


def test_the_judging_page_shows_hostile_names_as_text(browse):
    page = browse("/judge/demo?listen=0")
    page.locator("#name:focus").wait_for()
    page.keyboard.insert_text(f"{BACKWARDS}Ann{IMAGE}")
    page.keyboard.press("Enter")
    page.locator("#screen-start:not([hidden])").wait_for()
    expect(page.locator("body")).to_contain_text(IMAGE)
    check_harmless(page)
    skip = page.locator("#skip-training")
    if skip.is_visible():
        skip.click()
    else:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    page.locator("#screen-desk:not([hidden])").wait_for()
    check_harmless(page)


def test_the_organisers_page_shows_hostile_names_as_text(browse, http):
    path = "/v1/collections/demo"
    pairs = http.post(f"{path}/next", json={"assessor": f"{BACKWARDS}Ann{ATTRIBUTE}", "count": 3}).json()["pairs"]
    for pair, said in zip(
        pairs,
        ({"fine": 10, "note": f"{BACKWARDS}{SCRIPT}"}, {"cannot": f"{BACKWARDS}{IMAGE}"}, {"fine": 90}),
        strict=True,
    ):
        body = {"query": pair["query"], "document": pair["document"], "assessor": f"{BACKWARDS}Ann{ATTRIBUTE}", **said}
        assert http.post(f"{path}/judgments", json=body).status_code == 201
    wrong = f"query,document,fine\n{pairs[0]['query']},{IMAGE},10\n".encode()
    assert http.post(f"{path}/judgments/import", content=wrong).status_code in (422, 202)  # 202 if reading takes long
    assert http.post(f"{path}/invitations", json={"name": f"Bob{TEMPLATE}"}).is_success
    page = browse("/organise/demo")
    page.click("#tab-results")
    expect(page.locator("#imports")).to_contain_text(IMAGE)
    expect(page.locator("body")).to_contain_text(IMAGE)
    expect(page.locator("body")).to_contain_text(f"Ann{ATTRIBUTE}")
    assert http.post(f"{path}/pause", json={"reason": f"{BACKWARDS}lunch{IMAGE}"}).is_success
    expect(page.locator("#pause")).to_be_hidden()
    for summary in page.locator("details:not([open]) > summary").all():
        if summary.is_visible():
            summary.click()
    check_harmless(page)


def test_the_start_page_shows_hostile_names_as_text(browse):
    page = browse("/")
    expect(page.locator("#collections")).to_contain_text(IMAGE)
    check_harmless(page)


@pytest.fixture
def asked(hostile, commanded, tmp_path):
    """A server with an own question, written entirely in markup."""
    said = {"name": "known", "kind": "choice", "text": f"Do you know it?{IMAGE}", "levels": [f"no{IMAGE}", "yes"]}
    lines = ["[[question]]", *(f"{name} = {json.dumps(value)}" for name, value in said.items())]
    lines.append(f"words = {json.dumps([f'never{ATTRIBUTE}', f'often{TEMPLATE}'])}")
    (tmp_path / "questions.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions = str(tmp_path / "questions.toml")
    with commanded([hostile], tmp_path / "log", "--model", "mout", AUDIOSIM_QUESTIONS=questions) as running:
        yield running


def test_questions_and_reasons_of_hostile_words_are_shown_as_text(asked, browse, watch):
    watch.expected.append("409")  # it is paused in the middle
    page = browse(f"/judge/demo#name={quote(f'{BACKWARDS}Ann{IMAGE}')}")
    page.locator("#screen-start:not([hidden])").wait_for()
    page.locator("#skip-training").click()
    page.locator("#screen-desk:not([hidden])").wait_for()
    for words in (f"Do you know it?{IMAGE}", f"never{ATTRIBUTE}", f"often{TEMPLATE}"):
        expect(page.locator("body")).to_contain_text(words)
    check_harmless(page)
    with asked.client() as http:
        assert http.post("/v1/collections/demo/pause", json={"reason": f"{BACKWARDS}{SCRIPT}"}).is_success
    again = browse(f"/judge/demo#name=Bob{quote(IMAGE)}")
    expect(again.locator("body")).to_contain_text(SCRIPT)
    check_harmless(again)


def test_a_page_of_a_collection_of_a_hostile_name_shows_it_as_text(browse, watch):
    watch.expected.append("404")
    page = browse("/organise/%3Cimg%20src=x%20onerror=window.pwned=1%3E")
    page.wait_for_load_state("load")
    check_harmless(page)
