"""What holds for every test: no time is ever asserted, so that a busy machine fails nothing, and luck decides nothing.

A property is tried on the same inputs at every run; `make long` tries fresh ones, where a find is a find and not a
change that cannot land.
"""

from hypothesis import settings

settings.register_profile("podium", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("podium")
