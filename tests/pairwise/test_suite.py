"""All pairwise rankers under the common suite."""

from suites.rankers import RankerSuite, test_every_method_is_in_the_suite

__all__ = ["TestRankers", "test_every_method_is_in_the_suite"]


class TestRankers(RankerSuite):
    """See tests/suites/rankers.py."""
