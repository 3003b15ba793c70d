"""podium simulate: a table of presets, and a picture."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from podium.active import presets
from podium.active.oracles import MODELS
from podium.cli import main
from podium.cli.ask import PRESETS
from podium.cli.simulate import DEFAULT_PRESETS, NOISES


def simulated(*options):
    return CliRunner().invoke(main, ["simulate", "-n", "25", "--runs", "1", "--format", "csv", *options])


def test_the_table_has_a_row_for_each_preset_and_clean_answers_cost_nothing():
    result = simulated("--noise-level", "0", "--preset", "quick", "--preset", "few_rounds")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["preset"] for row in rows] == ["quick", "few_rounds"]
    assert float(rows[0]["cost_ratio"]) == 1
    assert float(rows[1]["rounds"]) <= 8
    assert all(float(row["questions_per_item"]) <= 12 for row in rows)


def test_more_noise_costs_more_questions_or_ranks():
    quiet, loud = (
        next(csv.DictReader(io.StringIO(simulated("--noise-level", level, "--preset", "standard").stdout)))
        for level in ("0.0", "0.35")
    )
    assert float(loud["ranks_off"]) > float(quiet["ranks_off"])


def test_a_picture_is_written_and_other_endings_are_refused(tmp_path):
    picture = tmp_path / "cost.png"
    result = simulated("--preset", "quick", "--plot", str(picture))
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "use .png, .svg or .pdf" in str(simulated("--plot", "x.txt").exception)


def test_presets_and_noises_are_those_of_the_library():
    assert (presets.PRESETS, MODELS, tuple(presets.APPETITE)) == (PRESETS, NOISES, DEFAULT_PRESETS)
    assert "'drunk' is not one of 'flips'" in simulated("--noise", "drunk").output


def test_a_small_set_may_be_asked_about_in_full():
    result = CliRunner().invoke(main, ["simulate", "-n", "12", "--runs", "1", "--preset", "exact", "--format", "json"])
    assert [(row["preset"], row["questions_per_item"]) for row in json.loads(result.stdout)] == [("exact", 5.5)]


@pytest.mark.parametrize("command", ["simulate", "check", "compare", "rank", "ask"])
def test_no_command_takes_a_seed_below_zero(command):
    arguments = [] if command == "simulate" else ["absent.csv"]
    if command == "ask":
        arguments += ["--log", "absent.jsonl"]
    result = CliRunner().invoke(main, [command, *arguments, "--seed", "-1"])
    assert result.exit_code == 2
    assert "-1 is not in the range x>=0" in result.output


@pytest.mark.parametrize("option", ["--noise-level", "--random-share"])
def test_a_share_is_a_number(option):
    assert "'nan' is not a number; give one" in simulated(option, "nan").output


@pytest.mark.parametrize("n", ["3", "4", "5", "7"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_smallest_sizes_work_with_every_preset_and_noise(n, preset):
    for noise in NOISES:
        options = ("simulate", "-n", n, "--runs", "1", "--noise", noise, "--preset", preset, "--format", "csv")
        result = CliRunner().invoke(main, [*options, "--noise-level", "0.9", "--random-share", "0.999"])
        assert result.exit_code == 0, (noise, result.output, result.exception)


def test_informative_features_help_the_papers_preset_and_useless_ones_do_not():
    rows = {
        kind: next(csv.DictReader(io.StringIO(simulated("--preset", "paper", "--features", kind).stdout)))
        for kind in ("informative", "useless")
    }
    assert float(rows["informative"]["excess"]) < 0.5 * float(rows["useless"]["excess"])
    assert float(rows["informative"]["rounds"]) > 0
    assert "no use for features" in str(simulated("--preset", "exact", "--features", "useless", "-n", "8").exception)
