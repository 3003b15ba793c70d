"""Pictures and pages of a leaderboard, for `podium rank --plot` and `--report`."""

from __future__ import annotations

import shlex
import sys
import warnings
from typing import TYPE_CHECKING, Any

from podium.cli.messages import worded
from podium.errors import PodiumWarning

if TYPE_CHECKING:
    from podium.data.comparisons import Comparisons
    from podium.ranking.ranking import Ranking

__all__ = ["Show"]

MANY = 100_000  # votes with covariates beyond which they are simulated 39 times only


class Show:
    """What the user asked to be shown. The page's name is checked at once, before any vote is read."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.warnings: list[str] = []
        if given["report"]:
            from podium.show import report

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
                self.warnings.append(worded(message))
            tell(message, category, *rest, **more)

        warnings.showwarning = heard

    def write(self, model: Any, comparisons: Comparisons, features: dict[str, Any]) -> None:
        """Draw the picture and write the page, where asked for: of this one model, and the features it was given."""
        if self.given["plot"]:
            self._plot(model, comparisons, features)
        if self.given["report"]:
            self._report(model, comparisons, features)

    @property
    def _level(self) -> float | None:
        return None if self.given["ci"] == "none" else self.given["level"]

    def _plot(self, model: Any, comparisons: Comparisons, features: dict[str, Any]) -> None:
        from podium.show import plots

        g, ranking = self.given, model.ranking_
        unit = plots.unit_of(ranking, model)
        if g["picture"] == "intervals":
            figure = plots.intervals(
                ranking, level=self._level, top=g["top"], unit=unit, least=g["min_votes"], title=g["title"]
            )
        elif g["picture"] == "wins":
            figure = plots.wins(comparisons, ranking, top=g["top"], least=g["min_votes"], title=g["title"])
        else:
            from podium.evaluate.diagnosis import score_history

            told = score_history(comparisons, model, **features).among(self._shown(ranking))
            figure = plots.history(
                told.votes.tolist(), told.items, told.scores, top=g["top"], unit=unit, title=g["title"]
            )
        plots.save(figure, g["plot"])

    def _shown(self, ranking: Ranking) -> set[Any] | None:
        """The items with votes enough; None for all."""
        if not self.given["min_votes"] or ranking.record is None:
            return None
        won, lost, tied = ranking.record
        return {
            item for item, many in zip(ranking.items, won + lost + tied, strict=True) if many >= self.given["min_votes"]
        }

    def _report(self, model: Any, comparisons: Comparisons, features: dict[str, Any]) -> None:
        from podium.evaluate.diagnosis import diagnose, score_history
        from podium.show.report import Report

        g, shown = self.given, self._shown(model.ranking_)
        singly = comparisons.ordered and comparisons.count is None
        history = None
        if singly and len(comparisons.left) >= 100:
            history = score_history(comparisons, model, **features).among(shown)
        by_vote = comparisons.covariates is not None and len(comparisons.left) > MANY
        page = Report(
            model.ranking_,
            comparisons,
            title=g["title"] or "Leaderboard",
            method=self._method(),
            command=shlex.join(["podium", *sys.argv[1:]]),
            warnings=tuple(self.warnings),
            level=self._level,
            simultaneous=g["simultaneous"],
            top=g["top"],
            min_votes=g["min_votes"],
            model=model,
            diagnosis=diagnose(comparisons, model, **features, shown=shown, replicates=39 if by_vote else 199),
            history=history,
        )
        page.write(g["report"])

    def _method(self) -> str:
        g = self.given
        said = [
            f"{name.replace('_', '-')}={g[name]}" for name in ("l2", "ties", "scale", "anchor") if g[name] is not None
        ]
        said += ["side-effect"] if g["side_effect"] else []
        said += [f"ci={g['ci']}"] if g["ci"] else []
        return f"{g['method']} ({', '.join(said)})" if said else str(g["method"])
