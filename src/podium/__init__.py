"""Podium turns imperfect feedback into a ranking you can defend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium import errors
from podium._lazy import lazy
from podium._version import __version__

if TYPE_CHECKING:
    from podium.data.comparisons import Comparisons
    from podium.data.files import read_comparisons, read_rankings
    from podium.data.rankings import Rankings
    from podium.models import load, save
    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.counting import Borda, Copeland, WinRate
    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.dynamic import DynamicBradleyTerry
    from podium.pairwise.elo import Elo
    from podium.pairwise.least_squares import LeastSquares
    from podium.pairwise.online import OnlineRABF
    from podium.pairwise.plackett_luce import PlackettLuce
    from podium.pairwise.rabf import RABF
    from podium.pairwise.spectral import RankCentrality
    from podium.ranking.ranking import Ranking

# Name -> module. Loaded on first use, so that `import podium` costs about what NumPy costs.
_LAZY = {
    "Borda": "podium.pairwise.counting",
    "BradleyTerry": "podium.pairwise.bradley_terry",
    "Comparisons": "podium.data.comparisons",
    "Copeland": "podium.pairwise.counting",
    "CrowdBradleyTerry": "podium.pairwise.crowd",
    "DynamicBradleyTerry": "podium.pairwise.dynamic",
    "Elo": "podium.pairwise.elo",
    "LeastSquares": "podium.pairwise.least_squares",
    "OnlineRABF": "podium.pairwise.online",
    "PlackettLuce": "podium.pairwise.plackett_luce",
    "RABF": "podium.pairwise.rabf",
    "RankCentrality": "podium.pairwise.spectral",
    "Ranking": "podium.ranking.ranking",
    "Rankings": "podium.data.rankings",
    "WinRate": "podium.pairwise.counting",
    "load": "podium.models",
    "read_comparisons": "podium.data.files",
    "read_rankings": "podium.data.files",
    "save": "podium.models",
}

__all__ = [  # noqa: RUF022  (sorted as text: RABF is a class, not a constant)
    "Borda",
    "BradleyTerry",
    "Comparisons",
    "Copeland",
    "CrowdBradleyTerry",
    "DynamicBradleyTerry",
    "Elo",
    "LeastSquares",
    "OnlineRABF",
    "PlackettLuce",
    "RABF",
    "RankCentrality",
    "Ranking",
    "Rankings",
    "WinRate",
    "__version__",
    "errors",
    "load",
    "read_comparisons",
    "read_rankings",
    "save",
]

__getattr__, __dir__ = lazy(__name__, _LAZY)
