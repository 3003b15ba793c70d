"""Pictures and pages of a leaderboard, for `podium rank --plot` and `--report`."""

from __future__ import annotations

import shlex
import sys
import warnings
from typing import TYPE_CHECKING, Any

from podium.errors import PodiumWarning

if TYPE_CHECKING:
    from podium.comparisons import Comparisons
    from podium.ranking import Ranking

__all__ = ["Show"]


class Show:
    """What the user asked to be shown. The page's name is checked at once, before any vote is read."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.warnings: list[str] = []
        if given["report"]:
            from podium import report

            report.check_path(given["report"])
            self._listen()

    @property
    def in_order(self) -> bool:
        """Whether the order of the votes is needed."""
        return bool(self.given["report"]) or (bool(self.given["plot"]) and self.given["picture"] == "history")

    def _listen(self) -> None:
        """Keep our warnings for the page, and pass them on as before."""
        tell = warnings.showwarning

        def heard(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, PodiumWarning):
                self.warnings.append(str(message))
            tell(message, category, *rest, **more)

        warnings.showwarning = heard

    def write(self, ranking: Ranking, comparisons: Comparisons, model: Any) -> None:
        """Draw the picture and write the page, where asked for."""
        if self.given["plot"]:
            self._plot(ranking, comparisons)
        if self.given["report"]:
            self._report(ranking, comparisons, model)

    def _plot(self, ranking: Ranking, comparisons: Comparisons) -> None:
        from podium import plots

        g = self.given
        if g["picture"] == "intervals":
            figure = plots.intervals(ranking, level=g["level"], top=g["top"], title=g["title"])
        elif g["picture"] == "wins":
            figure = plots.wins(comparisons, ranking, top=g["top"], title=g["title"])
        else:
            from podium.diagnosis import score_history

            told = score_history(comparisons)
            figure = plots.history(told.votes.tolist(), told.items, told.scores, title=g["title"])
        plots.save(figure, g["plot"])

    def _report(self, ranking: Ranking, comparisons: Comparisons, model: Any) -> None:
        from podium.diagnosis import diagnose, score_history
        from podium.report import Report

        singly = comparisons.ordered and comparisons.count is None
        page = Report(
            ranking,
            comparisons,
            title=self.given["title"] or "Leaderboard",
            method=self._method(),
            command=shlex.join(["podium", *sys.argv[1:]]),
            warnings=tuple(self.warnings),
            level=self.given["level"],
            model=model,
            diagnosis=diagnose(comparisons),
            history=score_history(comparisons) if singly and len(comparisons.left) >= 100 else None,
        )
        page.write(self.given["report"])

    def _method(self) -> str:
        g = self.given
        said = [
            f"{name.replace('_', '-')}={g[name]}" for name in ("l2", "ties", "scale", "anchor") if g[name] is not None
        ]
        said += ["side-effect"] if g["side_effect"] else []
        said += [f"ci={g['ci']}"] if g["ci"] else []
        return f"{g['method']} ({', '.join(said)})" if said else str(g["method"])
