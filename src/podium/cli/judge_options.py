"""What `podium judge` is told: the items, who judges, and how much."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from podium.cli.calling import gathered
from podium.cli.help import Decorator, option
from podium.cli.options import MAX_COUNT, SEED, NumberRange, id_option, text_of
from podium.errors import InputError

if TYPE_CHECKING:
    from podium.judge.asking import Asker
    from podium.judge.settings import Settings

__all__ = ["FILE", "Amount", "Model", "Source", "amount_options", "model_options", "source_options"]

MODEL_TIMEOUT, COMMAND_TIMEOUT = 120.0, 600.0  # seconds
PRESETS = ("quick", "standard", "thorough")
FILE = click.Path(dir_okay=False, path_type=Path)
# Options that a program has no use for.
FOR_MODELS = ("model", "answer", "prompt", "temperature", "max_tokens", "rpm", "tpm", "extra_body", "headers")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the items come from, and what is asked of them."""

    question: str | None
    server: str | None
    db: str | None
    campaign: str | None
    id: str | None
    text: str | None
    reference: str | None
    criteria: tuple[str, ...]
    gold: Path | None


@dataclass(frozen=True, slots=True)
class Model:
    """Who judges."""

    base_url: str | None
    model: str | None
    command: str | None
    name: str | None
    answer: Any
    prompt: Path | None
    temperature: float
    max_tokens: int
    timeout: float | None
    concurrency: int
    rpm: float | None
    tpm: float | None
    extra_body: str | None
    headers: tuple[str, ...]

    def refuse_idle(self, context: click.Context) -> None:
        """Refuse options that say how a model is asked where a program is."""
        if self.command is None:
            return
        for name in FOR_MODELS:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                flag = "header" if name == "headers" else name.replace("_", "-")
                raise InputError(f"--{flag} is for a model behind a server; leave it out with --command")

    def asker(self, seed: int | None) -> Asker:
        """The one that is meant."""
        if (self.base_url is None) == (self.command is None):
            raise click.UsageError("give either --base-url and --model, or --command; one of them judges")
        if self.command is not None:
            from podium.judge.command import CommandJudge

            try:
                words = shlex.split(self.command)
            except ValueError as problem:
                raise InputError(
                    f"--command {self.command!r} cannot be read: {problem}; correct its quotes"
                ) from problem
            return CommandJudge(words, timeout=self.timeout or COMMAND_TIMEOUT, concurrency=self.concurrency)
        if not self.model:
            raise click.UsageError("--base-url needs --model; name the model as the server does")
        from podium.judge.http import HttpJudge

        return HttpJudge(
            str(self.base_url), self.model, answer=self.answer, template=text_of(self.prompt),
            temperature=self.temperature, max_tokens=self.max_tokens, timeout=self.timeout or MODEL_TIMEOUT,
            concurrency=self.concurrency, rpm=self.rpm, tpm=self.tpm, extra_body=_body(self.extra_body),
            headers=_headers(self.headers), seed=seed,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is asked."""

    preset: str
    goal: str
    budget: int | None
    max_calls: int | None
    max_cost: float | None
    price_in: float | None
    price_out: float | None
    one_order: bool
    repeat: float
    against: tuple[str, ...]
    anyway: bool
    keep_prompts: bool
    seed: int | None
    dry_run: bool

    @property
    def top(self) -> int | None:
        """The places that matter; None for all."""
        word, _, number = self.goal.partition(":")
        if self.goal == "order":
            return None
        if word != "top" or not number.isascii() or not number.isdigit() or not 0 < int(number[:10]) < 2**31:
            raise InputError(f"--goal {self.goal!r} is neither order nor top:K; give one, as top:20")
        return int(number[:10])

    def settings(self, concurrency: int) -> Settings:
        """As the library takes it."""
        from podium.judge.settings import Settings

        if self.max_cost is not None and self.price_in is None and self.price_out is None:
            raise InputError("--max-cost needs prices; give --price-in and --price-out, per million tokens")
        return Settings(
            self.preset, self.budget, self.max_calls, self.max_cost, self.price_in, self.price_out, concurrency,
            self.one_order, self.repeat, self.anyway, keep_prompts=self.keep_prompts, seed=self.seed,
        )  # fmt: skip

    @property
    def others(self) -> list[tuple[str, str]]:
        """Files and judges to compare with."""
        judges = []
        for each in self.against:
            path, mark, name = each.rpartition(":")
            if not mark or not path or not name:
                raise InputError(f"--against {each!r} names no judge; give FILE:JUDGE, as campaign.db:reader-1")
            judges.append((path, name))
        return judges


def source_options() -> Decorator:
    """Where the items come from."""
    return gathered(
        "source",
        Source,
        option("Data", "--question", help="Ask this of each pair."),
        option(
            "Data",
            "--server",
            metavar="URL",
            help="Judge the campaign that `podium serve` has at this address; the judge's link is in "
            "PODIUM_JUDGE_LINK.",
        ),
        option(
            "Data",
            "--db",
            metavar="FILE",
            help="Keep the campaign here; one that is there goes on.  [default: the items' name with .podium.db]",
        ),
        option("Data", "--campaign", metavar="NAME", help="Choose one of several campaigns of a file."),
        id_option("id, else the first"),
        option("Data", "--text", metavar="COLUMN", help="Name the column that is shown.  [default: text or body]"),
        option(
            "Data", "--reference", metavar="COLUMN", help="Name a column of answers known to be good, shown above both."
        ),
        option(
            "Data",
            "--criterion",
            "criteria",
            multiple=True,
            metavar="NAME=TEXT",
            help="Judge by this; given again, each is a campaign of its own, side by side.",
        ),
        option(
            "Data",
            "--gold",
            type=FILE,
            metavar="FILE",
            help="Ask about the pairs of these votes too, whose outcome is known.",
        ),
    )


def model_options() -> Decorator:
    """Who judges, in what form, and how fast."""
    return gathered("who", Model, *_who(), *_form(), *_pace())


def _who() -> list[Decorator]:
    return [
        option(
            "Model",
            "--base-url",
            metavar="URL",
            help="Ask the server at this address; its key is in PODIUM_API_KEY or OPENAI_API_KEY.",
        ),
        option("Model", "--model", metavar="NAME", help="Ask this model."),
        option(
            "Model", "--command", metavar="WORDS", help="Ask this program instead: a JSON object a line in, one out."
        ),
        option("Model", "--as", "name", metavar="NAME", help="Name the judge.  [default: the model's name]"),
    ]


def _form() -> list[Decorator]:
    return [
        option(
            "Model",
            "--answer",
            type=click.Choice(["json", "word", "logprobs"]),
            default="json",
            show_default=True,
            help="Ask for the verdict in this form.",
        ),
        option(
            "Model",
            "--prompt",
            type=FILE,
            metavar="FILE",
            help="Read the prompt from a file (Jinja2) that shows {{ left }} and {{ right }}.",
        ),
        option("Model", "--temperature", type=float, default=0.0, show_default=True, help="Send this temperature."),
        option(
            "Model",
            "--max-tokens",
            type=click.IntRange(1, MAX_COUNT),
            default=1024,
            show_default=True,
            help="Let an answer have this many tokens.",
        ),
        option("Model", "--extra-body", metavar="JSON", help="Add these fields to each request."),
        option(
            "Model",
            "--header",
            "headers",
            multiple=True,
            metavar="NAME=VALUE",
            help="Add a header to each request; may be given again.",
        ),
    ]


def _pace() -> list[Decorator]:
    return [
        option(
            "Model",
            "--timeout",
            type=NumberRange(0.1, 3600),
            help="Wait this many seconds for an answer.  [default: 120; 600 for a program]",
        ),
        option(
            "Model",
            "--concurrency",
            type=click.IntRange(1, 1000),
            default=16,
            show_default=True,
            help="Have at most this many calls under way.",
        ),
        option("Model", "--rpm", type=NumberRange(0, min_open=True), help="Send at most this many requests a minute."),
        option("Model", "--tpm", type=NumberRange(0, min_open=True), help="Use at most this many tokens a minute."),
    ]


def amount_options() -> Decorator:
    """How much is asked."""
    return gathered(
        "amount",
        Amount,
        option(
            "Measures",
            "--preset",
            type=click.Choice(PRESETS),
            default="standard",
            show_default=True,
            help="Ask about this many pairs, as in `podium ask`.",
        ),
        option(
            "Measures",
            "--goal",
            default="order",
            show_default=True,
            metavar="order|top:K",
            help="Care for the whole order, or for the first K ranks.",
        ),
        option("Measures", "--budget", type=click.IntRange(1, MAX_COUNT), help="Ask about at most this many pairs."),
        option("Measures", "--max-calls", type=click.IntRange(1, MAX_COUNT), help="Make at most this many calls."),
        option("Measures", "--max-cost", type=NumberRange(0, min_open=True), help="Spend at most this much."),
        option("Measures", "--price-in", type=NumberRange(0), help="Price a million tokens that are sent at this."),
        option("Measures", "--price-out", type=NumberRange(0), help="Price a million tokens that come back at this."),
        option(
            "Measures",
            "--one-order",
            is_flag=True,
            help="Ask random pairs, each in one order, and estimate the position bias instead of cancelling it.",
        ),
        option(
            "Measures",
            "--repeat",
            type=NumberRange(0, 1),
            default=0.0,
            show_default=True,
            help="Ask this share of the calls again, word for word.",
        ),
        option(
            "Measures",
            "--against",
            multiple=True,
            metavar="FILE:JUDGE",
            help="Compare with a judge of a campaign, on the same pairs; may be given again.",
        ),
        option("Measures", "--anyway", is_flag=True, help="Go on with a judge that contradicts itself."),
        option("Output", "--keep-prompts", is_flag=True, help="Keep the whole prompts, not only their hash."),
        option(
            "Measures", "--seed", type=SEED, help="Random seed for the choice of pairs.  [default: drawn, and kept]"
        ),
        option(
            "Output", "--dry-run", is_flag=True, help="Print the first prompt and what all would cost; ask nothing."
        ),
    )


def _body(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"--extra-body is no JSON ({problem}); give an object, as '{{\"top_p\": 0.9}}'") from problem
    if not isinstance(body, dict):
        raise InputError("--extra-body is no JSON object; give one, as '{\"top_p\": 0.9}'")
    return body


def _headers(typed: tuple[str, ...]) -> dict[str, str]:
    headers = {}
    for each in typed:
        name, mark, value = each.partition("=")
        plain = name.strip().replace("-", "").replace("_", "")
        if not mark or not plain.isalnum() or not each.isascii() or not each.isprintable():
            raise InputError("--header: one is not NAME=VALUE in plain letters; give it as X-Team=red")
        headers[name.strip()] = value.strip()
    return headers
