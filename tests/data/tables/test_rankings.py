"""Rankings in text: items come back as they were written, whatever they hold, or the row is refused."""

import json
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import Comparisons, read_comparisons, read_rankings
from podium.data.tables import batch, forms
from podium.data.tables.rankings import divided
from podium.errors import DataWarning, InputError

names = st.text("ab >\"-=[]',", min_size=1, max_size=6).filter(str.strip)
orders = st.lists(names, min_size=1, max_size=5, unique=True)


class Refused(Exception):
    pass


def refuse(message):
    raise Refused(message)


@given(orders)
def test_lists_and_quoted_items_are_never_divided(items):
    assert divided(json.dumps(items), refuse) == items
    quoted = ['"' + item.replace('"', '""') + '"' for item in items]
    assert divided(" > ".join(quoted), refuse) == items
    assert divided(">".join(quoted), refuse) == items


@given(st.lists(st.text("ab-=,'", min_size=1, max_size=4), min_size=2, max_size=5))
def test_plain_items_are_those_between_the_marks(items):
    try:
        found = divided(" > ".join(items), refuse)
    except Refused:
        assert any(item.endswith(("-", "=")) or item.startswith("=") for item in items)
        return
    assert found == items


@pytest.mark.parametrize(
    "text",
    [
        "A->B > C",
        "A->B>C",
        "x >= 3 > y",
        "a > b>c",
        "a => b > c",
        '"a > b',
        '"a" b > c',
        "[1, 2]",
        '["a", 1]',
        "[a] > b",
    ],
)
def test_what_could_be_read_two_ways_is_refused(text):
    with pytest.raises(InputError, match=r"row 2: .*(quote|JSON)"):
        Comparisons.from_frame({"ranking": ["a > b", text]})


@pytest.mark.parametrize("text", ["a >> b", "> a", "a > ", '"" > a', ""])
def test_an_item_without_a_name_is_refused(text):
    with pytest.raises(InputError, match=r"row 1: .* is no ranking"):
        Comparisons.from_frame({"ranking": [text]})


def test_an_item_that_holds_the_mark_is_one_item_in_a_list_and_in_quotes():
    for ranking in (
        ["Zoom", "Slack > Teams bridge"],
        'Zoom > "Slack > Teams bridge"',
        '["Zoom", "Slack > Teams bridge"]',
    ):
        assert Comparisons.from_frame({"ranking": [ranking]}).items == ("Zoom", "Slack > Teams bridge")
    assert Comparisons.from_rankings([["Zoom", "Slack > Teams bridge"]]).items == ("Zoom", "Slack > Teams bridge")


BRIDGE = "Slack > Teams bridge"


@pytest.mark.parametrize(
    "whole", ['"Slack > Teams bridge" > Mail', '["Mail", "Slack > Teams bridge"]', '"Slack>Teams bridge"']
)
@pytest.mark.parametrize("before", [True, False])
def test_an_item_that_is_whole_in_one_ranking_and_divided_in_another_is_refused(whole, before, tmp_path):
    rows = ["Zoom > Slack > Teams bridge", f"{whole} > Zoom" if whole.endswith('"') else whole]
    rows = rows if before else rows[::-1]
    with pytest.raises(InputError, match=r"is one item in some rankings, and 'Slack' before 'Teams bridge' in others"):
        Comparisons.from_frame({"ranking": rows})
    for number, row in enumerate(rows):
        pl.DataFrame({"ranking": [row]}).write_csv(tmp_path / f"{number}.csv")
    with pytest.raises(InputError, match="put it in quotes wherever it stands"):
        read_comparisons(tmp_path / "*.csv")
    (tmp_path / "0.jsonl").write_text(json.dumps({"ranking": ["Mail", BRIDGE]}) + "\n")
    (tmp_path / "1.csv").write_text("ranking\nZoom > Slack > Teams bridge\n")
    with pytest.raises(InputError, match="put it in quotes wherever it stands"):
        read_comparisons([tmp_path / "0.jsonl", tmp_path / "1.csv"])


def test_items_that_are_never_divided_may_hold_the_parts_of_one_another():
    rows = [["Slack", "Teams bridge", BRIDGE], [BRIDGE, "Slack", "Teams bridge"]]
    assert len(Comparisons.from_frame({"ranking": rows}).items) == 3
    assert len(Comparisons.from_frame({"ranking": [json.dumps(row) for row in rows]}).items) == 3


def test_two_items_that_never_part_are_told():
    rng = np.random.default_rng(0)
    items = ["Zoom", "Slack > Teams bridge", "Mail", "Phone"]
    orders = [[items[k] for k in rng.permutation(4)] for _ in range(12)]
    with pytest.warns(DataWarning, match=r"'Slack' stands right before 'Teams bridge' in all 12 rankings") as caught:
        Comparisons.from_frame({"ranking": [" > ".join(order) for order in orders]})
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Comparisons.from_frame({"ranking": orders})
        Comparisons.from_frame({"ranking": [json.dumps(order) for order in orders]})
        Comparisons.from_frame({"ranking": ["a > b > c"] * 12})  # all agree: nothing looks like one item
        Comparisons.from_frame({"ranking": [" > ".join(map(str, rng.permutation(4))) for _ in range(30)]})


def test_a_count_of_rankings_beyond_memory_is_refused_before_it_is_unrolled(monkeypatch):
    with pytest.raises(
        InputError, match=r"row 2: with count 1000000000 the rankings make 3e\+09 pairs, more than 2e\+07"
    ):
        Comparisons.from_frame({"ranking": ["a > b", "a > b > c"], "count": [3, 10**9]})
    with pytest.raises(InputError, match=r"row 1: with n 9007199254740991"):
        Comparisons.from_frame({"ranking": ["a > b"], "n": [2**53 - 1]}, count="n")
    monkeypatch.setattr(batch, "MAX_PAIRS", 5.0)
    collector = forms.Collector()
    collector.add(pl.DataFrame({"ranking": ["a > b > c"], "count": [1]}))
    with pytest.raises(InputError, match=r"row 1: with count 1 the rankings make 6 pairs, more than 5"):
        collector.add(pl.DataFrame({"ranking": ["a > b > c"], "count": [1]}))


def test_an_array_of_lists_is_one_of_rankings(tmp_path):
    (tmp_path / "lists.json").write_text('[["tea", ["milk", "cola"]], ["cola", "tea"], ["milk"]]')
    rankings = read_rankings(tmp_path / "lists.json", unranked="below")
    assert rankings.to_lists() == [["tea", ["milk", "cola"]], ["cola", "tea"], ["milk"]]
    (tmp_path / "numbers.json").write_text("[[3, 1, 2], [2, 3, 1]]")
    assert read_rankings(tmp_path / "numbers.json").to_lists() == [[3, 1, 2], [2, 3, 1]]
    (tmp_path / "mixed.json").write_text('[["tea", "milk"], {"ranking": ["milk", "tea"]}]')
    with pytest.raises(InputError, match=r'row 1: .* is not an object; write one .* as {"ranking"'):
        read_rankings(tmp_path / "mixed.json")
    (tmp_path / "twice.json").write_text('[["tea", "milk"], ["milk", "milk"]]')
    with pytest.raises(InputError, match="row 2: 'milk' appears twice in the ranking"):
        read_rankings(tmp_path / "twice.json")


def test_columns_of_a_question_are_named_after_what_is_in_brackets(tmp_path):
    (tmp_path / "grid.csv").write_text("id,Q5 [Tea],Q5 [Milk],Q5 [Cola]\n1,2,1,3\n2,1,,2\n")
    rankings = read_rankings(tmp_path / "grid.csv", rank_columns=["Q5*"], unranked="below")
    assert rankings.to_lists() == [["Milk", "Tea", "Cola"], ["Tea", "Cola"]]
    (tmp_path / "grid.csv").write_text("id,Q5 [Tea],Q6 [Milk]\n1,2,1\n2,1,2\n")  # two questions
    assert set(read_rankings(tmp_path / "grid.csv", rank_columns=["Q*"]).items) == {"Q5 [Tea]", "Q6 [Milk]"}
    (tmp_path / "grid.csv").write_text("id,Q5 [Tea],Q5 [Milk]\n1,2,1\n2,1,x\n")
    with pytest.raises(InputError, match=r"row 2: 'Q5 \[Milk\]' is 'x', which is no rank"):
        read_rankings(tmp_path / "grid.csv", rank_columns=["Q5*"])
