"""What every store does, whichever database is below. A subclass gives `where`, the address of a new database."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import text

from podium.errors import InputError, RefusedError
from podium.store import codec, open_store
from podium.store.values import FORMAT, KINDS, Call, Campaign, Event, Item, Judge, Media, Question, Vote


def new_campaign(store, slug="tea", items=4, judges=2):
    def make(writer):
        made = writer.add_campaign(
            Campaign(0, slug, "Tea", "Which is better?", "", 1, {"ties": True}, 7, "open", "h", 5)
        )
        writer.add_items([Item(code, f"item {code}") for code in range(items)])
        for number in range(judges):
            writer.add_judge(Judge(0, f"judge {number}", token_hash=f"{slug}-{number}"))
        return made.id

    return store.write(0, make)


def vote(store, campaign, judge=0, name=None, **more):
    values = {"left": 0, "right": 1, "outcome": 1.0} | more
    made = Vote(judge, name or f"v{threading.get_ident()}-{np.random.default_rng().integers(1 << 60)}", **values)
    return store.write(campaign, lambda writer: writer.append_votes([made]))[0]


class StoreSuite:
    """The contract."""

    @pytest.fixture
    def where(self):
        raise NotImplementedError

    @pytest.fixture
    def store(self, where):
        with open_store(where, new=True) as store:
            yield store

    def test_values_come_back_as_they_went_in(self, store, where):
        campaign = new_campaign(store)
        everything = Item(4, 'tab\t"quote" ½ 🍵', "image", "body", "ab12", [0.5, -1.0], 17, None)
        judge = Judge(0, "ünï", "model", "hash", "outside", "revoked", 60, 3, 4, (1, 2))
        sent = Vote(0, "id", 2, 3, 0.5, 9, "why", None, "check", 3, 0.75, 1234, 55, 56)

        def write(writer):
            writer.add_items([everything])
            writer.add_media(Media("ab12", "image/png", b"\x00\xff"))
            kept = writer.add_judge(judge)
            writer.append_votes([sent])
            writer.append_event(Event("items", {"added": [4]}, "organiser", 12))
            return kept

        assert store.write(campaign, write) == replace(judge, id=2)
        store.close()
        with open_store(where) as again:
            assert again.read(lambda reader: reader.items(campaign))[4] == everything
            assert again.read(lambda reader: reader.media(campaign, "ab12")) == Media("ab12", "image/png", b"\x00\xff")
            assert again.read(lambda reader: reader.judge(campaign, 2)) == replace(judge, id=2)
            assert again.read(lambda reader: reader.judge_of_token("hash")) == (campaign, replace(judge, id=2))
            assert list(again.read(lambda reader: list(reader.votes(campaign)))) == [replace(sent, seq=1)]
            events = again.read(lambda reader: reader.events(campaign))
            assert events == [Event("items", {"added": [4]}, "organiser", 12, 1)]
            assert again.format() == FORMAT

    def test_calls_are_written_before_and_after_and_texts_go_with_items(self, store, where):
        campaign = new_campaign(store)
        out = [Call(f"r{k}", 7, 1, k, 3 - k, k, None, "hash", "{}", at=5) for k in range(2)]
        back = replace(out[1], model="m", raw="½?", reason="so", outcome=0.5, p=0.25, problem=None,
                       tokens_in=3, tokens_out=4, counted=1, ms=9, tries=2, cost=0.5, prompt="p", done=8)  # fmt: skip
        store.write(campaign, lambda writer: writer.add_calls(out))
        store.write(campaign, lambda writer: writer.end_calls([back]))
        store.write(campaign, lambda writer: writer.add_item_texts("context", {0: "what", 2: "why"}))
        store.close()
        with open_store(where) as again:
            assert again.read(lambda reader: list(reader.calls(campaign))) == [out[0], back]
            assert again.read(lambda reader: reader.calls_about(campaign, 1, [7])) == [out[0], back]
            assert again.read(lambda reader: reader.calls_about(campaign, 0, [7])) == []
            assert again.read(lambda reader: reader.item_texts(campaign, "context")) == {0: "what", 2: "why"}
            assert again.read(lambda reader: reader.item_texts(campaign, "reference")) == {}

    def test_votes_are_numbered_without_gaps_also_when_one_is_refused(self, store):
        campaign = new_campaign(store)
        assert vote(store, campaign, name="a").seq == 1
        with pytest.raises(RefusedError, match="contradicts what is stored"):
            vote(store, campaign, name="a")
        assert vote(store, campaign, judge=1, name="a").seq == 2  # another judge may use the same id
        assert store.read(lambda reader: reader.campaign(campaign)).last_vote == 2

    def test_a_read_sees_one_state_whoever_votes_meanwhile(self, store):
        campaign = new_campaign(store)
        vote(store, campaign)

        def look(reader):
            before = reader.campaign(campaign).last_vote
            vote(store, campaign)
            return before, reader.campaign(campaign).last_vote, len(list(reader.votes(campaign)))

        assert store.read(look) == (1, 1, 1)
        assert store.read(lambda reader: reader.campaign(campaign).last_vote) == 2

    def test_many_threads_write_and_each_row_is_there_once(self, store):
        campaign = new_campaign(store)
        before = store.commits

        def write(judge):
            for k in range(20):
                vote(store, campaign, judge % 2, f"{judge}-{k}")

        threads = [threading.Thread(target=write, args=(judge,)) for judge in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        rows = store.read(lambda reader: list(reader.votes(campaign)))
        assert sorted(row.seq for row in rows) == list(range(1, 161))
        assert len({(row.judge, row.client_id) for row in rows}) == 160
        assert store.commits - before < 160  # whoever waited shared a commit

    def test_a_job_that_fails_takes_back_all_it_wrote_and_nothing_else(self, store):
        campaign = new_campaign(store)
        gate = threading.Event()

        def slow(writer):
            gate.wait()

        def bad(writer):
            writer.append_votes([Vote(0, "bad", 0, 1, 1.0)])
            raise RefusedError("no", "not this one")

        first = store.submit(campaign, slow)  # holds the writing thread, so that the next two share one commit
        jobs = [
            store.submit(campaign, lambda w: w.append_votes([Vote(0, "good", 0, 1, 1.0)])),
            store.submit(campaign, bad),
            store.submit(campaign, lambda w: w.append_votes([Vote(0, "also", 0, 1, 1.0)])),
        ]
        gate.set()
        first.result()
        assert jobs[0].result()[0].seq == 1
        with pytest.raises(RefusedError, match="not this one"):
            jobs[1].result()
        assert jobs[2].result()[0].seq == 2
        assert [row.client_id for row in store.read(lambda r: list(r.votes(campaign)))] == ["good", "also"]

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE vote SET outcome = 0",
            "UPDATE vote SET judge = 1",
            "UPDATE vote SET reason = 'other'",
            "UPDATE vote SET reason = NULL, ms = 3",
            "DELETE FROM vote",
            "UPDATE event SET verb = 'x'",
            "DELETE FROM event",
        ],
    )
    def test_the_database_itself_refuses_to_change_the_logs(self, store, statement):
        campaign = new_campaign(store)
        vote(store, campaign, reason="mine")
        store.write(campaign, lambda writer: writer.append_event(Event("state")))
        with pytest.raises(Exception, match="append-only"):
            store.write(campaign, lambda writer: writer.connection.execute(text(statement)))
        assert store.read(lambda reader: next(reader.votes(campaign))).reason == "mine"

    def test_reasons_can_be_emptied(self, store):
        campaign = new_campaign(store)
        vote(store, campaign, 0, reason="mine")
        vote(store, campaign, 1, reason="another's")
        store.write(campaign, lambda writer: writer.empty_reasons(0))
        assert [row.reason for row in store.read(lambda r: list(r.votes(campaign)))] == [None, "another's"]

    def test_a_row_is_undone_once(self, store):
        campaign = new_campaign(store)
        vote(store, campaign)
        vote(store, campaign, outcome=None, undoes=1)
        with pytest.raises(RefusedError):
            vote(store, campaign, outcome=None, undoes=1)
        assert store.read(lambda reader: reader.history(campaign, 0, 10)) == []

    def test_a_pair_is_in_the_queue_once(self, store):
        campaign = new_campaign(store)
        store.write(campaign, lambda writer: writer.add_questions([Question(0, 1)]))
        with pytest.raises(RefusedError):
            store.write(campaign, lambda writer: writer.add_questions([Question(1, 0)]))
        done = store.read(lambda reader: reader.questions(campaign, "open"))[0]
        store.write(campaign, lambda writer: writer.change_question(done, state="done"))
        store.write(campaign, lambda writer: writer.add_questions([Question(1, 0)]))

    def test_campaigns_keep_apart(self, store):
        one, two = new_campaign(store, "one"), new_campaign(store, "two", items=3)
        vote(store, one, name="same")
        assert vote(store, two, name="same").seq == 1
        assert len(store.read(lambda reader: reader.items(two))) == 3
        assert len(store.read(lambda reader: reader.content(one)).votes) == 1

    def test_arrays_of_the_log_are_its_rows(self, store):
        campaign = new_campaign(store)
        rng = np.random.default_rng(3)
        rows = []
        for k in range(200):
            left, right = rng.permutation(4)[:2].tolist()
            undone = int(rng.integers(1, k + 1)) if k > 20 and rng.random() < 0.2 else None
            if undone is not None and (rows[undone - 1].undoes or any(row.undoes == undone for row in rows)):
                undone = None
            outcome = None if undone else [1.0, 0.0, 0.5, None][rng.integers(4)]
            kind = KINDS[rng.integers(len(KINDS))]
            guess = [None, 0.2, 0.9][rng.integers(3)]
            rows.append(Vote(k % 2, str(k), left, right, outcome, undoes=undone, kind=kind, predicted=guess))
        store.write(campaign, lambda writer: writer.append_votes(rows))
        votes = store.read(lambda reader: reader.content(campaign)).votes
        undone = {row.undoes for row in rows if row.undoes}
        stands = [row.outcome is not None and seq not in undone for seq, row in enumerate(rows, 1)]
        assert votes.counted().tolist() == stands
        skipped = [row.outcome is None and not row.undoes and seq not in undone for seq, row in enumerate(rows, 1)]
        assert votes.skipped().tolist() == skipped
        assert [KINDS[k] for k in votes.kinds()] == [row.kind for row in rows]
        expected = [np.nan if row.predicted is None else float(row.predicted > 0.5) for row in rows]
        np.testing.assert_array_equal(votes.predicted(), expected)
        kept = [row for row, stood in zip(rows, stands, strict=True) if stood]
        np.testing.assert_array_equal(votes.left[votes.counted()], [row.left for row in kept])
        np.testing.assert_array_equal(votes.right[votes.counted()], [row.right for row in kept])
        np.testing.assert_array_equal(votes.judge[votes.counted()], [row.judge for row in kept])
        np.testing.assert_array_equal(votes.outcome[votes.counted()] / 2, [row.outcome for row in kept])

    def test_snapshots_give_the_same_log_and_are_thrown_away_when_they_do_not_fit(self, store, monkeypatch):
        monkeypatch.setattr(codec, "PIECE", 50)
        campaign = new_campaign(store)
        rows = [Vote(k % 2, str(k), k % 3, 3, [1.0, 0.0, 0.5, None][k % 4]) for k in range(120)]
        rows[110] = replace(rows[110], outcome=None, undoes=7)  # undoes a row of a snapshot
        store.write(campaign, lambda writer: writer.append_votes(rows))
        plain = store.read(lambda reader: reader.whole_log(campaign)[0])

        def keep(writer):
            for last in (50, 100):
                writer.put_snapshot(last, codec.encode(codec.VoteArrays.of_rows(as_rows(plain)[last - 50 : last])))

        store.write(campaign, keep)
        log, intact = store.read(lambda reader: reader.whole_log(campaign))
        assert intact
        assert as_rows(log) == as_rows(plain)
        assert len(store.read(lambda r: r.run("SELECT seq FROM snapshot", {}))) == 2
        for damage in (
            "UPDATE snapshot SET checksum = 'x' WHERE seq = 100",
            "UPDATE snapshot SET format = 2 WHERE seq = 50",
            "DELETE FROM snapshot WHERE seq = 50",
            "UPDATE snapshot SET bytes = (SELECT bytes FROM snapshot WHERE seq = 50) WHERE seq = 100",
            "UPDATE snapshot SET bytes = checksum WHERE seq = 50" if "sqlite" in type(store).__name__.lower() else
            "UPDATE snapshot SET bytes = 'ab'::bytea WHERE seq = 50",
        ):  # fmt: skip
            store.write(campaign, keep)
            store.write(campaign, lambda writer, sql=damage: writer.connection.execute(text(sql)))
            log, intact = store.read(lambda reader: reader.whole_log(campaign))
            assert not intact, damage
            assert as_rows(log) == as_rows(plain), damage

    def test_a_snapshot_of_another_campaign_does_not_fit(self, store, monkeypatch):
        monkeypatch.setattr(codec, "PIECE", 2)
        one, two = new_campaign(store, "one"), new_campaign(store, "two")
        for campaign, outcome in ((one, 1.0), (two, 0.0)):
            rows = [Vote(0, str(k), 0, 1, outcome) for k in range(2)]
            store.write(campaign, lambda writer, rows=rows: writer.append_votes(rows))
            log = store.read(lambda reader, campaign=campaign: reader.whole_log(campaign)[0])
            store.write(campaign, lambda writer, log=log: writer.put_snapshot(2, codec.encode(log)))
        swap = "UPDATE snapshot SET campaign = 3 - campaign, seq = seq + 1000"
        for sql in (swap, "UPDATE snapshot SET seq = seq - 1000"):
            store.write(one, lambda writer, sql=sql: writer.connection.execute(text(sql)))
        log, intact = store.read(lambda reader: reader.whole_log(one))
        assert not intact
        assert log.outcome.tolist() == [2, 2]

    def test_what_was_derived_is_read_at_its_position_by_its_version_and_undamaged(self, store):
        one, two = new_campaign(store, "one"), new_campaign(store, "two")

        def kept(campaign=one):
            return store.read(lambda reader: (reader.content(campaign).standing, reader.derived(campaign, "standing")))

        def put(data):
            store.write(one, lambda writer: writer.put_derived("standing", data, writer.locked.position))

        assert kept() == (None, None)
        put(b"\x00\xff first")
        put(b"\x00\xff second")
        assert kept() == (b"\x00\xff second", b"\x00\xff second")
        assert kept(two) == (None, None)
        vote(store, one)
        assert kept() == (None, b"\x00\xff second")  # the log has moved on
        for damage in ("checksum = 'x'", "version = 'another'"):
            put(b"third")
            assert kept() == (b"third", b"third")
            sql = text(f"UPDATE derived SET {damage}")
            store.write(one, lambda writer, sql=sql: writer.connection.execute(sql))
            assert kept() == (None, None), damage
        put(b"fourth")
        swap = text("UPDATE derived SET campaign = :two, last_vote = 0").bindparams(two=two)
        store.write(one, lambda writer: writer.connection.execute(swap))
        assert kept(two) == (None, None)  # another campaign's does not fit
        put(b"fifth")
        store.write(one, lambda writer: writer.drop_snapshots())
        assert kept() == (None, None)

    def test_a_lock_is_one_holder_s_until_released(self, store, where):
        with open_store(where) as other:
            held = store.hold("plan")
            assert held is not None
            assert held.keep()
            assert other.hold("plan") is None
            assert "process" in other.holder("plan")
            elsewhere = other.hold("another")
            assert elsewhere is not None
            elsewhere.release()
            held.release()
            assert other.holder("plan") is None
            taken = other.hold("plan")
            assert taken is not None
            assert store.hold("plan") is None
            taken.release()

    def test_the_clock_goes_forward(self, store):
        times = [store.now() for _ in range(5)]
        assert times == sorted(times)
        assert times[0] > 1_600_000_000_000

    def test_a_newer_format_is_refused(self, store, where):
        store.write(0, lambda writer: writer.connection.execute(text("UPDATE podium SET format = 99, version = '9.9'")))
        store.close()
        with pytest.raises(InputError, match=r"has format 99, written by podium 9\.9; .* upgrade"):
            open_store(where)

    def test_an_older_format_is_brought_forward_in_one_step_after_another(self, store, where, monkeypatch):
        from podium.store import formats

        store.write(0, lambda writer: writer.connection.execute(text("UPDATE podium SET format = 1")))
        store.close()
        steps = []
        monkeypatch.setattr(formats, "STEPS", (lambda connection: steps.append(1), lambda connection: steps.append(2)))
        with open_store(where) as again:
            assert again.format() == 3
        assert steps == [1, 2]
        with open_store(where):
            assert steps == [1, 2]

    def test_a_database_without_campaigns_is_not_made_unless_asked(self, where):
        with pytest.raises(InputError, match=r"no such file|holds no campaigns"):
            open_store(where)

    def test_writing_after_closing_says_so(self, store):
        campaign = new_campaign(store)
        store.close()
        with pytest.raises(Exception, match="closed"):
            vote(store, campaign)


def as_rows(votes):
    columns = (votes.left, votes.right, votes.judge, votes.outcome, votes.kind)
    return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
