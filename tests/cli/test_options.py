"""What each option takes, what it is without being given, and that its help says so: the contract of the commands."""

import importlib

import click
import pytest

from podium.cli import COMMANDS

MANY = 10**12  # a count beyond which no command counts
# Option, the least value and the largest, which of these ends is left out, and the commands that have it so.
NUMBERS = [
    ("--budget", 1, MANY, "", "ask|campaign new|judge"), ("--check-share", 0, 0.99, "", "campaign new"),
    ("--concurrency", 1, 1000, "", "judge"), ("--draws", 1, MANY, "", "predict"), ("--folds", 2, MANY, "", "compare"),
    ("--items", 3, 2000, "", "plan"), ("--jobs", 1, MANY, "", "check|compare|diff|rank"),
    ("--judges", 0, 10_000, "", "campaign new"), ("--judges", 1, 10_000, "", "plan"),
    ("--level", 0.5, 0.9999, "", "diff|metrics|predict|rank"), ("--level", 0, 1, "both", "grade predict"),
    ("--max-calls", 1, MANY, "", "judge"), ("--max-cost", 0, None, "least", "judge"),
    ("--max-tokens", 1, MANY, "", "judge"), ("--min-votes", 0, None, "", "rank"),
    ("--noise-level", 0, 1, "", "simulate|plan"), ("--pairs", 0, MANY, "", "check"),
    ("--passes", 1, MANY, "", "grade fit"), ("--permutations", 1, MANY, "", "metrics"),
    ("--port", 0, 65_535, "", "serve"), ("--price-in", 0, None, "", "judge"), ("--price-out", 0, None, "", "judge"),
    ("--random-share", 0, 1, "largest", "ask|simulate"),
    ("--rbf", 2, MANY, "", "grade fit"), ("--reliability", 0, 1, "both", "plan"), ("--repeat", 0, 1, "", "judge"),
    ("--replicates", 1, MANY, "", "check"), ("--rpm", 0, None, "least", "judge"), ("--tpm", 0, None, "least", "judge"),
    ("--runs", 1, MANY, "", "simulate|plan"), ("--seconds", 0, 86_400, "least", "plan"),
    ("--seed", 0, None, "", "ask|campaign new|check|compare|demo|grade fit|judge|metrics|plan|predict|rank|simulate"),
    ("--target", 1, MANY, "", "campaign new|campaign invite"), ("--timeout", 0.1, 3600, "", "judge"),
    ("--top", 1, MANY, "", "ask|campaign new|label predict|predict|rank"),
    ("--votes-per-pair", 1, MANY, "", "campaign new"), ("-n", 3, 20_000, "", "simulate"),
]  # fmt: skip
CHOICES = [
    ("--answer", "json word logprobs", "judge"), ("--balance", "pairs", "rank"),
    ("--ci", "auto none hessian sandwich judge group ranking bootstrap", "rank"),
    ("--correction", "holm bonferroni fdr none", "metrics"), ("--empty", "best worst skip", "label evaluate|metrics"),
    ("--features", "informative useless", "simulate"), ("--flip-loss", "lapse corrected", "rank"),
    ("--format", "table csv json jsonl parquet", "ask|campaign new|campaign invite|campaign votes|compare|diff|"
     "grade fit|grade predict|grade evaluate|judge|label fit|label predict|label evaluate|plan|predict|rank|simulate"),
    ("--format", "table csv json jsonl parquet markdown latex", "metrics"), ("--format", "table json", "check"),
    ("--gain", "exp linear", "label evaluate|metrics"),
    ("--input-format", "csv parquet jsonl json ipc", "check|compare|diff|rank"),
    ("--loss", "logistic squared hinge", "rank"), ("--missing", "error mean", "ask|check|compare|grade fit|rank"),
    ("--picture", "intervals wins history curves", "rank"), ("--preset", "quick standard thorough", "judge"),
    ("--preset", "quick standard thorough few_rounds exact paper", "ask|simulate"),
    ("--ranks", "pairwise guaranteed", "rank"), ("--scale", "log-odds elo", "rank"),
    ("--scorer", "linear trees auto", "label fit"), ("--style", "difference arena", "check|compare|rank"),
    ("--surrogate", "auto univariate softmax softmax-normalised pairwise", "label fit"),
    ("--test", "student permutation", "metrics"), ("--ties", "half davidson", "check"),
    ("--ties", "half davidson efron", "rank"), ("--ties", "label average worst", "label evaluate|metrics"),
    ("--unranked", "below unknown", "check|compare|diff|rank"), ("--variant", "pa pa1 pa2", "grade fit"),
    ("what", "votes ranking journal report calls all", "campaign export"),
    ("story", "arena league survey essays judge grades labels", "demo"),
]  # fmt: skip
DEFAULTS = [
    ("--C", "auto", "grade fit|label fit"), ("--answer", "json", "judge"), ("--at", "1,3,5", "label evaluate"),
    ("--check-share", 0.1, "campaign new"), ("--concurrency", 16, "judge"), ("--correction", "holm", "metrics"),
    ("--db", "campaign.db", "campaign new|campaign add-items|campaign invite|campaign pause|campaign open|"
     "campaign close|campaign export|campaign votes|campaign import|serve"),
    ("--draws", 10_000, "predict"), ("--empty", "best", "label evaluate"), ("--empty", "worst", "metrics"),
    ("--folds", 10, "compare"), ("--gain", "exp", "label evaluate"), ("--gain", "linear", "metrics"),
    ("--goal", "order", "judge"), ("--host", "127.0.0.1", "serve"), ("--judges", 1, "plan"),
    ("--level", 0.95, "diff|metrics|predict|rank"), ("--max-tokens", 1024, "judge"), ("--noise", "flips", "simulate"),
    ("--noise-level", 0.1, "simulate"), ("--noise-level", 0.5, "plan"), ("--pairs", 5, "check"),
    ("--passes", 1, "grade fit"), ("--permutations", 10_000, "metrics"), ("--picture", "intervals", "rank"),
    ("--points", "3,1,0", "predict"), ("--port", 8000, "serve"), ("--preset", "standard", "ask|judge"),
    ("--question", "Which is better?", "campaign new"), ("--random-share", 0.1, "ask|simulate"),
    ("--relevant-from", 1.0, "metrics"), ("--reliability", 0.8, "plan"), ("--repeat", 0.0, "judge"),
    ("--replicates", 199, "check"), ("--runs", 3, "simulate"), ("--runs", 5, "plan"),
    ("--scorer", "linear", "label fit"), ("--seconds", 30.0, "plan"),
    ("--seed", 0, "check|compare|demo|grade fit|metrics|plan|predict|rank|simulate"),
    ("--style", "difference", "check|compare|rank"), ("--surrogate", "auto", "label fit"),
    ("--temperature", 0.0, "judge"), ("--test", "student", "metrics"), ("--ties", "half", "check"),
    ("--ties", "label", "label evaluate|metrics"),
    ("--top", 3, "label predict"), ("--variant", "pa1", "grade fit"),
    ("--url", "http://127.0.0.1:8000", "campaign new|campaign invite"), ("--votes-per-pair", 1, "campaign new"),
    ("-n", 200, "simulate"),
]  # fmt: skip


def each(rows):
    """A row for each command."""
    return [pytest.param(*row[:-1], name, id=f"{name} {row[0]}") for row in rows for name in row[-1].split("|")]


def found(command, name):
    """The command, and its option or argument by what is typed."""
    first, _, rest = command.partition(" ")
    module, _, function = COMMANDS[first].partition(":")
    made = getattr(importlib.import_module(module), function)
    made = made.commands[rest] if rest else made
    (parameter,) = [param for param in made.params if name in param.opts]
    return made, parameter


def refused(parameter, value):
    with pytest.raises(click.BadParameter) as told:
        parameter.type.convert(value, parameter, None)
    return str(told.value)


@pytest.mark.parametrize(("name", "least", "most", "open_", "command"), each(NUMBERS))
def test_a_number_is_taken_up_to_its_ends_and_refused_beyond(name, least, most, open_, command):
    _, parameter = found(command, name)
    step = 1 if isinstance(least, int) and (most is None or isinstance(most, int)) and not open_ else 1e-6
    for end, beyond, left_out in ((least, -step, ("least", "both")), (most, step, ("largest", "both"))):
        if end is None:
            assert parameter.type.convert("1e9" if "." in str(step) else str(10**9), parameter, None) == 10**9
        elif open_ in left_out:
            assert refused(parameter, str(end))
            parameter.type.convert(str(end - beyond), parameter, None)
        else:
            assert parameter.type.convert(str(end), parameter, None) == end
            assert refused(parameter, str(end + beyond))
    assert parameter.make_metavar(None) in ("NUMBER", "N", "SHARE", "LEVEL"), "in a word, not by its bounds"


@pytest.mark.parametrize(("name", "choices", "command"), each(CHOICES))
def test_a_choice_is_among_those_that_the_help_names(name, choices, command):
    made, parameter = found(command, name)
    assert sorted(parameter.type.choices) == sorted(choices.split())
    context = click.Context(made)
    words = (
        made.get_help(context)
        if isinstance(parameter, click.Argument)
        else " ".join(parameter.get_help_record(context))
    )
    for choice in choices.split():
        assert parameter.type.convert(choice, parameter, context) == choice
        assert choice in words
    told = refused(parameter, "nothing-of-the-kind")
    assert all(choice in told for choice in choices.split())


@pytest.mark.parametrize(("name", "value", "command"), each(DEFAULTS))
def test_the_help_says_what_an_option_is_without_being_given(name, value, command):
    made, parameter = found(command, name)
    context = click.Context(made)
    assert parameter.get_default(context) == value
    assert type(parameter.get_default(context)) is type(value)
    assert f"default: {value}" in parameter.get_help_record(context)[1]


@pytest.mark.parametrize(("name", "command"), each([
    ("--judge", "campaign new"), ("--method", "compare"), ("--preset", "simulate"), ("--metric", "metrics"),
]))  # fmt: skip
def test_what_may_be_given_again_is_a_list(name, command):
    _, parameter = found(command, name)
    assert parameter.multiple
    assert found("rank", "--method")[1].multiple is False


@pytest.mark.parametrize(
    ("yes", "no", "command"), [("--ties", "--no-ties", "campaign new"), ("--new", "--no-new", "serve")]
)
def test_what_is_done_unless_told_not_to(yes, no, command):
    made, parameter = found(command, yes)
    assert parameter.secondary_opts == [no]
    assert parameter.get_default(click.Context(made)) is True
    assert f"default: {yes[2:]}" in parameter.get_help_record(click.Context(made))[1]


def every():
    for name, place in COMMANDS.items():
        module, _, function = place.partition(":")
        made = getattr(importlib.import_module(module), function)
        parts = made.commands.items() if isinstance(made, click.Group) else [("", made)]
        yield from ((f"{name} {part}".strip(), command) for part, command in parts)


@pytest.mark.parametrize(("name", "command"), [pytest.param(*each, id=each[0]) for each in every()])
def test_what_is_to_be_typed_is_called_by_its_kind(name, command):
    """A number is not called INTEGER RANGE; where a file is to be written, a path is taken, and no folder."""
    for parameter in command.params:
        word = parameter.make_metavar(click.Context(command))
        if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
            assert word in ("NUMBER", "N", "SHARE", "LEVEL", "POINTS"), parameter.opts
        if {"--save", "--output", "--plot", "--report", "--embed"} & set(parameter.opts):
            assert isinstance(parameter.type, click.Path), (name, parameter.opts)
            assert not parameter.type.dir_okay
            assert word == "FILE"
    if name in ("grade predict", "grade evaluate", "label predict", "label evaluate", "predict"):
        (model,) = [each for each in command.params if "--model" in each.opts]
        assert model.required


@pytest.mark.parametrize("command", ["rank", "check", "compare", "grade fit", "grade predict"])
def test_several_files_may_be_given(command):
    made, parameter = found(command, "tables" if command.startswith("grade") else "votes")
    assert (parameter.nargs, parameter.required) == (-1, True)
    with pytest.raises(click.MissingParameter):
        made.make_context(command, [])
