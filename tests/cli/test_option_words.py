"""What is to be typed behind each option: the word that the help has for it; files, switches and lists."""

import importlib
from pathlib import Path

import click
import pytest

from podium.cli import COMMANDS
from podium.errors import InputError

VOTES = "check|compare|diff|rank"
# The word behind the option, the options that have it, and the commands they are of.
WORDS = [
    ("COLUMN", "winner loser left right outcome left-wins right-wins tie-count margin left-goals right-goals ranking "
     "item rank weight count judge group time", VOTES),
    ("COLUMN", "left right time outcome left-goals right-goals id", "predict"),
    ("COLUMN", "id row-weights", "check|compare|rank"), ("COLUMN", "by", "rank"),
    ("COLUMN", "id text", "ask|campaign new|campaign add-items|judge"), ("COLUMN", "reference", "judge"),
    ("COLUMN", "label low high", "grade fit|grade evaluate"), ("COLUMN", "weight", "grade fit"),
    ("COLUMN", "id", "grade fit|grade predict|label fit|label predict|label evaluate"),
    ("COLUMNS", "features", "campaign new|campaign add-items"),
    ("PATTERN", "labels", "label fit|label predict|label evaluate"),
    ("NAMES", "rank-columns", VOTES), ("NAMES", "covariates", "check|compare|rank"), ("NAMES", "metric", "metrics"),
    ("NAME", "campaign", "campaign add-items|campaign invite|campaign pause|campaign open|campaign close|"
     "campaign export|campaign votes|campaign import|judge"),
    ("NAME", "model as", "judge"), ("NAME", "judge", "ask|campaign new"), ("NAME", "loss", "label fit"),
    ("FILE", "features known-marks plot report embed since fixtures save assist model output", "rank"),
    ("FILE", "cluster-ca cluster-cert cluster-key", VOTES), ("FILE", "features", "ask|check|compare"),
    ("FILE", "db gold prompt report output", "judge"), ("FILE", "model save plot", "grade fit"),
    ("FILE", "model output", "grade predict|grade evaluate|label predict|label evaluate|predict"),
    ("FILE", "log", "ask"), ("FILE", "played", "predict"), ("FILE", "known-marks", "campaign new"),
    ("FILE:JUDGE", "against", "judge"), ("NAME=VALUE", "header", "judge"), ("NAME=TEXT", "criterion", "judge"),
    ("URL", "server base-url", "judge"), ("URL", "url", "serve"), ("WORDS", "command", "judge"),
    ("JSON", "extra-body", "judge"), ("order|top:K", "goal", "judge"), ("ADDRESS", "cluster", VOTES),
    ("CHAR", "delimiter", VOTES), ("ITEM|mean", "reference", "rank"), ("mean|weighted-mean|ITEM", "reference", "diff"),
    ("TIME", "half-life at", "rank"), ("METHOD", "method", "rank|compare"), ("TEXT", "title", "rank"),
    ("NUMBER|auto", "l2 drift sd", "rank"), ("NUMBER|auto", "l2", "check"), ("NUMBER|auto", "C", "grade fit|label fit"),
    ("LOW:HIGH", "marks", "rank|campaign new"), ("GRADE=MARK,…", "boundaries", "rank|campaign new"),
    ("ITEM=SCORE", "anchor", "rank"), ("W,R", "max-norm", "rank"), ("POINTS", "side-advantage", "rank"),
    ("SHARE", "flip-rate", "rank"), ("N", "top", "rank"), ("N", "jobs", VOTES), ("NUMBER", "min-votes k", "rank"),
    ("NUMBER", "feature-penalty residual-penalty", "rank"), ("NUMBER", "temperature timeout rpm tpm", "judge"),
    ("DB", "db", "serve|campaign new|campaign add-items|campaign invite|campaign pause|campaign open|campaign close|"
     "campaign export|campaign votes|campaign import"),
]  # fmt: skip
SWITCHES = [
    ("simultaneous pool differences chosen-pairs side-effect bias-reduction margins", "rank"),
    ("one-order anyway keep-prompts dry-run", "judge"), ("no-header", "grade fit|grade predict|grade evaluate"),
    ("side-effect strict", "check"), ("nested", "compare"), ("differences per-query", "metrics"), ("fresh", "simulate"),
    ("behind-proxy", "serve"), ("table", "predict"), ("add", "campaign import"),
]  # fmt: skip


def each(rows):
    """A row for each option of each command."""
    return [
        pytest.param(*row[:-2], name, command, id=f"{command} --{name}")
        for row in rows for name in row[-2].split() for command in row[-1].split("|")
    ]  # fmt: skip


def made(command):
    first, _, rest = command.partition(" ")
    module, _, function = COMMANDS[first].partition(":")
    found = getattr(importlib.import_module(module), function)
    return found.commands[rest] if rest else found


def option(command, name):
    (found,) = [param for param in made(command).params if f"--{name}" in param.opts]
    return found


def commands():
    for name, place in COMMANDS.items():
        module, _, function = place.partition(":")
        found = getattr(importlib.import_module(module), function)
        yield from (f"{name} {part}" for part in found.commands) if isinstance(found, click.Group) else [name]


@pytest.mark.parametrize(("word", "name", "command"), each(WORDS))
def test_the_help_has_a_word_for_what_is_typed(word, name, command):
    context = click.Context(made(command))
    assert option(command, name).make_metavar(context) == word
    assert option(command, name).get_help_record(context)[0].endswith(f"--{name} {word}")


@pytest.mark.parametrize(("name", "command"), each(SWITCHES))
def test_a_switch_is_off_until_it_is_typed_and_takes_no_value(name, command):
    command = made(command)
    key = name.replace("-", "_")
    assert command.make_context("x", [], resilient_parsing=True).params[key] is False
    assert command.make_context("x", [f"--{name}"], resilient_parsing=True).params[key] is True


@pytest.mark.parametrize("command", ["ask", "check", "compare", "grade fit", "rank"])
def test_text_that_nobody_spoke_of_is_neither_split_nor_left(command):
    """Whether an option was typed can be told."""
    for args, value in (([], None), (["--one-hot"], True)):
        assert made(command).make_context("x", args, resilient_parsing=True).params["one_hot"] is value


LISTS = [
    ("criterion header against", "judge"), ("labels", "label fit|label predict|label evaluate"),
    ("judge", "campaign new"),
    ("id", "grade fit|grade predict|label fit|label predict|label evaluate"), ("metric", "metrics"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "command"), each(LISTS))
def test_what_may_be_given_again_is_kept_in_order(name, command):
    parameter = option(command, name)
    context = made(command).make_context("x", [f"--{name}", "b", f"--{name}", "a"], resilient_parsing=True)
    assert context.params[parameter.name] == ("b", "a")


@pytest.mark.parametrize(("name", "command"), each([
    ("covariates", "rank|check|compare"), ("features", "campaign new|campaign add-items"),
    ("rank-columns", "rank|check|compare|diff"),
]))  # fmt: skip
def test_names_are_separated_by_commas(name, command):
    parameter, context = option(command, name), click.Context(made(command))
    assert parameter.process_value(context, "one, two words,three") == ("one", "two words", "three")
    assert parameter.process_value(context, None) == ()
    quoted = parameter.process_value(context, '"a, b", c')
    assert quoted == (("a, b", "c") if name == "rank-columns" else ('"a', 'b"', "c"))


FILES = [
    ("plot report embed since fixtures save assist output", "rank"), ("model save plot output", "grade fit"),
    ("model output", "grade predict|label predict|predict"), ("gold prompt report output", "judge"),
    ("plot output", "compare|simulate"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "command"), each(FILES))
def test_a_file_is_a_path_and_no_folder(name, command, tmp_path):
    parameter, context = option(command, name), click.Context(made(command))
    there = tmp_path / "x.svg"
    there.write_text("")
    assert parameter.process_value(context, str(there)) == there
    assert isinstance(parameter.process_value(context, str(there)), Path)
    with pytest.raises(click.BadParameter, match="directory"):
        parameter.type.convert(str(tmp_path), parameter, context)


@pytest.mark.parametrize("name", ["since", "fixtures"])
def test_a_file_that_is_read_must_be_there(name, tmp_path):
    parameter = option("rank", name)
    with pytest.raises(click.BadParameter, match="does not exist"):
        parameter.type.convert(str(tmp_path / "none.csv"), parameter, None)


@pytest.mark.parametrize(("name", "command"), each([
    ("save output", "rank|grade fit|label fit"), ("output", "ask|check|compare|diff|metrics|predict|simulate|plan"),
    ("report output", "judge"),
]))  # fmt: skip
def test_a_folder_that_is_not_there_is_told_before_the_work(name, command, tmp_path):
    parameter, context = option(command, name), click.Context(made(command))
    place = tmp_path / "none" / "x.csv"
    with pytest.raises(InputError) as told:
        parameter.process_value(context, str(place))
    folder = str(place.parent)
    assert str(told.value) == f"cannot write {place}: there is no folder {folder!r}; make it, or choose another"
    assert parameter.process_value(context, None) is None
    assert parameter.process_value(context, "x.csv") == Path("x.csv")


@pytest.mark.parametrize("command", ["rank", "compare", "grade fit", "grade evaluate", "simulate"])
def test_a_picture_is_of_a_kind_that_can_be_drawn(command, tmp_path):
    parameter, context = option(command, "plot"), click.Context(made(command))
    for ending in ("png", "svg", "pdf"):
        assert parameter.process_value(context, f"x.{ending}") == Path(f"x.{ending}")
    with pytest.raises(InputError, match=r"x\.txt"):
        parameter.process_value(context, "x.txt")
    assert parameter.process_value(context, None) is None


def test_a_model_may_be_kept_or_must_be():
    assert option("label fit", "save").required is True
    assert option("rank", "save").required is option("grade fit", "save").required is False


@pytest.mark.parametrize("command", list(commands()))
def test_the_help_tells_a_default_that_is_one(command):
    """Where nothing is the default nothing is said, and a switch is off without saying so."""
    context = click.Context(made(command))
    for parameter in made(command).params:
        if isinstance(parameter, click.Option):
            words = parameter.get_help_record(context)[1]
            assert "default: None" not in words
            assert "default: False" not in words
            assert words.count("[default: ") <= 1, words


def test_a_least_number_of_votes_is_none_until_it_is_typed():
    parameter = option("rank", "min-votes")
    assert parameter.get_default(click.Context(made("rank"))) == 0
    assert option("label evaluate", "relevant-from").get_default(click.Context(made("label evaluate"))) is None


@pytest.mark.parametrize(("command", "where"), [
    ("rank", "the column of --features that holds every compared item"),
    ("ask", "id, else the first"), ("judge", "id, else the first"), ("predict", "the one column that is no feature"),
])  # fmt: skip
def test_the_column_of_labels_says_where_it_is_looked_for(command, where):
    words = option(command, "id").get_help_record(click.Context(made(command)))[1]
    assert words.endswith(f"[default: {where}]")


def test_text_features_have_a_column_for_each_value_of_grades_and_one_less_for_scores():
    words = {name: option(name, "one-hot").help for name in ("grade fit", "ask", "rank", "check", "compare")}
    assert words.pop("grade fit") == "Give each value of a text feature its own column."
    assert set(words.values()) == {
        "Give each value but the first, against which they count, of a text feature its own column."
    }
