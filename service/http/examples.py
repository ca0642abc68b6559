"""A working example of every operation, made from the served data, for the interactive page."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from audiosim.collection.collection import Collection
from audiosim.ordinal.model import Model, model_fields, uniform_model
from audiosim.service.collections.shelf import Served

ASSESSOR, ADJUDICATOR, SYSTEM, RECORDING, JUDGE = "ann", "carol", "my-system", "my-recording", "my-machine"
DRAFT, FILE = "my-draft", "runs/my-system.trec"
MODEL = "my-model"
FEATURES = 1000  # more than any model has: sorts models without features last
JSON, CSV, TEXT, TABLE = "application/json", "text/csv", "text/plain", "text/tab-separated-values"


class RequestExample(NamedTuple):
    """An example of a request.

    parameters  by name, of path and query
    body        by media type
    """

    parameters: Mapping[str, Any]
    body: Mapping[str, Any]


class _Named(NamedTuple):
    """Names used in the examples."""

    collection: Collection
    model: Model
    query: str
    document: str
    grade: float
    other: str
    systems: tuple[str, str]


def examples_of(served: Served, for_all: bool = False) -> dict[str, RequestExample]:
    """An example for each operation with arguments, by its name; none if nothing is served.

    for_all  True if assessors may read it, so that it names no query, document or system that they may hear
    """
    named = _names(served)
    if named is None:
        return {}
    if for_all:
        named = named._replace(query="q1", document="d1", other="d2", systems=("A", "B"))
    made = {name: RequestExample({}, {JSON: body(named)}) for name, body in BODIES.items()}
    made["import_judgments"] = RequestExample({}, {CSV: _judgments(named)})
    made["import_comparisons"] = RequestExample({}, {TABLE: _comparisons(named)})
    made["take_runs"] = RequestExample({"partial": True}, {TEXT: f"{named.query} Q0 {named.document} 1 1.0 {SYSTEM}\n"})
    grades = f"query\tdocument\tgrade\n{named.query}\t{named.document}\t{named.grade:g}\n"
    made["take_judge"] = RequestExample({"judge": JUDGE}, {TEXT: grades})
    made["show_entry"] = RequestExample({"code": "code of the link"}, {})
    made["show_personal_data"] = RequestExample({"assessor": ASSESSOR}, {})
    made["show_completion"] = RequestExample({"assessor": ASSESSOR}, {})
    made["show_import"] = RequestExample({"number": 1}, {})
    made["show_judge_effect"] = RequestExample({"judge": ASSESSOR}, {})
    made["show_model_effect"] = RequestExample({"model": "uniform"}, {})
    own = replace(uniform_model(named.collection.scale), name=MODEL)
    made["keep_model"] = RequestExample({}, {JSON: model_fields(own)})
    made["send_kept_model"] = made["delete_kept_model"] = RequestExample({"name": MODEL}, {})
    made["show_answers"] = RequestExample({"assessor": ASSESSOR}, {})
    system, another = named.systems
    made["show_system_queries"] = RequestExample({"system": system}, {})
    made["show_result_list"] = RequestExample({"system": system, "query": named.query}, {})
    made["compare_systems"] = RequestExample({"a": system, "b": another}, {})
    made["show_picture"] = RequestExample({"document": named.document}, {})
    run = f"{named.query} Q0 {named.document} 1 1.0 {SYSTEM}\n"
    made["take_file"] = RequestExample({"draft": DRAFT, "name": FILE}, {TEXT: run})
    made["add_file"] = RequestExample({"partial": True, "name": FILE}, {TEXT: run.replace(SYSTEM, f"{SYSTEM}-2")})
    made["published_file"] = RequestExample({"number": 1, "name": "record.json"}, {})
    for name in ("send_file_of_draft", "remove_file"):
        made[name] = RequestExample({"draft": DRAFT, "name": FILE}, {})
    for name in ("show_draft", "discard_draft", "check_draft", "create_collection"):
        made[name] = RequestExample({"draft": DRAFT}, {})
    for name in ("set_draft", "plan_draft"):
        made[name] = RequestExample({"draft": DRAFT}, made[name].body)
    for name in ("send_sound", "show_peaks"):
        made[name] = RequestExample({"document": named.document, "collection": named.collection.identifier}, {})
    return made


def _names(served: Served) -> _Named | None:
    """A collection, a model, a pair, if possible with a playable document, and a grade."""
    if not served.models or not served.collections.names:
        return None
    first = served.collection(served.collections.names[0])
    collection = first.collection
    pairs = [(query, name) for run in collection.runs[:1] for query, found in run.rankings.items() for name in found]
    heard = next((pair for pair in pairs if pair[1] in first.sounds), None)
    query, document = heard or next(iter(pairs), ("query", "document"))
    model = simplest_first(served)[0]
    levels = collection.scale.levels
    other = next((name for of, name in pairs if of == query and name != document), f"not {document}")
    systems = [run.system for run in collection.runs] or [SYSTEM]
    two = systems[0], systems[1] if len(systems) > 1 else "another"
    return _Named(collection, model, query, document, levels[len(levels) * 7 // 10], other, two)


def simplest_first(served: Served) -> list[Model]:
    """The models, those with few features first and those without any last."""
    return sorted(served.models.values(), key=lambda one: (len(one.features) or FEATURES, one.name))


def _judgments(named: _Named) -> str:
    return f"query,document,grade,assessor\n{named.query},{named.document},{named.grade:g},{ASSESSOR}\n"


def _comparisons(named: _Named) -> str:
    rows = ("query", "document_a", "document_b", "answer"), (named.query, named.document, named.other, "a")
    return "".join("\t".join(row) + "\n" for row in rows)


def _runs(named: _Named) -> dict[str, Any]:
    first, second = named.systems
    return {first: {named.query: [named.document]}, second: {named.query: [named.other]}}


def _grades(named: _Named) -> dict[str, Any]:
    return {named.query: {named.document: named.grade, named.other: 0}}


def _reason(_: _Named) -> dict[str, Any]:
    return {"reason": "lunch"}


BODIES: dict[str, Callable[[_Named], dict[str, Any]]] = {
    "predict_rows_of_features": lambda named: {
        "features": {feature: [0.25, 0.75] for feature in named.model.features},
        "include": ["probabilities"],
    },
    "predict_pairs_of_collection": lambda named: {
        "query": [named.query],
        "document": [named.document],
        "include": ["probabilities"],
    },
    "evaluate_systems": lambda named: {"runs": _runs(named), "judgments": _grades(named), "measure": "nDCG@1"},
    "estimate_systems": lambda named: {"runs": _runs(named), "judgments": _grades(named), "measure": "CG@1"},
    "begin_draft": lambda _: {"name": DRAFT},
    "set_draft": lambda _: {"title": "Our systems", "scale": "fine"},
    "plan_draft": lambda _: {"stopping_rule": "confidence=0.9", "listeners": 3},
    "make_collection": lambda named: {
        "name": "my-collection",
        "runs": _runs(named),
        "settings": {"title": "Our systems"},
    },
    "send_prior": lambda _: {},
    "lease_pairs": lambda _: {"assessor": ASSESSOR, "count": 2},
    "add_judgment": lambda named: {
        "query": named.query,
        "document": named.document,
        "assessor": ASSESSOR,
        "grade": named.grade,
    },
    "add_questionnaire": lambda _: {"assessor": ASSESSOR, "moment": "after"},
    "lease_comparisons": lambda _: {"assessor": ASSESSOR, "count": 2},
    "add_comparison": lambda named: {
        "query": named.query,
        "document_a": named.document,
        "document_b": named.other,
        "answer": "a",
        "assessor": ASSESSOR,
    },
    "undo_answer": lambda _: {"assessor": ASSESSOR},
    "pause": _reason,
    "resume": lambda _: {},
    "close": _reason,
    "change_texts": lambda _: {"instructions": "Listen to both clips to the end.", "reason": "people asked"},
    "change_prompt": lambda named: {"query": named.query, "prompt": "A quiet song with a piano."},
    "choose_model": lambda _: {"model": "uniform", "reason": "to compare"},
    "train_model": lambda _: {"name": "ours", "features": "output", "folds": 5},
    "ask_adjudication": lambda named: {
        "query": named.query,
        "document": named.document,
        "assessor": ADJUDICATOR,
    },
    "set_aside": lambda _: {"judge": ASSESSOR, "reason": "did not listen"},
    "take_back": lambda _: {"judge": ASSESSOR},
    "invite": lambda _: {"name": ASSESSOR, "days": 30},
    "withdraw": lambda _: {"name": ASSESSOR},
    "make_open_link": lambda _: {
        "name": "Prolific",
        "people": 100,
        "parameter": "PROLIFIC_PID",
        "judgments": 40,
        "completion": "C0DE1234",
        "return_to": "https://app.prolific.com/submissions/complete?cc=C0DE1234",
    },
    "close_open_link": lambda _: {"name": "Prolific"},
    "join_campaign": lambda _: {"code": "code of the link", "device": "0123456789abcdef", "reference": "5f3c2d"},
    "forget_person": lambda _: {"assessor": ASSESSOR},
    "share_results": lambda _: {"name": "steering group", "days": 30},
    "revoke_link": lambda _: {"name": "steering group"},
    "publish_page": lambda _: {"authors": ["Ann Smith"], "licence": "CC-BY-4.0", "words": "Four systems, six people."},
    "withdraw_publication": lambda _: {"number": 1},
    "take_document": lambda _: {"document": RECORDING, "artist": "Somebody", "genre": "jazz"},
    "open_session": lambda _: {"token": "audiosim_..."},
}
