"""A model's place in a campaign, and what its calls tell of it: each row and line, against counts made here."""

import dataclasses
import itertools
import json
import math
import random
import types
from collections import Counter

import numpy as np
import pytest

from judge.test_parts import begun, booked
from podium._version import __version__
from podium.campaign import setup
from podium.campaign.desk import Ballot
from podium.campaign.items import Items, read_items
from podium.campaign.options import Options
from podium.cli import run
from podium.errors import InputError
from podium.judge import ledger
from podium.judge.prompt import Asked
from podium.judge.remote import _Shown
from podium.judge.report import against, call_lines, length_errors, tally_of
from podium.judge.tally import agreement, longer_won, position, proportion
from podium.store import open_store
from podium.store.values import Call, Item, Media, Question, Vote, pair_of

WORDS = ("one", "three long words", "two", "a", "four and more", "six")


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "judge.db"), new=True) as store:
        yield store


def events(store, campaign, verb):
    return [each for each in store.read(lambda reader: reader.events(campaign.id)) if each.verb == verb]


def plain(store, items):
    return ledger.new_campaign(store, items, {}, title="T", question="Q?", instructions="", options=Options(), seed=1)


# ---- campaigns, judges, what is shown ----------------------------------------------------------------------------


def test_a_campaign_for_a_model_is_made_as_it_was_asked_for(store):
    items = Items([Item(-1, "x", body="a"), Item(-1, "y", body="b")])
    extra = {"context": {0: "c0"}, "reference": {1: "r1"}}
    made = ledger.new_campaign(
        store, items, extra, title="T", question="Q?", instructions="I", options=Options(top=1), seed=17
    )
    kept = store.read(lambda reader: reader.campaign(made.id))
    assert (kept.title, kept.question, kept.instructions, kept.seed, kept.state) == ("T", "Q?", "I", 17, "open")
    assert Options.of(kept.options).top == 1
    assert abs(kept.made - store.now()) < 60_000
    material = ledger.Material(store, kept)
    assert (material.contexts, material.references) == ({0: "c0"}, {1: "r1"})
    assert material.labels == {0: "x", 1: "y"}


def test_pictures_of_a_campaign_are_read_with_it_and_pages_are_texts(store):
    picture = Media("ab" * 32, "image/gif", b"GIF")
    shown = [Item(-1, "p", "image", None, picture.sha256), Item(-1, "h", "html", "<b>x</b>"), Item(-1, "m", "markdown", "*m*")]  # fmt: skip  # noqa: E501
    made = plain(store, Items(shown, {picture.sha256: picture}))
    material = ledger.Material(store, made)
    assert material.pictures == {0: "data:image/gif;base64,R0lG"}
    assert material.texts == {0: "(a picture)", 1: "<b>x</b>", 2: "*m*"}
    assert material.asked(Call("r", 1, 0, 0, 1, 0), "f") == Asked(
        "r", "Q?", "(a picture)", "<b>x</b>", None, None, "", "data:image/gif;base64,R0lG", None, "f"
    )
    turned = material.asked(Call("r", 1, 0, 1, 0, 1), "f")
    assert (turned.left_image, turned.right_image) == (None, "data:image/gif;base64,R0lG")


def test_pages_of_a_folder_are_shown_with_what_is_in_them_and_counted_by_its_length(store, tmp_path):
    pages = {"a.html": "<!doctype html><p>Grüße</p>", "b.html": "<html><p>the second page</p></html>"}
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, page in pages.items():
        (folder / name).write_text(page, encoding="utf-8")
    made = plain(store, read_items(str(folder)))
    material = ledger.Material(store, made)
    assert (list(material.texts.values()), material.pictures) == (list(pages.values()), {})
    store.write(made.id, lambda writer: writer.add_calls([Call("a", 1, 0, 0, 1, 0)]))
    (line,) = store.read(lambda reader: list(call_lines(reader, made.id)))
    one, two = (1 + len(page) for page in pages.values())
    assert json.loads(line)["length"] == pytest.approx(math.log(one / two))


def test_a_page_stands_below_the_text_beside_it_here_and_elsewhere(store):
    page = Media("ef" * 32, "text/html", b"<html>tea \xff</html>")
    shown = [Item(-1, "p", "html", "Of 1999:", page.sha256), Item(-1, "t", body="t")]
    material = ledger.Material(store, plain(store, Items(shown, {page.sha256: page})))
    assert material.texts[0] == "Of 1999:\n\n<html>tea \ufffd</html>"
    desk = types.SimpleNamespace(media={"/page": page.bytes}.get)
    item, _ = _Shown(desk).item({"kind": "html", "html": "<p>Of 1999:</p>", "media": "/page"})
    assert (item.label, item.body) == ("Of 1999:", material.texts[0])


def test_a_campaign_with_sound_is_refused(store):
    sound = Media("cd" * 32, "audio/mpeg", b"ID3")
    items = Items([Item(-1, "song", "audio", None, sound.sha256), Item(-1, "b", body="b")], {sound.sha256: sound})
    made = plain(store, items)
    with pytest.raises(InputError, match="'song' is of kind audio; a model is shown texts and pictures only"):
        ledger.Material(store, made)


def test_how_a_judge_judges_is_an_event_of_its_own(store):
    campaign = begun(store)
    judge = ledger.joined(store, campaign, "m", {"model": "m", "answer": "json"})
    (event,) = events(store, campaign, "header")
    whole = {"model": "m", "answer": "json", "question": "Which?", "podium": __version__}  # there are no instructions
    assert event.data == {"judge": judge.id, "header": whole}
    assert event.who == f"judge {judge.id}"
    assert abs(event.at - store.now()) < 60_000
    other = ledger.joined(store, campaign, "n", {"model": "n"})
    assert other.id != judge.id
    assert store.read(lambda reader: ledger.header_of(reader, campaign.id, judge.id)) == whole


def test_a_model_that_was_invited_before_it_began_says_then_how_it_judges(store):
    campaign = begun(store)
    store.write(campaign.id, lambda writer: setup.invite(writer, ["m"], store.now(), kind="model") and None)
    assert events(store, campaign, "header") == []
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    (event,) = events(store, campaign, "header")
    assert (event.data["judge"], judge.name) == (judge.id, "m")
    assert [each.name for each in store.read(lambda reader: reader.judges(campaign.id))] == ["m"]


def test_the_last_header_of_a_judge_counts(store):
    campaign = begun(store)
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    event = events(store, campaign, "header")[0]
    new = dataclasses.replace(event, data={"judge": judge.id, "header": {"model": "later"}})
    store.write(campaign.id, lambda writer: writer.append_event(new) and None)
    assert store.read(lambda reader: ledger.header_of(reader, campaign.id, judge.id)) == {"model": "later"}


def test_the_prompt_of_a_call_is_known_by_its_hash_or_by_all_that_a_judge_says(store):
    campaign = begun(store)
    assert booked(store, campaign, {"model": "m", "prompt": "abc"}).prompt_hash == "abc"
    plain = [booked(store, campaign, header).prompt_hash for header in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1})]
    assert plain[0] == plain[1] != plain[2]
    assert {len(each) for each in plain} == {16}
    assert booked(store, campaign, {"model": "m"}).parameters == "{}"


def test_requests_have_ids_of_their_own():
    ids = {ledger.new_request() for _ in range(50)}
    assert len(ids) == 50
    assert {len(each) for each in ids} == {16}


# ---- pairs in hand -----------------------------------------------------------------------------------------------


def test_a_pair_is_held_for_as_long_as_the_campaign_says(store):
    campaign = begun(store, options=Options(lease_minutes=2.0))
    book = booked(store, campaign)
    before = store.now()
    (one,), calls = book.draw(1, 2)
    assert before + 120_000 <= one.until <= store.now() + 120_000
    assert (one.judge, one.state, one.plan) == (book.judge.id, "out", 0)
    assert all(before <= each.at <= store.now() and each.judge == book.judge.id for each in calls)
    assert [(each.question, each.turned, each.done) for each in calls] == [(one.id, 0, None), (one.id, 1, None)]
    kept = store.read(lambda reader: list(reader.calls(campaign.id)))
    assert sorted(each.request for each in kept) == sorted(each.request for each in calls)


def test_a_new_call_holds_the_prompt_and_the_moment(store):
    book = booked(store, begun(store), {"model": "m", "prompt": "abc", "parameters": {"t": 1}})
    made = book.new_call(Question(3, 2, id=9), 1, 77)
    assert dataclasses.replace(made, request="") == Call(
        "", 9, book.judge.id, 2, 3, 1, prompt_hash="abc", parameters='{"t": 1}', at=77
    )


def test_what_is_drawn_twice_is_never_the_same_pair_and_only_a_calibration_is_noted(store):
    campaign = begun(store)
    book = booked(store, campaign)
    first, _ = book.draw(2, 1)
    assert (book.stage(), events(store, campaign, "calibration")) == ("new", [])
    second, _ = book.draw(2, 1, calibration=True, most=9)
    (note,) = events(store, campaign, "calibration")
    assert (note.data, note.who) == ({"judge": book.judge.id, "pairs": 2}, f"judge {book.judge.id}")
    keys = [pair_of(each.left, each.right) for each in (*first, *second)]
    assert len(set(keys)) == 4
    rest, _ = book.draw(99, 1)
    assert len(rest) == 2  # of six pairs
    assert book.draw(1, 1) == ([], [])


@pytest.mark.parametrize(
    ("count", "most", "kinds"),
    [(9, None, {"chosen": 2, "check": 4}), (1, None, {"chosen": 2, "check": 1}), (9, 3, {"chosen": 2, "check": 1}),
     (9, 1, {"chosen": 1}), (9, 0, {}), (0, 6, {"chosen": 2})],
)  # fmt: skip
def test_wanted_pairs_come_before_random_ones_and_all_are_at_most_so_many(store, count, most, kinds):
    campaign = begun(store)
    questions, _ = booked(store, campaign).draw(count, 1, [(0, 1), (3, 2)], most=most)
    assert Counter(each.kind for each in questions) == kinds
    chosen = sorted((each.left, each.right) for each in questions if each.kind == "chosen")
    assert chosen == [(0, 1), (3, 2)][: len(chosen)]


def test_known_pairs_are_drawn_in_a_calibration_only_and_once(store):
    campaign = begun(store, options=Options(gold=(("item 0", "item 1", 1), ("item 2", "item 3", 0))))
    book = booked(store, campaign)
    assert [each.kind for each in book.draw(1, 1, [(0, 2)], most=1)[0]] == ["chosen"]
    questions, _ = book.draw(0, 1, [(1, 0)], calibration=True)
    assert sorted((each.left, each.right, each.kind, each.predicted, each.wanted) for each in questions) == [
        (0, 1, "gold", 1.0, 1), (2, 3, "gold", 0.0, 1),
    ]  # fmt: skip
    assert book.draw(0, 1, calibration=True) == ([], [])


def test_known_pairs_of_an_item_that_was_withdrawn_are_left_out(store):
    gold = (("item 0", "item 1", 1), ("item 2", "item 0", 0), ("item 2", "item 3", 0))
    campaign = begun(store, options=Options(gold=gold))
    store.write(campaign.id, lambda writer: setup.withdraw(writer, 0, store.now()))
    questions, _ = booked(store, campaign).draw(0, 1, calibration=True)
    assert [(each.left, each.right, each.kind, each.predicted) for each in questions] == [(2, 3, "gold", 0.0)]


def test_a_draw_is_the_same_for_the_same_seed_and_judge(tmp_path):
    drawn = []
    for seed in (1, 1, 2):
        path = tmp_path / f"{len(drawn)}.db"
        with open_store(str(path), new=True) as store:
            book = booked(store, begun(store, texts=[str(k) for k in range(9)], seed=seed))
            drawn.append([(each.left, each.right) for each in book.draw(12, 1)[0]])
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_is_out_with_another_judge_is_not_drawn(store):
    campaign = begun(store)
    one = booked(store, campaign)
    other = ledger.Ledger(store, campaign, ledger.joined(store, campaign, "n", {"model": "n"}), {})
    mine = {pair_of(each.left, each.right) for each in one.draw(4, 1)[0]}
    theirs = {pair_of(each.left, each.right) for each in other.draw(9, 1)[0]}
    assert (len(mine), len(theirs), mine & theirs) == (4, 2, set())


def test_votes_of_many_calls_are_written_in_parts_and_refusals_are_told(store, monkeypatch):
    monkeypatch.setattr("podium.campaign.desk.MOST_BALLOTS", 2)
    campaign = begun(store)
    book = booked(store, campaign)
    questions, calls = book.draw(5, 1)
    ballots = [Ballot(f"judge-{each.id}", each.id, 1.0) for each in questions]
    ballots[1] = Ballot("other", 10**6, 1.0)  # a pair that is not there
    ended = [dataclasses.replace(each, done=5, outcome=1.0) for each in calls]
    refused = store.write(campaign.id, lambda writer: book.end(writer, ended, ballots, store.now()))
    assert len(refused) == 1
    assert "pair" in refused[0]
    spent = book.spent()
    assert (spent.votes, spent.skips, spent.calls, spent.open, spent.answered) == (4, 0, 5, 0, 5)
    assert [each.id for each in book.held()[0]] == [questions[1].id]  # nor was another given


def test_calls_are_on_disk_before_they_go_out(store):
    campaign = begun(store)
    book = booked(store, campaign)
    (one,), _ = book.draw(1, 1)
    fresh = book.new_call(one, 1, 5)
    book.begin([fresh])
    assert fresh in store.read(lambda reader: list(reader.calls(campaign.id)))


def test_rounds_take_each_item_once_and_stop_at_the_count():
    pairs = ledger._round([0, 1, 2, 3, 4], {pair_of(0, 1)}, {pair_of(1, 2): None}, 9)
    assert pairs == [(0, 2), (1, 3)]  # 0 and 1 have met, 1 and 2 too; nobody is left for 4
    assert ledger._round([0, 1, 2, 3], set(), {}, 1) == [(0, 1)]
    assert ledger._round([0, 1], {pair_of(0, 1)}, {}, 9) == []


# ---- a judge in numbers ------------------------------------------------------------------------------------------


def filled(store, seed, rows=60):
    """A campaign with calls and votes at random of two judges; the calls and the votes of the first as they were."""
    rng = random.Random(seed)
    campaign = begun(store, texts=WORDS)
    book = booked(store, campaign)
    other = ledger.joined(store, campaign, "n", {"model": "n"})
    calls, votes = [], []
    for k in range(rows):
        judge = book.judge.id if k % 5 else other.id
        left, right = rng.sample(range(len(WORDS)), 2)
        for turned in range(rng.choice([1, 2, 2])):
            first, second = (right, left) if turned else (left, right)
            outcome = rng.choice([1.0, 0.0, 0.5, None])
            calls.append(
                Call(
                    f"r{k}-{turned}", k, judge, first, second, turned, outcome=outcome, p=rng.choice([None, 0.25]),
                    problem=None if outcome is not None else rng.choice(["form", "empty"]), reason=f"why {k}",
                    tokens_in=rng.choice([None, 3, 7]), tokens_out=rng.choice([None, 2]), counted=0, raw="ä raw",
                    ms=k, tries=rng.choice([None, 1, 3]), cost=rng.choice([None, 0.25]),
                    done=rng.choice([None, 10**12]), at=9 * 10**11, model="tiny-1", prompt_hash="hash",
                    parameters='{"t": 1}', prompt="shown",
                )
            )  # fmt: skip
        if rng.random() < 0.4:
            first = calls[-1]
            again = dataclasses.replace(first, request=f"a{k}", again=first.request, outcome=rng.choice([0.0, 1.0]))
            calls.append(dataclasses.replace(again, done=rng.choice([None, 11])))
        gold = rng.random() < 0.4
        votes.append(
            Vote(judge, f"v{k}", left, right, rng.choice([1.0, 0.0, 0.5, None]), kind="gold" if gold else "chosen",
                 predicted=rng.choice([0.0, 1.0]) if gold else None)
        )  # fmt: skip
    store.write(campaign.id, lambda writer: writer.add_calls(calls))
    store.write(campaign.id, lambda writer: writer.append_votes(votes))
    return campaign, book, calls, votes


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_judge_in_numbers_is_what_its_calls_add_up_to(store, seed):
    campaign, book, calls, votes = filled(store, seed)
    found = tally_of(book, ledger.Material(store, campaign))
    mine = [each for each in calls if each.judge == book.judge.id]
    own = [each for each in votes if each.judge == book.judge.id]
    sent = [each for each in mine if each.done is not None or each.tries]
    assert found.calls == len(sent)
    assert found.requests == sum(max(1, each.tries or 1) for each in sent)
    assert found.tokens_in == sum(each.tokens_in or 0 for each in mine)
    assert found.tokens_out == sum(each.tokens_out or 0 for each in mine)
    assert found.cost == pytest.approx(sum(each.cost or 0.0 for each in mine))
    assert found.counted is False
    assert found.problems == Counter(each.problem for each in mine if each.problem)
    assert list(found.problems) == sorted(found.problems)
    assert found.pairs == sum(each.outcome is not None for each in own)
    assert found.skips == sum(each.outcome is None for each in own)
    known = [each for each in own if each.kind == "gold" and each.outcome is not None]
    assert found.gold == proportion([each.outcome == each.predicted for each in known])
    said = [each for each in own if each.outcome is not None]
    assert found.length == longer_won(
        [each.outcome for each in said], [len(WORDS[each.left]) for each in said],
        [len(WORDS[each.right]) for each in said],
    )  # fmt: skip
    by_request = {each.request: each for each in mine}
    again = [each for each in mine if each.again and each.done is not None]
    assert found.repeat == proportion([each.outcome == by_request[each.again].outcome for each in again])
    plain = {(each.question, each.turned): each.outcome for each in mine if each.again is None}
    once, turned, single = [], [], []
    for (number, way), outcome in plain.items():
        if way == 0 and outcome is not None:
            if (number, 1) not in plain:
                single.append(outcome)
            elif plain[number, 1] is not None:
                once.append(outcome)
                turned.append(plain[number, 1])
    truth = position(once, turned, single)
    assert found.position.first.value == pytest.approx(truth.first.value)
    assert found.position.first.lower == pytest.approx(truth.first.lower)
    assert found.position.first.count == truth.first.count
    assert found.position.same == truth.same
    assert (found.position.first_first, found.position.second_second) == (truth.first_first, truth.second_second)
    spent = book.spent()
    assert (spent.calls, spent.open) == (len(mine), sum(each.done is None for each in mine))
    assert (spent.tokens_in, spent.tokens_out) == (found.tokens_in, found.tokens_out)
    assert (spent.cost, spent.votes, spent.skips) == (pytest.approx(found.cost), found.pairs, found.skips)
    assert spent.dearest == max(each.cost for each in mine if each.cost is not None and each.done is not None)


def test_a_judge_without_calls_has_no_numbers(store):
    campaign = begun(store)
    found = tally_of(booked(store, campaign), ledger.Material(store, campaign))
    assert (found.calls, found.requests, found.tokens_in, found.tokens_out, found.cost) == (0, 0, 0, 0, None)
    assert (found.position, found.length, found.gold, found.repeat) == (None, None, None, None)
    assert (found.counted, found.problems, found.pairs, found.skips) == (False, {}, 0, 0)


def test_one_call_that_was_guessed_makes_the_tokens_a_guess(store):
    campaign = begun(store)
    book = booked(store, campaign)
    calls = [Call("a", 1, book.judge.id, 0, 1, 0, counted=0), Call("b", 2, book.judge.id, 0, 1, 0, counted=1)]
    store.write(campaign.id, lambda writer: writer.add_calls(calls))
    assert tally_of(book, ledger.Material(store, campaign)).counted is True


def test_two_judges_are_compared_by_the_last_vote_on_each_pair(store):
    campaign = begun(store)
    store.write(campaign.id, lambda writer: setup.invite(writer, ["x", "y"], store.now()) and None)
    rows = [Vote(0, "1", 0, 1, 1.0), Vote(0, "2", 1, 0, 1.0), Vote(0, "3", 1, 2, 0.5), Vote(0, "4", 2, 3, 0.0),
            Vote(1, "5", 0, 1, 0.0), Vote(1, "6", 2, 1, 1.0), Vote(1, "7", 3, 2, 1.0),
            Vote(1, "8", 0, 3, 1.0)]  # fmt: skip
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    content = store.read(lambda reader: reader.content(campaign.id))
    assert against(content, 0, content, 1) == agreement([0.0, 0.5, 0.0], [0.0, 0.0, 0.0])


# ---- the calls as lines ------------------------------------------------------------------------------------------


def test_every_call_is_a_line_with_all_that_is_known_of_it(store):
    campaign, book, calls, _ = filled(store, 4, rows=30)
    store.write(campaign.id, lambda writer: setup.invite(writer, ["Ann"], store.now()) and None)
    lines = store.read(lambda reader: list(call_lines(reader, campaign.id)))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    heads, rows = [json.loads(line) for line in lines[:2]], [json.loads(line) for line in lines[2:]]
    assert [(head["podium"], head["judge"], head["header"]["model"]) for head in heads] == [
        ("judge", "m", "m"), ("judge", "n", "n"),
    ]  # fmt: skip
    assert "ä raw" in lines[2]
    twice = {each.question for each in calls if each.turned == 1 and each.outcome is not None}
    kept = {each.request: each for each in calls}
    assert sorted(row["request"] for row in rows) == sorted(kept)
    for row in rows:
        each = kept[row["request"]]
        note = "repeat" if each.again else None if each.outcome is not None else "call" if each.done is None else "skip"
        a, b = each.first, each.second
        assert row.get("podium") == note
        assert row["length"] == pytest.approx(math.log((1 + len(WORDS[a])) / (1 + len(WORDS[b]))))
        assert {name: value for name, value in row.items() if name not in ("podium", "length")} == {
            "left": f"item {a}", "right": f"item {b}", "outcome": each.outcome,
            "weight": 0.5 if each.question in twice else 1.0, "group": each.question,
            "judge": "m" if each.judge == book.judge.id else "n", "order": each.turned, "request": each.request,
            "again": each.again, "time": {None: None, 11: "1970-01-01T00:00:00.011+00:00"}.get(
                each.done, "2001-09-09T01:46:40.000+00:00"), "sent": "1998-07-09T16:00:00.000+00:00", "model": "tiny-1",
            "prompt_hash": "hash", "parameters": {"t": 1}, "p": each.p, "problem": each.problem,
            "reason": each.reason, "raw": "ä raw", "tokens_in": each.tokens_in, "tokens_out": each.tokens_out,
            "counted": False, "ms": each.ms, "tries": each.tries, "cost": each.cost, "prompt": "shown",
        }  # fmt: skip


def test_the_length_of_what_is_shown_is_that_of_its_text_its_label_or_nothing(store):
    picture = Media("ab" * 32, "image/gif", b"GIF")
    shown = [Item(-1, "abcdefg", "image", None, picture.sha256), Item(-1, "abcd"), Item(-1, "x", body="12345")]
    items = Items(shown, {picture.sha256: picture})
    made = plain(store, items)
    calls = [Call("a", 1, 0, 0, 1, 0), Call("b", 2, 0, 2, 1, 0, counted=1, parameters="")]
    store.write(made.id, lambda writer: writer.add_calls(calls))
    first, second = (json.loads(line) for line in store.read(lambda reader: list(call_lines(reader, made.id))))
    assert first["length"] == pytest.approx(math.log(1 / 5))
    assert second["length"] == pytest.approx(math.log(6 / 5))
    assert (second["counted"], second["parameters"], second["judge"], second["podium"]) == (True, {}, None, "call")


# ---- who has which pair ------------------------------------------------------------------------------------------


def test_a_pair_whose_time_is_over_with_another_judge_is_taken(store, monkeypatch):
    campaign = begun(store, texts=("a", "b"))
    one = booked(store, campaign)
    other = ledger.Ledger(store, campaign, ledger.joined(store, campaign, "n", {"model": "n"}), {})
    now = store.now()
    store.write(campaign.id, lambda writer: writer.add_questions([Question(0, 1)]))
    ((mine,), _), nothing = one.take(1, 1), other.take(1, 1)
    assert nothing == ([], [])
    monkeypatch.setattr(store, "now", lambda: now + 11 * 60_000)  # a lease is ten minutes
    (theirs,), _ = other.take(1, 1)
    assert (theirs.id, theirs.judge) == (mine.id, other.judge.id)


def test_votes_bring_no_new_pairs_into_a_model_s_hands(store):
    campaign = begun(store)
    book = booked(store, campaign)
    (one,), calls = book.draw(1, 1)
    store.write(campaign.id, lambda writer: writer.add_questions([Question(2, 3)]))
    ballots = [Ballot("judge-1", one.id, 1.0)]
    assert store.write(campaign.id, lambda writer: book.end(writer, calls, ballots, store.now())) == []
    assert book.held() == ([], [])


def test_items_that_were_asked_least_are_drawn_first():
    """All but two of eight stood in a pair before: these two are the next, whichever they are."""
    rng = np.random.default_rng(4)
    for i in range(8):
        for j in range(i):
            others = [k for k in range(8) if k not in (i, j)]
            mine = {pair_of(*each) for each in zip(others[::2], others[1::2], strict=True)}
            (found,) = ledger._balanced(range(8), mine, 1, rng, mine)
            assert set(found) == {i, j}
    assert [len(ledger._balanced(range(8), set(), count, rng)) for count in (1, 3, 5, 9)] == [1, 3, 5, 9]


def test_items_that_are_gone_count_for_nobody():
    rng = np.random.default_rng(4)
    mine = {pair_of(0, 9), pair_of(1, 9)}
    for _ in range(20):
        assert set(ledger._balanced([0, 1, 2, 3], mine, 1, rng, mine)[0]) == {2, 3}


# ---- length held constant ----------------------------------------------------------------------------------------


def judged_lines(items, outcome):
    """Both calls about every pair, as they are exported; lengths that no order of the items explains."""
    lengths = dict(zip(items, [0.3, -0.2, 0.9, 0.1, -0.7, 0.4], strict=False))
    rows = [
        {"left": a, "right": b, "outcome": outcome(a, b), "weight": 0.5, "group": k, "length": lengths[a] - lengths[b]}
        for k, pair in enumerate(itertools.combinations(items, 2))
        for a, b in (pair, pair[::-1])
    ]
    return [json.dumps(row) + "\n" for row in rows]


@pytest.mark.parametrize(("lines", "accepted"), [
    (judged_lines("abcdef", lambda a, b: float((a < b) == ((ord(a) + ord(b)) % 3 > 0))), "group"),
    (judged_lines("abcdef", lambda a, b: 1.0 if {a, b} == {"a", "b"} else float(a < b)), "sandwich"),
    (judged_lines("ab", lambda a, b: float(a < b)), "sandwich"),  # one pair is one group
    ([], None),
])  # fmt: skip
def test_intervals_are_recommended_as_podium_rank_accepts_them(tmp_path, lines, accepted):
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(lines))
    taken = []
    for kind in ("group", "sandwich"):
        with pytest.raises(SystemExit) as stop:
            run(["rank", str(path), "--covariates", "length", "--side-effect", "--ci", kind])
        taken += [kind] if stop.value.code == 0 else []
    assert length_errors(lines) == accepted == next(iter(taken), None)
