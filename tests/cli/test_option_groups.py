"""Options that travel together: what is typed arrives in its place, the rest is the default, and the help names all."""

import re
from pathlib import Path

import click
import pytest

from podium.cli import campaign, columns, features, grade, label, marking, methods, options, show
from podium.cli.help import GroupedCommand
from podium.cli.judge_options import amount_options, model_options, source_options
from podium.cli.options import NumberRange
from podium.cli.output import Output
from podium.errors import InputError


def command(*decorators):
    """A command with these options that gives back what it is called with."""

    def made(**given):
        return given

    for each in reversed(decorators):
        made = each(made)
    return click.command(cls=GroupedCommand)(made)


def call(made, *args):
    return made.main([str(arg) for arg in args], prog_name="x", standalone_mode=False)


def helped(made):
    """The help of each option in one line, by its name."""
    context = click.Context(made, terminal_width=10_000, max_content_width=10_000)
    records = [param.get_help_record(context) for param in made.params if isinstance(param, click.Option)]
    return {
        re.search(r"--?[\w-]+(?=\s|$|/)", head.split(", ")[-1])[0]: (head.split(", ")[-1], words)
        for head, words in records
    }


# Of each group: its options, what touches the value that is made, and of each option the word in the help, what is
# typed (None: a switch), the name and the value that it has then, and the value when nothing is typed.
COUNT = 10**12


def level():
    """Something of the module that is run."""
    return show.Intervals(None, 0.9, False, None, None, 0).shown_level


VOTES = {
    f"--{name}": ("COLUMN", "c", name.replace("-", "_"), "c", None)
    for name in ("winner", "loser", "left", "right", "outcome", "left-wins", "right-wins", "tie-count", "margin",
                 "left-goals", "right-goals", "ranking", "item", "rank", "weight", "count", "judge", "group", "time")
}  # fmt: skip
GROUPS = {
    "columns": (columns.column_options, "columns", lambda value: value.named(), VOTES | {
        "--jobs": ("N", 3, "jobs", 3, None), "--cluster": ("ADDRESS", "local:2", "cluster", "local:2", None),
        "--cluster-ca": ("FILE", "a", "cluster_ca", "a", None),
        "--cluster-cert": ("FILE", "b", "cluster_cert", "b", None),
        "--cluster-key": ("FILE", "k", "cluster_key", "k", None),
        "--input-format": ("[csv|parquet|jsonl|json|ipc]", "ipc", "input_format", "ipc", None),
        "--delimiter": ("CHAR", ";", "delimiter", ";", None),
        "--rank-columns": ("NAMES", '"a, b", c', "rank_columns", ("a, b", "c"), ()),
        "--unranked": ("[below|unknown]", "below", "unranked", "below", None),
    }),
    "features": (features.knowledge_options, "known", lambda value: value.of_votes, {
        "--features": ("FILE", "f.csv", "features", "f.csv", None), "--id": ("COLUMN", "i", "id", "i", None),
        "--missing": ("[error|mean]", "mean", "missing", "mean", None), "--one-hot": ("", None, "one_hot", True, None),
        "--covariates": ("NAMES", "a, b", "covariates", ("a", "b"), ()),
        "--row-weights": ("COLUMN", "w", "row_weights", "w", None),
        "--style": ("[difference|arena]", "arena", "style", "arena", "difference"),
    }),
    "methods": (methods.ranker_options, "fitting", lambda value: value.arguments, {
        "--method": ("METHOD", "elo", "method", "elo", None), "--l2": ("NUMBER|auto", "0.5", "l2", 0.5, None),
        "--ties": ("[half|davidson|efron]", "efron", "ties", "efron", None),
        "--side-effect": ("", None, "side_effect", True, False),
        "--bias-reduction": ("", None, "bias_reduction", True, False),
        "--scale": ("[log-odds|elo]", "elo", "scale", "elo", None),
        "--anchor": ("ITEM=SCORE", "tea=3", "anchor", ("tea", 3.0), None),
        "--balance": ("[pairs]", "pairs", "balance", "pairs", None),
        "--half-life": ("TIME", "90d", "half_life", "90d", None),
        "--drift": ("NUMBER|auto", "auto", "drift", "auto", None), "--sd": ("NUMBER|auto", "2", "sd", 2.0, None),
        "--at": ("TIME", "2026", "at", "2026", None), "--k": ("NUMBER", "20", "k", 20.0, None),
        "--side-advantage": ("POINTS", "50", "side_advantage", 50.0, None),
        "--margins": ("", None, "margins", True, False),
        "--loss": ("[logistic|squared|hinge]", "hinge", "loss", "hinge", None),
        "--flip-rate": ("SHARE", "0.1", "flip_rate", 0.1, None),
        "--flip-loss": ("[lapse|corrected]", "lapse", "flip_loss", "lapse", None),
        "--feature-penalty": ("NUMBER", "1", "feature_penalty", 1.0, None),
        "--residual-penalty": ("NUMBER", "2", "residual_penalty", 2.0, None),
        "--max-norm": ("W,R", "2,0.5", "max_norm", (2.0, 0.5), None),
        "--model": ("FILE", "m", "model", Path("m"), None),
    }),
    "intervals": (show.interval_options, "intervals", lambda value: value.shown_level, {
        "--ci": ("[auto|none|hessian|sandwich|judge|group|ranking|bootstrap]", "group", "ci", "group", None),
        "--level": ("NUMBER", "0.9", "level", 0.9, 0.95), "--simultaneous": ("", None, "simultaneous", True, False),
        "--ranks": ("[pairwise|guaranteed]", "guaranteed", "ranks", "guaranteed", None),
        "--reference": ("ITEM|mean", "tea", "reference", "tea", None), "--seed": ("NUMBER", "7", "seed", 7, 0),
    }),
    "selection": (show.selection_options, "selection", lambda value: level(), {
        "--top": ("N", "3", "top", 3, None), "--min-votes": ("NUMBER", "2.5", "min_votes", 2.5, 0),
        "--by": ("COLUMN", "c", "by", "c", None), "--pool": ("", None, "pool", True, False),
        "--differences": ("", None, "differences", True, False),
    }),
    "pictures": (show.picture_options, "pictures", lambda value: level(), {
        "--plot": ("FILE", "p.svg", "plot", Path("p.svg"), None),
        "--picture": ("[intervals|wins|history|curves]", "wins", "picture", "wins", "intervals"),
        "--report": ("FILE", "r.html", "report", Path("r.html"), None),
        "--embed": ("FILE", "e", "embed", Path("e"), None),
        "--since": ("FILE", __file__, "since", Path(__file__), None),
        "--fixtures": ("FILE", __file__, "fixtures", Path(__file__), None),
        "--title": ("TEXT", "T", "title", "T", None),
    }),
    "marking": (marking.marking_options, "marking", lambda value: value.wanted, {
        "--marks": ("LOW:HIGH", "0:10", "marks", (0.0, 10.0), None),
        "--known-marks": ("FILE", "k.csv", "known_marks", "k.csv", None),
        "--boundaries": ("GRADE=MARK,…", "A=7", "boundaries", {"A": 7.0}, None),
        "--chosen-pairs": ("", None, "chosen_pairs", True, False),
    }),
    "labels of grades": (grade._label_options, "labels", lambda value: grade._few([1]), {
        "--label": ("COLUMN", "g", "label", "g", None), "--low": ("COLUMN", "l", "low", "l", None),
        "--high": ("COLUMN", "h", "high", "h", None),
    }),
    "source": (source_options(), "source", lambda value: value.question, {
        "--question": ("TEXT", "Q?", "question", "Q?", None), "--server": ("URL", "u", "server", "u", None),
        "--db": ("FILE", "d", "db", "d", None), "--campaign": ("NAME", "n", "campaign", "n", None),
        "--id": ("COLUMN", "i", "id", "i", None), "--text": ("COLUMN", "t", "text", "t", None),
        "--reference": ("COLUMN", "r", "reference", "r", None),
        "--criterion": ("NAME=TEXT", "a=b", "criteria", ("a=b",), ()), "--gold": ("FILE", "g", "gold", Path("g"), None),
    }),
    "who": (model_options(), "who", lambda value: value.model, {
        "--base-url": ("URL", "u", "base_url", "u", None), "--model": ("NAME", "m", "model", "m", None),
        "--command": ("WORDS", "cat", "command", "cat", None), "--as": ("NAME", "n", "name", "n", None),
        "--answer": ("[json|word|logprobs]", "word", "answer", "word", "json"),
        "--prompt": ("FILE", "p", "prompt", Path("p"), None),
        "--temperature": ("NUMBER", "0.5", "temperature", 0.5, 0.0),
        "--max-tokens": ("NUMBER", "7", "max_tokens", 7, 1024),
        "--extra-body": ("JSON", "{}", "extra_body", "{}", None),
        "--header": ("NAME=VALUE", "a=b", "headers", ("a=b",), ()), "--timeout": ("NUMBER", "9", "timeout", 9.0, None),
        "--concurrency": ("NUMBER", "3", "concurrency", 3, 16), "--rpm": ("NUMBER", "4", "rpm", 4.0, None),
        "--tpm": ("NUMBER", "5", "tpm", 5.0, None),
    }),
    "amount": (amount_options(), "amount", lambda value: value.top, {
        "--preset": ("[quick|standard|thorough]", "quick", "preset", "quick", "standard"),
        "--goal": ("order|top:K", "top:3", "goal", "top:3", "order"), "--budget": ("NUMBER", "2", "budget", 2, None),
        "--max-calls": ("NUMBER", "3", "max_calls", 3, None), "--max-cost": ("NUMBER", "4", "max_cost", 4.0, None),
        "--price-in": ("NUMBER", "5", "price_in", 5.0, None), "--price-out": ("NUMBER", "6", "price_out", 6.0, None),
        "--one-order": ("", None, "one_order", True, False), "--repeat": ("NUMBER", "0.5", "repeat", 0.5, 0.0),
        "--against": ("FILE:JUDGE", "a:b", "against", ("a:b",), ()), "--anyway": ("", None, "anyway", True, False),
        "--keep-prompts": ("", None, "keep_prompts", True, False), "--seed": ("NUMBER", "8", "seed", 8, None),
        "--dry-run": ("", None, "dry_run", True, False),
    }),
}  # fmt: skip
# The least and the largest value, and whether each is itself allowed.
BOUNDS = {
    "columns": {"--jobs": (1, COUNT, True, True)},
    "intervals": {"--level": (0.5, 0.9999, True, True), "--seed": (0, None, True, True)},
    "selection": {"--top": (1, COUNT, True, True), "--min-votes": (0, None, True, True)},
    "who": {
        "--max-tokens": (1, COUNT, True, True),
        "--timeout": (0.1, 3600, True, True),
        "--rpm": (0, None, False, True),
        "--concurrency": (1, 1000, True, True),
        "--tpm": (0, None, False, True),
    },
    "amount": {
        "--budget": (1, COUNT, True, True),
        "--max-calls": (1, COUNT, True, True),
        "--max-cost": (0, None, False, True),
        "--price-in": (0, None, True, True),
        "--price-out": (0, None, True, True),
        "--repeat": (0, 1, True, True),
        "--seed": (0, None, True, True),
    },
}
SHOWN = {  # defaults that the help tells by itself
    "features": ["--style"],
    "intervals": ["--level", "--seed"],
    "pictures": ["--picture"],
    "who": ["--answer", "--temperature", "--max-tokens", "--concurrency"],
    "amount": ["--preset", "--goal", "--repeat"],
}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_typed_arrives_in_its_place_and_the_rest_is_the_default(group):
    decorator, name, touch, known = GROUPS[group]
    made = command(decorator)
    value = call(made)[name]
    assert list(type(value).__slots__) == [field for field in type(value).__slots__ if hasattr(value, field)]
    assert {field: getattr(value, field) for _, _, field, _, _ in known.values()} == {
        field: default for _, _, field, _, default in known.values()
    }
    assert sorted(type(value).__slots__) == sorted(field for _, _, field, _, _ in known.values())
    for option, (_, typed, field, expected, _) in known.items():
        given = call(made, option, *([] if typed is None else [typed]))[name]
        assert getattr(given, field) == expected, option
        assert type(getattr(given, field)) is type(expected), option
        touch(given)
    both = call(
        made, *(word for option, (_, typed, *_) in known.items() for word in (option, typed) if word is not None)
    )
    assert {field: getattr(both[name], field) for _, _, field, _, _ in known.values()} == {
        field: expected for _, _, field, expected, _ in known.values()
    }


@pytest.mark.parametrize("group", GROUPS)
def test_the_help_has_a_word_and_a_sentence_for_each(group):
    decorator, name, touch, known = GROUPS[group]
    made = command(decorator)
    touch(call(made)[name])
    words = helped(made)
    assert set(words) == set(known)
    for option, (word, *_) in known.items():
        head, sentence = words[option]
        assert head == f"{option} {word}".rstrip()
        assert re.match(r"[A-Z].*[.](  \[.*\])?$", sentence), sentence
        assert ("[default: " in sentence and "  [default" in sentence) or option not in SHOWN.get(group, ())
    for option in SHOWN.get(group, ()):
        assert re.search(rf"\[default: {re.escape(str(known[option][4]))}[];]", words[option][1])


@pytest.mark.parametrize("group", BOUNDS)
def test_numbers_are_taken_up_to_their_ends(group):
    decorator, name, touch, known = GROUPS[group]
    made = command(decorator)
    for option, (least, most, with_least, with_most) in BOUNDS[group].items():
        field = known[option][2]
        whole = isinstance(known[option][3], int)
        for end, allowed, beyond in ((least, with_least, -1), (most, with_most, 1)):
            if end is None:
                continue
            step = 1 if whole else 1e-6
            if allowed:
                given = call(made, option, end)[name]
                assert getattr(given, field) == end
                touch(given)
            else:
                with pytest.raises(click.BadParameter):
                    call(made, option, end)
            with pytest.raises(click.BadParameter):
                call(made, option, end + beyond * step)


@pytest.mark.parametrize(("group", "names"), [
    ("pictures", "plot report embed since fixtures"), ("source", "gold"), ("who", "prompt"),
])  # fmt: skip
def test_a_folder_is_no_file(group, names, tmp_path):
    decorator, name, touch, _ = GROUPS[group]
    made = command(decorator)
    touch(call(made)[name])
    for option in names.split():
        with pytest.raises(click.BadParameter, match="directory"):
            call(made, f"--{option}", tmp_path)


@pytest.mark.parametrize("name", ["since", "fixtures"])
def test_what_a_page_reads_is_there(name, tmp_path):
    made = command(show.picture_options)
    assert level() == 0.9
    with pytest.raises(click.BadParameter, match="does not exist"):
        call(made, f"--{name}", tmp_path / "none.csv")


def test_limits_may_be_below_one():
    made = command(methods.ranker_options)
    for typed, limits in (("0.5,2", (0.5, 2.0)), ("2,0.5", (2.0, 0.5))):
        assert call(made, "--max-norm", typed)["fitting"].arguments["max_norm"] == limits


# ---- options by themselves ------------------------------------------------------------------------------------------


def test_labels_are_one_column_or_several():
    made = command(options.id_option("id, else the first"))
    assert (call(made), call(made, "--id", "i")) == ({"id": None}, {"id": "i"})
    assert helped(made)["--id"] == (
        "--id COLUMN",
        "Name the column of the items' labels.  [default: id, else the first]",
    )
    made = command(options.ids_option)
    assert (call(made), call(made, "--id", "i", "--id", "j")) == ({"ids": ()}, {"ids": ("i", "j")})
    head, words = helped(made)["--id"]
    assert head == "--id COLUMN"
    assert words.startswith("Name a column that tells rows apart")


def test_what_is_done_with_features():
    made = command(options.missing_option, options.one_hot_option(), options.style_option("Data"))
    assert call(made) == {"missing": None, "one_hot": None, "style": "difference"}
    assert call(made, "--missing", "error", "--one-hot", "--style", "arena") == {
        "missing": "error", "one_hot": True, "style": "arena"}  # fmt: skip
    words = helped(made)
    assert words["--missing"] == (
        "--missing [error|mean]",
        "Refuse missing features, or replace them by the mean.  [default: error]",
    )
    assert words["--one-hot"] == (
        "--one-hot",
        "Give each value but the first, against which they count, of a text feature its own column.",
    )
    assert words["--style"][1].endswith("standardised.  [default: difference]")
    every = helped(command(options.one_hot_option(of_all=True)))
    assert every["--one-hot"][1] == "Give each value of a text feature its own column."
    assert [param.group for param in made.params] == ["Data"] * 3


def test_models_are_written_and_read():
    made = command(options.save_option())
    assert (call(made), call(made, "--save", "m.podium")) == ({"save": None}, {"save": Path("m.podium")})
    assert helped(made)["--save"] == ("--save FILE", "Write the fitted model to this file.")
    with pytest.raises(InputError, match="there is no folder 'none'; make it, or choose another"):
        call(made, "--save", "none/m.podium")
    with pytest.raises(click.BadParameter, match="directory"):
        call(made, "--save", ".")
    with pytest.raises(click.MissingParameter):
        call(command(options.save_option(required=True)))
    made = command(options.model_option("podium rank"))
    assert call(made, "--model", "none/m.podium") == {"model": Path("none/m.podium")}
    assert helped(made)["--model"] == (
        "--model FILE", "Read the model that `podium rank --save` wrote.  [required]")  # fmt: skip
    with pytest.raises(click.MissingParameter):
        call(made)
    with pytest.raises(click.BadParameter, match="directory"):
        call(made, "--model", ".")


def test_pictures_seeds_and_levels():
    made = command(
        options.plot_option("the curves"), options.seed_option("the draws"), options.level_option("the ends")
    )
    assert call(made) == {"plot": None, "seed": 0, "level": 0.95}
    given = call(made, "--plot", "x.pdf", "--seed", 5, "--level", 0.5)
    assert given == {"plot": Path("x.pdf"), "seed": 5, "level": 0.5}
    words = helped(made)
    assert words["--plot"] == ("--plot FILE", "Draw the curves into a .png, .svg or .pdf file.")
    assert words["--seed"][0] == "--seed NUMBER"
    assert words["--seed"][1].startswith("Random seed for the draws.  [default: 0")
    assert words["--level"][1].startswith("Confidence level of the ends.  [default: 0.95")
    assert [param.group for param in made.params] == ["Output", "Model", "Intervals"]
    assert command(options.seed_option("x", "Data")).params[0].group == "Data"
    for option, value in (
        ("--seed", -1),
        ("--level", 0.4999),
        ("--level", 0.99991),
        ("--level", "nan"),
        ("--plot", "."),
    ):
        with pytest.raises(click.BadParameter):
            call(made, option, value)
    with pytest.raises(InputError, match=r"x\.doc"):
        call(made, "--plot", "x.doc")
    assert call(made, "--level", 0.9999)["level"] == 0.9999


def test_measures_have_the_defaults_of_their_command():
    made = command(options.metric_options(empty="worst", relevant_from=1.0, gain="linear"))
    assert call(made) == {"relevant_from": 1.0, "gain": "linear", "ties": "label", "empty": "worst"}
    typed = call(made, "--relevant-from", 2, "--gain", "exp", "--ties", "average", "--empty", "skip")
    assert typed == {"relevant_from": 2.0, "gain": "exp", "ties": "average", "empty": "skip"}
    words = helped(made)
    assert list(words) == ["--relevant-from", "--gain", "--ties", "--empty"]
    assert words["--relevant-from"][0] == "--relevant-from NUMBER"
    for option, default in (
        ("--relevant-from", "1.0"),
        ("--gain", "linear"),
        ("--ties", "label"),
        ("--empty", "worst"),
    ):
        assert words[option][1].endswith(f"  [default: {default}]")
    for option, choices in (
        ("--gain", "exp|linear"),
        ("--ties", "label|average|worst"),
        ("--empty", "best|worst|skip"),
    ):
        assert words[option][0] == f"{option} [{choices}]"
    plain = command(options.metric_options(empty="best"))
    assert call(plain) == {"relevant_from": None, "gain": "exp", "ties": "label", "empty": "best"}
    assert "default" not in helped(plain)["--relevant-from"][1]


def test_output_goes_where_and_as_it_is_typed():
    made = command(options.output_options())
    assert call(made) == {"out": Output("table", None)}
    assert call(made, "--output", "x.csv") == call(made, "-o", "x.csv") == {"out": Output("csv", Path("x.csv"))}
    assert call(made, "--format", "json") == {"out": Output("json", None)}
    words = helped(made)
    assert words["--output"] == ("--output FILE", "Write the output to this file instead of standard output.")
    assert words["--format"] == (
        "--format [table|csv|json|jsonl|parquet]",
        "Write the output in this form.  [default: by the suffix of --output; else table]",
    )
    other = command(options.output_options("table", "json", default="json"))
    assert call(other) == {"out": Output("json", None)}
    assert helped(other)["--format"][0] == "--format [table|json]"
    with pytest.raises(InputError, match="this command does not write csv"):
        call(other, "-o", "x.csv")
    with pytest.raises(InputError, match="there is no folder 'none'"):
        call(made, "-o", "none/x.csv")
    with pytest.raises(click.BadParameter, match="directory"):
        call(made, "-o", ".")


@pytest.mark.parametrize(("argument", "name"), [(options.votes_argument, "votes"), (options.tables_argument, "tables")])
def test_one_file_or_several_are_named(argument, name):
    made = command(argument, options.ids_option)
    assert options.split_names(None, None, None) == ()
    assert call(made, "a") == {name: ("a",), "ids": ()}
    assert call(made, "a", "b", "c")[name] == ("a", "b", "c")
    with pytest.raises(click.MissingParameter):
        call(made)
    assert NumberRange(0, 1).convert("1", None, None) == 1.0


def test_a_campaign_is_kept_in_a_database_and_named_where_there_are_several():
    new, old = command(campaign._database(new=True)), command(campaign._database())
    assert (call(new), call(old)) == ({"db": "campaign.db"}, {"db": "campaign.db", "name": None})
    assert call(old, "--db", "x.db", "--campaign", "c") == {"db": "x.db", "name": "c"}
    words = helped(old)
    assert words["--db"] == (
        "--db DB",
        "Keep the campaign in this file, or in postgresql://user@host/name.  [default: campaign.db]",
    )
    assert words["--campaign"] == ("--campaign NAME", "Choose one of several campaigns.")
    assert [param.name for param in old.params] == ["db", "name"]


def test_examples_are_a_table_with_labels_and_names():
    made = command(label._examples)
    assert call(made, "t.csv") == {"table": "t.csv", "labels": (), "ids": ()}
    given = call(made, "t.csv", "--labels", "a*", "--labels", "b*", "--id", "i")
    assert given == {"table": "t.csv", "labels": ("a*", "b*"), "ids": ("i",)}
    assert helped(made)["--labels"][0] == "--labels PATTERN"
    with pytest.raises(click.MissingParameter):
        call(made)
