"""Making a campaign, changing it while it runs, and what the results make of it."""

import shutil
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest

from podium.campaign import desk, planning, setup
from podium.campaign.items import Items, media_type, read_items
from podium.campaign.judges import judge_reports, without_judge
from podium.campaign.live import live_comparisons, live_votes, tired_pairs
from podium.campaign.options import Options
from podium.campaign.standing import DAY, Standings, check_scores, pairs_left, share, stable_at, standing
from podium.campaign.tokens import hash_of, is_token, new_token
from podium.errors import InputError, RefusedError
from podium.store import codec, open_store
from podium.store.content import load_times
from podium.store.values import Item, Vote

from suites.campaigns import MINUTE, Bench


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        yield store


def told(bench, rows, judge=0, kind="chosen", **more):
    """Append (left, right, outcome) rows as they are."""
    start = bench.content().campaign.last_vote
    votes = [Vote(judge, f"t{start + k}", *row, kind=kind, **more) for k, row in enumerate(rows)]
    return bench.do(lambda writer: writer.append_votes(votes))


def all_pairs(n, judge_errs=lambda a, b: False):
    return [(a, b, float(judge_errs(a, b) != (a < b))) for a in range(n) for b in range(n) if a < b]


# Set-up


def test_a_new_campaign_is_open_with_its_items_in_order(store):
    bench = Bench(store, items=3)
    assert bench.campaign.slug == "tea"
    assert [(item.code, item.label) for item in bench.content().items] == [(0, "item 0"), (1, "item 1"), (2, "item 2")]
    assert is_token(bench.token, bench.read(lambda reader: reader.campaign(bench.id)).admin_hash)
    assert not is_token("x", bench.campaign.admin_hash)
    assert not is_token("x", None)
    assert Bench(store).campaign.slug == "tea-2"


def test_tokens_are_long_and_only_their_hash_is_kept(store):
    bench = Bench(store)
    judge, token = bench.links[0]
    assert len(token) >= 32  # 6 bits a character
    assert new_token() != new_token()
    assert bench.read(lambda reader: reader.judge_of_token(hash_of(token))) == (bench.id, judge)
    for table in ("judge", "campaign", "event"):
        assert token not in str(bench.read(lambda reader, table=table: reader.run(f"SELECT * FROM {table}", {})))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": " "}, "title is ' '"),
        ({"question": ""}, "question is ''"),
        ({"title": "x" * 201}, "title has 201 characters"),
        ({"items": Items([Item(-1, "one")])}, "1 item; a ranking needs at least two"),
        ({"items": Items([])}, "0 items; a ranking needs at least two"),
        ({"options": Options(top=2)}, "top 2: there are 2 items"),
        ({"options": Options(gold=(("a", "z", 1),))}, "gold, row 1: there is no item 'z'"),
    ],
)
def test_a_campaign_that_cannot_be(store, change, words):
    given = {"items": Items([Item(-1, "a"), Item(-1, "b")]), "title": "T", "question": "Q", "now": 1} | change
    with pytest.raises(InputError, match=words):
        store.write(0, lambda writer: setup.new_campaign(writer, given.pop("items"), **given))
    assert store.read(lambda reader: reader.campaigns()) == []  # nothing is left of it


def test_states_follow_one_another(store):
    bench = Bench(store)
    for state in ("paused", "open", "closed", "open", "open"):
        bench.do(lambda writer, state=state: setup.set_state(writer, state, bench.now))
    with pytest.raises(RefusedError, match="it cannot be draft"):
        bench.do(lambda writer: setup.set_state(writer, "draft", bench.now))
    verbs = [event.data for event in bench.read(lambda reader: reader.events(bench.id)) if event.verb == "state"]
    assert [data["to"] for data in verbs] == ["open", "paused", "open", "closed", "open"]


def test_votes_carry_the_version_of_the_instructions(store):
    bench = Bench(store)
    bench.answer(0)
    assert bench.do(lambda writer: setup.set_instructions(writer, "Look twice.", bench.now)) == 2
    bench.answer(0)
    assert [vote.version for vote in bench.read(lambda r: list(r.votes(bench.id)))] == [1, 2]


def test_people_by_one_open_link(store):
    bench = Bench(store, judges=())
    token = bench.do(lambda writer: setup.open_link(writer, bench.now, most=2, parameter="PROLIFIC_PID"))
    first, secret = bench.do(lambda writer: setup.join(writer, token, bench.now, "p1"))
    again, other = bench.do(lambda writer: setup.join(writer, token, bench.now, "p1"))
    assert again.id == first.id
    assert secret != other
    bench.do(lambda writer: setup.join(writer, token, bench.now, "p2"))
    with pytest.raises(RefusedError, match="everybody who was wanted") as problem:
        bench.do(lambda writer: setup.join(writer, token, bench.now, "p3"))
    assert problem.value.code == "full"
    with pytest.raises(RefusedError, match="not known"):
        bench.do(lambda writer: setup.join(writer, "wrong", bench.now))


def test_who_came_by_the_open_link_counts_under_any_name(store):
    bench = Bench(store)
    token = bench.do(lambda writer: setup.open_link(writer, bench.now, most=2))
    first, _ = bench.do(lambda writer: setup.join(writer, token, bench.now))
    second, _ = bench.do(lambda writer: setup.join(writer, token, bench.now))
    bench.do(lambda writer: setup.rename(writer, first.id, "Ann", bench.now))
    bench.do(lambda writer: setup.erase(writer, second.id, bench.now))
    with pytest.raises(RefusedError, match="everybody who was wanted has come"):
        bench.do(lambda writer: setup.join(writer, token, bench.now))


def test_names_of_judges_differ(store):
    bench = Bench(store)
    with pytest.raises(InputError, match="a judge 'ann' already"):
        bench.do(lambda writer: setup.invite(writer, ["ann"], bench.now))
    with pytest.raises(InputError, match="a judge 'bob' already"):
        bench.do(lambda writer: setup.rename(writer, 0, "bob", bench.now))
    bench.do(lambda writer: setup.rename(writer, 0, "anna", bench.now))
    assert bench.content().judges[0].name == "anna"


def test_erasing_a_person_leaves_the_votes_and_nothing_else(store):
    bench = Bench(store, judges=("Ann Secret",))
    question = bench.next(0).questions[0].id
    bench.vote(0, question, reason="as Ann Secret told me")
    before = standing(bench.content())
    bench.do(lambda writer: writer.change_judge(0, outside_id="prolific-77"))
    name = bench.do(lambda writer: setup.erase(writer, 0, bench.now))
    tables = ("judge", "vote", "event", "lease", "question", "campaign")
    everything = " ".join(str(bench.read(lambda r, t=t: r.run(f"SELECT * FROM {t}", {}))) for t in tables)
    for trace in ("Ann", "Secret", "prolific-77", bench.links[0][0].token_hash):
        assert trace not in everything
    assert bench.content().judges[0].name == name
    assert standing(bench.content()).places == before.places
    with pytest.raises(RefusedError, match="withdrawn"):
        bench.next(0)


# Items


def test_items_of_a_table(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,text,size\n7,first,1.5\nb,second,2\n")
    read = read_items(str(path), features=["size"])
    assert [(i.label, i.body, i.features) for i in read.items] == [("7", "first", [1.5]), ("b", "second", [2.0])]
    path.write_text("id,size\n7,1.5\nb,2\n")
    assert [(i.label, i.body) for i in read_items(str(path)).items] == [("7", None), ("b", None)], (
        "names are all there is"
    )


def test_items_of_a_folder(tmp_path):
    (tmp_path / "a.txt").write_text("tea")
    (tmp_path / "b.md").write_text("*milk*")
    (tmp_path / "c.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (tmp_path / "d.html").write_text("<!DOCTYPE html><p>page")
    (tmp_path / ".hidden").write_text("no")
    read = read_items(str(tmp_path))
    assert [(i.label, i.kind) for i in read.items] == [
        ("a.txt", "text"), ("b.md", "markdown"), ("c.png", "image"), ("d.html", "html"),
    ]  # fmt: skip
    assert {each.type for each in read.media.values()} == {"image/png", "text/html"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id,text\n", "no rows"),
        ("id,text\na,1\na,2\n", "row 2: 'a' appears in row 1 already"),
        ("id,text\n,1\nb,2\n", "row 1: the label is empty"),
        ("id,text\nknown,1\nb,2\n", "row 1: 'known' is in the campaign already"),
        ("id,text\na,1\nb,\n", "row 2: the text of 'b' is empty; fill it in or remove the row"),
        ("id,text\na,1\nb,  \n", "row 2: the text of 'b' is empty"),
        ("id,file\na,none.png\n", "row 1: .*none.png cannot be read"),
        ("id,file\na,strange.bin\n", "row 1: .*strange.bin is no picture"),
        ("id,kind\na,film\n", "row 1: kind 'film' is unknown"),
        ("id,text\na," + "x" * 1_000_001 + "\n", r"row 1: the text of 'a' has 1,000,001 bytes"),
    ],
)
def test_items_that_are_refused_whole_with_their_rows(tmp_path, content, words):
    (tmp_path / "strange.bin").write_bytes(b"\x01\x02\x03")
    path = tmp_path / "items.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=words):
        read_items(str(path), known=frozenset({"known"}))


def test_the_files_of_a_campaign_have_an_end(store, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "MOST_MEDIA", 40)
    bench = Bench(store)
    png = b"\x89PNG\r\n\x1a\n"
    some, more = tmp_path / "some", tmp_path / "more"
    some.mkdir()
    more.mkdir()
    (some / "one.png").write_bytes(png + b"1" * 12)
    (some / "same.png").write_bytes(png + b"1" * 12)
    bench.do(lambda writer: setup.add_items(writer, read_items(str(some)), bench.now))
    (more / "two.png").write_bytes(png + b"2" * 13)
    with pytest.raises(InputError, match="its files would have 41 bytes in all; a campaign holds 40"):
        bench.do(lambda writer: setup.add_items(writer, read_items(str(more)), bench.now))
    (more / "two.png").write_bytes(png + b"2" * 12)
    bench.do(lambda writer: setup.add_items(writer, read_items(str(more)), bench.now))


def test_the_first_ten_problems_are_named(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id\n" + "a\n" * 14)
    with pytest.raises(InputError, match=r"row 11: .*\(and 3 more\); nothing was taken") as problem:
        read_items(str(path))
    assert str(problem.value).count("row 1 already") == 10


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"), (b"RIFF1234WEBPVP8", "image/webp"), (b"RIFF1234WAVEfmt", "audio/wav"),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"), (b"<svg xmlns=''>", "image/svg+xml"), (b"  <HTML>", "text/html"),
        (b"MZ\x90\x00", None), (b"", None), (b"just text", None), (b"<script>", None),
    ],
)  # fmt: skip
def test_types_come_from_content(data, kind):
    assert media_type(data) == kind


def test_items_added_while_running_are_asked_about(store):
    bench = Bench(store, items=4)
    bench.answer(0, times=4)
    bench.do(lambda writer: setup.add_items(writer, Items([Item(-1, "late")]), bench.now))
    assert bench.content().items[4].label == "late"
    with pytest.raises(InputError, match="'late' is in the campaign already"):
        bench.do(lambda writer: setup.add_items(writer, Items([Item(-1, "late")]), bench.now))
    campaign = bench.read(lambda reader: reader.campaign(bench.id))
    assert bench.read(lambda reader: planning.is_due(reader, campaign, bench.now))
    planning.plan_once(store, bench.id, bench.now)
    asked = bench.read(lambda reader: reader.questions(bench.id, "open", "out"))
    assert any(4 in (q.left, q.right) for q in asked)


def test_a_withdrawn_item_is_hidden_and_comes_back_with_its_votes(store):
    bench = Bench(store, items=4)
    told(bench, all_pairs(4))
    whole = standing(bench.content())
    assert whole.order == ("item 0", "item 1", "item 2", "item 3")
    bench.next(0, 3)
    bench.do(lambda writer: setup.withdraw(writer, 1, bench.now))
    assert standing(bench.content()).order == ("item 0", "item 2", "item 3")
    assert standing(bench.content()).votes == 3
    assert all(1 not in (q.left, q.right) for q in bench.next(0, 10).questions)
    bench.do(lambda writer: setup.withdraw(writer, 1, bench.now, back=True))
    assert standing(bench.content()).places == whole.places


# Results


def test_the_standing_is_that_of_the_planner_on_the_votes_that_count(store):
    from podium.active import Planner

    bench = Bench(store, items=8)
    rng = np.random.default_rng(2)
    rows = []
    for _ in range(120):
        a, b = rng.permutation(8)[:2].tolist()
        rows.append((a, b, float(rng.random() < 1 / (1 + np.exp(a - b)))))
    told(bench, rows)
    told(bench, [(7, 0, 1.0)] * 30, judge=1)
    bench.do(lambda writer: setup.exclude(writer, 1, bench.now))
    planner = Planner(8, seed=bench.campaign.seed)
    left, right, value = zip(*rows, strict=True)
    planner.load(left, right, value)
    found = standing(bench.content())
    lower, upper = planner.bands()
    assert [place.code for place in found.places] == planner.order().tolist()
    assert [(place.lower, place.upper) for place in found.places] == [(lower[k], upper[k]) for k in planner.order()]
    assert (found.stable, found.until_stable) == (planner.summary().stable, planner.summary().until_stable)
    assert found.votes == 120


def test_excluding_and_restoring_leaves_the_order_as_it_was(store):
    bench = Bench(store, items=6)
    told(bench, all_pairs(6) * 3)
    told(bench, [(a, b, 1.0 - v) for a, b, v in all_pairs(6)] * 9, judge=1)
    both = standing(bench.content())
    moved = without_judge(bench.content(), 1)
    bench.do(lambda writer: setup.exclude(writer, 1, bench.now))
    alone = standing(bench.content())
    assert alone.order == tuple(f"item {k}" for k in range(6))
    assert [each.item for each in sorted(moved, key=lambda each: each.after)] == list(alone.order)
    assert [each.item for each in moved] == list(both.order)
    assert without_judge(bench.content(), 1) == moved  # whether excluded or not
    bench.do(lambda writer: setup.reinstate(writer, 1, bench.now))
    assert standing(bench.content()).places == both.places


def test_no_votes_no_places(store):
    bench = Bench(store)
    found = standing(bench.content())
    assert found.places == ()
    assert found.to_frame().height == 0
    with pytest.raises(InputError, match="no votes that count"):
        live_comparisons(bench.content())


def test_agreement_is_the_share_that_was_predicted(store):
    bench = Bench(store, items=4)
    told(bench, [(0, 1, 1.0)] * 6 + [(0, 1, 0.0)] * 2, kind="check", predicted=1.0)
    told(bench, [(0, 1, 0.0)], kind="check", predicted=0.0)
    told(bench, [(0, 1, 0.5)], kind="check", predicted=0.0)
    told(bench, [(0, 1, 0.0)] * 50, kind="chosen", predicted=1.0)  # chosen pairs say nothing about the rest
    told(bench, [(0, 1, 0.0)] * 50, kind="check")  # nothing was predicted
    found = standing(bench.content()).agreement
    assert (found.value, found.count) == (7.5 / 10, 10)


def test_the_interval_of_a_share_solves_the_score_equation():
    for hits, count in ((3, 10), (0, 7), (19, 19)):
        found = share(np.array([1.0] * hits + [0.0] * (count - hits)))
        for end in (found.lower, found.upper):
            if 1e-9 < end < 1 - 1e-9:
                z = (hits / count - end) / np.sqrt(end * (1 - end) / count)
                assert abs(z) == pytest.approx(1.6448536, abs=1e-6)
    assert share(np.array([])) is None


def test_when_it_will_be_stable_at_the_rate_of_the_last_day(store):
    bench = Bench(store, items=8)
    told(bench, all_pairs(8)[:10], received=bench.now - 2 * DAY)
    told(bench, [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (2, 3, None)], received=bench.now - DAY // 2)
    told(bench, [(4, 5, 1.0)], received=bench.now - DAY // 2)
    bench.do(lambda writer: desk.undo(writer, 0, "back", "t14", bench.now))  # undone: it does not count
    came = bench.read(lambda reader: reader.count_came(bench.id, bench.now - DAY))
    assert came == 3
    found = standing(bench.content())
    assert not found.stable
    assert DAY == 86_400_000  # milliseconds
    assert stable_at(found, came, bench.now) == bench.now + found.until_stable * DAY // 3
    assert stable_at(found, 0, bench.now) is None
    assert stable_at(replace(found, stable=True), 0, bench.now) == bench.now
    assert stable_at(replace(found, finished=True, until_stable=0), came, bench.now) is None, "no pair is left to ask"


def test_how_many_more_votes_judges_can_give(store):
    """Two judges, four items: six pairs each, none twice; skips and conflicts are gone too."""
    bench = Bench(store, items=4)
    assert pairs_left(bench.content()) == 12
    told(bench, [(0, 1, 1.0), (1, 0, 1.0), (2, 3, None)])
    assert pairs_left(bench.content()) == 10, "a pair seen twice is one"
    told(bench, [(0, 1, 1.0)], judge=1)
    assert pairs_left(bench.content()) == 9
    bench.do(lambda writer: setup.set_conflicts(writer, 1, [3], bench.now))
    assert pairs_left(bench.content()) == 6, "of three items judge 1 has two pairs left"
    bench.do(lambda writer: setup.exclude(writer, 1, bench.now))
    assert pairs_left(bench.content()) == 4
    told(bench, [row for row in all_pairs(4) if row[:2] not in ((0, 1), (2, 3))])
    found = standing(bench.content())
    assert pairs_left(bench.content()) == 0
    assert (
        replace(found, stable=False, finished=False)
        .words(0)
        .endswith("not stable, and no judge has a pair left: another judge would help")
    )
    assert (
        replace(found, votes=48, stable=False, finished=False, until_stable=12, until_stable_upper=480)
        .words(3)
        .endswith("not stable yet: about 12 to 480 more votes; its judges have 3 pairs left: invite others")
    )
    assert (
        replace(found, votes=48, stable=False, finished=False, until_stable=12, until_stable_upper=480)
        .words(60)
        .endswith("not stable yet: about 12 to 480 more votes; its judges have 60 pairs left")
    )
    bench.do(lambda writer: desk.undo(writer, 0, "back", "t7", bench.now))
    assert pairs_left(bench.content()) == 1, "a vote taken back can be given again"


def test_standings_are_computed_once_a_position(store):
    bench = Bench(store)
    told(bench, all_pairs(4))
    standings = Standings(store)
    first = standings.get(bench.id)
    assert standings.get(bench.id) is first
    bench.do(lambda writer: setup.exclude(writer, 1, bench.now))
    standings.get(bench.id)
    bench.answer(0)
    assert standings.get(bench.id).votes == 7
    assert standings.computed == 3


def fresh(content):
    return standing(replace(content, standing=None))


def test_a_kept_standing_is_the_one_that_would_be_computed(store, monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 20)
    bench = Bench(store, items=7, check_share=0.3)
    rng = np.random.default_rng(3)
    rows = [(*rng.choice(7, 2, replace=False).tolist(), float(rng.integers(2))) for _ in range(60)]
    told(bench, rows, kind="check", predicted=1.0)
    told(bench, [(0, 1, None)])
    for keep in (lambda: Standings(store).get(bench.id), lambda: planning.plan_once(store, bench.id, bench.now)):
        assert bench.content().standing is None
        keep()
        content = bench.content()
        assert content.standing is not None
        assert standing(content) == fresh(content)
        assert standing(content).agreement.count == 60
        told(bench, [(2, 3, 1.0)])
    content = replace(bench.content(), standing=b'{"head": {}}')  # what does not fit is computed
    assert standing(content) == fresh(content)


def spending(writer):
    """A campaign that has used its budget, and nobody has noticed."""
    writer.change(state="open", options=writer.locked.options | {"budget": 1})
    return writer


def test_whatever_changes_a_standing_a_kept_one_is_not_shown_for_it(store, monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 1)
    bench = Bench(store, items=6)
    told(bench, all_pairs(6) + [(b, a, 1.0) for a, b, _ in all_pairs(6)[:9]], judge=0)
    told(bench, [(b, a, 1.0) for a, b, _ in all_pairs(6)], judge=1)
    now, late = bench.now, Items([Item(-1, "late")])
    changes = {
        "a vote": lambda w: w.append_votes([Vote(0, "one more", 4, 0, 1.0)]),
        "an undo": lambda w: w.append_votes([Vote(0, "undo", 0, 1, None, undoes=1)]),
        "a skip": lambda w: w.append_votes([Vote(0, "skip", 4, 0, None)]),
        "exclude": lambda w: setup.exclude(w, 1, now),
        "reinstate": lambda w: setup.reinstate(w, 1, now),
        "revoke": lambda w: setup.revoke(w, 1, now),
        "add_items": lambda w: setup.add_items(w, late, now),
        "withdraw": lambda w: setup.withdraw(w, 0, now),
        "withdraw, back": lambda w: setup.withdraw(w, 0, now, back=True),
        "set_options": lambda w: setup.set_options(w, {"top": 2}, now),
        "set_state": lambda w: setup.set_state(w, "paused", now),
        "pause_if_spent": lambda w: setup.pause_if_spent(spending(w), now),
        "set_instructions": lambda w: setup.set_instructions(w, "Look twice.", now),
        "invite": lambda w: setup.invite(w, ["zoe"], now),
        "open_link": lambda w: setup.open_link(w, now, most=3),
        "new_link": lambda w: setup.new_link(w, 0, now),
        "rename": lambda w: setup.rename(w, 0, "anna", now),
        "set_conflicts": lambda w: setup.set_conflicts(w, 0, [1], now),
        "erase": lambda w: setup.erase(w, 0, now),
        "set_words": lambda w: setup.set_words(w, now, title="Another title"),
    }
    writing = {name for name in setup.__all__ if next(iter(signature(getattr(setup, name)).parameters)) == "writer"}
    assert writing - set(changes) == {"join", "new_campaign"}, "join adds a judge as invite does"
    for what, change in changes.items():
        Standings(store).get(bench.id)
        assert bench.content().standing is not None
        bench.do(change)
        assert standing(bench.content()) == fresh(bench.content()), what


def test_an_interval_for_every_look_holds_at_all_looks_together():
    """At every look of 300 votes, in 400 runs; Wilson's, made for one look, is left by far more than one run in ten."""
    rng = np.random.default_rng(7)
    count, truth = 300, 0.7
    votes = (rng.random((400, count)) < truth).astype(float)
    totals = votes.cumsum(axis=1)
    shares = {(n, k): share(np.repeat([1.0, 0.0], [k, n - k])) for n in range(1, count + 1, 3) for k in range(n + 1)}
    ever, once = np.zeros(400, dtype=bool), np.zeros(400, dtype=bool)
    for n in range(1, count + 1, 3):
        found = [shares[n, int(total)] for total in totals[:, n - 1]]
        ever |= [not each.always_lower <= truth <= each.always_upper for each in found]
        once |= [not each.lower <= truth <= each.upper for each in found]
    assert ever.mean() <= 0.1
    assert once.mean() > 0.3
    assert all(each.always_lower <= each.lower and each.upper <= each.always_upper for each in shares.values())


@pytest.mark.parametrize("hits", [[1.0], [1.0, 0.0, 0.5], [0.5] * 9, [1.0] * 40 + [0.0] * 11])
def test_the_interval_for_every_look_ends_where_the_mixture_is_ten_times_as_likely(hits):
    from scipy.integrate import quad

    total, count, found = sum(hits), len(hits), share(np.array(hits))

    def likelihood(p):
        return p**total * (1 - p) ** (count - total)

    mixed = quad(lambda t: likelihood(np.sin(t) ** 2), 0, np.pi / 2)[0] / (np.pi / 2)  # Jeffreys' weights are even in t
    for end in (found.always_lower, found.always_upper):
        if 0.0 < end < 1.0:
            assert mixed / likelihood(end) == pytest.approx(10.0, rel=1e-6)


def test_scores_need_enough_check_votes(store):
    bench = Bench(store, items=4)
    told(bench, all_pairs(4) * 50, kind="chosen")
    with pytest.raises(InputError, match="0 votes on check pairs; scores with intervals need 250"):
        check_scores(bench.content())
    told(bench, [(a, b, float((a < b) != (k % 4 == 0))) for k in range(50) for a, b, _ in all_pairs(4)], kind="check")
    assert check_scores(bench.content()).order == tuple(f"item {k}" for k in range(4))


def on_both_sides(rows):
    """Every second pair turned around, as sides are drawn."""
    return [row if k % 2 else (row[1], row[0], 1.0 - row[2]) for k, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("left", "count", "told_so"), [(13, 14, True), (12, 14, False), (2, 20, True), (50, 100, False)]
)
def test_a_judge_who_leans_to_one_side_is_told_by_an_exact_sign_test(store, left, count, told_so):
    from scipy.stats import binomtest

    assert (binomtest(left, count).pvalue * 2 < 0.01) == told_so, "two judges share 1 %"
    bench = Bench(store, items=4, judges=("leaning", "other"))
    rows = [(k % 2, 2 + k // 2 % 2, float(k < left)) for k in range(count)]
    told(bench, rows, 0)
    told(bench, [(a, b, 0.5) for a, b, _ in rows], 1)
    content = bench.content()
    times = bench.read(lambda reader: load_times(reader.run, bench.id, len(content.votes)))
    leaning, other = judge_reports(content, times)
    side = "left" if left > count / 2 else "right"
    words = f"Chose the {side} side {max(left, count - left)} of {count} times, more than chance explains."
    assert (leaning.flag == words) == told_so, leaning.flag
    assert other.flag is None


def test_judges_in_numbers(store):
    bench = Bench(store, items=5, judges=("good", "left", "contrary", "second"))
    for judge in (0, 1, 2):
        rows = all_pairs(5) * 8
        if judge == 1:
            rows = [(a, b, 1.0) if k // 10 % 2 else (b, a, 1.0) for k, (a, b, _) in enumerate(rows)]
        if judge == 2:
            rows = [(a, b, 1.0 - v) for a, b, v in rows]
        told(bench, rows if judge == 1 else on_both_sides(rows), judge, kind="check", ms=1000 * (judge + 1))
    told(bench, on_both_sides(all_pairs(5) * 8), 0, kind="check", ms=1000)
    told(bench, on_both_sides(all_pairs(5) * 16), 3, kind="check")
    told(bench, [(0, 1, None)] * 2, 0)
    told(bench, [(0, 1, 1.0), (0, 1, 0.0)], 0, kind="gold", predicted=1.0, ms=1000)
    content = bench.content()
    times = bench.read(lambda reader: load_times(reader.run, bench.id, len(content.votes)))
    good, left, contrary, second = judge_reports(content, times)
    assert (good.votes, good.skips, good.seconds) == (162, 2, 1.0)
    assert (good.gold.value, good.gold.count) == (0.5, 2)
    assert good.consistency.value == pytest.approx(151 / 152)
    assert (left.left.value, left.longest_run, left.seconds) == (1.0, 80, 2.0)
    assert left.consistency.value == pytest.approx(3 / 7)
    assert contrary.agreement.value == 0.0
    assert good.agreement.value == second.agreement.value == 1.0
    assert second.seconds is None
    assert contrary.flag == "Significantly worse than coin flips: likely the wrong way round."
    assert good.flag is None


def test_a_judge_who_leans_and_is_no_better_than_coins_is_told_both(store):
    """Of 88 votes 78 for the left side, whatever stands there, among three judges who know the order."""
    bench = Bench(store, items=6, judges=("lefty", "ann", "bob", "cy"))
    rows = (on_both_sides(all_pairs(6)) * 6)[:88]
    told(bench, [(a, b, float(k % 9 != 4 or k > 85)) for k, (a, b, _) in enumerate(rows)], 0, kind="check")
    for judge in (1, 2, 3):
        told(bench, [(a, b, v if k % 7 else 1.0 - v) for k, (a, b, v) in enumerate(rows)], judge, kind="check")
    content = bench.content()
    times = bench.read(lambda reader: load_times(reader.run, bench.id, len(content.votes)))
    lefty, *others = judge_reports(content, times)
    assert lefty.flag == (
        "Chose the left side 78 of 88 times, more than chance explains. "
        "Significantly less reliable than half the median judge, and not shown to be better than coin flips."
    )
    assert [each.flag for each in others] == [None] * 3


def test_tired_pairs_are_those_that_enough_judges_skipped(store):
    bench = Bench(store, judges=("a", "b", "c"))
    told(bench, [(0, 1, None), (0, 1, None), (2, 3, None)], 0)
    told(bench, [(1, 0, None)], 1)
    told(bench, [(1, 0, 1.0)], 2)
    assert tired_pairs(bench.content().votes, 2) == [(0, 1)]
    assert tired_pairs(bench.content().votes, 1) == [(0, 1), (2, 3)]


def test_comparisons_for_other_rankers_are_the_votes_that_count(store):
    bench = Bench(store, items=4)
    told(bench, [(1, 0, 1.0), (2, 3, 0.5), (0, 2, None)])
    told(bench, [(3, 1, 0.0)], 1)
    votes = live_comparisons(bench.content())
    assert votes.sided
    assert votes.outcome.tolist() == [1, 0, -1]
    assert [votes.judges[k] for k in votes.judge] == ["ann", "ann", "bob"]


# Planning


def test_a_plan_fills_the_queue_and_keeps_what_is_out(store):
    bench = Bench(store, items=12)
    out = bench.next(0).questions
    planned = planning.plan_once(store, bench.id, bench.now)
    assert planned.number == 1
    waiting = bench.read(lambda reader: reader.questions(bench.id, "open"))
    assert len(waiting) == planned.questions > 20
    assert [q.id for q in bench.next(0).questions] == [q.id for q in out]
    campaign = bench.read(lambda reader: reader.campaign(bench.id))
    assert not bench.read(lambda reader: planning.is_due(reader, campaign, bench.now))
    for _ in range(3):
        bench.answer(1)
    campaign = bench.read(lambda reader: reader.campaign(bench.id))
    assert bench.read(lambda reader: planning.is_due(reader, campaign, bench.now))


def test_check_pairs_carry_what_the_order_said_and_are_asked(store):
    bench = Bench(store, items=16, check_share=0.3)
    rng = np.random.default_rng(5)
    for _ in range(12):
        planning.plan_once(store, bench.id, bench.now)
        bench.answer(0, times=8, better=lambda a, b: min(a, b) if rng.random() < 0.8 else max(a, b))
    live = live_votes(bench.content())
    checks = live.of_kind("check")
    assert 4 <= checks.sum() <= 60  # of 96, three in ten once they begin
    assert not np.isnan(live.predicted[checks]).all()
    assert standing(bench.content()).agreement is not None


def test_check_pairs_that_the_desk_draws_carry_what_the_last_plan_said_too(store):
    bench = Bench(store, items=8)
    drawn = bench.next(0, 1).questions[0]
    assert (drawn.kind, drawn.predicted) == ("check", None)  # nothing is known yet
    told(bench, all_pairs(8)[:20])
    planning.plan_once(store, bench.id, bench.now)
    bench.do(lambda writer: writer.clear_queue(everything=True))
    ranks = {place.code: place.place for place in standing(bench.content()).places}
    bench.do(lambda writer: setup.add_items(writer, Items([Item(-1, "late")]), bench.now))
    seen = set()
    for _ in range(20):
        drawn = bench.next(1, 1).questions[0]
        assert drawn.kind == "check"
        known = drawn.left in ranks and drawn.right in ranks
        assert drawn.predicted == (float(ranks[drawn.left] < ranks[drawn.right]) if known else None)
        bench.vote(1, drawn.id, 1.0)
        seen.add(known)
    assert seen == {True, False}
    live = live_votes(bench.content())
    assert standing(bench.content()).agreement.count == int((~np.isnan(live.predicted)).sum()) > 0


def test_gold_pairs_go_to_every_judge(store):
    bench = Bench(store, items=8, gold=[["item 0", "item 7", 1]])
    planning.plan_once(store, bench.id, bench.now)
    for judge in (0, 1):
        kinds = []
        for _ in range(20):
            question = bench.next(judge, 1).questions[0]
            kinds.append(question.kind)
            if question.kind == "gold":
                assert {question.left, question.right} == {0, 7}
            bench.vote(judge, question.id, float(question.left < question.right))
            if len(kinds) % 5 == 0:
                planning.plan_once(store, bench.id, bench.now)
        assert kinds.count("gold") == 1


def test_pairs_that_want_more_votes_survive_a_plan(store):
    bench = Bench(store, items=6, judges=("a", "b"), votes_per_pair=2)
    planning.plan_once(store, bench.id, bench.now)
    question = bench.next(0, 1).questions[0]
    bench.vote(0, question.id, count=0)
    planning.plan_once(store, bench.id, bench.now)
    assert bench.next(1, 1).questions[0].id == question.id


def test_the_budget_ends_the_asking(store):
    bench = Bench(store, items=6, budget=5)
    planning.plan_once(store, bench.id, bench.now)
    bench.answer(0, times=5)
    assert planning.plan_once(store, bench.id, bench.now) is None
    assert bench.next(0).why == "paused"
    event = bench.read(lambda reader: reader.events(bench.id))[-1]
    assert event.data["why"] == "the budget of 5 votes is used"


def test_a_planner_that_fails_is_told_and_judges_go_on(store, monkeypatch):
    bench = Bench(store)

    def broken(*args, **more):
        raise ZeroDivisionError

    monkeypatch.setattr(planning, "loaded_planner", broken)
    running = planning.Planning(store, every=0.01)
    running.start()
    for _ in range(500):
        if running.trouble:
            break
        running._stop.wait(0.01)
    assert "judges go on with random pairs" in running.trouble
    bench.answer(0, times=3)
    monkeypatch.undo()
    for _ in range(500):
        if running.trouble is None and running.plans:
            break
        running._stop.wait(0.01)
    running.stop()
    assert running.plans >= 1
    assert running.trouble is None
    assert store.holder("plan") is None


def test_two_planning_processes_one_plans(store, tmp_path):
    Bench(store)
    with open_store(str(tmp_path / "c.db")) as other:
        first, second = planning.Planning(store, every=0.01), planning.Planning(other, every=0.01)
        first.start()
        for _ in range(500):
            if first.plans:
                break
            first._stop.wait(0.01)
        second.start()
        second._stop.wait(0.3)
        assert second.plans == 0
        second.stop()
        first.stop()
    assert store.read(lambda reader: reader.campaigns())[0].plans == 1


def test_of_two_plans_at_once_the_second_is_dropped(store):
    bench = Bench(store)
    seen = bench.read(lambda reader: reader.campaign(bench.id))
    assert planning.plan_once(store, bench.id, bench.now) is not None
    made = {"votes": 0}
    none = np.zeros(0, np.int32)
    assert bench.do(lambda writer: planning._replace_queue(writer, [], seen, made, bench.now, none)) is None


def test_snapshots_are_kept_and_thrown_away(store, monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 20)
    bench = Bench(store, items=5)
    told(bench, all_pairs(5) * 5)
    before = standing(bench.content())
    planning.plan_once(store, bench.id, bench.now)
    assert bench.read(lambda reader: reader.snapshot_ends(bench.id)) == [20, 40]
    assert standing(bench.content()).places == before.places
    bench.do(lambda w: w.connection.exec_driver_sql("UPDATE snapshot SET checksum = 'x' WHERE seq = 20"))
    assert not bench.content().intact
    assert standing(bench.content()).places == before.places
    planning.plan_once(store, bench.id, bench.now)
    assert bench.content().intact
    assert bench.read(lambda reader: reader.snapshot_ends(bench.id)) == [20, 40]


def test_after_a_restart_the_log_is_read_leases_stand_and_the_queue_is_planned_anew(store, tmp_path):
    bench = Bench(store, items=8)
    planning.plan_once(store, bench.id, bench.now)
    bench.answer(0, times=4)
    held = [question.id for question in bench.next(0, 2).questions]
    shutil.copy(tmp_path / "c.db", tmp_path / "killed.db")  # as a killed process leaves it: nothing was closed
    shutil.copy(tmp_path / "c.db-wal", tmp_path / "killed.db-wal")
    with open_store(str(tmp_path / "killed.db")) as again:
        bench.store = again
        campaign = bench.read(lambda reader: reader.campaign(bench.id))
        assert (campaign.last_vote, campaign.plans) == (4, 1)
        planning.plan_once(again, bench.id, bench.now)
        assert bench.read(lambda reader: reader.campaign(bench.id)).plans == 2
        assert [question.id for question in bench.next(0, 2).questions] == held
        assert not {question.id for question in bench.next(1, 10).questions} & set(held)
        bench.now += 11 * MINUTE
        bench.do(lambda writer: writer.lapse(bench.now))
        states = {each.id: each.state for each in bench.read(lambda r: r.questions(bench.id, "open", "out"))}
        assert {states[id] for id in held} == {"open"}


def test_history_is_newest_first(store):
    bench = Bench(store)
    bench.answer(0, times=3)
    assert [vote.seq for vote in bench.read(lambda r: desk.history(r, bench.id, 0))] == [3, 2, 1]
