"""The claims of the RABF paper at small sizes; each fails when the method is replaced by its baseline."""

import numpy as np
import polars as pl
import pytest

from papers import rabf

SIZES = [500, 1000, 2000, 4000]


@pytest.fixture(scope="module")
def few_votes():
    return rabf.sublinear(SIZES, 2)


def holds(found, start):
    return all(ok for claim, ok in rabf.claims(found).items() if claim.startswith(start))


@pytest.mark.parametrize(("method", "baseline"), [("rabf_log", "mle"), ("rabf_sq", "ls")])
def test_fifty_log_n_votes_are_enough_with_features_and_not_without(few_votes, method, baseline):
    name = rabf.NAMES[method]
    assert holds({"sublinear": few_votes}, f"{name} does not grow")
    assert holds({"sublinear": few_votes}, f"{rabf.NAMES[baseline]} grows")
    swapped = few_votes | {
        "distance": {flipped: table | {method: table[baseline]} for flipped, table in few_votes["distance"].items()}
    }
    assert not holds({"sublinear": swapped}, f"{name} does not grow")


def test_what_features_miss_grows_like_log_n(few_votes):
    assert holds({"sublinear": few_votes}, "what features miss")
    linear = few_votes | {"norm": [0.1 * n for n in SIZES]}
    assert not holds({"sublinear": linear}, "what features miss")


def test_noise_in_features_or_votes_costs_rabf_no_more_than_either_alone():
    found = rabf.robustness(60, 600, 2, levels={"features": [0.0, 0.8], "votes": [0.0, 0.3]})
    assert holds({"robustness": found}, "RABF is no worse")
    for baseline in ("ls", "features"):
        swapped = {
            what: table | {"rabf_log": table[baseline], "rabf_sq": table[baseline]}
            for what, table in found["distance"].items()
        }
        assert not holds({"robustness": found | {"distance": swapped}}, "RABF is no worse")


def test_online_votes_bring_the_distance_down_and_bad_features_need_more_of_them():
    found = rabf.online(150, 20_000, 3)
    assert holds({"online": found}, "online RABF falls")
    assert holds({"online": found}, "the more features miss")
    still = [curve | {"distance": [curve["distance"][0]] * len(found["times"])} for curve in found["curves"]]
    assert not holds({"online": found | {"curves": still}}, "online RABF falls")


def test_the_last_online_model_comes_to_the_batch_optimum_like_one_over_t():
    found = rabf.rate(600, 100_000, 3)
    assert holds({"rate": found}, "online RABF-SQ comes")
    assert not holds({"rate": found | {"strong": found["sqrt"]}}, "online RABF-SQ comes")


def test_figure_4_holds_on_the_stand_ins_and_fails_for_the_baselines():
    found = rabf.figure4(rabf.stand_ins(), 3)
    assert holds({"figure4": found}, "Figure 4: RABF-SQ")
    for baseline in ("ls", "features"):
        swapped = {
            name: study | {"distance": study["distance"] | {"rabf_sq": study["distance"][baseline]}}
            for name, study in found.items()
        }
        assert not holds({"figure4": swapped}, "Figure 4: RABF-SQ")


def test_a_reader_with_the_originals_gets_figure_4_by_two_commands(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(8)
    names, sales = [f"firm {k}" for k in range(25)], rng.normal(size=25)
    firms = pl.DataFrame({"name": names, "sales": sales, "sector": ["a", "b", "c", "d", "e"] * 5})
    firms = firms.with_columns(value=pl.Series(3 * sales + 0.1 * rng.normal(size=25)))
    firms.write_csv(tmp_path / "forbes.csv")
    left = rng.integers(0, 25, 300)
    right = (left + rng.integers(1, 25, 300)) % 25
    margin = firms["value"].to_numpy()[left] - firms["value"].to_numpy()[right] + rng.normal(size=300)
    games = {"left": [names[k] for k in left], "right": [names[k] for k in right], "margin": margin}
    pl.DataFrame(games).write_csv(tmp_path / "games.csv")
    for more in ([], ["--votes", str(tmp_path / "games.csv")]):
        asked = [
            "rabf",
            "--items",
            str(tmp_path / "forbes.csv"),
            "--truth",
            "value",
            "--folder",
            str(tmp_path),
            "--quick",
        ]
        monkeypatch.setattr("sys.argv", asked + more)
        rabf.main()
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 6
        assert "forbes,     500 votes" in lines[-1]
        share = float(lines[-1].split("RABF-SQ ")[1].split(" %")[0])
        assert share < 10
        assert (tmp_path / "own-figure4.png").stat().st_size > 1000


def test_both_kinds_of_corruption_leave_a_residual_of_log_n():
    found = rabf.corruption(SIZES, 5)
    assert holds({"corruption": found}, "‖r‖² is O(log n)")
    growing = {"sizes": SIZES, "noise": np.sqrt(SIZES).tolist(), "shuffle": np.sqrt(SIZES).tolist()}
    assert not holds({"corruption": growing}, "‖r‖² is O(log n)")


def test_the_distance_is_the_share_of_pairs_in_the_wrong_order():
    assert rabf.distance(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == 1.0
    assert rabf.distance(np.array([1.0, 3, 2]), np.array([1.0, 2, 3])) == pytest.approx(1 / 3)
    assert rabf.distance(np.zeros(3), np.array([1.0, 2, 3])) == 0.5


def test_own_data_give_a_learning_curve(tmp_path, capsys):
    import polars as pl

    rng = np.random.default_rng(0)
    seen, truth = rabf.items(20, 2, rng)
    data = rabf.votes(truth, 200, 0.1, rng)
    data.to_frame().write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"item": list(range(20))} | {f"x{k}": seen[:, k] for k in range(2)}).write_csv(tmp_path / "items.csv")
    rabf.own_data(str(tmp_path / "items.csv"), str(tmp_path / "votes.csv"), tmp_path, splits=1)
    assert (tmp_path / "own-learning-curve.png").stat().st_size > 1000
    assert "features save" in capsys.readouterr().out
