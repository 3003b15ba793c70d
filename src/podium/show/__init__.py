"""Pictures and pages from values.

Every picture is a matplotlib figure that belongs to nobody (no pyplot, no global state); `save` writes it as PNG, SVG
or PDF. A `Report` is one HTML file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._lazy import lazy

if TYPE_CHECKING:
    from podium.show.active_plots import cost_by_questions
    from podium.show.canvas import save
    from podium.show.embedded import embed
    from podium.show.feature_plots import coefficients, learning_curves, outliers
    from podium.show.grade_plots import confusion, progress, scores_by_grade
    from podium.show.plots import calibration, history, intervals, win_rates, wins
    from podium.show.report import Report, vote_summary
    from podium.show.time_plots import curves

_LAZY = {
    "Report": "podium.show.report",
    "calibration": "podium.show.plots",
    "coefficients": "podium.show.feature_plots",
    "confusion": "podium.show.grade_plots",
    "embed": "podium.show.embedded",
    "curves": "podium.show.time_plots",
    "cost_by_questions": "podium.show.active_plots",
    "history": "podium.show.plots",
    "intervals": "podium.show.plots",
    "learning_curves": "podium.show.feature_plots",
    "outliers": "podium.show.feature_plots",
    "progress": "podium.show.grade_plots",
    "save": "podium.show.canvas",
    "scores_by_grade": "podium.show.grade_plots",
    "vote_summary": "podium.show.report",
    "win_rates": "podium.show.plots",
    "wins": "podium.show.plots",
}

__all__ = [
    "Report",
    "calibration",
    "coefficients",
    "confusion",
    "cost_by_questions",
    "curves",
    "embed",
    "history",
    "intervals",
    "learning_curves",
    "outliers",
    "progress",
    "save",
    "scores_by_grade",
    "vote_summary",
    "win_rates",
    "wins",
]

__getattr__, __dir__ = lazy(__name__, _LAZY)
