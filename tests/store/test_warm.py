"""What the writing thread remembers is what the tables hold."""

import pytest

from podium.store import warm
from podium.store.values import LATEST, Judge, Question, changed, pair_of
from podium.store.warm import LAST_MOMENT, Memory, Warm


def question(id, left=0, right=1, **more):
    return changed(Question(left, right, id=id), **({"plan": 1, "place": id} | more))


def queue_of(memory):
    return [each.id for _, _, each in memory.queue]


def test_a_hand_is_in_the_order_in_which_it_was_given():
    memory = Memory()
    assert memory.hand_of(3) is None
    held = [(question(1), 50), (question(2), 40), (question(3, place=0), 40), (question(4, plan=2, place=9), 40)]
    memory.put_hand(3, held)
    assert [each.id for each in memory.hand_of(3)] == [4, 3, 2, 1]  # by moment, newest plan, place
    memory.put_hand(3, [(question(8, place=5), 1), (question(7, place=5), 1)])
    assert [each.id for each in memory.hand_of(3)] == [7, 8]


def test_pairs_seen_have_a_limit(monkeypatch):
    monkeypatch.setattr(warm, "MOST_SEEN", 4)
    memory = Memory()
    memory.put_seen(1, {1, 2})
    memory.put_seen(2, {1, 2})
    assert (set(memory.seen), memory.pairs) == ({1, 2}, 4)
    memory.put_seen(3, {5})
    assert (memory.seen, memory.pairs) == ({3: {5}}, 1)


def test_who_is_first_for_a_judge():
    memory = Memory()
    rows = [question(1, 0, 1), question(2, 2, 3), question(3, 0, 2, judge=9), question(4, 1, 3), question(5, 0, 3)]
    memory.put_queue(1, rows)
    memory.put_seen(7, {pair_of(3, 2)})
    assert [each.id for each in memory.first_for(Judge(7, "a"), 2)] == [1, 4]
    assert [each.id for each in memory.first_for(Judge(7, "a"), 9)] == [1, 4, 5]
    assert [each.id for each in memory.first_for(Judge(7, "a", conflicts=(1,)), 9)] == [5]
    assert [each.id for each in memory.first_for(Judge(7, "a", conflicts=(0,)), 9)] == [4]
    memory.put_seen(9, set())
    assert [each.id for each in memory.first_for(Judge(9, "b"), 9)] == [1, 2, 3, 4, 5]
    assert memory.first_for(Judge(9, "b"), 0) == []


def test_the_head_of_a_queue_is_whole_where_there_are_no_more(monkeypatch):
    monkeypatch.setattr(warm, "MOST_QUEUE", 3)
    memory = Memory()
    memory.put_queue(4, [question(1), question(2)])
    assert (memory.whole, memory.plan, queue_of(memory)) == (True, 4, [1, 2])
    memory.put_queue(4, [question(1), question(2), question(3)])
    assert not memory.whole


def test_a_question_that_comes_back_stands_in_its_place():
    memory = Memory()
    memory.moved(question(1, state="done"), question(1, state="open"))
    assert memory.queue is None  # not known, so not begun
    memory.put_queue(1, [question(2), question(4)])
    memory.whole = False
    for id in (3, 9):
        memory.moved(question(id, state="out", judge=5), question(id, state="open"))
    assert queue_of(memory) == [2, 3, 4]  # 9 stands behind what is known
    memory.whole = True
    memory.moved(question(9, state="out", judge=5), question(9, state="open"))
    assert queue_of(memory) == [2, 3, 4, 9]
    memory.moved(question(7, state="done"), question(7, state="open", kind="gold"))
    memory.moved(question(7, state="done"), question(7, state="open", plan=2))
    assert queue_of(memory) == [2, 3, 4, 9]
    memory.moved(question(3, state="open"), question(3, state="done"))
    assert queue_of(memory) == [2, 4, 9]
    memory.moved(question(8, state="open"), question(8, state="done"))
    assert queue_of(memory) == [2, 4, 9]
    memory.queue, memory.whole = [], False
    memory.moved(question(3, state="done"), question(3, state="open"))
    assert memory.queue == []


def test_a_question_that_is_given_is_seen_and_held_since_then():
    memory = Memory(soonest=100)
    memory.put_queue(1, [question(1), question(2)])
    memory.put_hand(5, [])
    memory.put_seen(5, set())
    out = question(1, state="out", judge=5, until=80)
    memory.moved(question(1), out, given=30)
    assert queue_of(memory) == [2]
    assert memory.hands[5] == {1: (out, 30)}
    assert (memory.seen[5], memory.pairs, memory.soonest) == ({pair_of(0, 1)}, 1, 80)
    memory.moved(out, changed(out, until=90))  # the same hand: since then as before, and no earlier moment
    assert memory.hands[5][1] == (changed(out, until=90), 30)
    assert (memory.pairs, memory.soonest) == (1, 80)
    memory.moved(changed(out, until=90), question(1, state="done"))
    assert memory.hands[5] == {}
    memory.moved(question(2), question(2, state="out", judge=5, until=200))  # again: only the tables know since when
    assert 5 not in memory.hands
    memory.moved(question(6, left=2), question(6, left=2, state="out", judge=8, until=70), given=40)
    assert 8 not in memory.hands  # what is not known of a hand is not begun
    assert 8 not in memory.seen
    assert memory.soonest == 70


def test_a_question_that_goes_from_hand_to_hand_is_held_anew():
    memory = Memory()
    mine = question(1, state="out", judge=5, until=80)
    memory.put_hand(5, [(mine, 30)])
    memory.put_hand(6, [])
    theirs = changed(mine, judge=6)
    memory.moved(mine, theirs, given=50)
    assert (memory.hands[5], memory.hands[6]) == ({}, {1: (theirs, 50)})
    assert memory.soonest is None  # not known stays not known


def test_forgetting_is_of_everything():
    memory = Memory(soonest=3, whole=True)
    memory.put_queue(1, [question(1)])
    memory.put_hand(5, [(question(1), 2)])
    memory.put_seen(5, {1})
    memory.counts[5], memory.judges[5] = 1, Judge(5, "a")
    memory.forget()
    empty = Memory()
    for name in ("campaign", "judges", "hands", "seen", "counts", "soonest", "queue", "pairs"):
        assert getattr(memory, name) == getattr(empty, name), name


def test_memories_are_good_for_one_version(monkeypatch):
    kept = Warm()
    assert not kept.lasting
    kept.renew((1, 7))
    memory = kept.of(3)
    memory.counts[5] = 1
    assert kept.lasting
    kept.renew((1, 7))
    assert kept.of(3) is memory
    assert memory.counts == {5: 1}
    kept.renew((1, 8))
    assert kept.of(3) is memory  # a transaction may hold it
    assert memory.counts == {}
    memory.counts[5] = 1
    kept.renew(None)
    assert memory.counts == {}
    memory.counts[5] = 1
    kept.renew(None)
    assert memory.counts == {}  # nothing is known of an unknown version
    assert kept.of(4) is not memory
    monkeypatch.setattr(warm, "MOST_JUDGES", 1)
    memory.judges |= {0: Judge(0, "a")}
    memory.counts[5] = 1
    assert kept.of(3).counts == {5: 1}
    memory.judges |= {1: Judge(1, "b")}
    assert kept.of(3).counts == {}


def test_the_last_moment_is_later_than_any():
    assert LAST_MOMENT > LATEST
    with pytest.raises(KeyError):
        Memory().first_for(Judge(1, "a"), 1)  # whoever asks has said first what the judge has seen
