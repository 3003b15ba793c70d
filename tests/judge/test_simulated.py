"""The bundled model: every form of answer gives the same verdicts, and its lean is the one that is reported."""

import math
import threading

import httpx
import pytest

from podium.judge import HttpJudge, judge_pairs
from podium.judge.simulated import LEAN, _draw, simulated_model

TEXTS = {f"t{k}": f"essay number {k}" for k in range(7)}
ALL = {"question": "Better?", "budget": 21, "anyway": True, "seed": 1}  # all pairs


def test_every_form_of_answer_gives_the_same_verdicts():
    with simulated_model() as url:
        done = [
            judge_pairs(TEXTS, HttpJudge(url, "simulated", answer=form), **ALL) for form in ("json", "word", "logprobs")
        ]
    assert len({(each.tally.pairs, each.tally.skips, each.tally.position.first.value) for each in done}) == 1
    assert done[0].tally.pairs == 21


def test_the_verdicts_are_those_of_the_hidden_qualities():
    """Counted by hand from the definition: quality, lean, and noise drawn for each order."""
    texts = list(TEXTS.values())

    def first_wins(a, b):
        return 2 * (_draw("quality", a) - _draw("quality", b)) + LEAN + _draw("noise", a, b) > 0

    pairs = [(a, b) for a in texts for b in texts if a != b]
    with simulated_model() as url:
        tally = judge_pairs(TEXTS, HttpJudge(url, "simulated"), **ALL).tally
    assert tally.position.first.value == pytest.approx(sum(first_wins(a, b) for a, b in pairs) / len(pairs))
    assert math.isfinite(tally.position.p_value)


def test_a_model_that_is_told_what_to_like_orders_by_it():
    """Letters count ten each, so neither noise nor lean can turn a pair round."""
    texts = {str(k): "x" * k for k in range(1, 8)}
    with simulated_model(likes=lambda text: 10.0 * len(text)) as url:
        done = judge_pairs(texts, HttpJudge(url, "simulated"), **ALL)
    assert list(done.order) == [str(k) for k in range(7, 0, -1)]


def test_pictures_are_judged_too(tmp_path):
    from podium.cli import run

    for k in range(4):
        (tmp_path / f"{k}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(60) + bytes([k]))
    with simulated_model() as url, pytest.raises(SystemExit) as stop:
        run(["judge", str(tmp_path), "--question", "Nicer?", "--base-url", url, "--model", "simulated", "--anyway"])
    assert stop.value.code == 0


def test_many_calls_at_once_are_all_answered():
    at_once, said = 64, []
    begin = threading.Barrier(at_once)
    body = {"messages": [{"content": ""}, {"content": ""}]}

    def ask(url):
        with httpx.Client(timeout=5.0) as client:
            begin.wait()
            try:
                said.append(client.post(f"{url}/chat/completions", json=body).status_code)
            except httpx.HTTPError as problem:
                said.append(problem)

    with simulated_model() as url:
        threads = [threading.Thread(target=ask, args=(url,)) for _ in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said == [200] * at_once
