"""Help in groups, with examples: what a command needs to know about its data, its model, its intervals, its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import click

__all__ = ["Decorator", "GroupedCommand", "Handler", "option"]

Handler: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Handler], Handler]

GROUPS = ("Data", "Model", "Measures", "Intervals", "Server", "Output")  # in the order of the help


class _GroupedOption(click.Option):
    def __init__(self, *args: Any, group: str, **more: Any) -> None:
        assert group in GROUPS, group
        super().__init__(*args, **more)
        self.group = group


def option(group: str, *names: str, **more: Any) -> Decorator:
    """Return `click.option`, listed under `group` in the help; a number is called one, whatever its bounds."""
    if isinstance(more.get("type"), click.types.IntParamType | click.types.FloatParamType) or more.get("type") is float:
        more.setdefault("metavar", "NUMBER")
    return click.option(*names, cls=_GroupedOption, group=group, **more)


class GroupedCommand(click.Command):
    """A command whose help lists its options by group and ends with examples, each a (line, what it does) pair."""

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                rows.setdefault(getattr(parameter, "group", "Other"), []).append(record)
        for group in (*GROUPS, "Other"):
            if group in rows:
                with formatter.section(group):
                    formatter.write_dl(rows[group])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line, purpose in self.examples:
                    formatter.write_text(f"# {purpose}")
                    formatter.write(f"{'':>{formatter.current_indent}}$ {line}\n")
