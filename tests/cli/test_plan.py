"""`podium plan`: how many votes a reliability takes."""

from click.testing import CliRunner

from podium.active import rehearsal
from podium.cli.plan import plan


def test_a_row_that_falls_short_is_not_rounded_up_to_what_is_wanted(monkeypatch):
    monkeypatch.setattr(rehearsal, "reliability_by_votes", lambda *_: [0.6, 0.796, 0.85])
    done = CliRunner().invoke(plan, ["--items", "40", "--runs", "2", "--format", "table"])
    assert done.exit_code == 0, done.output
    shown = [float(line.split()[2]) for line in done.stdout.splitlines()[1:4]]
    assert [value >= 0.8 for value in shown] == [False, False, True]
