"""One ranking of a campaign: whatever states a ranking of one state of the judgments states the same one."""

import io
import json
import re
import zipfile

import numpy as np
import pytest

from audiosim import history, write_report
from audiosim.campaign.reader import with_log
from audiosim.collection.pool import build_pool
from audiosim.ranking.expected import estimate
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging

KEYS = ("expectation", "low", "high", "best", "top", "rank_low", "rank_high")


def rows(systems):
    return {one["system"]: [one[key] for key in KEYS] for one in systems}


def record_in(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("record.json")]
        return json.loads(archive.read(name))


def judge(client, collection, rng):
    """Grades by three people of different severity and taste."""
    place, pairs = f"/v1/collections/{collection.identifier}", list(build_pool(collection, 3).pairs)
    highest = collection.scale.maximum
    truth = dict(zip(pairs, rng.random(len(pairs)), strict=True))
    for who, shift in (("ann", -0.2), ("bob", 0.0), ("cid", 0.25)):
        for place_of in rng.permutation(len(pairs))[: rng.integers(9, 18)].tolist():
            value = np.clip(truth[pairs[place_of]] + shift + 0.1 * rng.standard_normal(), 0, 1)
            grade = min(collection.scale.levels, key=lambda level: abs(level - value * highest))
            said = {"query": pairs[place_of].query, "document": pairs[place_of].document, "assessor": who}
            assert client.post(f"{place}/judgments", json=said | {"grade": grade}).is_success


@pytest.mark.slow
def test_all_faces_of_a_campaign_with_several_judges_say_the_same(coarse, in_process, tmp_path):
    url = f"sqlite:///{tmp_path}/campaign.db"
    place = "/v1/collections/coarse"
    app = create_app([coarse], judging=Judging(database=url, measure="CG@3"))
    with in_process(app) as client:
        judge(client, coarse, np.random.default_rng(0))
        ranking = client.get(f"{place}/ranking").json()
        bundle = record_in(client.get(f"{place}/report").content)
        made = client.post(f"{place}/publications", json={"named": False}).json()
        published = record_in(client.get(made["bundle"]).content)
        qrels = client.get(f"{place}/judgments", params={"format": "qrels"})
        while not (course := client.get(f"{place}/course").json())["complete"]:
            pass
    judged = with_log(url, coarse)
    stated = estimate(judged, measure="CG@3")
    assert stated.judges == 3
    here = rows(Verdicts(stated).to_dict()["systems"])
    zipped = write_report(coarse, tmp_path / "record.zip", ["CG@3"], judgments=url)
    page = write_report(coarse, tmp_path / "page.html", ["CG@3"], judgments=url, about="these").read_text()
    looked = history(coarse, measure="CG@3", looks=1, judgments=url).looks[-1]
    faces = {"ranking": ranking, "bundle": bundle, "published": published, "zip": record_in(zipped.read_bytes())}
    for name, found in faces.items():
        assert rows(found["systems"]) == {
            system: pytest.approx(values, rel=0, abs=1e-12) for system, values in here.items()
        }, name
        assert found["confidence"] == pytest.approx(stated.confidence, rel=0, abs=1e-12), name
        assert found["judged"] == stated.judged, name
    assert published["headline"] == {
        **bundle["headline"],
        "confidence": pytest.approx(bundle["headline"]["confidence"]),
    }
    assert looked.confidence == pytest.approx(stated.confidence, rel=0, abs=1e-12)
    assert {one.system: one.score for one in looked.ranked} == pytest.approx(
        {system: values[0] for system, values in here.items()}, rel=0, abs=1e-12
    )
    assert course["moments"][-1]["confidence"] == pytest.approx(stated.confidence, rel=0, abs=1e-12)
    assert bundle["curve"][-1][1] == pytest.approx(stated.confidence, rel=0, abs=1e-12)
    order = [stated.systems[i] for i in stated.scores.order]
    page = page.partition("<h2>Ranking on these queries</h2>")[2].partition("<h2>")[0]
    shown = dict(re.findall(r"<td[^>]*>(S\d)</td>\s*<td[^>]*>([.\d]+)</td>", page))
    assert {system: float(shown[system]) for system in order} == pytest.approx(
        {system: values[0] for system, values in here.items()}, abs=5.1e-4
    )
    assert qrels.headers["Audiosim-Lost"].startswith("names, times and comparisons: a ranking from this file takes")
