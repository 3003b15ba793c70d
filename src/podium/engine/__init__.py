"""Engines: run a function on chunks and add the results, in this process or in several, with the same bits."""

from podium.engine.base import Engine, Kept, Serial, report
from podium.engine.choosing import engine_for, running
from podium.engine.cluster import DaskEngine
from podium.engine.connecting import connect
from podium.engine.processes import Processes

__all__ = ["DaskEngine", "Engine", "Kept", "Processes", "Serial", "connect", "engine_for", "report", "running"]
