"""A campaign against a list in memory, on SQLite."""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from suites.machine import CampaignMachine


def test_whatever_happens_the_log_is_the_list():
    limits = settings(max_examples=12, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(CampaignMachine, settings=limits)
