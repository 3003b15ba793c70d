"""The command line: read, call, write. Each command has its own module, loaded when it is called."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import click

from podium._version import __version__
from podium.cli.messages import worded
from podium.cli.output import say
from podium.errors import EngineError, PodiumError, PodiumWarning
from podium.text import one_line

__all__ = ["main", "run"]

# Command -> "module:function". Heavy imports wait for the command that needs them.
COMMANDS = {
    "ask": "podium.cli.ask:ask",
    "campaign": "podium.cli.campaign:campaign",
    "check": "podium.cli.check:check",
    "compare": "podium.cli.compare:compare",
    "demo": "podium.cli.demo:demo",
    "diff": "podium.cli.diff:diff",
    "grade": "podium.cli.grade:grade",
    "judge": "podium.cli.judge:judge",
    "label": "podium.cli.label:label",
    "metrics": "podium.cli.metrics:metrics",
    "plan": "podium.cli.plan:plan",
    "predict": "podium.cli.predict:predict",
    "rank": "podium.cli.rank:rank",
    "serve": "podium.cli.serve:serve",
    "simulate": "podium.cli.simulate:simulate",
}

ABOUT = {  # a line each in `podium --help`, which then imports none of them
    "ask": "Order the items of a table by asking you, two at a time.",
    "campaign": "Let people compare items: make, change and export campaigns.",
    "check": "Check whether a ranking of these votes can be trusted.",
    "compare": "Compare methods by how well they predict held-out votes.",
    "demo": "Write example data and run the commands of a story on it.",
    "diff": "Compare two leaderboards: who moved, and was it chance?",
    "grade": "Learn grades or ranges of grades from a table; grade others.",
    "judge": "Let a model rank items, two at a time and in both orders.",
    "label": "Rank labels: fit a model on examples, predict, evaluate.",
    "metrics": "Measure retrieval runs against judgements; test them.",
    "plan": "Say how many votes a wanted reliability takes.",
    "predict": "Predict games to come, or rank items by their features.",
    "rank": "Rank the items of votes: leaderboard, intervals, a page.",
    "serve": "Let judges vote and organisers watch in the browser.",
    "simulate": "Try out asking on a judge of known mistakes, beforehand.",
}

# After each small matrix OpenBLAS's threads stay awake for 2^26 cycles by default: on a busy machine that took more CPU
# than everything else. Read when NumPy is loaded, which waits for the command.
CALM_THREADS = {"OPENBLAS_THREAD_TIMEOUT": "4"}

INTERRUPTED = 130  # what shells expect after Ctrl-C: 128 and the number of the signal


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(ABOUT.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="podium")
def main() -> None:
    """Turn imperfect feedback into a ranking you can defend.

    Data goes to stdout, words to stderr. Exit codes: 0 done, 1 a check or a worker failed, 2 bad input or usage,
    130 interrupted.
    """


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    kind = "" if issubclass(category, PodiumWarning) else f"{category.__name__}: "
    say(one_line(f"warning: {kind}{worded(message)}"))


def _one_line(problem: click.ClickException) -> str:
    """What is wrong with the call, and where to read how it should be."""
    what = problem.format_message().rstrip(".")
    what = what[:1].lower() + what[1:]
    if ";" in what:  # it says itself what to do
        return what
    context = getattr(problem, "ctx", None)
    return f"{what}; see {context.command_path if context is not None else 'podium'} --help"


def run(args: list[str] | None = None) -> None:
    """Run the command line; our own errors leave as one line and exit code 2, never as a traceback."""
    for name, value in CALM_THREADS.items():
        os.environ.setdefault(name, value)
    if sys.stdin is None:  # started with standard input closed: there is nothing to read, as each command says
        sys.stdin = open(os.devnull)  # noqa: SIM115
    with warnings.catch_warnings():
        warnings.simplefilter("always", PodiumWarning)
        # Votes that decide everything have chances of exactly 0 or 1, which is told in words.
        warnings.filterwarnings("ignore", "overflow encountered in exp", RuntimeWarning)
        warnings.showwarning = _show_warning
        try:
            code = main.main(args=args, prog_name="podium", standalone_mode=False)
            sys.exit(code if isinstance(code, int) else 0)
        except click.exceptions.NoArgsIsHelpError as problem:
            problem.show()
            sys.exit(2)
        except click.ClickException as problem:
            say(one_line(f"podium: {_one_line(problem)}"))
            sys.exit(2)
        except PodiumError as problem:
            say(one_line(f"podium: {worded(problem)}"))
            sys.exit(1 if isinstance(problem, EngineError) else 2)
        except (click.exceptions.Abort, KeyboardInterrupt):
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except UnicodeEncodeError as problem:
            click.echo(
                f"podium: the terminal cannot show {problem.object[problem.start]!r}; set PYTHONUTF8=1", err=True
            )
            sys.exit(2)
        except BrokenPipeError:  # the reader of our output (head, less) left early
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except OSError as problem:
            where = f"{problem.filename}: " if problem.filename else ""
            say(one_line(f"podium: {where}{problem.strerror or problem}"))
            sys.exit(2)
