"""The parts of a campaign by themselves: settings, people, files, numbers of judges, and what is said in words."""

import json
import re
import zipfile
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from scipy.stats import binomtest

from podium.active import Planner
from podium.active.tally import KINDS as TALLIED
from podium.campaign import archive, desk, exchange, items, judges, marks, planning, report, setup, standing
from podium.campaign.choosing import loaded_planner, predicted, ranks_by_code
from podium.campaign.items import Items, media_type, read_items
from podium.campaign.live import live_votes
from podium.campaign.marks import AllMarks, Marked, campaign_marks
from podium.campaign.options import Options
from podium.campaign.standing import Share, Standing, share, stable_at
from podium.errors import DataWarning, InputError, RefusedError
from podium.store import open_store
from podium.store.values import KINDS, Call, Event, Item, Media, Question, Vote, pair_of
from podium.text import chance

from suites.campaigns import MINUTE, START, Bench

COMPREHENSION = {"question": "What is judged?", "answers": ["taste", "price"], "right": 1}


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        yield store


def events(bench, *verbs):
    return [each for each in bench.read(lambda reader: reader.events(bench.id)) if each.verb in verbs]


def log(bench, *rows):
    """Rows (judge, left, right, outcome, more) as they are."""
    votes = [Vote(judge, f"x{k}", a, b, value, **more) for k, (judge, a, b, value, more) in enumerate(rows)]
    bench.do(lambda writer: writer.append_votes(votes))
    return bench.content()


# ---- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ties": 1}, "ties is 1; give true or false"),
        ({"top": 0}, "top is 0; give a whole number from 1 on"),
        ({"budget": True}, "budget is True"),
        ({"target": 2**31}, "target is 2147483648"),
        ({"votes_per_pair": None}, "votes_per_pair is None"),
        ({"tired_after": 1.0}, "tired_after is 1.0"),
        ({"check_share": 0.991}, "check_share is 0.991; give a number from 0 to 0.99"),
        ({"check_share": -0.01}, "check_share is -0.01"),
        ({"check_share": True}, "check_share is True"),
        ({"lease_minutes": 0.09}, "lease_minutes is 0.09; give a number from 0.1 to 1440"),
        ({"lease_minutes": 1441}, "lease_minutes is 1441"),
        ({"texts": []}, r"texts is \[\]; give names and words"),
        ({"gold": "ab"}, r"gold is 'ab'; give a list of \[left, right, answer\]"),
        ({"gold": [["a", "b", 1], ["a", "b"]]}, r"gold, row 2: \['a', 'b'\] is not"),
        ({"gold": [["a", "b", 2]]}, "gold, row 1: .* is not"),
        ({"gold": [["a", "a", 1]]}, "gold, row 1: .* with two items and 1 or 0"),
        ({"gold": ["abc"]}, "gold, row 1: 'abc' is not"),
        ({"texts": {"comprehension": {"question": "x"}}}, "comprehension is a question, at least two answers"),
        ({"texts": {"comprehension": "x"}}, "comprehension is a question, at least two answers"),
        ({"texts": {"comprehension": COMPREHENSION | {"question": 3}}}, "comprehension is a question"),
        ({"texts": {"comprehension": COMPREHENSION | {"answers": ["one"]}}}, "at least two answers"),
        ({"texts": {"comprehension": COMPREHENSION | {"answers": "ab"}}}, "at least two answers"),
        ({"texts": {"comprehension": COMPREHENSION | {"answers": ["a", " "]}}}, "every answer needs some words"),
        ({"texts": {"comprehension": COMPREHENSION | {"answers": ["a", 3]}}}, "every answer needs some words"),
        ({"texts": {"comprehension": COMPREHENSION | {"right": 2}}}, "right is 2; give the place of an answer, 0 to 1"),
        ({"texts": {"comprehension": COMPREHENSION | {"right": -1}}}, "right is -1; give the place"),
        ({"texts": {"comprehension": COMPREHENSION | {"right": True}}}, "right is True; give the place"),
        ({"marks": {"scale": {1}}}, "marks: give numbers and words"),
        ({"marks": {"other": 1}}, "marks is .*; give scale, known marks or both"),
        ({"marks": {}}, "marks need a scale, as 0 to 100, or known marks"),
        ({"marks": {"known": {"a": 1}}}, "one known mark fixes no scale"),
        ({"marks": {"known": [1]}}, r"known marks are \[1\]; give items and their marks"),
        ({"marks": {"known": {"a": True, "b": 2}}}, "a known mark is True; give a number"),
        ({"marks": {"scale": [0, 1], "boundaries": [1]}}, r"boundaries are \[1\]; give grades"),
        ({"other": 1}, "option 'other' is unknown; there are budget, check_share, gold, "),
    ],
)
def test_settings_that_cannot_be(given, words):
    with pytest.raises(InputError, match=words):
        Options.of(given)


def test_settings_at_their_ends_and_as_others_take_them():
    ends = Options.of({"top": 1, "budget": 2**31 - 1, "check_share": 0, "lease_minutes": 0.1, "votes_per_pair": 1})
    assert (ends.goal, ends.lease) == (("top", 1), 6000)
    wide = Options.of({"check_share": 0.99, "lease_minutes": 1440, "gold": [["a", "b", 0]],
                       "texts": {"comprehension": COMPREHENSION | {"right": 0}}})  # fmt: skip
    assert (wide.goal, wide.lease, wide.gold) == ("order", 86_400_000, (("a", "b", 0),))
    assert Options.of(wide.stored()) == wide
    assert json.loads(json.dumps(wide.stored()))["gold"] == [["a", "b", 0]]


# ---- making and changing --------------------------------------------------------------------------------------------


def test_words_have_their_lengths(store):
    def make(**more):
        given = {"title": "Tea", "question": "Which?", "now": 1} | more
        items = Items([Item(-1, "a"), Item(-1, "b")])
        return store.write(0, lambda writer: setup.new_campaign(writer, items, **given))[0]

    for name, most in (("title", 200), ("question", 1000), ("instructions", 100_000)):
        assert getattr(make(**{name: "x" * most}), name) == "x" * most
        with pytest.raises(InputError, match=f"{name} has {most + 1:,} characters; at most {most:,}"):
            make(**{name: "x" * (most + 1)})
        with pytest.raises(InputError, match=f"{name} is 3; give some words"):
            make(**{name: 3})
    for name in ("title", "question"):
        with pytest.raises(InputError, match=f"{name} is ' '; give some words"):
            make(**{name: " "})
    assert make(instructions="").instructions == ""
    drafted = make(state="draft")
    assert (drafted.state, drafted.version, drafted.made) == ("draft", 1, 1)
    assert 0 <= drafted.seed < 2**31
    assert make(title="Été — 2026!").slug == "ete-2026"
    assert make(title="茶").slug == "campaign"
    assert len(make(title="long " * 30).slug) <= 60


def test_what_happens_while_it_runs_is_told_by_events(store):
    bench = Bench(store, items=3)
    assert [each.data for each in events(bench, "state", "items")] == [{"to": "open"}, {"added": [0, 1, 2]}]
    bench.do(lambda writer: setup.add_items(writer, Items([Item(-1, "new"), Item(-1, "newer")]), 7))
    assert events(bench, "items")[-1] == Event(
        "items", {"added": [3, 4]}, "organiser", 7, events(bench, "items")[-1].seq
    )
    assert [(item.code, item.added) for item in bench.content().items[3:]] == [(3, 7), (4, 7)]
    bench.do(lambda writer: setup.withdraw(writer, 3, 8))
    bench.do(lambda writer: setup.withdraw(writer, 3, 9))  # it is so already
    assert bench.content().items[3].withdrawn == 8
    bench.do(lambda writer: setup.withdraw(writer, 3, 10, back=True))
    bench.do(lambda writer: setup.withdraw(writer, 3, 11, back=True))
    assert [each.data for each in events(bench, "items")[2:]] == [{"withdrawn": [3]}, {"restored": [3]}]
    with pytest.raises(RefusedError, match="there is no item 9 in this campaign"):
        bench.do(lambda writer: setup.withdraw(writer, 9, 8))
    with pytest.raises(InputError, match="'new' is in the campaign already; names must differ"):
        bench.do(lambda writer: setup.add_items(writer, Items([Item(-1, "new")]), 7))


def test_a_plan_is_due_after_items_came(store):
    bench = Bench(store, items=4)
    there = bench.read(lambda reader: reader.campaign(bench.id))
    assert there.planned_at == -4
    bench.do(lambda writer: setup.add_items(writer, Items([Item(-1, "new")]), 7))
    assert bench.read(lambda reader: reader.campaign(bench.id)).planned_at == -5


def test_the_title_may_change_and_the_question_of_a_draft(store):
    bench = Bench(store)
    bench.do(lambda writer: setup.set_words(writer, 5, title="Coffee"))
    bench.do(lambda writer: setup.set_words(writer, 6, title="Coffee", question="Which?"))  # as it is
    assert bench.read(lambda reader: reader.campaign(bench.id)).title == "Coffee"
    assert [each.data for each in events(bench, "options")] == [{"title": "Coffee"}]
    with pytest.raises(RefusedError, match="the question is fixed once the campaign is open"):
        bench.do(lambda writer: setup.set_words(writer, 7, question="Whose?"))
    bench.do(lambda writer: writer.change(state="draft") and None)
    bench.do(lambda writer: setup.set_words(writer, 7, title="Milk", question="Whose?"))
    there = bench.read(lambda reader: reader.campaign(bench.id))
    assert (there.title, there.question) == ("Milk", "Whose?")
    for bad in ({"title": ""}, {"title": "x" * 201}, {"question": "x" * 1001}):
        with pytest.raises(InputError, match=f"{next(iter(bad))} "):
            bench.do(lambda writer, bad=bad: setup.set_words(writer, 7, **bad))


def test_states_follow_one_another_and_are_told_once(store):
    bench = Bench(store)
    for state in ("open", "paused", "paused", "closed", "open", "closed"):
        bench.do(lambda writer, state=state: setup.set_state(writer, state, 5))
    assert [each.data["to"] for each in events(bench, "state")] == ["open", "paused", "closed", "open", "closed"]
    for state in ("paused", "draft"):
        with pytest.raises(RefusedError, match=f"the campaign is closed; it cannot be {state} from there"):
            bench.do(lambda writer, state=state: setup.set_state(writer, state, 5))


def test_settings_are_changed_by_name_and_gold_by_items_there_are(store):
    bench = Bench(store, items=3)
    bench.do(lambda writer: setup.set_options(writer, {"budget": 9}, 5))
    assert events(bench, "options")[-1].data == {"budget": 9}
    stored = bench.read(lambda reader: reader.campaign(bench.id)).options
    assert (stored["budget"], stored["ties"]) == (9, True)
    with pytest.raises(InputError, match="gold, row 2: there is no item 'x'; check its name"):
        bench.do(lambda w: setup.set_options(w, {"gold": [["item 0", "item 1", 1], ["item 0", "x", 1]]}, 5))
    with pytest.raises(InputError, match="top 6: there are 6 items; give 1 to 5"):
        Bench(store, top=6)
    assert Bench(store, top=5).campaign.options["top"] == 5
    with pytest.raises(InputError, match="1 item; a ranking needs at least two"):
        Bench(store, items=1)


def test_files_of_a_campaign_end_where_they_should(store, monkeypatch):
    monkeypatch.setattr(setup, "MOST_MEDIA", 10)
    bench = Bench(store)

    def add(key, size):
        items = Items([Item(-1, key, "image", None, key)], {key: Media(key, "image/png", b"x" * size)})
        bench.do(lambda writer: setup.add_items(writer, items, 1))

    add("a", 6)
    add("b", 4)
    with pytest.raises(InputError, match="its files would have 11 bytes in all; a campaign holds 10"):
        add("c", 1)


# ---- people ---------------------------------------------------------------------------------------------------------


def test_who_is_invited(store):
    bench = Bench(store)
    ((judge, token),) = bench.do(lambda writer: setup.invite(writer, ["cy"], 5, kind="model", target=7))
    assert (judge.name, judge.kind, judge.target, judge.made, judge.state) == ("cy", "model", 7, 5, "active")
    assert bench.read(lambda reader: reader.judge(bench.id, judge.id)) == judge
    assert events(bench, "judge")[-1].data == {"judge": judge.id, "to": "active"}
    assert setup.is_token(token, judge.token_hash)
    for names, more, words in (
        (["cy"], {}, "there is a judge 'cy' already"),
        (["dee"], {"kind": "robot"}, "kind 'robot' is unknown; it is person, model or import"),
        (["dee"], {"target": 0}, "target is 0"),
        ([" "], {}, "name is ' '; give some words"),
        (["x" * 201], {}, "name has 201 characters; at most 200"),
    ):
        with pytest.raises(InputError, match=words):
            bench.do(lambda writer, names=names, more=more: setup.invite(writer, names, 5, **more))


def test_a_new_link_ends_the_old_one(store):
    bench = Bench(store)
    _, old = bench.links[0]
    new = bench.do(lambda writer: setup.new_link(writer, 0, 5))
    found = [bench.read(lambda reader, t=t: reader.judge_of_token(setup.hash_of(t))) for t in (old, new)]
    assert found[0] is None
    assert found[1][1].id == 0
    assert events(bench, "judge")[-1].data == {"judge": 0, "new_link": True}
    bench.do(lambda writer: setup.invite(writer, ["robot"], 5, kind="model"))
    with pytest.raises(RefusedError, match="'robot' is no person with a link; invite one"):
        bench.do(lambda writer: setup.new_link(writer, 2, 5))


def test_the_campaign_of_an_open_link(store):
    one, two = Bench(store), Bench(store)
    link = two.do(lambda writer: setup.open_link(writer, 5, most=2, parameter="PID"))
    assert one.read(lambda reader: setup.campaign_of_open_link(reader, link)) == (two.id, "PID")
    assert one.read(lambda reader: setup.campaign_of_open_link(reader, "x")) is None
    for most in (0, 100_001, True):
        with pytest.raises(InputError, match=f"most is {most!r}; give how many judges may come by this link"):
            one.do(lambda writer, most=most: setup.open_link(writer, 5, most=most))
    assert one.do(lambda writer: setup.open_link(writer, 5, most=100_000))
    with pytest.raises(RefusedError, match="this link is not known; ask the organiser for a new one"):
        two.do(lambda writer: setup.join(writer, "x", 5))
    guest, token = two.do(lambda writer: setup.join(writer, link, 6, "pid-1"))
    assert (guest.outside_id, guest.made, guest.kind) == ("pid-1", 6, "person")
    assert events(two, "judge")[-1].data == {"judge": guest.id, "to": "active", "by": "open link"}
    again, fresh = two.do(lambda writer: setup.join(writer, link, 7, "pid-1"))
    assert (again.id, fresh != token) == (guest.id, True)
    two.do(lambda writer: setup.join(writer, link, 7))
    with pytest.raises(RefusedError, match="everybody who was wanted has come by this link; thank you"):
        two.do(lambda writer: setup.join(writer, link, 7))
    with pytest.raises(InputError, match="outside id has 201 characters"):
        two.do(lambda writer: setup.join(writer, link, 7, "x" * 201))


def test_excluding_revoking_renaming_and_conflicts_are_told_once(store):
    bench = Bench(store, items=4)
    for change, state in ((setup.exclude, "excluded"), (setup.revoke, "revoked"), (setup.reinstate, "active")):
        bench.next(0)
        before = len(events(bench, "judge"))
        for _ in range(2):
            bench.do(lambda writer, change=change: change(writer, 0, 5))
        assert bench.read(lambda reader: reader.judge(bench.id, 0)).state == state
        assert events(bench, "judge")[-1].data == {"judge": 0, "to": state}
        assert bench.read(lambda reader: reader.questions(bench.id, "out")) == []  # nothing is in the hand
        assert len(events(bench, "judge")) == before + (state != "active")  # once, and not where it is so already
        bench.do(lambda writer: setup.reinstate(writer, 0, 5))
    bench.do(lambda writer: setup.rename(writer, 0, "anne", 5))
    bench.do(lambda writer: setup.rename(writer, 0, "anne", 5))  # one's own name is free
    assert bench.read(lambda reader: reader.judge(bench.id, 0)).name == "anne"
    assert events(bench, "judge")[-1].data == {"judge": 0, "renamed": True}
    with pytest.raises(InputError, match="there is a judge 'anne' already"):
        bench.do(lambda writer: setup.rename(writer, 1, "anne", 5))
    with pytest.raises(RefusedError, match="there is no judge 9"):
        bench.do(lambda writer: setup.rename(writer, 9, "x", 5))
    bench.do(lambda writer: setup.set_conflicts(writer, 0, [3, 1, 3], 5))
    assert bench.read(lambda reader: reader.judge(bench.id, 0)).conflicts == (1, 3)
    assert events(bench, "judge")[-1].data == {"judge": 0, "conflicts": [1, 3]}
    with pytest.raises(RefusedError, match="there is no item 4 in this campaign"):
        bench.do(lambda writer: setup.set_conflicts(writer, 0, [4], 5))


def test_a_campaign_is_named_by_its_slug_or_number(store):
    with pytest.raises(InputError, match="there is no campaign yet; `podium campaign new` makes one"):
        store.read(lambda reader: setup.campaign_named(reader, None))
    one = Bench(store)
    assert store.read(lambda reader: setup.campaign_named(reader, None)).id == one.id
    two = Bench(store)
    for name, id in (("tea", one.id), ("tea-2", two.id), (str(two.id), two.id)):
        assert store.read(lambda reader, name=name: setup.campaign_named(reader, name)).id == id
    with pytest.raises(InputError, match="there is no campaign 'x'; there are tea, tea-2"):
        store.read(lambda reader: setup.campaign_named(reader, "x"))
    with pytest.raises(InputError, match="there are several campaigns: tea, tea-2; name one by --campaign"):
        store.read(lambda reader: setup.campaign_named(reader, None))


# ---- the question about the instructions ----------------------------------------------------------------------------


def understood(bench, judge=0):
    return bench.read(lambda reader: desk.understanding(reader, reader.campaign(bench.id), judge))


def test_a_judge_has_two_attempts_at_the_question_about_the_instructions(store):
    assert understood(Bench(store)) == "none"
    bench = Bench(store, texts={"comprehension": COMPREHENSION})

    def answer(judge, place):
        return bench.do(lambda writer: desk.answer_comprehension(writer, judge, place, 5))

    assert understood(bench) == "asked"
    assert answer(0, 0) == (False, 1)
    assert (understood(bench), understood(bench, 1)) == ("asked", "asked")
    assert answer(0, 1) == (True, 0)
    assert (understood(bench), understood(bench, 1)) == ("passed", "asked")
    assert answer(1, 0) == (False, 1)
    assert answer(1, 0) == (False, 0)
    assert understood(bench, 1) == "failed"
    told = events(bench, "judge")[-1]
    assert (told.data, told.who, told.at) == ({"judge": 1, "comprehension": False}, "judge 1", 5)
    for judge in (0, 1):
        with pytest.raises(RefusedError, match="this question is answered already, or there is none"):
            answer(judge, 1)


def test_reports_name_an_item_and_a_known_reason(store):
    bench = Bench(store, items=3)
    told = bench.do(lambda writer: desk.report(writer, 1, 2, "broken", 7))
    assert (told.verb, told.data, told.who, told.at) == (
        "report", {"item": 2, "judge": 1, "reason": "broken"}, "judge 1", 7)  # fmt: skip
    with pytest.raises(RefusedError, match="'ugly' is no reason for a report; choose among broken, missing"):
        bench.do(lambda writer: desk.report(writer, 1, 2, "ugly", 7))
    with pytest.raises(RefusedError, match="there is no item 3 in this campaign"):
        bench.do(lambda writer: desk.report(writer, 1, 3, "broken", 7))
    bench.do(lambda writer: setup.revoke(writer, 1, 7))
    with pytest.raises(RefusedError, match="this link was withdrawn by the organiser"):
        bench.do(lambda writer: desk.report(writer, 1, 2, "broken", 7))


# ---- votes at the desk ----------------------------------------------------------------------------------------------


def test_ballots_at_their_ends(store):
    bench = Bench(store, ties=False)

    def refused(**more):
        question = bench.next(0, 1).questions[0].id
        given = {"id": "v", "question": question, "outcome": 1.0} | more
        (receipt,), _ = bench.do(lambda writer: desk.vote(writer, 0, [desk.Ballot(**given)], bench.now))
        return receipt.code

    assert refused(id="") == refused(id="x" * 101) == refused(id=3) == "bad-id"
    assert refused(outcome=0.5) == "no-ties"
    assert refused(outcome=0.7) == refused(outcome=2) == "bad-outcome"
    assert refused(reason="x" * 2001) == "long-reason"
    assert refused(id="x" * 100, reason="x" * 2000) is None
    assert refused(id="y") is None
    ballots = [desk.Ballot(str(k), 1, 1.0) for k in range(201)]
    with pytest.raises(RefusedError, match="201 votes at once; send at most 200"):
        bench.do(lambda writer: desk.vote(writer, 0, ballots, bench.now))
    assert len(bench.do(lambda writer: desk.vote(writer, 0, ballots[:200], bench.now))[0]) == 200


def test_a_row_of_the_log_holds_what_was_shown_and_sent(store):
    bench = Bench(store)
    bench.do(lambda writer: setup.set_instructions(writer, "Be fair.", 1))
    asked = bench.next(0, 1).questions[0]
    shown = bench.now
    bench.now += 900
    bench.vote(0, asked.id, 0.0, id="a", reason="", ms=-5, version=9)
    bench.vote(0, bench.next(0, 1).questions[0].id, None, id="b", ms=2**40, version=1)
    bench.vote(0, bench.next(0, 1).questions[0].id, 0.5, id="c", reason="why", ms=1.9)
    one, two, three = bench.read(lambda reader: list(reader.votes(bench.id)))
    assert (one.left, one.right, one.outcome, one.question, one.kind) == (
        asked.left, asked.right, 0.0, asked.id, asked.kind)  # fmt: skip
    assert (one.shown, one.received, one.reason, one.ms, one.version) == (shown, shown + 901, None, 0, 2)
    assert (two.outcome, two.ms, two.version) == (None, 2**31, 1)
    assert (three.outcome, three.reason, three.ms, three.version) == (0.5, "why", 1, 2)


def test_hands_are_of_ten_pairs_at_most_and_of_one_at_least(store):
    bench = Bench(store, items=12)
    assert [len(bench.next(0, count).questions) for count in (-3, 0, 1, 4, 10, 99)] == [1, 1, 1, 4, 10, 10]
    receipts, hand = bench.do(lambda writer: desk.vote(writer, 0, [], bench.now, -1))
    assert (receipts, hand.questions, hand.why) == ([], (), None)


def test_a_judge_is_noted_as_there_once_a_minute(store):
    bench = Bench(store)

    def seen():
        bench.next(0)
        return bench.read(lambda reader: reader.judge(bench.id, 0)).seen

    first = seen()
    assert first == START
    bench.now += MINUTE
    assert seen() == START
    bench.now += 1
    assert seen() == START + MINUTE + 1


def test_a_gold_pair_is_one_of_those_asked_for_and_no_more(store):
    bench = Bench(store, items=9, gold=[["item 0", "item 1", 1]])
    planning.plan_once(store, bench.id, bench.now)
    bench.answer(0, times=3)
    hand = bench.next(0, 4).questions
    assert [each.kind for each in hand].count("gold") == 1
    out = [each for each in bench.read(lambda reader: reader.questions(bench.id, "out")) if each.judge == 0]
    assert {each.id for each in out} == {each.id for each in hand}
    assert len(hand) == 4


def test_pairs_are_drawn_until_a_judge_had_each_once_whatever_the_numbers_are(store):
    """Of a second campaign, where the number of the campaign is not that of the judge; nothing is planned."""
    Bench(store, items=3)
    bench = Bench(store, items=7, judges=("ann",))
    had = []
    for _ in range(21):
        (only,) = bench.next(0, 1).questions
        had.append(pair_of(only.left, only.right))
        bench.vote(0, only.id, 1.0, count=1)
    assert len(set(had)) == 21
    hand = bench.next(0, 1)
    assert (hand.questions, hand.why) == ((), "done")


def test_gold_comes_after_three_votes_and_every_ten(store):
    bench = Bench(store, items=40, gold=[["item 0", "item 1", 1], ["item 2", "item 3", 0]])
    planning.plan_once(store, bench.id, bench.now)
    kinds = []
    for _ in range(16):
        question = bench.next(0, 1).questions[0]
        kinds.append(question.kind)
        bench.vote(0, question.id, 1.0, count=0)
    assert [k for k, kind in enumerate(kinds) if kind == "gold"] == [3, 13]


def test_settings_of_very_many_campaigns_are_forgotten(store, monkeypatch):
    monkeypatch.setattr(desk, "MOST_READ", 1)
    monkeypatch.setattr(desk, "_READ", {})
    for _ in range(3):
        bench = Bench(store)
        bench.next(0)
        assert list(desk._READ) == [bench.id]
    bench.do(lambda writer: setup.set_options(writer, {"target": 3}, 1))
    assert bench.next(0).target == 3


def test_what_is_undone_or_skipped_while_another_has_the_pair_stays_with_the_other(store):
    """The pair's time was over, so another judge has it when the first one answers, skips or undoes."""
    for outcome in (1.0, None):
        bench = Bench(store, items=2)
        mine = bench.next(0, 1).questions[0]
        bench.now += 11 * MINUTE
        theirs = bench.next(1, 1).questions[0]
        assert theirs.id == mine.id
        receipt, _ = bench.vote(0, mine.id, outcome, id="late")
        assert receipt.status == "stored"
        held = bench.read(lambda reader, b=bench, q=mine.id: reader.question(b.id, q))
        assert (held.state, held.judge, held.wanted) == ("out", 1, 0 if outcome else 1)
        bench.undo(0, "late")
        again = bench.read(lambda reader, b=bench, q=mine.id: reader.question(b.id, q))
        assert (again.state, again.judge, again.wanted) == ("out", 1, 1)


def test_drawn_pairs_come_from_items_that_are_shown(store, monkeypatch):
    monkeypatch.setattr(desk, "MAX_READ_ITEMS", 3)
    bench = Bench(store, items=6)
    bench.do(lambda writer: setup.withdraw(writer, 5, 1))
    bench.do(lambda writer: setup.set_conflicts(writer, 0, [4], 1))
    seen = set()
    for _ in range(6):
        for each in bench.next(0, 2).questions:
            seen.add(frozenset((each.left, each.right)))
            bench.vote(0, each.id, 1.0, count=0)
    assert seen == {frozenset((a, b)) for a in range(4) for b in range(a)}


# ---- plans ----------------------------------------------------------------------------------------------------------


def test_when_a_plan_is_due(store):
    bench = Bench(store, items=8)

    def due(**more):
        there = replace(bench.read(lambda reader: reader.campaign(bench.id)), **more)
        return bench.read(lambda reader: planning.is_due(reader, there, bench.now))

    assert due()
    assert not due(state="paused")
    assert not due(plans=1, last_vote=5, planned_at=5)  # nothing came
    assert due(plans=1, last_vote=7, planned_at=5)  # a quarter of the items
    assert due(plans=1, last_vote=6, planned_at=5)  # the queue is empty
    bench.do(lambda writer: writer.add_questions([Question(0, k, place=k) for k in range(1, 4)]))
    assert not due(plans=1, last_vote=6, planned_at=5)  # three pairs are enough for one judge
    bench.next(0, 1)
    bench.next(1, 1)
    assert due(plans=1, last_vote=6, planned_at=5)  # not for two
    bench.now += 10 * MINUTE
    assert bench.read(lambda reader: planning._judges_here(reader, bench.id, bench.now)) == 1
    assert bench.read(lambda reader: planning._judges_here(reader, bench.id, bench.now - 1)) == 2


def test_what_the_order_says_of_a_pair():
    ranks = np.array([2, 0, -1, 1], dtype=np.int32)
    assert predicted(ranks, 1, 3) == 1.0
    assert predicted(ranks, 0, 3) == 0.0
    assert predicted(ranks, 0, 2) is None
    assert predicted(ranks, 0, 4) is None
    assert predicted(ranks, 4, 0) is None


# ---- judges in numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "count"), [(0, 8), (8, 8), (14, 20), (19, 20), (1, 20), (60, 100), (70, 100), (0, 0)])
def test_leaning_to_a_side_is_an_exact_sign_test(left, count):
    decided = np.array([1.0] * left + [0.0] * (count - left))
    truth = binomtest(left, count).pvalue if count else 1.0
    for judges_there in (1, 2, 10):
        found = judges._leaning(decided, judges_there)
        assert (found is not None) == (truth * judges_there < 0.01)
        if found:
            side, most = ("left", left) if left > count - left else ("right", count - left)
            assert found == f"chose the {side} side {most} of {count} times, more than chance explains"


@pytest.mark.parametrize(
    ("value", "longest"), [([], 0), ([0.5], 0), ([1], 1), ([1, 1, 0], 2), ([0, 1, 1, 0.5, 1, 0], 3), ([1, 0, 0], 2)]
)
def test_the_longest_run_of_a_side(value, longest):
    assert judges._longest_run(np.array(value, dtype=float)) == longest


def test_a_judge_in_numbers_by_hand(store):
    bench = Bench(store, items=4, judges=("ann", "bob", "cy"), gold=[["item 0", "item 3", 1]])
    gold, check = {"kind": "gold", "predicted": 1.0}, {"kind": "check"}
    content = log(
        bench,
        (0, 0, 1, 1.0, check), (0, 2, 0, 0.0, {"ms": 2000}), (0, 1, 0, 0.0, {"ms": 1000}), (0, 1, 2, 0.5, {"ms": 9000}),
        (0, 0, 1, 0.0, {}), (0, 0, 3, 1.0, gold), (0, 3, 0, 1.0, gold | {"predicted": 0.0}), (0, 1, 3, None, {}),
        (1, 0, 1, 1.0, {}), (1, 1, 2, 1.0, {}), (1, 2, 3, 1.0, {}), (1, 0, 2, 1.0, {}),
    )  # fmt: skip
    ms = bench.read(lambda reader: np.array([-1 if v.ms is None else v.ms for v in reader.votes(bench.id)]))
    ann, bob, cy = judges.judge_reports(content, ms)
    assert (ann.votes, ann.skips, ann.seconds, ann.longest_run) == (7, 1, 2.0, 3)
    assert (ann.left.value, ann.left.count) == (0.5, 6)  # a tie is no side
    assert (ann.consistency.value, ann.consistency.count) == (pytest.approx(1 / 3), 3)  # 0-1 twice more, 0-3 once
    assert (ann.gold.value, ann.gold.count) == (0.5, 2)
    assert (ann.agreement.value, ann.agreement.count) == (1.0, 1)  # bob's order has 0 before 1
    assert (bob.votes, bob.seconds, bob.consistency, bob.gold, bob.agreement) == (4, None, None, None, None)
    assert (bob.left.value, bob.longest_run) == (1.0, 4)
    assert (cy.votes, cy.left, cy.longest_run, cy.flag) == (0, None, 0, None)
    none = judges.judge_reports(replace(content, votes=content.votes.part(0, 0)), ms)
    assert [each.votes for each in none] == [0, 0, 0]


def test_the_order_with_and_without_a_judge(store):
    bench = Bench(store, items=3)
    rows = [(0, 0, 1, 1.0, {}), (0, 1, 2, 1.0, {}), (0, 0, 2, 1.0, {}), *[(1, 2, 0, 1.0, {})] * 3,
            *[(1, 2, 1, 1.0, {})] * 3, *[(1, 1, 0, 1.0, {})] * 3]  # fmt: skip
    content = log(bench, *rows)
    moved = {each.item: (each.before, each.after) for each in judges.without_judge(content, 1)}
    assert moved == {"item 0": (3, 1), "item 1": (2, 2), "item 2": (1, 3)}
    bench.do(lambda writer: setup.exclude(writer, 1, 5))
    assert judges.without_judge(bench.content(), 1) == judges.without_judge(content, 1)
    alone = judges.without_judge(replace(content, votes=content.votes.part(0, 3)), 0)
    assert [(each.item, each.after) for each in alone] == [("item 0", None), ("item 1", None), ("item 2", None)]


# ---- where it stands ------------------------------------------------------------------------------------------------


def made_standing(**more):
    given = {"position": (5, 1), "places": (1,), "votes": 8, "skips": 1_000, "judges": 1, "agreement": None}
    given |= {"stable": False, "finished": False, "until_stable": 40, "until_stable_upper": 80, "width": 1.0}
    return Standing(**given | more)


def test_a_standing_in_words():
    def words(left=100, **more):
        return made_standing(**more).words(left).splitlines()

    assert words(votes=1)[0] == "1 vote by 1 judge, 1,000 skipped"
    assert words(votes=2_000, judges=2, skips=0)[0] == "2,000 votes by 2 judges, 0 skipped"
    assert words(stable=True)[1:] == ["stable: more votes would change little"]
    assert words(finished=True)[1:] == ["not stable, but no useful pair is left to ask"]
    assert words(left=0)[1:] == ["not stable, and no judge has a pair left: another judge would help"]
    assert words()[1] == "not stable yet: about 40 to 80 more votes"
    assert words(left=80)[1] == "not stable yet: about 40 to 80 more votes"
    assert words(left=79)[1] == "not stable yet: about 40 to 80 more votes; its judges have 79 pairs left"
    assert words(left=39)[1].endswith("; its judges have 39 pairs left: invite others")
    far = "far from stable: it may take more than 10 times the votes so far"
    assert words(votes=7)[1] == far, "80 is more than ten times 7"
    assert words(votes=7, left=79)[1] == f"{far}; its judges have 79 pairs left"
    assert words(votes=7, left=39)[1] == f"{far}; its judges have 39 pairs left: invite others"
    told = words(agreement=Share(0.8, 0.6, 0.9, 10, 0.5, 0.95))[1]
    at_this, always = "90 % interval 60 % to 90 % at this look", "50 % to 95 % however often one looks"
    assert told == f"agreement on check pairs 80 % ({at_this}, {always}; 10 votes)"


def test_when_it_will_be_stable():
    day = 24 * 60 * MINUTE
    assert stable_at(made_standing(), 80, 1000) == 1000 + day // 2
    assert stable_at(made_standing(), 80, 1000, 60) == 1030
    assert stable_at(made_standing(stable=True), 0, 1000) == 1000
    assert stable_at(made_standing(), 0, 1000) is None
    assert stable_at(made_standing(finished=True), 80, 1000) is None
    assert stable_at(made_standing(places=()), 80, 1000) is None


@pytest.mark.parametrize(("hits", "count"), [(0, 5), (5, 5), (3, 7), (40, 50)])
def test_a_share_and_its_interval_are_wilsons(hits, count):
    found = share(np.array([1.0] * hits + [0.0] * (count - hits)))
    theirs = binomtest(hits, count).proportion_ci(0.9, "wilson")
    assert (found.value, found.count) == (hits / count, count)
    assert (found.lower, found.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert found.always_lower <= found.lower + 1e-9
    assert found.always_upper >= found.upper - 1e-9
    assert share(np.array([])) is None


def test_a_judge_is_compared_with_the_others_who_are_in_and_not_with_itself(store):
    bench = Bench(store, items=3, judges=("ann", "bob", "cy"))
    bob = [(1, 0, 1, 1.0, {}), (1, 1, 2, 1.0, {}), (1, 0, 2, 1.0, {})]
    ann = [(0, 0, 1, 0.0, {"kind": "check"})] * 5  # the other way round, more often than bob
    cy = [(2, 1, 0, 1.0, {"kind": "check"})] * 9
    log(bench, *bob, *ann, *cy)
    told = judges.judge_reports(bench.content(), np.full(17, -1))
    assert [each.agreement and each.agreement.value for each in told] == [1.0, None, 1.0]
    bench.do(lambda writer: setup.exclude(writer, 2, 5))
    told = judges.judge_reports(bench.content(), np.full(17, -1))
    assert [each.agreement and each.agreement.value for each in told] == [0.0, None, 1.0]
    bench.do(lambda writer: setup.exclude(writer, 0, 6))
    told = judges.judge_reports(bench.content(), np.full(17, -1))
    assert [each.agreement and each.agreement.value for each in told] == [0.0, None, 0.0]


def test_agreement_is_of_check_pairs_that_were_predicted(store):
    bench = Bench(store, items=3)
    content = log(
        bench,
        (0, 0, 1, 1.0, {"kind": "check", "predicted": 1.0}), (0, 0, 1, 1.0, {"kind": "check", "predicted": 0.0}),
        (1, 0, 2, 0.5, {"kind": "check", "predicted": 1.0}), (1, 0, 2, 0.0, {"kind": "check", "predicted": 0.0}),
        (0, 1, 2, 1.0, {"kind": "check"}), (0, 1, 2, 1.0, {"kind": "chosen", "predicted": 0.0}),
    )  # fmt: skip
    live = live_votes(content)
    found = standing.agreement(live)
    assert (found.value, found.count) == (2.5 / 4, 4)
    mine = standing.agreement(live, live.judge == 1)
    assert (mine.value, mine.count) == (0.75, 2)


def test_a_kept_standing_comes_back_whole(store):
    bench = Bench(store, items=3)
    content = log(bench, *[(0, a, b, 1.0, {"kind": "check", "predicted": 1.0}) for a in range(3) for b in range(a)])
    now = standing.standing(content)
    assert now.agreement is not None
    assert standing._decoded(standing._encoded(now), content) == now
    bare = replace(now, agreement=None)
    assert standing._decoded(standing._encoded(bare), content) == bare
    for bad in (b"", b"{}", b"[]", standing._encoded(now).replace(b'"head"', b'"hat"'), b'{"head": {}, "places": 3}'):
        assert standing._decoded(bad, content) is None


# ---- files in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\nx", "image/png"), (b"\xff\xd8\xffx", "image/jpeg"), (b"GIF87ax", "image/gif"),
        (b"GIF89ax", "image/gif"), (b"RIFF1234WEBPx", "image/webp"), (b"RIFF1234WAVEx", "audio/wav"),
        (b"ID3x", "audio/mpeg"), (b"\xff\xfbx", "audio/mpeg"), (b"OggSx", "audio/ogg"), (b"fLaCx", "audio/flac"),
        (b"1234ftypx", "video/mp4"), (b"\x1aE\xdf\xa3x", "video/webm"), (b" <!DOCTYPE html>", "text/html"),
        (b"<HTML>", "text/html"), (b"<svg>", "image/svg+xml"), (b'<?xml version="1"?><svg>', "image/svg+xml"),
        (b"<!doctype svg><svg>", "image/svg+xml"), (b"<?xml?><x>", None), (b"x<svg>", None), (b"plain", None),
        (b"RIFF12345WAVE", None), (b"RIFF1234 WEBP", None), (b"12345ftyp", None), (b" " * 1024 + b"<html>", None),
        (b"", None),
    ],
)  # fmt: skip
def test_types_come_from_the_first_bytes(data, kind):
    assert media_type(data) == kind


def test_files_of_items_that_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(items, "MOST_FILE", 30)
    monkeypatch.setattr(items, "MOST_TEXT", 20)
    (tmp_path / "a.txt").write_text("x" * 20)
    (tmp_path / ".hidden").write_text("x")
    assert [item.label for item in read_items(str(tmp_path)).items] == ["a.txt"]
    (tmp_path / "b.txt").write_text("x" * 21)
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "d.bin").write_bytes(b"odd")
    (tmp_path / "e.md").write_text("x" * 31)
    with pytest.raises(InputError) as refused:
        read_items(str(tmp_path))
    said = str(refused.value)
    for words in ("b.txt has 21 bytes of text; at most 20", "c.txt is not UTF-8 text",
                  "d.bin is no picture, sound, film, page or text we know; convert it", "e.md has 31 bytes; at most 30",
                  "nothing was taken, correct the folder"):  # fmt: skip
        assert words in said, words
    assert "more)" not in said
    assert "row" not in said.replace(str(tmp_path), ""), "a folder has none"


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
@pytest.mark.parametrize("name", ["b.txt", "b.md", "b.png", "b.html"])
def test_an_empty_file_of_a_folder_is_refused_by_name(tmp_path, name, content):
    (tmp_path / "a.txt").write_text("tea")
    (tmp_path / ".DS_Store").write_bytes(b"")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_items(str(tmp_path))
    assert str(refused.value) == (
        f"{tmp_path}: {tmp_path / name} is empty; fill it in or remove it; nothing was taken, correct the folder"
    )


def test_a_folder_of_hidden_files_alone_has_no_items(tmp_path):
    (tmp_path / ".DS_Store").write_bytes(b"\x00\x00\x00\x01Bud1")
    with pytest.raises(InputError, match="has no files; give at least two items"):
        read_items(str(tmp_path))


def test_an_empty_file_named_by_a_table_is_refused_with_its_row(tmp_path):
    (tmp_path / "items.csv").write_text("id,file\na,a.txt\nb,b.txt\n")
    (tmp_path / "a.txt").write_text("tea")
    (tmp_path / "b.txt").write_text("")
    with pytest.raises(InputError, match=r"row 2: .*b\.txt is empty; fill it in or remove it; nothing was taken"):
        read_items(str(tmp_path / "items.csv"))


ALIKE = "items that differ only in case, blanks or how their characters are coded are kept apart: "


def test_items_that_look_alike_are_told_with_their_rows(tmp_path):
    table = tmp_path / "items.csv"
    table.write_text("id\nTea\nmilk\ntea\n")
    with pytest.warns(DataWarning) as told:
        assert len(read_items(str(table)).items) == 3, "they are taken all the same"
    same = "; write them alike if they are the same"
    assert [str(each.message) for each in told] == [f"{ALIKE}'Tea' (row 1) and 'tea' (row 3){same}"]
    table.write_text("id\nMilk\ncocoa\n")
    with pytest.warns(DataWarning) as told:
        read_items(str(table), known=frozenset({"milk", "Tea", "tea"}))
    assert [str(each.message) for each in told] == [f"{ALIKE}'milk' (in the campaign) and 'Milk' (row 1){same}"]


def test_files_that_look_alike_are_told_by_name(tmp_path):
    for name in ("a b.txt", "a  b.txt"):
        (tmp_path / name).write_text("tea")
    with pytest.warns(DataWarning, match="kept apart: 'a  b.txt' and 'a b.txt'; write them alike"):
        read_items(str(tmp_path))


def test_tables_of_items(tmp_path):
    table = tmp_path / "items.csv"

    def read(written, **more):
        table.write_text(written)
        return read_items(str(table), **more).items

    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    found = read("name,body,kind,x,y\na,one,markdown,1,2\nb,two,,3,4.5\n", features=["x", "y"])
    assert [(item.label, item.body, item.kind, item.features) for item in found] == [
        ("a", "one", "markdown", [1.0, 2.0]), ("b", "two", "text", [3.0, 4.5])]  # fmt: skip
    assert [item.label for item in read("text,other\nx,y\n")] == ["x"]  # the first column names
    assert [item.label for item in read("x,label\n1,a\n", label="x")] == ["1"]
    assert read("id,words\na,one\n", text="words")[0].body == "one"
    shown = read("id,text,file\na,,p.png\n")[0]
    assert (shown.kind, shown.body, len(shown.media)) == ("image", None, 64)
    for text, more, words in (
        ("id,text\na,one\n", {"text": "body"}, "has no column 'body'; there are id, text"),
        ("id,text\na,one\n", {"features": ["z"]}, "has no column 'z'"),
        ("id,x\na,one\n", {"features": ["x"]}, "row 1: feature 'x' of 'a' is 'one', no number; give numbers"),
        ("id,x\na,inf\n", {"features": ["x"]}, "row 1: feature 'x' of 'a' is 'inf', no number"),
        ("id,x,y\na,1,\n", {"features": ["x", "y"]}, "row 1: feature 'y' of 'a' is empty; give numbers"),
        ("id,text\na, \n", {}, "row 1: the text of 'a' is empty; fill it in"),
        ("id,text\n,one\n", {}, "row 1: the label is empty; every item needs a name"),
        ("id,text\na,one\na,two\n", {}, "row 2: 'a' appears in row 1 already; names must differ"),
        ("id,text\na,one\n", {"known": frozenset("a")}, "row 1: 'a' is in the campaign already"),
        ("id,text,kind\na,one,film\n", {}, "row 1: kind 'film' is unknown; it is text or markdown"),
        ("id,file\na,none.png\n", {}, "none.png cannot be read: No such file"),
        ("id,text\n", {}, "has no rows; give at least two items"),
    ):
        with pytest.raises(InputError, match=words):
            read(text, **more)


def test_ten_problems_are_named_and_the_others_counted(tmp_path):
    table = tmp_path / "items.csv"
    for count, words in ((10, None), (12, "(and 2 more)")):
        table.write_text("id,text\n" + "a,\n" * count)
        with pytest.raises(InputError) as refused:
            read_items(str(table))
        assert str(refused.value).count(": the text of") == 10
        assert ("more)" in str(refused.value)) == (words is not None)
        assert words is None or words in str(refused.value)


# ---- in and out -----------------------------------------------------------------------------------------------------


def test_moments_are_iso_in_utc():
    assert exchange.moment(None) is None
    assert exchange.moment(1_800_000_000_123) == "2027-01-15T08:00:00.123+00:00"
    assert exchange._moment("2027-01-15T08:00:00.123+00:00") == 1_800_000_000_123
    assert exchange._moment("2027-01-15T08:00:00") == 1_800_000_000_000  # without a zone it is UTC
    assert exchange._moment("2027-01-15T09:00:00+01:00") == 1_800_000_000_000
    assert exchange._moment(None) is None


def test_journals_and_tables_that_cannot_be_taken(store, tmp_path):
    bench, path = Bench(store, items=3), tmp_path / "v.jsonl"
    head = '{"podium": "campaign"}\n\n'
    vote = '{"left": "item 0", "right": "item 1", "outcome": 1, "judge": "x"}\n'
    for line, words in (
        ('{"podium": "undo", "row": 3, "judge": "y"}', "line 4 .*it undoes line 3, which is a vote of another judge"),
        ('{"podium": "undo", "row": 9}', "it undoes line 9, which is no vote that stands"),
        ('{"podium": "undo"}', "line 4 lacks 'row'"),
        ('{"left": "a", "right": "a", "outcome": 1}', "'a' is compared with itself"),
        ('{"left": "a", "right": "b", "outcome": 0.7}', "outcome 0.7 is unknown; it is 1, 0 or 0.5"),
        ('{"left": "a", "right": "b", "outcome": null}', "outcome None is unknown"),
        ("[1]", r"line 4 cannot be read \(not a JSON object\); mend the line"),
        (
            '{"left": "item 0", "right": "z", "outcome": 1}',
            "items that the campaign does not have: 'z'; add them first",
        ),
    ):
        path.write_text(head + vote + line + "\n")
        with pytest.raises(InputError, match=words):
            exchange.import_votes(store, bench.id, str(path), 5)
    assert bench.content().campaign.last_vote == 0
    path = tmp_path / "v.csv"
    path.write_text("winner,loser,weight\nitem 0,item 1,2\n")
    with pytest.raises(InputError, match="has weights, counts or margins; a campaign takes single votes"):
        exchange.import_votes(store, bench.id, str(path), 5)


def test_what_an_import_brings(store, tmp_path):
    bench, path = Bench(store, items=2, judges=("ann",)), tmp_path / "v.jsonl"
    rows = [
        {"podium": "campaign"}, {"left": "item 0", "right": "item 1", "outcome": 0.5, "judge": "ann", "ms": 7,
                                 "reason": "r", "time": "2027-01-15T08:00:00"},
        {"podium": "skip", "left": "item 1", "right": "new", "judge": "zed"},
        {"left": "new", "right": "item 0", "outcome": 0}, {"podium": "undo", "row": 2},
        {"podium": "exclude", "judge": "zed"},
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    done = exchange.import_votes(store, bench.id, str(path), 5, add=True)
    assert done == exchange.Imported(2, 0, 1, 3, skips=1, undos=1)
    content = bench.content()
    assert {(each.name, each.kind, each.state) for each in content.judges} == {
        ("ann", "person", "active"), ("ann (import)", "import", "active"), ("import", "import", "active"),
        ("zed", "import", "excluded")}  # fmt: skip
    votes = bench.read(lambda reader: list(reader.votes(bench.id)))
    names = {each.id: each.name for each in content.judges}
    assert [(names[v.judge], v.left, v.right, v.outcome, v.undoes, v.received) for v in votes] == [
        ("ann (import)", 0, 1, 0.5, None, 1_800_000_000_000), ("zed", 1, 2, None, None, 5),
        ("import", 2, 0, 0.0, None, 5), ("ann (import)", 0, 1, None, 1, 5)]  # fmt: skip
    assert (votes[0].ms, votes[0].reason, {v.kind for v in votes}) == (7, "r", {"import"})
    assert next(each for each in content.judges if each.name == "zed").state == "excluded"
    told = [each for each in events(bench, "judge", "items") if each.at == 5]
    assert [(each.verb, each.data.get("to")) for each in told] == [
        ("items", None), *[("judge", "active")] * 3, ("judge", "excluded")]  # fmt: skip
    assert exchange.import_votes(store, bench.id, str(path), 9, add=True) == exchange.Imported(0, 4, 0, 0)
    lines = [json.loads(line) for line in exchange.journal_lines(bench.content(), votes)]
    assert lines[0] | {"version": 0} == {"podium": "campaign", "version": 0, "format": 2, "title": "Tea",
                                         "question": "Which?", "n": 3, "seed": 1}  # fmt: skip
    assert [each["item"] for each in lines[1:4]] == ["item 0", "item 1", "new"]
    assert lines[4]["outcome"] == 0.5
    assert (lines[5]["podium"], "outcome" in lines[5]) == ("skip", False)
    assert (lines[6]["outcome"], lines[6]["judge"], "ms" in lines[6]) == (0, "import", False)
    assert (lines[7]["podium"], lines[7]["row"]) == ("undo", 5)
    assert lines[8] == {"podium": "exclude", "judge": "zed"}


def test_rows_of_a_damaged_log_are_not_exported(store):
    bench = Bench(store, items=2)
    content = log(bench, (0, 0, 1, 1.0, {}))
    good = bench.read(lambda reader: list(reader.votes(bench.id)))[0]
    for bad in ({"judge": 7}, {"left": 2}, {"right": 9}, {"seq": 2}, {"seq": 0}):
        with pytest.raises(InputError, match="has a judge or an item that the campaign has not: it is damaged"):
            list(exchange.journal_lines(content, [good, replace(good, **bad)]))


def test_texts_calls_and_pictures_travel_in_an_archive(store, tmp_path):
    bench = Bench(store, items=3)
    path = str(tmp_path / "c.zip")
    calls = [Call("r1", 7, 1, 0, 1, 0, at=5), Call("r2", 7, 1, 1, 0, 1, at=6, done=8, outcome=1.0)]
    bench.do(lambda writer: writer.add_item_texts("context", {0: "zero", 2: "½"}))
    bench.do(lambda writer: writer.add_calls(calls))
    log(bench, *[(0, 0, 1, 1.0, {})] * 3)
    archive.write_archive(store, bench.id, path)
    copy = archive.read_archive(store, path)
    assert (copy.slug, copy.last_vote, copy.plans) == ("tea-2", 3, 0)
    assert store.read(lambda reader: reader.item_texts(copy.id, "context")) == {0: "zero", 2: "½"}
    assert store.read(lambda reader: list(reader.calls(copy.id))) == calls
    hashes = [each.token_hash for each in store.read(lambda reader: reader.judges(copy.id))]
    assert hashes == [None, None]  # their links are the first campaign's
    with open_store(str(tmp_path / "other.db"), new=True) as other:
        there = archive.read_archive(other, path)
        assert there.slug == "tea"
        assert all(each.token_hash for each in other.read(lambda reader: reader.judges(there.id)))
    assert archive.is_archive(path)
    assert not archive.is_archive(str(tmp_path / "other.db"))


def test_archives_that_are_refused(store, tmp_path, monkeypatch):
    bench, path = Bench(store, items=2), tmp_path / "c.zip"
    picture = Items([Item(-1, "p", "image", None, "ab")], {"ab": Media("ab", "image/png", b"no picture")})
    archive.write_archive(store, bench.id, str(path))
    monkeypatch.setattr(archive, "MOST", 10)
    with pytest.raises(InputError, match="unpacks to more than 10 bytes; it is no campaign of ours"):
        archive.read_archive(store, str(path))
    monkeypatch.undo()
    bench.do(lambda writer: setup.add_items(writer, picture, 1))
    archive.write_archive(store, bench.id, str(path))
    with pytest.raises(InputError, match="media/ab is no picture, sound, film or page we know; take another copy"):
        archive.read_archive(store, str(path))

    def with_head(**more):
        with zipfile.ZipFile(path) as whole:
            parts = {name: whole.read(name) for name in whole.namelist()}
        head = json.loads(parts["podium.json"]) | more
        with zipfile.ZipFile(path, "w") as whole:
            for name, data in (parts | {"podium.json": json.dumps(head).encode()}).items():
                whole.writestr(name, data)

    with_head(archive=2, version="9.9")
    with pytest.raises(InputError, match=r"was written by the newer podium 9\.9; upgrade"):
        archive.read_archive(store, str(path))
    empty = {"campaign.json": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}  # of {}
    with_head(archive=1, members=empty)
    with pytest.raises(InputError, match=r"c\.zip: campaign\.json is not as it was written; take another copy"):
        archive.read_archive(store, str(path))
    with zipfile.ZipFile(path, "w") as whole:
        whole.writestr("campaign.json", "{}")
        whole.writestr("podium.json", json.dumps({"archive": 1, "members": empty}))
    with pytest.raises(InputError, match=r"is not as it was written \(.*\); take another copy"):
        archive.read_archive(store, str(path))
    assert not archive.is_archive(str(path))  # no votes in it


# ---- marks and the report -------------------------------------------------------------------------------------------


def test_marks_are_computed_once_a_position(store, monkeypatch):
    plain, bench = Bench(store), Bench(store, items=3, marks={"scale": [0, 100]})
    computed = []
    monkeypatch.setattr(marks, "campaign_marks", lambda content: computed.append(1) or campaign_marks(content))
    every = AllMarks(store)
    assert every.get(plain.id) is None
    assert every.get(bench.id).marks is None
    assert every.get(bench.id).words() == {}
    assert len(computed) == 1
    log(bench, *[(0, a, b, 1.0, {}) for a in range(3) for b in range(a + 1, 3)] * 2)
    assert every.get(bench.id).marks is not None
    assert (len(computed), every.get(bench.id) is every.get(bench.id)) == (2, True)


def test_marks_above_twenty_have_one_digit(store):
    for scale, digits in (([0, 100], 1), ([0, 20], 2), ([0, 20.5], 1), ([0, 21], 1), ([-30, 5], 1), ([-20, 5], 2)):
        bench = Bench(store, items=3, marks={"scale": scale})
        rows = [(0, a, b, value, {}) for a in range(3) for b in range(a + 1, 3) for value in (1.0, 1.0, 0.0)]
        told = campaign_marks(log(bench, *rows)).words()
        assert {len(each["mark"].partition(".")[2]) for each in told.values()} == {digits}
        assert told["item 0"]["mark"] == f"{max(scale):.{digits}f}"
        assert told["item 1"]["lower"] is not None
        assert told["item 1"]["grade"] is None


def test_the_page_says_why_there_are_no_marks_and_when_intervals_are_too_narrow(store):
    bench = Bench(store, items=3, marks={"known": {"item 0": 90, "item 2": 30}})
    rows = [
        (0, a, b, value, {"kind": "chosen"}) for a in range(3) for b in range(a + 1, 3) for value in (1.0, 1.0, 0.0)
    ]
    content = log(bench, *rows)
    page = report.report_page(content)
    assert "<h2>Marks</h2>" in page
    assert "They are too narrow, as pairs were chosen by earlier answers." in page
    assert (
        report._marks(replace(content, campaign=replace(content.campaign, options={})), standing.standing(content))
        == []
    )
    turned = replace(content.campaign, options={"marks": {"known": {"item 0": 30, "item 2": 90}}})
    said = report._marks(replace(content, campaign=turned), standing.standing(content))
    assert said[0] == "<h2>Marks</h2>"
    assert "No marks yet: " in said[1]
    bench = Bench(store, items=3, marks={"scale": [0, 9], "boundaries": {"A": 6, "B": 0}})
    content = log(bench, *[(0, a, b, v, {"kind": "check"}) for _, a, b, v, _ in rows])
    page = report.report_page(content)
    assert "They are too narrow" not in page
    assert '<th>Grade</th><th class="n">Chance</th>' in page


@pytest.mark.parametrize("marks", [
    {"scale": [0, 9]}, {"scale": [0, 100], "boundaries": {"A": 60, "B": 0}}, {"known": {"item 0": 90, "item 2": 30}},
])  # fmt: skip
def test_the_page_has_the_marks_of_the_campaign_in_the_order_of_the_places(store, marks):
    bench = Bench(store, items=4, marks=marks)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    content = log(bench, *[(0, a, b, value, {"kind": "check"}) for a, b in pairs for value in (1.0, 1.0, 0.0)])
    words, places = campaign_marks(content).words(), standing.standing(content).places
    table = report.report_page(content).partition("<h2>Marks</h2>")[2].partition("</table>")[0]
    rows = [
        [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in re.findall(r"<tr>(<td.*?)</tr>", table)
    ]
    expected = []
    for place in places:
        own = words[place.item]
        ends = "" if own["lower"] is None else f"{own['lower']} … {own['upper']}"
        graded = [own["grade"], chance(own["chance"])] if "boundaries" in marks else []
        expected.append([place.item, own["mark"], ends, *graded])
    assert rows == expected
    assert all(each[-1] for each in rows if "boundaries" in marks)


def test_lines_about_a_judge_are_listed_or_told():
    assert report._judge([]) == []
    told = report._judge(["position: first place chosen", "no colon here"])
    assert told[0] == "<h2>The judge</h2>"
    assert "Position" in told[1]
    assert "First place chosen." in told[1]
    assert told[2] == "<p>No colon here.</p>"
    assert len(report._judge(["no colon"])) == 2


def test_sides_of_drawn_pairs_are_even_also_where_few_are_left():
    rng = np.random.default_rng(3)
    found = [desk._random_pairs([4, 7], set(), 1, rng)[0] for _ in range(200)]
    assert set(found) == {(4, 7), (7, 4)}
    assert 60 < found.count((4, 7)) < 140
    assert desk._random_pairs([4, 7], {pair_of(4, 7)}, 1, rng) == []
    assert Marked().words() == {}


# ---- what a plan does -----------------------------------------------------------------------------------------------


def test_a_plan_takes_the_place_of_what_was_open(store):
    bench = Bench(store, items=12)
    first = planning.plan_once(store, bench.id, bench.now)
    out = bench.next(0, 2).questions
    second = planning.plan_once(store, bench.id, bench.now)
    waiting = bench.read(lambda reader: reader.questions(bench.id, "open"))
    assert (first.number, second.number, {each.plan for each in waiting}) == (1, 2, {2})
    assert len(waiting) == second.questions
    assert {each.id for each in bench.read(lambda reader: reader.questions(bench.id, "out"))} == {q.id for q in out}
    told = events(bench, "plan")[-1]
    assert (told.data["plan"], told.data["position"], told.who, told.at) == (2, 0, "planner", bench.now)
    assert {"questions", "votes", "width", "stable", "until_stable"} <= set(told.data)


def test_a_plan_that_somebody_else_made_first_or_that_nobody_needs_is_dropped(store):
    bench = Bench(store, items=6)
    seen = bench.read(lambda reader: reader.campaign(bench.id))
    made = {"votes": 0, "stable": False, "until_stable": 3}

    def replace_queue(writer):
        return planning._replace_queue(writer, [Question(0, 1), Question(1, 0)], seen, made, 5, np.zeros(0, np.int32))

    plan = bench.do(replace_queue)
    assert (plan.number, plan.questions, plan.until_stable) == (1, 1, 3)  # a pair once
    assert plan.position is not None
    assert bench.do(replace_queue) is None
    seen = bench.read(lambda reader: reader.campaign(bench.id))
    bench.do(lambda writer: writer.append_votes([Vote(0, "x", 0, 1, 1.0)]) and None)
    assert bench.do(replace_queue).position is None  # a vote came meanwhile
    seen = bench.read(lambda reader: reader.campaign(bench.id))
    bench.do(lambda writer: setup.set_state(writer, "closed", 5))
    assert bench.do(replace_queue) is None


def test_the_planner_is_asked_for_what_the_campaign_is_for(store):
    bench = Bench(store, items=6, top=2, check_share=0.25)
    items, live = bench.content().items, live_votes(bench.content())

    def planner(**options):
        return loaded_planner(items, live, Options(**options), 7, 3)

    assert planner(top=2).goal == Planner(6, seed=1, goal=("top", 2)).goal
    assert planner().goal == planner(top=6).goal == Planner(6, seed=1, goal="order").goal
    assert planner(top=5).goal == Planner(6, seed=1, goal=("top", 5)).goal
    assert (planner().seed, planner().plans) == (7, 3)
    assert planner(check_share=0.25).random_share == 0.25


def test_the_planner_is_told_how_each_pair_came_about(store):
    """What is gold or imported was not drawn at random, so that it is told as chosen."""
    bench = Bench(store, items=6)
    kinds = {"chosen": "chosen", "check": "check", "repeat": "repeat", "gold": "chosen", "import": "chosen"}
    assert set(kinds) == set(KINDS)
    content = log(bench, *[(0, k, k + 1, 1.0, {"kind": kind}) for k, kind in enumerate(kinds)])
    planner = loaded_planner(content.items, live_votes(content), Options(), 1)
    assert [TALLIED[kind] for kind in planner.tally.kind.tolist()] == list(kinds.values())


def test_ranks_are_those_of_the_order_by_code(store):
    bench = Bench(store, items=5)
    assert len(ranks_by_code(None, live_votes(bench.content()))) == 0
    bench.do(lambda writer: setup.withdraw(writer, 1, 1))
    content = log(bench, *[(0, a, b, 1.0, {}) for a in (4, 3, 2, 0) for b in (4, 3, 2, 0) if a > b] * 2)
    live = live_votes(content)
    found = ranks_by_code(loaded_planner([i for i in content.items if i.withdrawn is None], live, Options(), 1), live)
    assert found.tolist() == [3, -1, 2, 1, 0]


def test_every_change_of_people_is_told_with_its_moment(store):
    bench = Bench(store, items=3)
    changes = [
        lambda writer: setup.invite(writer, ["cy"], 11), lambda writer: setup.exclude(writer, 0, 12),
        lambda writer: setup.rename(writer, 1, "rob", 13), lambda writer: setup.set_conflicts(writer, 1, [2], 14),
        lambda writer: setup.new_link(writer, 1, 15), lambda writer: setup.erase(writer, 1, 16),
        lambda writer: setup.set_instructions(writer, "new", 17),
        lambda writer: setup.set_options(writer, {"target": 3}, 18),
        lambda writer: setup.set_state(writer, "paused", 19), lambda writer: setup.withdraw(writer, 0, 20),
        lambda writer: setup.set_words(writer, 21, title="New"),
    ]  # fmt: skip
    for change in changes:
        bench.do(lambda writer, change=change: change(writer) and None)
    there = bench.read(lambda reader: reader.events(bench.id))
    assert [each.at for each in there[-len(changes) :]] == list(range(11, 22))
    erased = next(each for each in there if each.data.get("erased"))
    assert erased.data == {"judge": 1, "erased": True}
    told = next(each for each in there if each.verb == "instructions")
    assert told.data == {"version": 2, "text": "new"}


def test_planning_says_what_went_wrong_and_goes_on(store):
    bench = Bench(store, items=4)
    plans = planning.Planning(store, every=0.001)

    def ticks():
        plans._stop.set()
        raise InputError("no plan; mend it")

    plans.tick = ticks
    plans.start()
    plans._thread.join()
    plans.stop()
    assert plans.trouble == "no plan; mend it"
    assert store.holder("plan") is None
    again = planning.Planning(store)
    again.tick()
    assert again.plans == 1
    again.tick()
    assert again.plans == 1  # nothing has come since
    assert bench.read(lambda reader: reader.campaign(bench.id)).plans == 1


def test_check_pairs_stand_anywhere_among_the_chosen():
    planner = Planner(4, seed=3)
    check = np.array([False] * 10 + [True] * 10)
    order = planning._mixed(check, planner)
    assert sorted(order) == list(range(20))
    assert [k for k in order if k < 10] == list(range(10))  # the chosen in their order
    assert order != list(range(20))
    assert planning._mixed(np.zeros(3, dtype=bool), planner) == [0, 1, 2]
    assert planning._mixed(check, planner) == order


def test_gold_pairs_of_items_that_are_there(store):
    bench = Bench(store, items=4, gold=[["item 0", "item 1", 1], ["item 2", "item 3", 0]])
    bench.do(lambda writer: setup.withdraw(writer, 3, 1))
    content = bench.content()
    (only,) = planning._gold(content, Options.of(content.campaign.options))
    assert (only.left, only.right, only.kind, only.predicted, only.place) == (0, 1, "gold", 1.0, 0)
    assert only.wanted > 10**6
    planned = [(0, 1, "chosen"), (1, 2, "check")]
    rows = planning._questions(planned, live_votes(content), np.array([1, 0, 2], np.int32), Options(votes_per_pair=3))
    assert [(q.left, q.right, q.kind, q.wanted, q.predicted, q.place) for q in rows] == [
        (0, 1, "chosen", 3, None, 0), (1, 2, "check", 1, 1.0, 1)]  # fmt: skip


def test_a_campaign_that_spent_its_budget_is_paused_once(store):
    bench = Bench(store, items=4, budget=2)
    planning.plan_once(store, bench.id, bench.now)
    bench.do(lambda writer: setup.pause_if_spent(writer, 7))
    assert bench.read(lambda reader: reader.campaign(bench.id)).state == "open"
    bench.answer(0, times=2)
    bench.do(lambda writer: setup.pause_if_spent(writer, 9))
    bench.do(lambda writer: setup.pause_if_spent(writer, 10))
    told = [each for each in events(bench, "state") if each.who == "planner"]
    assert [(each.data, each.at) for each in told] == [
        ({"to": "paused", "why": "the budget of 2 votes is used"}, 9)]  # fmt: skip
    assert bench.read(lambda reader: reader.questions(bench.id, "open")) == []
    lone = Bench(store, items=2)
    lone.do(lambda writer: setup.withdraw(writer, 1, 1))
    assert planning.plan_once(store, lone.id, lone.now) is None


def test_a_used_budget_pauses_at_once_and_opens_only_once_it_is_raised(store):
    bench = Bench(store, items=9, budget=3)
    planner = planning.Planning(store)
    planner.tick()
    bench.answer(0, times=2)
    skipped = bench.next(1).questions[0]
    bench.vote(1, skipped.id, outcome=None)  # a skip is no vote: three rows, two votes
    planner.tick()
    state = lambda: bench.read(lambda reader: reader.campaign(bench.id)).state  # noqa: E731
    assert state() == "open"
    bench.answer(0, times=1)
    planner.tick()
    assert state() == "paused"
    with pytest.raises(RefusedError, match=r"the budget of 3 votes is used; raise it under Set up"):
        bench.do(lambda writer: setup.set_state(writer, "open", 5))
    bench.do(lambda writer: setup.set_options(writer, {"budget": 4}, 5))
    bench.do(lambda writer: setup.set_state(writer, "open", 5))
    planner.tick()
    assert state() == "open"
    bench.do(lambda writer: setup.set_options(writer, {"budget": 1}, 6))
    assert state() == "paused", "less than there are votes"
    assert events(bench, "state")[-1].data["why"] == "the budget of 1 vote is used"


def test_a_second_campaign_has_numbers_of_its_own(store):
    """Numbers of campaigns, questions, judges and items differ here, so that no two can be taken for one another."""
    other = Bench(store, items=5)
    other.next(0, 5)
    other.next(1, 5)
    bench = Bench(store, items=6, judges=("ann", "bob", "cy"))
    mine = bench.next(2, 1).questions[0]
    assert len({bench.id, mine.id, 2, mine.left, mine.right}) >= 3
    assert mine.id > 5
    bench.now += 11 * MINUTE
    theirs = bench.next(0, 1).questions[0]
    assert theirs.id == mine.id
    late, _ = bench.vote(2, mine.id, 0.0, id="late")
    assert late.status == "stored"
    row = bench.read(lambda reader: reader.vote(bench.id, late.seq))
    assert (row.judge, row.question, row.left, row.right, row.outcome) == (2, mine.id, mine.left, mine.right, 0.0)
    again, _ = bench.vote(2, mine.id, 1.0, id="twice")
    assert again.code == "answered"
    assert bench.vote(1, mine.id, 1.0, id="stranger")[0].code == "not-given"
    assert bench.vote(2, 10**6, 1.0, id="nowhere")[0].code == "not-given"
    skipped, _ = bench.vote(0, theirs.id, None, id="skip")
    assert skipped.status == "stored"
    undone, hand = bench.undo(2, "late")
    assert undone.status == "stored"
    assert [question.id for question in hand.questions][:1] == [mine.id]
    assert bench.undo(2, "late")[0].status == "repeated"
    with pytest.raises(RefusedError, match="no vote of yours has the id 'late'"):
        bench.undo(0, "late")
    with pytest.raises(RefusedError, match="was used for something else"):
        bench.undo(0, "skip", id="skip")
    assert [row.client_id for row in bench.read(lambda reader: desk.history(reader, bench.id, 0))] == ["skip"]
    assert bench.read(lambda reader: desk.history(reader, bench.id, 2)) == []
    assert bench.read(lambda reader: reader.count_given(bench.id, 2, mine.kind)) >= 1
    assert bench.read(lambda reader: reader.count_given(other.id, 2, mine.kind)) == 0


def test_who_comes_by_the_open_link_is_told_with_the_moment(store):
    bench = Bench(store)
    link = bench.do(lambda writer: setup.open_link(writer, 33, most=3, parameter="PID"))
    bench.do(lambda writer: setup.join(writer, link, 44) and None)
    told = bench.read(lambda reader: reader.events(bench.id))
    assert [each.at for each in told[-2:]] == [33, 44]
    assert told[-2].data["texts"]["open_link"]["most"] == 3
    assert told[-2].data["texts"]["open_link"]["parameter"] == "PID"


def test_a_judge_who_is_there_keeps_what_is_in_hand(store):
    bench = Bench(store, items=5)
    first = bench.next(1, 2).questions
    bench.now += 5 * MINUTE
    again = bench.next(1, 2).questions
    assert [each.id for each in again] == [each.id for each in first]
    assert {each.until for each in again} == {bench.now + 10 * MINUTE}
    held = bench.read(lambda reader: reader.questions(bench.id, "out"))
    assert {(each.judge, each.until) for each in held} == {(1, bench.now + 10 * MINUTE)}


def test_votes_on_withdrawn_items_take_no_pair_away(store):
    """Of three items that stay a judge has three pairs; a vote on one of them and a withdrawn one uses none up."""
    bench = Bench(store, items=4, judges=("ann",))
    log(bench, (0, 0, 3, 1.0, {}), (0, 3, 1, 1.0, {}), (0, 0, 1, 1.0, {}))
    bench.do(lambda writer: setup.withdraw(writer, 3, 5))
    assert standing.pairs_left(bench.content()) == 2


def test_a_tier_ends_where_the_band_of_its_first_item_ends():
    """Bands 1-2, 2-3, 3-4, 3-3 and 5-5: the second reaches into the first's, the third begins below it."""
    lower, upper = np.array([1, 2, 3, 3, 5]), np.array([2, 3, 4, 3, 5])
    assert standing._tiers(np.arange(5), lower, upper) == [1, 1, 2, 2, 3]
    assert standing._tiers(np.array([4, 0]), np.array([2, 0, 0, 0, 1]), np.array([2, 0, 0, 0, 2])) == [1, 1]


@pytest.mark.parametrize("column", ["weight", "count", "margin"])
def test_votes_that_are_not_single_are_not_imported(store, tmp_path, column):
    bench, path = Bench(store, items=2), tmp_path / "v.csv"
    rows = {"weight": "winner,loser,weight\nitem 0,item 1,2.5\n", "count": "winner,loser,count\nitem 0,item 1,3\n",
            "margin": "left,right,margin\nitem 0,item 1,3\n"}  # fmt: skip
    path.write_text(rows[column])
    with pytest.raises(InputError, match="has weights, counts or margins; a campaign takes single votes"):
        exchange.import_votes(store, bench.id, str(path), 5)
    assert not bench.content().votes.counted().any()


def test_a_judge_who_has_seen_every_pair_has_none_left_and_takes_none_from_others(store):
    bench = Bench(store, items=3)
    log(bench, *[(0, a, b, 1.0, {}) for a, b in ((0, 1), (1, 2), (2, 0))])
    assert standing.pairs_left(bench.content()) == 3  # those of the other
