"""Formulas of the documentation as pictures in the page itself: no network, no script, no TeX.

Matplotlib, which the package needs anyway, sets them; letters become one path in the colour of the text.
"""

import functools
import html
import re

from docutils import nodes

EM = 16.0  # units of the drawing for one em of the page
# What our formulas use and matplotlib writes otherwise.
WORDS = (
    (r"\\text\{([^}]*)\}", lambda found: r"\mathrm{" + found[1].replace(" ", r"\ ").replace("-", "\u2010") + "}"),
    (r"\\tfrac(\d)(\d)", r"\\frac{\1}{\2}"),
    (r"\\[bB]ig[lr]?(?![a-z])", ""),
    (r"\\[lr]Vert", r"\\|"),
    (r"\\sqrt\s*(\d|[A-Za-z])", r"\\sqrt{\1}"),
    (r"\\mathcal (\w)", r"\\mathcal{\1}"),
    (r"\\;", r"\\ "),
    (r"\\ge(?![a-z])", r"\\geq"),
    (r"\\le(?![a-z])", r"\\leq"),
)


def as_matplotlib(latex):
    """The formula in the words that matplotlib knows."""
    for pattern, said in WORDS:
        latex = re.sub(pattern, said, latex)
    return " ".join(latex.split())


@functools.cache
def picture(latex):
    """A formula as an `<svg>` element that stands on the line of the text around it."""
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    drawn = TextPath((0, 0), f"${as_matplotlib(latex)}$", size=EM)
    box = drawn.get_extents()
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
    parts = []
    for points, code in drawn.iter_segments(curves=True, simplify=False):
        numbers = "" if code == Path.CLOSEPOLY else " ".join(
            f"{x:.2f} {-y:.2f}" for x, y in points.reshape(-1, 2)
        )  # fmt: skip
        parts.append(letters[code] + numbers)
    width, height = box.width + 1.0, box.height + 1.0
    view = f"{box.x0 - 0.5:.2f} {-box.y1 - 0.5:.2f} {width:.2f} {height:.2f}"
    size = f"width:{width / EM:.3f}em;height:{height / EM:.3f}em;vertical-align:{(box.y0 - 0.5) / EM:.3f}em"
    label = html.escape(" ".join(latex.split()), quote=True)
    return f'<svg class="formula" role="img" aria-label="{label}" viewBox="{view}" style="{size}"><path d="{"".join(parts)}"/></svg>'  # noqa: E501


def inline(writer, node):
    """A formula within a line."""
    writer.body.append(picture(node.astext()))
    raise nodes.SkipNode


def block(writer, node):
    """A formula on a line of its own."""
    large = node.astext().replace(r"\frac", r"\dfrac")
    writer.body.append(f'<div class="formula-block">{picture(large)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("drawn", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
