"""The library's messages in the words of the command line.

A message names a parameter by its equals sign: `one_hot=True`, `missing='mean'`, `judge=False`, `l2=`. Here that
becomes `--one-hot`, `--missing mean`, `--judge=` and `--l2`. Parameters that only Python has stand in parentheses of
their own, `(max_iter=, tol=)`, and are left out.
"""

from __future__ import annotations

import re
import shlex

__all__ = ["spoken"]

# Parameter -> option, for those that messages name.
OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "anchor", "by", "C", "classes", "count", "covariates", "delimiter", "feature_penalty", "features",
        "flip_loss", "flip_rate", "gain", "group", "id", "judge", "l2", "label", "left", "left_wins", "level", "loser",
        "loss", "margin", "missing", "one_hot", "outcome", "random_share", "ranking", "relevant_from",
        "residual_penalty", "right", "right_wins", "scale", "seed", "side_effect", "standardize", "top",
        "weight", "winner",
    )
} | {"format": "--input-format", "ties": "--tie-count"}  # fmt: skip
TREATMENTS = ("half", "davidson")  # of ties; any other value names their column

_ASIDE = re.compile(r" \((?:or )?[a-z_]+=(?:(?:, | or )[a-z_]+=)*\)")
_ABOUT = re.compile(r"(^|: )anchor(?=: )")  # a parameter that a message begins with
_NAMED = re.compile(r"""(?<![\w'"/.-])([A-Za-z][a-z_0-9]*)=(True|False|'[^']*'|"[^"]*"|-?[\w.]+)?""")


def spoken(text: str) -> str:
    """Return the message with options in place of parameters.

    >>> spoken("'kind' holds text; leave it out by id='kind', or set one_hot=True")
    "'kind' holds text; leave it out by --id kind, or set --one-hot"
    >>> spoken("no optimum in 9 steps; raise l2= (or max_iter=, tol=)")
    'no optimum in 9 steps; raise --l2'
    """
    return _NAMED.sub(_option, _ABOUT.sub(r"\1--anchor", _ASIDE.sub("", text)))


def _option(found: re.Match[str]) -> str:
    name, value = found[1], (found[2] or "").strip("'\"")
    if name not in OPTIONS:
        return found[0]
    option = "--ties" if name == "ties" and value in TREATMENTS else OPTIONS[name]
    if value == "False":
        return f"{option}="
    return option if value in ("", "True") else f"{option} {shlex.quote(value)}"
