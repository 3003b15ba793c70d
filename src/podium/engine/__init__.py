"""Engines: run a function on chunks and add the results, in this process or in several, with the same bits."""

from podium.engine.base import Engine, Kept, Serial, report
from podium.engine.processes import Processes, engine_for

__all__ = ["Engine", "Kept", "Processes", "Serial", "engine_for", "report"]
