"""Texts changed during a campaign: lines of its log, applied to the collection when it is opened."""

from dataclasses import replace

import pytest

from audiosim.campaign import Campaign, Event
from audiosim.campaign.archive import anonymous_event
from audiosim.campaign.decisions import check_new, reworded, reworded_by, texts_of
from audiosim.collection.collection import prompts_of
from audiosim.errors import ClosedError, InputError


@pytest.fixture
def campaign(tiny, store):
    return Campaign(tiny, "mjud", "CG@2", store)


def test_the_texts_of_a_log_hold_in_its_order_and_change_no_ranking(campaign, tiny, tiny_truth):
    campaign.tell(tiny_truth[0])
    before = campaign.ranking.scores.mean
    query = next(iter(tiny.runs[0].rankings))
    campaign.rewording.make({"title": "One", "consent": "I agree."}, "olga", "a reason")
    campaign.rewording.make({"query": query, "prompt": "Slow."})
    record = campaign.rewording.make({"title": "Two", "languages": "en,pt-BR"}, key="k")
    assert campaign.rewording.make({"title": "Two", "languages": "en,pt-BR"}, key="k") == record._replace(replayed=True)
    found, line = reworded_by(tiny, campaign.log())
    assert line == record.number == campaign.rewording.line == campaign.rewording.last.number
    assert texts_of(found) == {
        "title": "Two",
        "question": "",
        "instructions": "",
        "consent": "I agree.",
        "language": "",
        "languages": "en, pt-BR",
    }
    assert prompts_of(found) == {query: "Slow."}
    assert list(campaign.ranking.scores.mean) == list(before)
    again, _ = reworded_by(found, campaign.log())
    assert (texts_of(again), prompts_of(again)) == (texts_of(found), prompts_of(found))
    assert reworded_by(tiny, [])[0] is tiny


def test_texts_may_change_while_a_campaign_is_paused_or_closed(campaign):
    campaign.close()
    assert campaign.rewording.make({"title": "At the end"}).event.kind == "words"


def test_a_prompt_of_a_query_that_is_gone_keeps_no_campaign_from_being_opened(campaign, tiny):
    query, *rest = tiny.runs[0].rankings
    campaign.rewording.make({"query": query, "prompt": "Slow."})
    fewer = replace(
        tiny, runs=tuple(type(run)(run.system, {name: run.rankings[name] for name in rest}) for run in tiny.runs)
    )
    assert reworded_by(fewer, campaign.log())[0] is fewer
    with pytest.raises(InputError, match=f"unknown query '{query}'"):
        reworded(fewer, {"query": query, "prompt": "Slow."})


def test_the_same_texts_are_no_change(tiny):
    with pytest.raises(ClosedError, match="these are the present texts: nothing was changed"):
        check_new(tiny, reworded(tiny, {"title": tiny.name, "question": ""}))


def test_a_changed_question_takes_the_place_of_the_task_that_was_the_question(tiny):
    asked = replace(tiny, task="Do they fit?")
    assert texts_of(asked)["question"] == "Do they fit?"
    changed = reworded(asked, {"question": "Is the mood alike?"})
    assert (texts_of(changed)["question"], changed.task) == ("Is the mood alike?", "")
    assert texts_of(reworded(changed, {"question": ""}))["question"] == ""  # the usual one, as the page says
    assert reworded(asked, {"title": "One"}).task == "Do they fit?"
    both = replace(changed, task="Music for one evening.")
    assert reworded(both, {"question": "Is it near?"}).task == "Music for one evening."


def test_a_line_of_texts_has_texts_and_keeps_them_without_the_name_of_its_author():
    with pytest.raises(InputError, match="words needs texts: expected them by name in the details"):
        Event("words", "2013-05-01T12:00:00Z", details={"title": 3})
    event = Event("words", "2013-05-01T12:00:00Z", "ann", details={"title": "One", "reason": "ann said so"})
    found = anonymous_event(event, {"ann": "anonymous-1"})
    assert (found.assessor, found.details) == ("anonymous-1", {"title": "One"})
