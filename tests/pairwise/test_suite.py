"""All pairwise rankers under the common suite."""

from suites.rankers import (
    RankerSuite,
    test_an_option_is_refused_by_name_or_meant,
    test_every_method_is_in_the_suite,
)

__all__ = ["TestRankers", "test_an_option_is_refused_by_name_or_meant", "test_every_method_is_in_the_suite"]


class TestRankers(RankerSuite):
    """See tests/suites/rankers.py."""
