"""Parts of the other commands: how the program ends, and what is said of models, checks, plans and stories."""

import contextlib
import errno
import io
import json
import sys
import types
import warnings
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import podium.cli
from podium import BradleyTerry, Comparisons, DynamicBradleyTerry, PlackettLuce, Rankings
from podium.cli import assisted, check, compare, demo, features, model_words, options, overwriting, plan, simulate
from podium.cli.stories import STORIES
from podium.errors import DataWarning, InputError
from podium.ranking.uncertainty import quantile

from helpers import Noted, refusal, thin_data

# ---- how the program ends -------------------------------------------------------------------------------------------


@pytest.fixture
def ended(monkeypatch, capsys):
    """The code and the words of a program whose command ends in this way."""

    def end(outcome):
        def main(**options):
            assert options == {"args": ["x"], "prog_name": "podium", "standalone_mode": False}
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(podium.cli.main, "main", main)
        with pytest.raises(SystemExit) as stop:
            podium.cli.run(["x"])
        return stop.value.code, capsys.readouterr().err

    return end


def problem(message, context=None):
    return click.UsageError(message, ctx=context)


def test_a_command_ends_with_its_code(ended):
    assert ended(None) == (0, "")
    assert ended("text") == (0, "")
    assert ended(3) == (3, "")


@pytest.mark.parametrize(("outcome", "code", "words"), [
    (problem("No such option: --x."), 2, "podium: no such option: --x; see podium --help\n"),
    (problem("Give one; not two."), 2, "podium: give one; not two\n"),
    (problem("Bad.", click.Context(click.Command("rank"), info_name="podium rank")), 2,
     "podium: bad; see podium rank --help\n"),
    (InputError("row 3:\nbad"), 2, "podium: row 3:\\nbad\n"), (click.exceptions.Abort(), 130, "interrupted\n"),
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (UnicodeEncodeError("ascii", "aéb", 1, 2, "no"), 2, "podium: the terminal cannot show 'é'; set PYTHONUTF8=1\n"),
    (OSError(errno.ENOSPC, "No space left on device", "x.csv"), 2, "podium: x.csv: No space left on device\n"),
    (OSError(errno.ENOSPC, "No space left on device"), 2, "podium: No space left on device\n"),
    (OSError("torn"), 2, "podium: torn\n"),
])  # fmt: skip
def test_a_failure_is_one_line_with_its_code(ended, outcome, code, words):
    assert ended(outcome) == (code, words)


def test_without_arguments_the_help_is_shown(capsys):
    with pytest.raises(SystemExit) as stop:
        podium.cli.run([])
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert "Usage: podium" in out + err


def test_a_reader_who_leaves_early_is_no_failure(ended, monkeypatch):
    done = []
    monkeypatch.setattr(podium.cli.os, "dup2", lambda *files: done.append(files))
    monkeypatch.setattr(podium.cli.os, "open", lambda name, flags: done.append((name, flags)) or 9)
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(fileno=lambda: 1))
    monkeypatch.setattr(podium.cli.main, "main", lambda **more: (_ for _ in ()).throw(BrokenPipeError()))
    with pytest.raises(SystemExit) as stop:
        podium.cli.run(["x"])
    assert stop.value.code == 0
    assert done == [(podium.cli.os.devnull, podium.cli.os.O_WRONLY), (9, 1)]


def test_our_warnings_are_told_each_time_and_others_by_their_kind(monkeypatch, capsys):
    def main(**options):
        for _ in range(2):
            warnings.warn("few\nvotes", DataWarning, stacklevel=1)
        warnings.showwarning(UserWarning("theirs"), UserWarning, "f.py", 3)

    monkeypatch.setattr(podium.cli.main, "main", main)
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    before = warnings.showwarning
    with pytest.raises(SystemExit):
        podium.cli.run(["x"])
    assert capsys.readouterr().err.splitlines() == ["warning: few\\nvotes"] * 2 + ["warning: UserWarning: theirs"]
    assert warnings.showwarning is before
    assert podium.cli.os.environ["OPENBLAS_THREAD_TIMEOUT"] == "4"
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "9")
    with pytest.raises(SystemExit):
        podium.cli.run(["x"])
    assert podium.cli.os.environ["OPENBLAS_THREAD_TIMEOUT"] == "9"


def test_commands_are_found_by_name_and_others_are_none():
    group = podium.cli.main
    context = click.Context(group)
    assert group.list_commands(context) == list(podium.cli.COMMANDS)
    assert group.get_command(context, "rank").name == "rank"
    assert group.get_command(context, "nothing") is None


# ---- values and files -----------------------------------------------------------------------------------------------


def test_a_penalty_is_a_number_or_auto():
    kind = options.Penalty()
    assert (kind.convert("auto", None, None), kind.convert("1e-3", None, None), kind.convert(0.5, None, None)) == (
        "auto", 0.001, 0.5)  # fmt: skip
    with pytest.raises(click.BadParameter, match="'much' is neither a number nor 'auto'; give one of them"):
        kind.convert("much", None, None)
    with pytest.raises(click.BadParameter, match="'nan' is not a number; give one"):
        options.NumberRange(0, 1).convert("nan", None, None)
    assert options.NumberRange(0, 1).convert("0.25", None, None) == 0.25


def test_a_text_file_is_read_or_refused_in_words(tmp_path):
    assert options.text_of(None) is None
    (tmp_path / "t").write_text("thé", "utf-8")
    assert options.text_of(tmp_path / "t") == "thé"
    (tmp_path / "t").write_bytes(b"\xff\xfe")
    assert refusal(options.text_of, tmp_path / "t") == f"{tmp_path / 't'} is not UTF-8 text; save the file as UTF-8"
    told = refusal(options.text_of, tmp_path / "none")
    assert told == f"{tmp_path / 'none'}: No such file or directory; check the path"


def test_styles_of_covariates_reach_the_library():
    assert options.style_arguments((), "difference") == {}
    assert options.style_arguments(("x",), "difference") == {"covariates": ["x"]}
    assert options.style_arguments((), "arena") == {"covariates": None, "style": "arena"}
    assert options.split_names(None, None, " a, b ") == ("a", "b")


def test_devices_and_standard_output_may_be_named_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("x")

    @click.command()
    @click.argument("votes", nargs=-1)
    @click.option("--output", type=click.Path())
    @click.option("--save", type=click.Path())
    @click.option("--seen", metavar="FILE")
    @click.option("--name")
    def made(**given):
        overwriting.refuse_overwriting(click.get_current_context())

    def call(*args):
        done = CliRunner().invoke(made, args)
        return str(done.exception) if done.exception else None

    for fine in (
        [],
        ["--output", "out.csv"],
        ["in.csv", "--output", "-"],
        ["in.csv", "--output", "/dev/null", "--save", "/dev/null"],
        ["in.csv", "--output", "x", "--save", "y"],
        ["--name", "x", "--output", "x"],
        ["none.csv", "--output", "in.csv"],
    ):
        assert call(*fine) is None, fine
    again = "--output in.csv would overwrite what is read; choose another name"
    assert call("in.csv", "--output", "in.csv") == again
    assert call("other.csv", "in.csv", "--output", "in.csv") == again
    assert call("--seen", "in.csv", "--output", "in.csv") == again
    assert call("--output", "o", "--save", "o") == "--output and --save are both o; give each a file of its own"
    assert call("--save", "-") == "--save - : this goes to a file, not to standard output; give it a name"


# ---- models in words ------------------------------------------------------------------------------------------------


def dynamic(**more):
    given = {
        "ranking_": types.SimpleNamespace(unit=1.0, items=("a", "b"), information=object()), "times_": (0.0, 16.0),
        "sd_": 0.5, "drift_": 0.125, "feature_names_": (), "unseen_": (), "side_effect": False, "side_effect_": 0.25,
        "effect_std_errors_": np.array([0.1]), "tie_strength_": None, "coef_": np.array([0.5]),
        "coef_std_errors_": np.array([0.1]), "explained_": 0.5, "drift": "auto",
        "tie_strength_interval": lambda level: None,
    }  # fmt: skip
    return types.SimpleNamespace(**given | more)


def test_how_fast_scores_move_is_told():
    newcomers = "newcomers' scores have a standard deviation of 0.5 log-odds"
    moved = "scores move by about 0.125 log-odds in one unit of time (a day, for dates), 0.5 from first to last"
    assert model_words._about_drift(dynamic(), 0.95, "vote") == [newcomers, moved]
    none = "the games do not show that scores moved: drift 0"
    still = model_words._about_drift(dynamic(drift_=0.0), 0.95, "game")
    assert still == [
        newcomers,
        f"{none}; intervals allow for the drifts that they cannot rule out, and are wider for it "
        "(--drift 0 holds scores still)",
    ]
    assert model_words._about_drift(dynamic(drift_=0.0), None, "game") == [newcomers, none], "no intervals"
    at_once = dynamic(drift_=0.0, times_=(3.0, 3.0))
    assert model_words._about_drift(at_once, 0.95, "game") == [newcomers, none], "no time to drift in"
    held = model_words._about_drift(dynamic(drift=0.0, drift_=0.0), 0.95, "game")
    assert held == [newcomers, "drift was set to 0: each item has one score at all times"]
    half = quantile(0.9) * 0.1
    sided = model_words._about_drift(dynamic(side_effect=True, tie_strength_=2.0), 0.9, "game")
    assert sided[2:] == [
        f"home advantage, in favour of the side at home: +0.25 ± {half:.2g} log-odds",
        "equals tie with chance 50.0 % (Davidson's ν = 2)",
    ]
    elo = dynamic(ranking_=types.SimpleNamespace(unit=100.0, items=("a", "b"), information=object()), side_effect=True)
    lines = model_words._about_drift(elo, None, "vote")
    assert lines[2].split(":")[-1].split()[0] == "+25"
    assert "deviation of 50 " in lines[0]
    assert "by about 12.5 " in lines[1]
    assert ", 50 from first to last" in lines[1]


def test_features_of_scores_that_move_come_first():
    model = dynamic(feature_names_=("size",), unseen_=("b",))
    lines = model_words._about_drift(model, 0.9, "game")
    assert lines[0] == "features explain about 50 % of the scores' variance; score per unit:"
    assert lines[1] == f"  size  +0.5 ± {quantile(0.9) * 0.1:.2g}"
    assert lines[2] == "newcomers' scores have a standard deviation of 0.5 log-odds around what their features say"
    assert lines[4] == "ranked by features alone, without games: 1 (b)"


def test_a_feature_worth_nothing_is_told_where_there_are_no_errors():
    model = dynamic(feature_names_=("size",), coef_=np.array([0.0]))
    model.ranking_.information = None
    assert model_words._explained(model, None, 1.0)[1] == "  size  +0"


def test_each_kind_of_model_has_its_own_lines():
    pairs = Comparisons(["a", "b"], np.array([0, 1, 0, 0]), np.array([1, 0, 1, 1]), outcome=[1, 1, 0, 1], sided=True)
    with thin_data():
        davidson = BradleyTerry(l2=0.1, ties="davidson").fit(pairs)
        strength = davidson.tie_strength_
        low, high = (100 * nu / (2 + nu) for nu in davidson.tie_strength_interval(0.95))
        tie = f"equals tie with chance {100 * strength / (2 + strength):.1f} % "
        tie += f"({low:.1f} … {high:.1f} %; Davidson's ν = {strength:.3g})"
        assert model_words.words_about(davidson) == [tie]
        lists = Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"]] * 3)
        assert model_words.words_about(PlackettLuce(l2=0.1).fit(lists)) == []
        timed = Comparisons(["a", "b"], np.array([0, 1, 0]), np.array([1, 0, 1]), time=np.array([0.0, 1.0, 2.0]))
        moving = DynamicBradleyTerry(sd=1.0, drift=0.1).fit(timed)
        assert model_words.words_about(moving) == model_words._about_drift(moving, 0.95, "vote")
    assert model_words.words_about(object()) == []
    tied = types.SimpleNamespace(tie_strengths_={2: 0.5, 3: 0.25})
    assert model_words._about_ties(tied) == ["strength of ties, against one item's: 2 items 0.5, 3 items 0.25"]
    assert model_words._about_ties(types.SimpleNamespace(tie_strengths_={})) == []


def test_covariates_are_told_in_the_unit_of_the_scores():
    rng = np.random.default_rng(0)
    length = rng.normal(0, 3, 200)
    left = rng.integers(0, 3, 200).astype(np.int32)
    won = np.where(rng.random(200) < 1 / (1 + np.exp(-0.3 * length)), 1, -1).astype(np.int8)
    votes = Comparisons(
        ["a", "b", "c"],
        left,
        ((left + 1) % 3).astype(np.int32),
        outcome=won,
        covariates=length[:, None],
        covariate_names=("length",),
        sided=True,
    )
    sds = votes.covariate_sds()
    for scale, unit, word in (("log-odds", 1.0, "log-odds"), ("elo", 400 / np.log(10), "")):
        model = BradleyTerry(l2=0.1, scale=scale).fit(votes)
        head, line = model_words.words_about(model, 0.9, sds)
        effect, half = unit * sds[0] * model.coef_[0], quantile(0.9) * unit * sds[0] * model.coef_std_errors_[0]
        assert line == f"  length  {effect:+.4g} ± {half:.2g}  (sd {sds[0]:.4g})"
        assert head.startswith("covariates, ")
        assert head.endswith(" per standard deviation over the votes")
        assert word in head
        plain = model_words.words_about(model, None)
        assert plain[1] == f"  length  {unit * model.coef_[0]:+.4g}"
        assert plain[0].endswith(" per unit")


def test_a_model_that_learns_on_tells_of_its_votes_and_features():
    from podium import OnlineRABF

    class Learned(OnlineRABF):
        n_votes_, feature_names_, coef_ = 1234, (), np.array([0.5, 0.0])

        def __init__(self):
            """Nothing to learn."""

    model = Learned()
    assert model_words.words_about(model) == ["1,234 votes learned from in all"]
    Learned.feature_names_ = ("size", "same")
    assert model_words.words_about(model)[1:] == [
        "score per unit of each feature:",
        "  size  +0.5",
        "  same  ignored: the same for every compared item",
    ]


def crowd(leans, sd):
    frame = pl.DataFrame({
        "judge": ["j"], "reliability": [1.0], "std_error": [0.1], "votes": [3.0], "flag": [None], "p_value": [0.5],
    }, schema_overrides={"flag": pl.String})  # fmt: skip
    return types.SimpleNamespace(
        reliability_sd_=1.0, judge_frame=lambda: frame, side_effect=True, side_effect_=0.25, lean_sd_=sd,
        lean_=np.array(leans), judges_=[f"j{k}" for k in range(len(leans))], lean_std_errors_=np.full(len(leans), 0.1),
    )  # fmt: skip


def test_judges_who_lean_most_are_named_up_to_twelve():
    lines = model_words._about_judges(crowd([0.25 + k / 10 for k in range(14)], 0.5), 0.9)
    half = quantile(0.9) * 0.1
    start = next(k for k, line in enumerate(lines) if line.startswith("position bias"))
    assert lines[start].endswith("+0.25 log-odds; between judges ± 0.5")
    assert lines[start + 1].split() == ["judge", "bias"]
    assert lines[start + 2].split() == ["j13", "+1.55", "±", f"{half:.2f}"]
    assert len(lines[start + 2 :]) == 12
    alike = model_words._about_judges(crowd([0.25, 0.25], 0.0), 0.9)
    assert alike[-1].endswith("between judges ± 0")


def test_judges_and_flags_begin_at_the_left_and_numbers_end_at_the_right():
    told = model_words._indented(
        {"judge": ["Ann", "Bartholomew"], "votes": ["7", "1,234"], "flag": ["", "slow"], "p": ["", "0.5"]}
    )
    assert told == [
        "  judge        votes  flag    p", "  Ann              7", "  Bartholomew  1,234  slow  0.5"]  # fmt: skip


def test_items_far_from_what_their_features_say_are_named(monkeypatch):
    rows = pl.DataFrame(
        {"item": [f"i{k}" for k in range(14)], "residual": [1.25 if k % 2 else -1.25 for k in range(14)]}
    )
    asked = Noted(rows)
    monkeypatch.setattr("podium.evaluate.feature_diagnosis.residual_outliers", asked)
    model = types.SimpleNamespace(
        ranking_=types.SimpleNamespace(information=object(), items=()),
        feature_names_=("size",),
        coef_=np.array([0.5]),
        coef_std_errors_=np.array([0.1]),
        explained_=0.5,
        unseen_=(),
        boundary_=(),
        covariate_names_=(),
        in_margins=False,
        side_effect=False,
        tie_strength_=None,
    )
    lines = model_words._about_features(model, 0.9, None, "vote")[2:]
    assert lines[:2] == [
        "  i0 is worse than its features say, by 1.25", "  i1 is better than its features say, by 1.25"]  # fmt: skip
    assert len(lines) == 12
    model_words._about_features(model, None, None, "vote")
    assert asked.calls == [((model,), {"level": 0.9}), ((model,), {"level": 0.95})]
    model.ranking_.information = None
    assert len(model_words._about_features(model, 0.9, None, "vote")) == 2
    assert len(asked.calls) == 2


# ---- checks ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def votes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("left,right,outcome\n" + "a,b,1\nb,c,1\nc,a,0.5\nb,a,1\n" * 5)
    Path("lists.csv").write_text("ranking\na > b > c\nb > a > c\na > c > b\n")
    Path("items.csv").write_text("id,x\na,1\nb,2\nc,3\n")


def found(concerns=0, against=None):
    row = {"item": "a\n", "against": "b", "won": 3.0, "votes": 1234.0, "expected": 2.5, "residual": -1.26}
    finding = types.SimpleNamespace(concern=bool(concerns), name="Fit", text="as it should be")
    return types.SimpleNamespace(
        findings=lambda: [finding], residuals=pl.DataFrame([row, row | {"item": "c"}]), against=against,
        concerns=concerns, decided=None, to_dict=lambda: {"name": "thé"},
    )  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("concerns", [0, 2])
def test_a_check_is_asked_for_as_typed_and_told_in_lines(votes, monkeypatch, strict, concerns):
    asked = Noted(found(concerns, "bradley-terry"))
    monkeypatch.setattr("podium.evaluate.diagnosis.diagnose", asked)
    typed = ["--l2", "0.5", "--ties", "davidson", "--side-effect", "--replicates", "9", "--seed", "4", "--pairs", "1"]
    done = CliRunner().invoke(check.check, ["votes.csv", *typed, *(["--strict"] if strict else [])])
    assert done.exit_code == (1 if strict and concerns else 0), done.output
    ((comparisons, model), more) = asked.calls[0]
    assert (len(comparisons), more) == (20, {"replicates": 9, "seed": 4})
    assert (model.l2, model.ties, model.side_effect) == (0.5, "davidson", True)
    assert model.ranking_ is not None
    mark = "!" if concerns else " "
    assert done.stdout.splitlines() == [
        f"{mark} Fit: as it should be", "", "Pairs that fit least:",
        "  a\\n won 3 of 1,234 against b, expected 2.5 (-1.3 sd)",
    ]  # fmt: skip
    assert done.stderr.splitlines() == [
        "residuals and p-values are those of bradley-terry on the same votes",
        "20 votes on 3 items, 9 redraws",
    ]


@pytest.mark.parametrize("command", ["check", "compare"])
def test_how_far_reading_has_come_is_told(votes, monkeypatch, command):
    @contextlib.contextmanager
    def reading():
        yield "progress"

    asked = Noted()

    def read(*args, **more):
        asked(*args, **more)
        raise InputError("stop")

    module, name = (check, "read_votes") if command == "check" else (compare, "read_comparisons")
    monkeypatch.setattr(module, "reading", reading)
    monkeypatch.setattr(f"podium.data.files.{name}", read)
    for files, source in ((["votes.csv"], "votes.csv"), (["votes.csv", "b.csv"], ["votes.csv", "b.csv"])):
        CliRunner().invoke(getattr(module, command), [*files, "--covariates", "x", "--jobs", "2"])
        kept = "counts" if command == "check" else "rows"
        given = {"jobs": 2, "covariates": ["x"], "keep": kept, "progress": "progress"}
        assert asked.calls.pop() == ((source,), given)


def test_a_check_as_json_and_without_pairs(votes, monkeypatch):
    monkeypatch.setattr("podium.evaluate.diagnosis.diagnose", Noted(found()))
    done = CliRunner().invoke(check.check, ["votes.csv", "--format", "json"])
    assert done.stdout == json.dumps({"name": "thé"}, indent=1, ensure_ascii=False) + "\n"
    assert done.stderr.splitlines() == ["20 votes on 3 items, 199 redraws"]
    assert CliRunner().invoke(check.check, ["votes.csv", "--pairs", "0"]).stdout == "  Fit: as it should be\n"


def test_a_check_of_a_campaign_is_of_its_votes(votes, monkeypatch):
    content, given = object(), Noted(Comparisons.from_pairs([("a", "b"), ("b", "a")]))
    monkeypatch.setattr(check, "campaign_in", lambda names: content)
    monkeypatch.setattr(check, "campaign_votes", given)
    monkeypatch.setattr("podium.evaluate.diagnosis.diagnose", Noted(found()))
    done = CliRunner().invoke(check.check, ["c.db"])
    assert done.stderr.splitlines() == ["2 votes on 2 items, 199 redraws"]
    assert given.calls == [((content, {"jobs": None}), {})]
    told = str(CliRunner().invoke(check.check, ["c.db", "--cluster", "local:1"]).exception)
    assert told == "cluster= shares the work of many machines, and a campaign is one file; drop it"
    told = str(CliRunner().invoke(check.check, ["c.db", "--time", "t"]).exception)
    assert told == "time= does not apply to podium check, which takes votes of all times alike"


def test_a_check_with_features_is_of_rabf(votes, monkeypatch):
    from podium import RABF

    asked = Noted(found())
    monkeypatch.setattr("podium.evaluate.diagnosis.diagnose", asked)
    typed = ["--features", "items.csv", "--id", "id", "--missing", "mean"]
    done = CliRunner().invoke(check.check, ["votes.csv", *typed])
    assert done.exit_code == 0, (done.output, done.exception)
    ((_, model), more) = asked.calls[0]
    assert isinstance(model, RABF)
    assert model.missing == "mean"
    assert (more.pop("id"), more.pop("features").columns, more) == ("id", ["id", "x"], {"replicates": 199, "seed": 0})
    told = str(CliRunner().invoke(check.check, ["votes.csv", *typed, "--l2", "1"]).exception)
    assert told == "l2= is of bradley-terry; with features= the votes choose it, drop it"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("concern", [False, True])
def test_a_check_of_rankings_is_of_plackett_luce(votes, monkeypatch, strict, concern):
    made, fit = [], types.SimpleNamespace(statistic=1.5, pairs=3, p_value=0.25)

    class Model:
        def __init__(self, **more):
            made.append(more)

        def fit(self, rankings, **more):
            made.append((len(rankings), more))
            return self

        def goodness_of_fit(self, **more):
            made.append(more)
            return fit

        def pair_residuals(self):
            row = {"item": "a", "against": "b", "above": 2.0, "rankings": 1234.0, "expected": 2.5, "residual": -1.26}
            return pl.DataFrame([row, row])

    monkeypatch.setattr("podium.pairwise.plackett_luce.PlackettLuce", Model)
    monkeypatch.setattr("podium.show.report.fit_words", lambda fit: ("One score explains.", concern))
    more = ["--strict"] if strict else []
    done = CliRunner().invoke(check.check, ["lists.csv", "--replicates", "9", "--seed", "4", "--pairs", "1", *more])
    assert done.exit_code == (1 if strict and concern else 0), (done.output, done.exception)
    assert made == [{"l2": "auto"}, (3, {}), {"replicates": 9, "seed": 4}]
    assert done.stdout.splitlines() == [
        f"{'!' if concern else ' '} Fit: one score explains.", "", "Pairs that fit least:",
        "  a was above b in 2 of 1,234, expected 2.5 (-1.3 sd)",
    ]  # fmt: skip
    assert done.stderr == "3 rankings of 3 items, 9 simulations\n"
    done = CliRunner().invoke(check.check, ["lists.csv", "--l2", "0.5", "--format", "json", *more])
    assert made[3] == {"l2": 0.5}
    document = json.loads(done.stdout)
    assert done.stdout == json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    assert document["fit"] == {"statistic": 1.5, "pairs": 3, "p_value": 0.25, "concern": concern}
    assert len(document["residuals"]) == 2


@pytest.mark.parametrize(("name", "typed"), [
    ("ties", ["--ties", "half"]), ("side_effect", ["--side-effect"]), ("style", ["--style", "difference"]),
])  # fmt: skip
def test_what_is_about_pairs_is_refused_of_rankings(votes, name, typed):
    done = CliRunner().invoke(check.check, ["lists.csv", *typed])
    assert str(done.exception) == f"{name}= is about votes on pairs, and these are rankings; drop it"


# ---- comparing methods ----------------------------------------------------------------------------------------------


def test_methods_are_compared_as_typed(votes, monkeypatch):
    frame = pl.DataFrame({"method": [f"m{k}" for k in range(8)]})
    found = types.SimpleNamespace(
        to_frame=lambda: frame, curves={f"m{k}": k for k in range(8)}, votes=20, folds=3,
        problems={"crowd": InputError("no judge")},
    )  # fmt: skip
    asked, drawn, saved = Noted(found), Noted("figure"), Noted()
    monkeypatch.setattr("podium.evaluate.assessment.assess", asked)
    monkeypatch.setattr("podium.show.plots.calibration", drawn)
    monkeypatch.setattr("podium.show.plots.save", saved)
    typed = [
        "--method",
        "rabf",
        "--method",
        "win-rate",
        "--folds",
        "3",
        "--seed",
        "4",
        "--jobs",
        "2",
        "--plot",
        "c.svg",
    ]
    done = CliRunner().invoke(compare.compare, ["votes.csv", *typed, "--format", "csv"])
    assert done.exit_code == 0, (done.output, done.exception)
    ((comparisons, makers), more) = asked.calls[0]
    assert (len(comparisons), comparisons.count, list(makers)) == (20, None, ["rabf", "win-rate"])
    assert more == {"folds": 3, "seed": 4, "jobs": 2, "engine": None}
    assert drawn.calls == [(({f"m{k}": k for k in range(6)},), {})]
    assert saved.calls == [(("figure", Path("c.svg")), {})]
    assert done.stdout.splitlines() == ["method", *(f"m{k}" for k in range(8))]
    assert done.stderr.splitlines() == [
        "20 votes in 3 folds", "rabf without --features: bradley-terry with a penalty chosen from the votes",
        "crowd was left out: no judge",
    ]  # fmt: skip
    CliRunner().invoke(compare.compare, ["votes.csv", "--folds", "3", "--format", "csv"])
    ((_, makers), more) = asked.calls[1]
    from podium.evaluate.assessment import known_methods

    assert list(makers) == known_methods(features=False)
    assert more == {"folds": 3, "seed": 0, "jobs": 1, "engine": None}
    assert len(drawn.calls) == 1


def test_features_are_treated_as_far_as_a_method_can():
    given = dict.fromkeys(features.Knowledge.__slots__) | {"covariates": (), "style": "difference"}
    known = features.Knowledge(**given | {"missing": "mean", "one_hot": True, "row_weights": "w"})
    assert compare._treatment("rabf", known) == {"missing": "mean", "one_hot": True, "row_weights": "w"}
    assert compare._treatment("win-rate", known) == {}
    assert set(compare._treatment("plackett-luce", known)) <= {"missing", "one_hot"}


def test_names_of_methods_and_models_begin_at_the_left():
    measures = {"log_loss": 0.5, "log_loss_pm": 0.1, "worse": 0.0, "worse_pm": 0.0, "brier": 0.2, "brier_pm": 0.1,
                "accuracy": 0.5, "accuracy_pm": 0.1, "calibration": 0.1}  # fmt: skip
    frame = pl.DataFrame([{"method": name, **measures} for name in ("elo", "bradley-terry")])
    assert [line[:3] for line in compare._table(frame, None).splitlines()] == ["met", "elo", "bra"]
    tests = {
        "parameters": 1,
        "log_likelihood": 1.0,
        "aic": 1.0,
        "bic": 1.0,
        "statistic": 1.0,
        "degrees": 1,
        "p_value": 0.5,
    }
    frame = pl.DataFrame([{"model": name, **tests} for name in ("scores", "a longer name")])
    assert [line[:3] for line in compare._nested_table(frame, None).splitlines()] == ["mod", "sco", "a l"]


def test_rankings_are_dealt_whole():
    lists = Comparisons.from_rankings(Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]]))
    compare._refuse_few(lists, 3)
    told = refusal(compare._refuse_few, lists, 4)
    assert told == "3 rankings cannot be dealt into 4 folds; set folds=3 or less"
    told = refusal(compare._refuse_few, Comparisons.from_pairs([("a", "b")] * 3), 4)
    assert told == "3 votes cannot be dealt into 4 folds; gather more"


# ---- plans and simulations ------------------------------------------------------------------------------------------


def test_interviews_are_simulated_as_typed(monkeypatch, tmp_path):
    from podium.active.rehearsal import Rehearsal

    judges, rehearsed, drawn = [], [], Noted()
    row = Rehearsal(*range(1, len(Rehearsal._fields) + 1))

    def judge(*args, **more):
        judges.append((args, more))
        return f"judge {more['seed']}"

    def rehearse(*args, **more):
        rehearsed.append((args, more))
        return row

    monkeypatch.setattr("podium.active.oracles.Simulated", judge)
    monkeypatch.setattr("podium.active.rehearsal.rehearse", rehearse)
    monkeypatch.setattr("podium.active.rehearsal.mean_rehearsal", lambda each: each[0])
    monkeypatch.setattr(simulate, "_draw", drawn)
    counted = []

    @contextlib.contextmanager
    def counting(*words):
        counted.append(words)
        yield counted.append

    monkeypatch.setattr(simulate, "counting", counting)
    typed = ["-n", "20", "--noise", "normal", "--noise-level", "0.25", "--fresh", "--features", "useless", "--preset",
             "exact", "--random-share", "0.5", "--runs", "2", "--seed", "7"]  # fmt: skip
    done = CliRunner().invoke(simulate.simulate, [*typed, "--format", "csv"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert judges == [((20, "normal", 0.25), {"seed": seed, "persistent": False}) for seed in (7, 8)]
    assert rehearsed == [
        ((f"judge {seed}", "exact"), {"log2_share": None, "features": "useless", "random_share": 0.5, "seed": seed})
        for seed in (7, 8)
    ]
    assert done.stdout.splitlines()[0] == ",".join(["preset", *Rehearsal._fields])
    assert done.stdout.splitlines()[1].startswith("exact,1")
    assert drawn.calls == []
    assert counted == [("asking", "of 2 interviews"), 1, 1]
    judges.clear()
    rehearsed.clear()
    done = CliRunner().invoke(
        simulate.simulate, ["-n", "5", "--runs", "1", "--plot", str(tmp_path / "x.svg"), "--format", "csv"]
    )
    presets = ["quick", "standard", "thorough", "few_rounds"]
    shares = [0.9, 1.3, 1.8, 2.4, 3.2, 4.2]
    assert [(args[1], more["log2_share"]) for args, more in rehearsed] == [
        *((preset, None) for preset in presets), *(("standard", share) for share in shares)]  # fmt: skip
    assert {more["persistent"] for _, more in judges} == {True}
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == presets
    ((place, title, jobs, rows), more) = drawn.calls[0]
    assert (place, title, len(jobs), len(rows), more) == (tmp_path / "x.svg", "5 items, flips 0.1", 10, 10, {})
    assert done.stderr == f"wrote {tmp_path / 'x.svg'}\n"


def test_costs_are_drawn_by_preset_and_by_budget(monkeypatch):
    axis = types.SimpleNamespace(set_ylabel=Noted())
    curves, saved, figures = Noted(axis), Noted(), []

    class Figure:
        def __init__(self, **more):
            figures.append(more)

        def subplots(self):
            return "axes"

    monkeypatch.setattr("matplotlib.figure.Figure", Figure)
    monkeypatch.setattr("podium.show.active_plots.cost_by_questions", curves)
    monkeypatch.setattr("podium.show.plots.save", saved)
    rows = [types.SimpleNamespace(questions_per_item=float(k), cost_ratio=10.0 * k) for k in (1, 2, 3)]
    simulate._draw(Path("x.svg"), "T", [("quick", None), ("standard", 0.9), ("standard", 1.3)], rows)
    known = {"quick": [(1.0, 10.0)], "standard, by budget": [(2.0, 20.0), (3.0, 30.0)]}
    assert curves.calls == [((known,), {"title": "T", "log": False, "ax": "axes"})]
    assert axis.set_ylabel.calls == [(("cost ÷ cost of the hidden order",), {})]
    assert saved.calls[0][0][1] == Path("x.svg")
    assert figures == [{"figsize": (6.4, 4.0), "layout": "constrained"}]


def planned(monkeypatch, looks, *typed):
    counted = []

    @contextlib.contextmanager
    def counting(*words):
        counted.append(words)
        yield counted.append

    monkeypatch.setattr(plan, "counting", counting)
    monkeypatch.setattr(
        "podium.active.rehearsal.reliability_by_votes", lambda n, judges, noise, goal, seed: looks[seed]
    )
    done = CliRunner().invoke(plan.plan, ["--items", "5", *typed])
    assert done.exit_code == 0, (done.output, done.exception)
    assert counted == [("asking", f"of {len(looks)} campaign{'s' if len(looks) > 1 else ''}"), *[1] * len(looks)]
    return done


def test_a_plan_says_where_judges_are_too_few_and_where_all_is_reached(monkeypatch):
    from podium.active.rehearsal import QUESTIONS_PER_ITEM

    looks = {0: [0.1, 0.9], 1: [0.3, 0.8]}
    done = planned(monkeypatch, looks, "--runs", "2", "--reliability", "0.85", "--format", "csv", "--judges", "9")
    rows = pl.read_csv(done.stdout.encode())
    assert rows["reliability"].to_list() == pytest.approx([0.2, 0.85])
    assert rows["worst_run"].to_list() == [0.1, 0.8]
    assert rows["votes"].to_list() == [5 * each for each in QUESTIONS_PER_ITEM[:2]]
    assert done.stderr == ""
    done = planned(monkeypatch, {0: [0.9]}, "--runs", "1", "--format", "csv")
    assert (pl.read_csv(done.stdout.encode())["votes"].to_list(), done.stderr) == ([10], "")  # every pair once
    many = [0.1] * len(QUESTIONS_PER_ITEM)
    done = planned(monkeypatch, {0: many}, "--runs", "1", "--format", "csv")
    last = 5 * QUESTIONS_PER_ITEM[-1]
    assert done.stderr.splitlines() == [
        "beyond 10 votes 1 judge would be too few: a campaign asks nobody about a pair twice",
        f"0.8 is not reached with {last:,g} votes; judges this unsure may never reach it",
    ]


def test_a_plan_for_people_has_as_many_digits_as_tell_short_from_reached(monkeypatch):
    done = planned(monkeypatch, {0: [0.7996, 0.9]}, "--runs", "1")
    assert "0.7996" in done.stdout
    assert "0.80\n" not in done.stdout
    done = planned(monkeypatch, {0: [0.5, 0.9]}, "--runs", "1")
    assert done.stdout.splitlines()[1].split()[2] == "0.50"


# ---- a model that helps people --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("both", "enough"), [(9, True), (8, False)])
@pytest.mark.parametrize("unmatched", [0, 2])
def test_a_models_help_is_told_with_what_it_is_worth(votes, monkeypatch, both, enough, unmatched):
    from podium.cli.rank import rank

    class Ranking:
        def to_frame(self, level):
            assert level == 0.9
            rows = {"rank": [1, 2], "item": ["a", "b"], "score": [0.5, -0.5], "lower": [0.0, -1.0], "upper": [1.0, 0.0],
                    "rank_lower": [1, 1], "rank_upper": [2, 2], "tier": [1, 1], "comparisons": [1.0, 1.0]}  # fmt: skip
            return pl.DataFrame(rows)

        def __len__(self):
            return 3

    result = types.SimpleNamespace(ranking=Ranking(), both=both, alone=1, unmatched=unmatched, weight=0.256, gain=1.25)
    asked = Noted(result)
    monkeypatch.setattr("podium.judge.assist.assisted", asked)
    Path("model.csv").write_text("winner,loser\na,b\nb,a\n")
    done = CliRunner().invoke(rank, ["votes.csv", "--assist", "model.csv", "--level", "0.9", "--top", "1"])
    assert done.exit_code == 0, (done.output, done.exception)
    people, model = asked.calls[0][0]
    assert (len(people), len(model)) == (20, 2)
    assert [line.split()[:3] for line in done.stdout.splitlines()] == [["rank", "item", "score"], ["1", "a", "0.50"]]
    worth = "; it is worth about 1.2 times as many pairs of people" if enough else ""
    few = f"warning: {both} pairs of people for 3 items; with fewer than 3 an item, intervals are a little too narrow"
    assert done.stderr.splitlines() == [
        f"{both} pairs judged by people and the model, 1 pair by the model alone; 90 % confidence intervals, relative "
        "to the mean",
        *(["2 pairs of people left out, as the model has not judged them"] if unmatched else []),
        f"the model counts 0.26 of a person's vote{worth}, if theirs are a random part of its own",
        *([] if enough else [few]),
    ]


@pytest.mark.parametrize("room", [None, 44])
def test_what_people_read_is_as_wide_as_the_terminal(votes, monkeypatch, room):
    from podium.active.rehearsal import Rehearsal
    from podium.cli.rank import rank

    monkeypatch.setattr("podium.cli.output.room_of", lambda stream: room)
    monkeypatch.setattr("podium.active.rehearsal.reliability_by_votes", lambda *args: [0.5, 0.9])
    row = Rehearsal(*range(1, len(Rehearsal._fields) + 1))
    monkeypatch.setattr("podium.active.rehearsal.rehearse", lambda *args, **more: row)
    monkeypatch.setattr("podium.active.rehearsal.mean_rehearsal", lambda each: row)
    finding = types.SimpleNamespace(concern=True, name="Fit", text="much that is to be said of it " * 3)
    known = found()
    known.findings = lambda: [finding]
    monkeypatch.setattr("podium.evaluate.diagnosis.diagnose", Noted(known))
    frame = pl.DataFrame({"rank": [1], "item": ["a" * 40], "score": [0.5], "lower": [0.0], "upper": [1.0],
                          "rank_lower": [1], "rank_upper": [2], "tier": [1], "comparisons": [1.0]})  # fmt: skip
    ranked = type("Ranked", (), {"to_frame": lambda self, level: frame, "__len__": lambda self: 1})()
    helped = types.SimpleNamespace(ranking=ranked, both=1, alone=1, unmatched=0, weight=1.0, gain=1.0)
    monkeypatch.setattr("podium.judge.assist.assisted", Noted(helped))
    for command, args in (
        (plan.plan, ["--items", "5", "--runs", "1"]), (simulate.simulate, ["-n", "5", "--preset", "quick"]),
        (check.check, ["votes.csv"]), (rank, ["votes.csv", "--assist", "votes.csv"]),
    ):  # fmt: skip
        done = CliRunner().invoke(command, args)
        assert done.exit_code == 0, (done.output, done.exception)
        wide = max(len(line) for line in done.stdout.splitlines())
        assert (wide <= 44) is (room == 44), (command.name, wide)


def test_what_has_no_use_beside_a_models_help_is_refused(votes):
    from podium.cli.rank import rank

    for name, typed in (("method", ["--method", "elo"]), ("l2", ["--l2", "1"]), ("by", ["--by", "x"])):
        done = CliRunner().invoke(rank, ["votes.csv", "--assist", "votes.csv", *typed])
        assert str(done.exception) == f"{name}= has no use beside assist=; leave it out"
    Path("named.csv").write_text("left,right,outcome,judge,group\na,b,1,Ann,x\nb,a,1,Bob,y\n")
    columns = types.SimpleNamespace(arguments=lambda: {"judge": "judge"})
    read = assisted._read(["named.csv", "votes.csv"], columns)
    assert len(read) == 22
    read = assisted._read(["named.csv"], columns)
    assert len(read) == 2
    assert (read.judge, read.group) == (None, None)


def test_rankings_are_no_votes_that_a_model_helps_or_gives(votes):
    from podium.cli.rank import rank

    Path("lists.csv").write_text("Rank 1,Rank 2,Rank 3\na,b,c\nb,a,c\nc,a,b\n")
    for args in (["lists.csv", "--assist", "votes.csv"], ["votes.csv", "--assist", "lists.csv"]):
        done = CliRunner().invoke(rank, args)
        assert str(done.exception) == "lists.csv holds rankings, which have no use beside assist=; give votes on pairs"


# ---- stories --------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(monkeypatch, tmp_path):
    """A story that runs two commands and writes one file."""
    monkeypatch.chdir(tmp_path)
    ran, written = [], []

    def write(place, rng):
        written.append((place, rng.integers(0, 2**62)))
        (place / "f.csv").write_text("x")

    story = types.SimpleNamespace(
        about="a story", write=write, likes=None, commands=("one 'a b'", "two --base-url URL"), shows="page.html"
    )
    monkeypatch.setitem(STORIES, "labels", story)

    def main(**more):
        ran.append((Path.cwd().name, list(sys.argv), more))

    group = click.Group("podium", {"demo": demo.demo})
    group.main, real = main, group.main

    def call(*args):
        result = io.StringIO()
        with contextlib.redirect_stderr(result):
            real(args=["demo", "labels", *args], prog_name="podium", standalone_mode=False)
        return result.getvalue().splitlines()

    return types.SimpleNamespace(call=call, ran=ran, written=written, story=story)


def test_a_story_writes_its_files_and_runs_its_commands_there(told, monkeypatch):
    before = ["podium", "demo"]
    monkeypatch.setattr(sys, "argv", before)
    err = told.call("--seed", "5")
    assert told.written == [(Path("demo-labels"), np.random.default_rng(5).integers(0, 2**62))]
    for (folder, argv, more), words in zip(told.ran, (["one", "a b"], ["two", "--base-url"]), strict=True):
        assert folder == "demo-labels"
        assert argv == ["podium", *words]
        assert more == {"args": words, "prog_name": "podium", "standalone_mode": False}
    assert sys.argv is before
    assert Path.cwd().name != "demo-labels"
    assert err == [
        "labels: a story; files are in demo-labels", "", "$ podium one 'a b'", "", "$ podium two --base-url ", "",
        "now open demo-labels/page.html",
    ]  # fmt: skip


def test_a_story_may_have_a_folder_of_its_own_that_is_empty(told):
    Path("own/deep").mkdir(parents=True)
    assert told.call("--folder", "own/deep")[-1] == "now open own/deep/page.html"
    assert told.call("--folder", "new/deep")[-1] == "now open new/deep/page.html"
    with pytest.raises(InputError) as refused:
        told.call("--folder", "own")
    assert str(refused.value) == "own is there already and not empty; remove it, or name another by --folder"
    Path("demo-labels").write_text("")
    assert len(told.written) == 2


def test_a_story_with_a_judge_has_a_model_while_it_runs(told, monkeypatch):
    state = []

    @contextlib.contextmanager
    def model(likes):
        state.append(likes)
        yield "http://h/v1"
        state.append("over")

    monkeypatch.setattr("podium.judge.simulated.simulated_model", model)
    told.story.likes = len
    err = told.call()
    assert state == [len, "over"]
    assert "a simulated model answers at http://h/v1 until the story ends: no network, no key" in err
    assert told.ran[1][1] == ["podium", "two", "--base-url", "http://h/v1"]
