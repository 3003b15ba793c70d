"""What is read from the tables, beside a slow twin: every row of a table, picked in Python."""

from dataclasses import fields

import numpy as np
import pytest
from sqlalchemy import text

from podium.errors import InputError, RefusedError
from podium.store import codec, open_store
from podium.store import reader as reading
from podium.store.reader import Reader
from podium.store.values import KINDS, Call, Event, Judge, Media, Question, Vote, pair_of

from suites.store import new_campaign

ONE, TWO, NONE = 1, 2, 9
STATES = ("open", "out", "done", "tired")


def filled(store):
    """Two campaigns with rows of every kind, alike but not the same."""
    rng = np.random.default_rng(5)
    for campaign, slug in ((ONE, "one"), (TWO, "two")):
        assert new_campaign(store, slug, items=6, judges=3) == campaign
        store.write(campaign, lambda writer, slug=slug, rng=rng: fill(writer, slug, rng))


def fill(writer, slug, rng):
    writer.change_item(1, withdrawn=77)
    writer.change_item(2, features=[0.5, 2.0])
    writer.change_judge(1, outside_id="outside", conflicts=[2, 3])
    pairs = [(a, b) for a in range(6) for b in range(a + 1, 6)]
    some = []
    for place in rng.permutation(15).tolist():
        a, b = pairs[place]
        left, right = (a, b) if rng.random() < 0.5 else (b, a)
        kind = KINDS[int(rng.integers(4))]
        some.append(Question(left, right, kind, int(rng.integers(3)), plan=int(rng.integers(3)), place=len(some)))
    writer.add_questions(some)
    asked = writer.questions(writer.locked.id, "open")
    for k, question in enumerate(asked):
        if k % 3 == 0:
            question = writer.give(question, k % 2, 100 + k % 4, 1000 + k)
        if k % 4 == 1:
            writer.change_question(question, state="done" if k % 8 == 1 else "tired", judge=None, until=None)
    rows = []
    for k in range(40):
        undone = 1 + k // 3 if k % 10 == 9 else None
        outcome = None if undone or k % 7 == 3 else (1.0, 0.0, 0.5)[k % 3]
        of = asked[k % 5].id if k % 4 else None
        rows.append(Vote(k % 3, f"{slug}{k}", k % 6, (k + 1) % 6, outcome, of, undoes=undone, received=10 * k, ms=k))
    writer.append_votes(rows)
    for k in range(5):
        writer.append_event(Event("state", {"k": k}, at=k))
    writer.add_media(Media(f"{slug}", "image/png", slug.encode() * 2))
    writer.add_media(Media("both", "image/gif", slug.encode()))
    writer.add_item_texts("context", {0: f"{slug} 0", 3: f"{slug} 3"})
    writer.add_item_texts("reference", {0: f"{slug} r"})
    writer.add_calls([Call(f"{slug}{k}", 1 + k % 4, k % 3, 0, 1, k % 2, at=k) for k in range(11)])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with open_store(str(tmp_path_factory.mktemp("reader") / "c.db"), new=True) as store:
        filled(store)
        yield store


@pytest.fixture
def ask(store):
    return store.read


@pytest.fixture
def rows(ask):
    """All rows of a table, as they are in it."""

    def of(table, campaign=None):
        found = ask(lambda reader: reader.connection.execute(text(f'SELECT * FROM "{table}"')).mappings().all())
        return [dict(row) for row in found if campaign is None or row["campaign"] == campaign]

    return of


def plain(kind, row):
    return kind(**{each.name: row[each.name] for each in fields(kind)})


def test_campaigns_are_told_oldest_first(ask):
    assert [(each.id, each.slug) for each in ask(lambda reader: reader.campaigns())] == [(ONE, "one"), (TWO, "two")]
    assert [ask(lambda reader, at=at: reader.campaign(at)).slug for at in (TWO, ONE)] == ["two", "one"]
    with pytest.raises(RefusedError) as caught:
        ask(lambda reader: reader.campaign(NONE))
    assert (caught.value.code, str(caught.value)) == (
        "unknown-campaign", "there is no campaign 9; check its number",
    )  # fmt: skip


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_items_of_a_campaign(ask, rows, campaign):
    found = ask(lambda reader: reader.items(campaign))
    assert [item.code for item in found] == list(range(6))
    assert [(item.label, item.withdrawn) for item in found] == [
        (row["label"], row["withdrawn"]) for row in sorted(rows("item", campaign), key=lambda row: row["code"])
    ]
    assert found[2].features == [0.5, 2.0]
    assert ask(lambda reader: reader.count_items(campaign)) == 6
    assert ask(lambda reader: reader.active_codes(campaign)) == [0, 2, 3, 4, 5]


def test_a_campaign_that_is_not_there_has_nothing(ask):
    def nothing(reader):
        return (
            reader.items(NONE), reader.count_items(NONE), reader.active_codes(NONE), reader.judges(NONE),
            reader.questions(NONE, *STATES), reader.held(NONE, 0), reader.begun(NONE), reader.active_pairs(NONE),
            reader.seen_pairs(NONE, 0), list(reader.votes(NONE)), reader.events(NONE), list(reader.calls(NONE)),
            reader.media_hashes(NONE), reader.item_texts(NONE, "context"), reader.snapshot_ends(NONE),
        )  # fmt: skip

    assert [each for each in ask(nothing) if each] == []
    assert ask(nothing)[1] == 0


@pytest.mark.parametrize("most", [0, 1, 2, 3, 8])
def test_items_by_code_two_at_a_time_or_all_at_once(ask, monkeypatch, most):
    monkeypatch.setattr(reading, "MAX_SINGLY", most)
    whole = {item.code: item for item in ask(lambda reader: reader.items(TWO))}
    for codes in ([], [2], [2, 5], [5, 2, 0], [0, 1, 2, 3, 4, 5], [8], [8, 1]):
        expected = {code: whole[code] for code in codes if code in whole}
        assert ask(lambda reader, codes=codes: reader.items_of(TWO, codes)) == expected
    assert whole[2].features == [0.5, 2.0]


def test_few_items_need_no_statement_of_their_own(ask, monkeypatch):
    """Building one costs as much as running it: the limit is eight, two at a time."""
    asked = []
    run = Reader._rows
    monkeypatch.setattr(Reader, "_rows", lambda self, *a, **more: asked.append((more["i"], more["k"])) or run(self, *a, **more))  # noqa: E501  # fmt: skip
    ask(lambda reader: reader.items_of(ONE, [5, 4, 3]))
    assert asked == [(5, 4), (3, 3)]
    asked.clear()
    ask(lambda reader: reader.items_of(ONE, range(8)))
    assert asked == [(0, 1), (2, 3), (4, 5), (6, 7)]
    asked.clear()
    assert len(ask(lambda reader: reader.items_of(ONE, range(9)))) == 6
    assert asked == []


def test_files_of_a_campaign(ask):
    assert ask(lambda reader: reader.media(ONE, "one")) == Media("one", "image/png", b"oneone")
    assert ask(lambda reader: reader.media(ONE, "two")) is None
    assert ask(lambda reader: reader.media(TWO, "both")) == Media("both", "image/gif", b"two")
    assert ask(lambda reader: reader.media_hashes(TWO)) == {"two": 6, "both": 3}


def test_judges_of_a_campaign(ask):
    for campaign, slug in ((ONE, "one"), (TWO, "two")):
        judges = ask(lambda reader, at=campaign: reader.judges(at))
        assert [(each.id, each.name, each.token_hash) for each in judges] == [
            (k, f"judge {k}", f"{slug}-{k}") for k in range(3)
        ]
        assert [each.conflicts for each in judges] == [(), (2, 3), ()]
        for each in judges:
            assert ask(lambda reader, at=campaign, id=each.id: reader.judge(at, id)) == each
            assert ask(lambda reader, at=campaign, name=each.name: reader.judge_by(at, name=name)) == each
            token = each.token_hash
            assert ask(lambda reader, token=token: reader.judge_of_token(token)) == (campaign, each)
        assert ask(lambda reader, at=campaign: reader.judge_by(at, outside_id="outside")) == judges[1]
        assert ask(lambda reader, at=campaign: reader.judge_by(at, name="judge 1", outside_id="other")) is None
    assert ask(lambda reader: reader.judge_by(NONE, name="judge 0")) is None
    assert ask(lambda reader: reader.judge_of_token("three-0")) is None
    with pytest.raises(RefusedError) as caught:
        ask(lambda reader: reader.judge(ONE, 3))
    assert (caught.value.code, str(caught.value)) == (
        "unknown-judge", "there is no judge 3 in this campaign; check the number",
    )  # fmt: skip


# ---- questions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_questions_by_their_state(ask, rows, campaign):
    table = rows("question", campaign)
    assert {row["state"] for row in table} == set(STATES)
    for states in (("open",), ("out", "done"), STATES, ()):
        picked = [row for row in table if row["state"] in states]
        found = ask(lambda reader, states=states: reader.questions(campaign, *states))
        assert found == [
            plain(Question, row) for row in sorted(picked, key=lambda row: (-row["plan"], row["place"]))
        ]  # fmt: skip
    assert ask(lambda reader: reader.count_open(campaign)) == sum(row["state"] == "open" for row in table)
    active = {row["pair"] for row in table if row["state"] in ("open", "out")}
    assert ask(lambda reader: reader.active_pairs(campaign)) == active
    for row in table:
        assert ask(lambda reader, row=row: reader.question(campaign, row["id"])) == plain(Question, row)
        assert ask(lambda reader, row=row: reader.is_active(campaign, row["pair"])) == (row["pair"] in active)
        assert row["pair"] == pair_of(row["left"], row["right"])
    assert ask(lambda reader: reader.question(3 - campaign, table[0]["id"])) is None


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_questions_that_were_given(ask, rows, campaign):
    leases, table = rows("lease", campaign), {row["id"]: row for row in rows("question", campaign)}
    assert len(leases) == 5
    for judge in range(3):
        mine = [row for row in leases if row["judge"] == judge]
        assert ask(lambda reader, j=judge: reader.seen_pairs(campaign, j)) == {row["pair"] for row in mine}
        for kind in KINDS:
            expected = sum(table[row["question"]]["kind"] == kind for row in mine)
            assert ask(lambda reader, j=judge, kind=kind: reader.count_given(campaign, j, kind)) == expected
        held = [
            (row["shown"], -table[row["question"]]["plan"], table[row["question"]]["place"], row["question"])
            for row in mine
            if table[row["question"]]["state"] == "out"
        ]
        found = ask(lambda reader, j=judge: reader.held(campaign, j))
        assert [each.id for each in found] == [key[-1] for key in sorted(held)]
        assert found == [plain(Question, table[each.id]) for each in found]
        for id in table:
            shown = [row["shown"] for row in mine if row["question"] == id]
            assert ask(lambda reader, j=judge, id=id: reader.shown(campaign, id, j)) == (shown or [None])[0]


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_questions_that_have_some_of_their_votes(ask, rows, campaign):
    voted = {row["question"] for row in rows("vote", campaign) if row["outcome"] is not None}
    expected = {
        row["id"]
        for row in rows("question", campaign)
        if row["state"] == "open" and row["wanted"] > 0 and row["id"] in voted
    }
    found = ask(lambda reader: reader.begun(campaign))
    assert {each.id for each in found} == expected
    assert len(found) == len(expected)


# ---- the logs -------------------------------------------------------------------------------------------------------


def log(rows, campaign):
    return sorted((plain(Vote, row) for row in rows("vote", campaign)), key=lambda row: row.seq)


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_rows_of_the_log_one_by_one(ask, rows, campaign):
    votes = log(rows, campaign)
    undone = {row.undoes for row in votes if row.undoes is not None}
    assert len(undone) == 4
    assert list(ask(lambda reader: list(reader.votes(campaign)))) == votes
    for after in (0, 1, 39, 40):
        assert ask(lambda reader, after=after: list(reader.votes(campaign, after))) == votes[after:]
    for row in votes:
        assert ask(lambda reader, row=row: reader.vote(campaign, row.seq)) == row
        assert ask(lambda reader, row=row: reader.vote_of_client(campaign, row.judge, row.client_id)) == row
        undo = [each for each in votes if each.undoes == row.seq]
        assert ask(lambda reader, row=row: reader.undo_of(campaign, row.seq)) == (undo or [None])[0]
    assert ask(lambda reader: reader.vote(campaign, 41)) is None
    first = votes[0]
    assert ask(lambda reader: reader.vote_of_client(campaign, first.judge + 1, first.client_id)) is None
    ids = [votes[3].client_id, votes[8].client_id, "nobody's"]
    assert ask(lambda reader: reader.client_rows(campaign, ids)) == {
        (votes[3].judge, votes[3].client_id): 4, (votes[8].judge, votes[8].client_id): 9,
    }  # fmt: skip
    assert ask(lambda reader: reader.client_rows(3 - campaign, ids)) == {}


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_rows_that_stand(ask, rows, campaign):
    votes = log(rows, campaign)
    undone = {row.undoes for row in votes}
    stands = [row for row in votes if row.undoes is None and row.seq not in undone]
    for judge in range(4):
        mine = [row for row in stands if row.judge == judge]
        for limit in (1, 3, 99):
            found = ask(lambda reader, j=judge, limit=limit: reader.history(campaign, j, limit))
            assert found == mine[::-1][:limit]
        assert ask(lambda reader, j=judge: reader.count_votes(campaign, j)) == sum(
            row.outcome is not None for row in mine
        )  # fmt: skip
        for question in {row.question for row in votes if row.question}:
            on = [row for row in mine if row.question == question]
            found = ask(lambda reader, j=judge, q=question: reader.standing_vote(campaign, q, j))
            assert found in (on or [None])
    for question in {row.question for row in votes if row.question}:
        skips = sum(row.question == question and row.outcome is None for row in stands)
        assert ask(lambda reader, q=question: reader.count_skips(campaign, q)) == skips
    for since in (0, 100, 101, 390, 391):
        came = sum(row.outcome is not None and row.received >= since for row in stands)
        assert ask(lambda reader, since=since: reader.count_came(campaign, since)) == came


@pytest.mark.parametrize("most", [1, 3, 5, 40, 41])
def test_long_logs_in_pieces_of_any_size(ask, rows, monkeypatch, most):
    monkeypatch.setattr(reading, "MOST_ROWS", most)
    assert ask(lambda reader: list(reader.votes(ONE))) == log(rows, ONE)
    assert [call.request for call in ask(lambda reader: list(reader.calls(TWO)))] == [f"two{k}" for k in range(11)]


def test_events_from_a_number_on(ask):
    for after in range(6):
        found = ask(lambda reader, after=after: reader.events(TWO, after))
        assert found == [Event("state", {"k": k}, at=k, seq=k + 1) for k in range(after, 5)]
    assert len(ask(lambda reader: reader.events(ONE))) == 5


def test_calls_about_some_questions(ask):
    whole = [Call(f"one{k}", 1 + k % 4, k % 3, 0, 1, k % 2, at=k) for k in range(11)]
    assert ask(lambda reader: list(reader.calls(ONE))) == whole
    for judge in range(3):
        for about in ([], [1], [4, 2], range(1, 5)):
            expected = [each for each in whole if each.judge == judge and each.question in about]
            assert ask(lambda reader, j=judge, about=about: reader.calls_about(ONE, j, about)) == expected


def test_texts_that_go_with_items(ask):
    assert ask(lambda reader: reader.item_texts(ONE, "context")) == {0: "one 0", 3: "one 3"}
    assert ask(lambda reader: reader.item_texts(TWO, "reference")) == {0: "two r"}
    assert ask(lambda reader: reader.item_texts(TWO, "nothing")) == {}


# ---- the whole ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("campaign", [ONE, TWO])
def test_the_whole_campaign(ask, rows, campaign):
    content = ask(lambda reader: reader.content(campaign))
    assert content.campaign == ask(lambda reader: reader.campaign(campaign))
    assert content.items == ask(lambda reader: reader.items(campaign))
    assert content.judges == ask(lambda reader: reader.judges(campaign))
    assert (content.intact, content.standing) == (True, None)
    votes, intact = ask(lambda reader: reader.whole_log(campaign))
    assert intact
    expected = log(rows, campaign)
    for one in (votes, content.votes):
        assert one.left.tolist() == [row.left if row.undoes is None else row.undoes for row in expected]
        assert one.right.tolist() == [row.right for row in expected]
        assert one.judge.tolist() == [row.judge for row in expected]
        assert one.outcome.tolist() == [
            -2 if row.undoes is not None else -1 if row.outcome is None else int(2 * row.outcome) for row in expected
        ]


def test_cells_that_no_campaign_of_ours_holds_are_a_sentence(ask, monkeypatch):
    for problem in (ValueError("odd"), TypeError("odd"), KeyError("odd"), OverflowError("odd")):

        def load(run, campaign, problem=problem):
            raise problem

        monkeypatch.setattr(reading, "load", load)
        with pytest.raises(InputError) as caught:
            ask(lambda reader: reader.content(ONE))
        assert str(caught.value) == f"the database is damaged ({problem}); restore a copy"


def test_statements_that_the_database_refuses_are_errors_of_sqlalchemy(store):
    """As they would be the usual way, whether one row goes or many."""
    from sqlalchemy.exc import DBAPIError, IntegrityError

    from podium.store.statements import ADD_VOTE

    seen = []

    def twice(writer):
        row = {**{each.name: None for each in fields(Vote)}, **vars_of(Vote(0, "same", 0, 1, 1.0, seq=900))}
        for rows in ([row | {"campaign": ONE}] * 2, [row | {"campaign": ONE, "left": None}]):
            try:
                writer._do(ADD_VOTE, *rows)
            except DBAPIError as problem:
                seen.append(problem)
        raise RefusedError("no", "taken back")

    with pytest.raises(RefusedError, match="taken back"):
        store.write(ONE, twice)
    assert [type(each) for each in seen] == [IntegrityError, IntegrityError]
    assert "UNIQUE" in str(seen[0].orig)
    assert "NOT NULL" in str(seen[1].orig)
    assert all(each.__cause__ is each.orig for each in seen)


def vars_of(value):
    return {each.name: getattr(value, each.name) for each in fields(value)}


def test_what_was_derived_is_there_only_as_it_was_written(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        campaign, other = new_campaign(store, "one"), new_campaign(store, "two")
        store.write(campaign, lambda writer: writer.put_derived("ranks", b"\x00data", (0, 0)))
        store.write(campaign, lambda writer: writer.put_derived("other", b"else", (0, 0)))

        def kept(at=campaign, name="ranks"):
            return store.read(lambda reader: reader.derived(at, name))

        assert (kept(), kept(name="other"), kept(other), kept(name="none")) == (b"\x00data", b"else", None, None)
        for damage in ("bytes = 'text'", "bytes = X'01'", "version = '0.0'"):
            spoil = text(f"UPDATE derived SET {damage} WHERE name = 'ranks'")
            store.write(campaign, lambda writer, spoil=spoil: writer.connection.execute(spoil))
            assert kept() is None, damage
            store.write(campaign, lambda writer: writer.put_derived("ranks", b"\x00data", (0, 0)))
            assert kept() == b"\x00data"
        assert kept(name="other") == b"else"


def test_pieces_of_the_log_that_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 2)
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        campaign, other = new_campaign(store, "one"), new_campaign(store, "two")
        store.write(campaign, lambda writer: writer.append_votes([Vote(0, f"{k}", 0, 1, 1.0) for k in range(5)]))
        votes = store.read(lambda reader: reader.whole_log(campaign)[0])
        for last in (2, 4):
            piece = codec.encode(votes.part(last - 2, last))
            store.write(campaign, lambda writer, last=last, piece=piece: writer.put_snapshot(last, piece))
        assert sorted(store.read(lambda reader: reader.snapshot_ends(campaign))) == [2, 4]
        assert store.read(lambda reader: reader.snapshot_ends(other)) == []
        assert store.read(lambda reader: reader.content(campaign).intact)
        store.write(other, lambda writer: writer.drop_snapshots())
        assert sorted(store.read(lambda reader: reader.snapshot_ends(campaign))) == [2, 4]
        store.write(campaign, lambda writer: writer.drop_snapshots())
        assert store.read(lambda reader: reader.snapshot_ends(campaign)) == []


def test_a_judge_s_conflicts_are_codes_or_what_is_there_instead():
    row = [3, "ann", "person", None, None, "active", None, 0, None, [1, 2]]
    assert reading._judge(row) == Judge(3, "ann", conflicts=(1, 2))
    with pytest.raises(InputError, match="judge: conflicts is 'x', the database is damaged"):
        reading._judge([*row[:-1], "x"])
    assert reading._parsed("[1]") == [1]
    assert reading._parsed(b"[1]") == [1]
    assert reading._parsed([1]) == [1]
    assert reading._parsed(None) is None
