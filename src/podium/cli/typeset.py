"""Tables for papers and pages: Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from podium.text import one_line

__all__ = ["Cell", "latex", "markdown"]

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "…": r"\dots{}",
}
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~$])")


@dataclass(frozen=True, slots=True)
class Cell:
    """Text, perhaps the best of its column, perhaps with letters above it."""

    text: str
    bold: bool = False
    above: str = ""


def markdown(heads: Sequence[str], rows: Sequence[Sequence[Cell]], numbers: Sequence[bool]) -> str:
    r"""A pipe table; columns of numbers are set to the right.

    >>> print(markdown(["run", "ap"], [[Cell("a|b"), Cell("0.5000", bold=True, above="ac")]], [False, True]))
    | run | ap |
    |---|--:|
    | a\|b | **0.5000**<sup>ac</sup> |
    """

    def cell(value: Cell) -> str:
        text = _in_markdown(value.text)
        return (f"**{text}**" if value.bold else text) + (f"<sup>{value.above}</sup>" if value.above else "")

    lines = ["| " + " | ".join(_in_markdown(head) for head in heads) + " |"]
    lines.append("|" + "|".join("--:" if number else "---" for number in numbers) + "|")
    return "\n".join(lines + ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows])


def latex(heads: Sequence[str], rows: Sequence[Sequence[Cell]], numbers: Sequence[bool]) -> str:
    r"""A tabular with the rules of booktabs.

    >>> print(latex(["run", "P@1"], [[Cell("a_b"), Cell("0.5000", bold=True, above="ac")]], [False, True]))
    \begin{tabular}{lr}
    \toprule
    run & P@1 \\
    \midrule
    a\_b & \textbf{0.5000}$^{\mathrm{ac}}$ \\
    \bottomrule
    \end{tabular}
    """

    def cell(value: Cell) -> str:
        text = _in_latex(value.text)
        above = f"$^{{\\mathrm{{{value.above}}}}}$" if value.above else ""
        return (f"\\textbf{{{text}}}" if value.bold else text) + above

    lines = [f"\\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}", "\\toprule"]
    lines += [" & ".join(_in_latex(head) for head in heads) + r" \\", "\\midrule"]
    lines += [" & ".join(cell(value) for value in row) + r" \\" for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])


def _in_markdown(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", one_line(text))


def _in_latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in one_line(text))
