"""`podium rank --features`, `--covariates`, `--method crowd`, and `podium predict`."""

import io
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import podium
from podium.cli import run
from podium.errors import DataWarning


@pytest.fixture
def folder(tmp_path):
    """Votes on 12 items of 14, with judges and a covariate, and a table of their features."""
    rng = np.random.default_rng(0)
    names = np.array([f"item {k:02}" for k in range(14)])
    size, kind = rng.normal(50, 20, 14), rng.choice(["a", "b"], 14)
    truth = 0.05 * size + (kind == "b") + 0.3 * rng.normal(size=14)
    left = rng.integers(0, 12, 900)
    right = (left + rng.integers(1, 12, 900)) % 12
    long, short = rng.normal(size=(2, 900))
    slope = np.where(np.arange(900) % 5 == 4, 0.0, 1.0)
    won = rng.random(900) < 1 / (1 + np.exp(-slope * (truth[left] - truth[right] + 0.5 * (long - short))))
    votes = {"left": names[left], "right": names[right], "outcome": won.astype(int)}
    votes |= {"judge": np.array(["ann", "bob", "cem", "dot", "eve"])[np.arange(900) % 5]}
    pl.DataFrame(votes | {"length_a": long, "length_b": short}).write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"name": names, "size": size, "kind": kind}).write_csv(tmp_path / "items.csv")
    pl.DataFrame({"name": names, "size": size}).write_csv(tmp_path / "sizes.csv")
    return tmp_path


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run([*map(str, args)])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def test_an_item_of_the_features_that_looks_like_another_is_remarked_once(folder, capfd):
    table = pl.read_csv(folder / "sizes.csv")
    for label in ("Item 03", "item 13 "):  # one like a compared item, one like another of the table
        table = pl.concat([table, pl.DataFrame({"name": [label], "size": [1.0]})])
    table.write_csv(folder / "alike.csv")
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--features", folder / "alike.csv")
    assert code == 0, err
    (remark,) = [line for line in err.splitlines() if "kept apart" in line]
    assert remark == (
        "warning: items that differ only in case, blanks or how their characters are coded are kept apart: "
        "'item 03' and 'Item 03' (features, row 15); 'item 13' (features, row 14) and 'item 13 ' (features, row 16); "
        "write them alike if they are the same"
    )


def test_a_lacking_row_of_features_that_is_there_under_a_like_label_is_remarked(folder, capfd):
    text = (folder / "sizes.csv").read_text()
    (folder / "alike.csv").write_text(text.replace("item 03", "Item 03"))
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--features", folder / "alike.csv", "--id", "name")
    assert code == 2
    assert "'item 03' and 'Item 03' (features, row 4)" in err
    assert "no row for 'item 03'" in err


def test_features_rank_all_items_and_the_model_predicts(folder, capfd):
    code, out, err = call(
        capfd, "rank", folder / "votes.csv", "--features", folder / "sizes.csv", "--format", "csv",
        "--save", folder / "m.podium",
    )  # fmt: skip
    assert code == 0, err
    frame = pl.read_csv(io.StringIO(out))
    votes = podium.read_comparisons(folder / "votes.csv", judge=False)
    model = podium.RABF().fit(votes, pl.read_csv(folder / "sizes.csv"))
    assert frame["item"].to_list() == list(model.ranking_.order)
    assert_allclose(frame["score"], np.sort(model.ranking_.scores)[::-1], atol=1e-6)
    assert f"{model.coef_[0]:+.4g}" in err
    assert "without votes: 2" in err
    code, out, err = call(capfd, "predict", folder / "sizes.csv", "--model", folder / "m.podium")
    assert code == 0, err
    scored = {row["item"]: row["score"] for row in pl.read_csv(io.StringIO(out)).rows(named=True)}
    expected = model.predict(pl.read_csv(folder / "sizes.csv"))
    assert_allclose([scored[f"item {k:02}"] for k in range(14)], expected, atol=1e-6)
    code, out, _ = call(capfd, "predict", folder / "sizes.csv", "--model", folder / "m.podium", "--format", "table")
    assert code == 0
    assert out.splitlines()[0].split() == ["item", "score", "std_error", "lower", "upper", "rank"]


def test_text_is_one_hot_on_request(folder, capfd):
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--features", folder / "items.csv")
    assert code == 2
    assert "'kind' holds text" in err
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--features", folder / "items.csv", "--one-hot")
    assert code == 0
    assert "kind=b" in err


@pytest.mark.parametrize("more", [(), ("--one-hot",)])
def test_a_text_among_numbers_is_named_with_its_row(folder, capfd, more):
    """Row 4 of the table is the odd one; as an indicator of its own, each other number would be one too."""
    rows = (folder / "sizes.csv").read_text().splitlines()
    rows[4] = rows[4].rpartition(",")[0] + ",n/a"
    (folder / "odd.csv").write_text("\n".join(rows))
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--features", folder / "odd.csv", *more)
    assert code == 2
    assert "row 4: 'size' is 'n/a', where most rows have numbers; correct it, or empty the cell" in err
    rows[4] = rows[4].removesuffix("n/a")
    (folder / "odd.csv").write_text("\n".join(rows))
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--features", folder / "odd.csv", "--missing", "mean")
    assert code == 0, err


def test_covariates_are_controlled_for(folder, capfd):
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--covariates", "length")
    assert code == 0, err
    votes = podium.read_comparisons(folder / "votes.csv", covariates=["length"], judge=False)
    assert f"{podium.BradleyTerry().fit(votes).coef_[0] * votes.covariate_sds()[0]:+.4g}" in err


def test_judges_are_weighed_and_the_spammer_named(folder, capfd):
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--method", "crowd")
    assert code == 0, err
    lines = err.splitlines()
    head = next(k for k, line in enumerate(lines) if line.split()[:3] == ["judge", "reliability", "votes"])
    assert lines[head].split()[-2:] == ["flag", "p"]
    assert [line.split()[0] for line in lines[head + 1 :] if "chance" in line] == ["eve"]
    ends = {line.index("±") for line in lines[head + 1 :] if "±" in line}
    assert len(ends) == 1, "one column"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--features", "items.csv", "--id", "label"], "no column 'label'"),
        (["--features", "none.csv"], "no such file"),
        (["--features", "items.csv", "--method", "borda"], "--features does not apply to --method borda"),
        (["--id", "name"], "--id is about --features"),
        (["--loss", "squared", "--method", "win-rate"], "--loss does not apply to --method win-rate"),
        (["--covariates", "mood"], "no column for covariate 'mood'"),
    ],
)
def test_bad_use_is_one_line(folder, capfd, monkeypatch, args, message):
    monkeypatch.chdir(folder)
    code, out, err = call(capfd, "rank", "votes.csv", *args)
    assert code == 2
    assert message in err
    assert not out


def test_predict_refuses_other_models_and_tables(folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    call(capfd, "rank", "votes.csv", "--save", "plain.podium")
    code, _, err = call(capfd, "predict", "sizes.csv", "--model", "plain.podium")
    assert code == 2
    assert "cannot tell who is to meet whom" in err
    call(capfd, "rank", "votes.csv", "--features", "sizes.csv", "--save", "m.podium")
    code, _, err = call(capfd, "predict", "items.csv", "--model", "m.podium")
    assert code == 2
    assert "say which names the items by --id" in err
    code, _, err = call(capfd, "predict", "votes.csv", "--model", "m.podium", "--id", "left")
    assert code == 2
    assert "no column 'size'" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--method", "elo", "--features", "sizes.csv"],
            "--features does not apply to --method elo; use rabf",
        ),
        (["--method", "elo", "--covariates", "length"], "--covariates does not apply to --method elo"),
        (["--one-hot"], "--one-hot is about --features, which is not given"),
        (["--features", "items.csv"], "or set --one-hot for a column per value"),
        (
            ["--features", "sizes.csv", "--flip-rate", "0.2", "--flip-loss", "corrected"],
            "--flip-loss corrected with the logistic loss needs --feature-penalty and --residual-penalty",
        ),
        (["--method", "crowd", "--judge="], "name the column of the judge by --judge"),
    ],
)
def test_the_way_out_is_told_in_options(folder, capfd, monkeypatch, args, message):
    monkeypatch.chdir(folder)
    code, _, err = call(capfd, "rank", "votes.csv", *args)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_known_flips_need_no_penalties_and_give_the_ranking_of_the_library(folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    code, out, err = call(
        capfd, "rank", "votes.csv", "--features", "sizes.csv", "--flip-rate", "0.1", "--format", "csv"
    )
    assert code == 0, err
    votes = podium.read_comparisons(folder / "votes.csv", judge=False)
    ranking = podium.RABF(flip_rate=0.1).fit(votes, pl.read_csv(folder / "sizes.csv")).ranking_
    frame = pl.read_csv(io.StringIO(out))
    assert frame["item"].to_list() == list(ranking.order)
    assert_allclose(frame["score"], np.sort(ranking.scores)[::-1], atol=1e-6)


def test_features_with_sides_ties_and_judges_give_the_ranking_of_the_library(folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    votes = pl.read_csv("votes.csv").with_columns(
        pl.when(pl.int_range(pl.len()) % 6 == 0).then(0.5).otherwise(pl.col("outcome")).alias("outcome")
    )
    votes.write_csv("tied.csv")
    code, out, err = call(
        capfd, "rank", "tied.csv", "--features", "sizes.csv", "--side-effect", "--ties", "davidson",
        "--ci", "judge", "--format", "csv", "--report", "page.html",
    )  # fmt: skip
    assert code == 0, err
    comparisons = podium.read_comparisons(folder / "tied.csv", group=False)
    model = podium.RABF(side_effect=True, ties="davidson").fit(comparisons, pl.read_csv(folder / "sizes.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # five judges are few
        ranking = model.ranking_.with_uncertainty("cluster", cluster="judge")
        frame = pl.read_csv(io.StringIO(out))
        assert_allclose(frame["score"], np.sort(ranking.scores)[::-1], atol=1e-6)
        expected = dict(zip(ranking.items, ranking.std_errors, strict=True))
    assert_allclose(frame["std_error"], [expected[item] for item in frame["item"]], rtol=1e-3)
    assert f"position bias, in favour of the left side: {model.side_effect_:+.3g} ± " in err
    assert f"; Davidson's ν = {model.tie_strength_:.3g})" in err
    assert "Position bias and ties" in (folder / "page.html").read_text()


def test_limits_the_hinge_loss_and_row_weights_give_the_ranking_of_the_library(folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    table = pl.read_csv("sizes.csv").with_columns(trust=pl.Series([1.0, 0.5] * 7))
    table.write_csv("trusted.csv")
    votes = podium.read_comparisons(folder / "votes.csv", judge=False)
    asked = {
        ("--max-norm", "0.5,1"): podium.RABF(max_norm=(0.5, 1.0)),
        ("--loss", "hinge", "--max-norm", "0.5,1"): podium.RABF(loss="hinge", max_norm=(0.5, 1.0)),
        ("--loss", "hinge", "--feature-penalty", "1", "--residual-penalty", "2", "--side-effect"): podium.RABF(
            loss="hinge", feature_penalty=1.0, residual_penalty=2.0, side_effect=True
        ),
    }
    for options, model in asked.items():
        for row_weights in ([], ["--row-weights", "trust"]):
            page = ["--report", "page.html"] if row_weights and "--side-effect" in options else []
            chosen = [*options, *row_weights, "--format", "csv", *page]
            source = "trusted.csv" if row_weights else "sizes.csv"
            code, out, err = call(capfd, "rank", "votes.csv", "--features", source, *chosen)
            assert code == 0, err
            twin = model.unfitted(row_weights="trust") if row_weights else model
            ranking = twin.fit(votes, pl.read_csv(source)).ranking_
            frame = pl.read_csv(io.StringIO(out))
            assert_allclose(frame["score"], np.sort(ranking.scores)[::-1], atol=1e-5)
            assert (frame["std_error"].null_count() == 0) == ("hinge" not in options)
            assert ("limit" in err) == ("--max-norm" in options)
    code, _, err = call(capfd, "rank", "votes.csv", "--features", "sizes.csv", "--max-norm", "2")
    assert (code, "'2' is not W,R: two numbers, as 2,0.5" in err) == (2, True)
    code, _, err = call(capfd, "rank", "votes.csv", "--row-weights", "trust")
    assert (code, "--row-weights is about --features" in err) == (2, True)


def test_online_models_learn_on_from_their_files_as_in_one_go(folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    votes = pl.read_csv("votes.csv")
    votes.head(600).write_csv("first.csv")
    votes.tail(300).write_csv("later.csv")
    asked = ["--method", "online-rabf", "--features", "sizes.csv", "--flip-rate", "0.1", "--loss", "squared"]
    steps = [
        ["first.csv", *asked, "--save", "one.podium"],
        ["later.csv", "--model", "one.podium", "--save", "two.podium"],
        ["votes.csv", *asked, "--save", "whole.podium"],
    ]
    for step in steps:
        code, out, err = call(capfd, "rank", *step, "--format", "csv")
        assert code == 0, err
    assert "900 votes learned from in all" in err
    assert "score per unit of each feature" in err
    two, whole = (podium.models.load(folder / f"{name}.podium") for name in ("two", "whole"))
    assert two.n_votes_ == 900
    assert_allclose(two.ranking_.scores, whole.ranking_.scores, atol=1e-12)
    frame = pl.read_csv(io.StringIO(out))
    assert_allclose(frame["score"], np.sort(whole.ranking_.scores)[::-1], atol=1e-6)
    code, out, err = call(capfd, "predict", "sizes.csv", "--model", "two.podium", "--format", "csv")
    assert code == 0, err
    scores = pl.read_csv(io.StringIO(out)).sort("item")
    assert_allclose(scores["score"], two.predict(pl.read_csv("sizes.csv")), atol=1e-6)
    assert scores["std_error"].null_count() == 14


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--loss", "squared"], "--loss was settled when the model of --model began; drop it"),
        (["--method", "elo"], "--method elo is not that of --model, online-rabf; drop it"),
        (["--by", "judge"], "--by does not go with --model, which learns on, vote by vote; drop one of them"),
        (["--report", "page.html"], "--report does not go with --model"),
        (["--balance", "pairs"], "--balance does not go with --model"),
    ],
)
def test_what_does_not_go_with_learning_on_is_said(folder, capfd, monkeypatch, more, message):
    monkeypatch.chdir(folder)
    podium.models.save(podium.OnlineRABF().update("item 00", "item 01"), folder / "old.podium")
    code, _, err = call(capfd, "rank", "votes.csv", "--model", "old.podium", *more)
    assert code == 2
    assert message in err
    podium.models.save(podium.BradleyTerry().fit(podium.read_comparisons("votes.csv")), folder / "bt.podium")
    code, _, err = call(capfd, "rank", "votes.csv", "--model", "bt.podium")
    assert (code, "bt.podium is a file of BradleyTerry; only online-rabf learns on from a file" in err) == (2, True)


def test_newcomers_without_features_are_named_on_the_command_line(folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    table = pl.read_csv("sizes.csv")
    few = podium.OnlineRABF().add({row["name"]: {"size": row["size"]} for row in table.head(3).to_dicts()})
    podium.models.save(few.update("item 00", "item 01"), folder / "old.podium")
    code, _, err = call(capfd, "rank", "votes.csv", "--model", "old.podium")
    assert code == 2
    assert "; give them by --features" in err
    assert "add(" not in err
    code, _, err = call(capfd, "rank", "votes.csv", "--model", "old.podium", "--features", "sizes.csv")
    assert code == 0, err


def test_rabf_without_features_says_what_it_is(folder, capfd):
    code, _, err = call(capfd, "rank", folder / "votes.csv", "--method", "rabf")
    assert code == 0
    assert "rabf without --features: bradley-terry with a penalty chosen from the votes" in err


@pytest.mark.parametrize(
    ("rows", "message"),
    [("x,1\ny,old\n", "'size' is 'old' for row 2; it must be a number"), ("x,1\ny,\n", "'size' is missing for row 2")],
)
def test_predict_names_the_cell_that_is_no_number(folder, capfd, monkeypatch, rows, message):
    monkeypatch.chdir(folder)
    assert call(capfd, "rank", "votes.csv", "--features", "sizes.csv", "--save", "m.podium")[0] == 0
    (folder / "new.csv").write_text(f"name,size\n{rows}")
    code, out, err = call(capfd, "predict", "new.csv", "--model", "m.podium")
    assert (code, out) == (2, "")
    assert message in err
    assert "--missing" not in err


def test_a_column_of_labels_that_is_empty_is_refused_with_its_row(folder, capfd):
    (folder / "nameless.csv").write_text("name,size\n,1\n,2\n")
    for command in ("rank", "check"):
        code, _, err = call(capfd, command, folder / "votes.csv", "--features", folder / "nameless.csv", "--id", "name")
        assert code == 2
        assert "features, row 1: no label; name the item or remove the row" in err
