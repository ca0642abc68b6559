"""No number in a request sizes an allocation: however large, it gets an answer or a refusal in little memory."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = '''
import asyncio
import json
import os
import resource
import sys
from pathlib import Path

import httpx
import msgspec

from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Document, Run
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.drafts import Home
from audiosim.service.types.drafts import DraftSettingsIn, NewDraftIn, StoppingRuleIn

ROOM = 2**28  # bytes for all requests together
HUGE = ("999999", "1000000000", "1000000000000", "9223372036854775808", "1e12", "1e308")
runs = tuple(
    Run(system, {f"q{q}": tuple(f"d{(q + i * step) % 7}" for i in range(4)) for q in range(3)})
    for step, system in ((1, "A"), (2, "B"), (3, "C"))
)
documents = {f"d{i}": Document(f"d{i}", f"a{i % 3}", f"g{i % 2}") for i in range(7)}
place = Path(sys.argv[1])
judging = Judging(f"sqlite:///{place / 'campaigns.db'}")
app = create_app([Collection("small", "small", FINE, 4, runs, documents)], judging=judging, home=Home(place / "home"))
client = httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://localhost")
openapi = app.openapi()
FILLED = {"collection": "small", "draft": "new", "model": "mout-fine", "system": "A"}
FEATURES = ("fSYS", "OV", "fART", "sGEN", "fGEN")
KNOWN = {
    "query": "q0", "document": "d1", "document_a": "d1", "document_b": "d2", "assessor": "ann", "answer": "a",
    "judge": "ann", "measure": "CG@4", "a": "A", "b": "B", "system": "A", "features": {one: [0.5] for one in FEATURES},
}  # fmt: skip
GRADED = {"query": ["q0"], "document": ["d1"], "grade": [1.0]}
BESIDE = {  # by the end of the address
    "judgments": {"fine": 50}, "predictions": {"judgments": GRADED}, "prior": {"learned": GRADED},
    "trainings": {"features": "OV"}, "plan": {"stopping_rule": "judgments=3"},
}  # fmt: skip


def of(schema):
    while "$ref" in schema:
        schema = openapi["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def numbers(schema, within=(), inside=()):
    """The places of all numbers in values of a schema."""
    if schema.get("$ref") in inside:
        return
    inside, schema = (*inside, schema.get("$ref", "")), of(schema)
    for key in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(key, ()):
            yield from numbers(one, within, inside)
    if {"integer", "number"} & {schema.get("type"), *(schema["type"] if isinstance(schema.get("type"), list) else ())}:
        yield within
    for name, one in schema.get("properties", {}).items():
        yield from numbers(one, (*within, name), inside)
    for key, name in (("items", 0), ("additionalProperties", "OV")):
        if isinstance(schema.get(key), dict):
            yield from numbers(schema[key], (*within, name), inside)


def value(schema, name=""):
    """A value of a schema, with what it requires alone."""
    schema = of(schema)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return value(next((one for one in schema[key] if one.get("type") != "null"), schema[key][0]), name)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object" and name not in KNOWN:
        known = (*schema.get("required", ()), *KNOWN)
        return {key: value(one, key) for key, one in schema.get("properties", {}).items() if key in known}
    if isinstance(KNOWN.get(name), {"object": dict, "array": list}.get(kind, str)):
        return KNOWN[name]
    if kind == "array" and name in KNOWN:
        return [KNOWN[name]]
    plain = {"array": [], "integer": schema.get("minimum", 1), "number": 1.0, "boolean": True, "null": None}
    return plain.get(kind, "x")


def put(address, schema, where, said):
    """The JSON of a body with a number at a place."""
    mark, known = "the number", of(schema).get("properties", {})
    more = {name: one for name, one in BESIDE.get(address.rpartition("/")[2], {}).items() if name in known}
    body = json.loads(json.dumps(value(schema) | more))
    inner = body
    for key, following in zip(where, (*where[1:], None)):
        there = (inner[:1] or [None])[0] if key == 0 else inner.get(key)
        wanted = mark if following is None else [] if following == 0 else {}
        if following is None or type(there) is not type(wanted):
            inner[slice(1) if key == 0 else key] = [wanted] if key == 0 else wanted
            there = wanted
        inner = there
    return json.dumps(body).replace(json.dumps(mark), said)


def requests(said):
    """All requests with a number in the place of one number."""
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            parameters = {one["name"]: one for one in operation.get("parameters", ())}
            address = path.format_map({name: FILLED.get(name, said) for name in parameters})
            schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            needed = {
                name: value(one["schema"], name)
                for name, one in parameters.items()
                if one["in"] == "query" and (one.get("required") or name == "assessor")
            }
            for where in dict.fromkeys(numbers(schema)):
                yield method, address, needed, put(address, schema, where, said)
            for name, one in parameters.items():
                if one["in"] == "path" and name not in FILLED and [*numbers(one["schema"])]:
                    yield method, address, needed, None
                if one["in"] == "query" and [*numbers(one["schema"])]:
                    yield method, address, {**needed, name: said}, json.dumps(value(schema)) if schema else None
                if name == "measure":
                    yield method, address, {**needed, name: f"nDCG@{said}"}, None
    for kind, address in ((DraftSettingsIn, "settings"), (StoppingRuleIn, "plan")):
        _, found = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
        openapi["components"]["schemas"] |= found
        schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
        for where in dict.fromkeys(numbers(schema)):
            yield "post", f"/v1/drafts/new/{address}", {}, put(address, schema, where, said)
    for body in ({"scale": f"0-{said}"}, {"scale": f"0,{said}"}, {"measure": f"nDCG@{said}"},
                 {"stopping_rule": f"judgments={said}"}):  # fmt: skip
        yield "post", "/v1/drafts/new/settings", {}, json.dumps(body)
        yield "get", "/v1/drafts/new/check", {}, None


async def main():
    await client.post("/v1/drafts", json={"name": "new"})
    lines = "".join(
        f"{query} Q0 {document} {rank} {-rank} {run.system}\\n"
        for run in runs for query, found in run.rankings.items() for rank, document in enumerate(found)
    )
    await client.post("/v1/drafts/new/files", params={"name": "all.trec"}, content=lines.encode())
    taken = set()
    for said in ("1", *HUGE):
        if said == HUGE[0]:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM,) * 2)
        for method, address, parameters, body in requests(said):
            headers = {"content-type": "application/json"}
            answer = await client.request(method, address, params=parameters, content=body, headers=headers)
            if said == "1" and answer.status_code < 300:
                taken.add(address)
            if answer.status_code >= 500:
                print(answer.status_code, method, address, parameters, body, answer.text[:300])
    print("places", sum(1 for _ in requests("1")), "taken", len(taken))


asyncio.run(main())
os._exit(0)  # background threads have nothing to end here
'''


@pytest.mark.slow
def test_no_number_in_a_request_takes_memory_or_breaks_the_service(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    *faults, said = done.stdout.splitlines() or [done.stderr[-2000:]]
    assert faults == []
    places, taken = map(int, re.fullmatch(r"places (\d+) taken (\d+)", said).groups())
    assert places >= 59  # as many as the document has
    assert taken >= 24  # requests that are taken with a 1
