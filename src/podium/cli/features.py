"""What is known beside who won, on the command line: features of the items and covariates of the votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.cli.calling import gathered
from podium.cli.help import option
from podium.cli.options import (
    id_option,
    missing_option,
    one_hot_option,
    split_names,
    style_arguments,
    style_option,
)
from podium.errors import InputError, Option
from podium.pairwise import ranker

__all__ = ["Knowledge", "knowledge_options", "refuse_unused", "words_without"]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known beside who won: a table of item features, and covariates of each vote."""

    features: str | None
    id: str | None
    missing: str | None
    one_hot: bool | None
    covariates: tuple[str, ...]
    row_weights: str | None
    style: str

    @property
    def of_votes(self) -> dict[str, Any]:
        """The covariates and what is to be done with them, as `read_comparisons` takes it."""
        return style_arguments(self.covariates, self.style)

    @property
    def uses_covariates(self) -> bool:
        """Whether votes are read with covariates."""
        return bool(self.of_votes)

    def arguments(self) -> dict[str, Any]:
        """The table of features, if there is one, as `fit` takes it."""
        if self.features is not None:
            from podium.data.files import read_table

            return {"features": read_table(self.features), "id": self.id}
        for name in ("id", "missing", "one_hot", "row_weights"):
            if getattr(self, name) is not None:
                raise InputError(Option(name), " is about ", Option("features"), ", which is not given; drop it")
        return {}

    @property
    def treatment(self) -> dict[str, Any]:
        """How the ranker is to treat the features, where it was typed."""
        return {
            name: value for name in ("missing", "one_hot", "row_weights") if (value := getattr(self, name)) is not None
        }


knowledge_options = gathered(
    "known",
    Knowledge,
    option(
        "Data",
        "--features",
        metavar="FILE",
        help="Read item features from this table, for rabf, online-rabf, plackett-luce and dynamic.",
    ),
    id_option("the column of --features that holds every compared item"),
    missing_option,
    one_hot_option(),
    option(
        "Data",
        "--covariates",
        metavar="NAMES",
        callback=split_names,
        help="Control for these columns of the votes (style control), separated by commas; length stands for length_a "
        "and length_b.",
    ),
    option(
        "Data",
        "--row-weights",
        metavar="COLUMN",
        help="Let this column of --features say how far each item's features count in rabf, from 0 up.",
    ),
    style_option("Data"),
)


def refuse_unused(method: str, known: Knowledge) -> None:
    """A table or covariates that the method would not look at are a mistake worth telling."""
    cls = ranker(method)
    idle = Option("method", method)
    if known.features is not None and not cls.uses.features:
        others = "; use rabf, plackett-luce for rankings, or dynamic for votes with times"
        raise InputError(Option("features"), " does not apply to ", idle, others)
    if known.uses_covariates and not cls.uses.covariates:
        raise InputError(
            Option("covariates" if known.covariates else "style"),
            " does not apply to ",
            idle,
            "; use bradley-terry or rabf",
        )


def words_without(method: str, known: Knowledge) -> list[str]:
    """What a method made for features does without them."""
    if known.features is not None or method != "rabf":
        return []
    return [f"{method} without --features: bradley-terry with a penalty chosen from the votes"]
