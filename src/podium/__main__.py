"""`python -m podium` is the command line."""

from podium.cli import run

run()
