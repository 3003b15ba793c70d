"""Every marked figure of README and docs is the one that was measured, with its day and commit."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import podium
from benchmarks import figures, measure, printed, ran


@pytest.mark.parametrize("page", figures.PAGES)
def test_every_marked_block_is_what_the_results_say(page):
    text = (figures.ROOT / page).read_text()
    assert figures.BLOCK.search(text)
    assert figures.rewritten(text) == text, "run make figures"
    assert text.count("<!-- figures:") == text.count("<!-- /figures -->") == len(figures.BLOCK.findall(text))


def test_every_family_with_results_is_on_the_page():
    page = (figures.ROOT / "docs" / "benchmarks.md").read_text()
    assert {path.stem for path in figures.RESULTS.glob("*.json") if figures.kept(path.stem)} == set(figures.FAMILIES)
    for title in figures.FAMILIES.values():
        assert f"\n| {title} | " in page
    assert figures.PICTURE.read_bytes().startswith(b"\x89PNG")


def test_aims_are_reached_or_named_as_missed(tmp_path, monkeypatch):
    def row(way, ratio, reach=None, gap=None, problem=None):
        return {"way": way, "ratio": ratio, "reach": reach, "gap": gap, "problem": problem, "seconds": ratio}

    results = [row("podium", 1.0), row("quick", 0.5, gap=0.2), row("slow", 8.0, reach=5), row("near", 4.0, reach=5),
               row("gone", None, reach=5, problem="not installed")]  # fmt: skip
    entry = {"title": "Work", "limit": 0.9, "date": "2030-01-02", "commit": "abc1234", "results": results}
    (tmp_path / "pairwise.json").write_text(json.dumps({"work": entry}))
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    assert figures.missed() == [
        "- Work (`work`): near 4×, wanted at least 5×",
        "- Work (`work`): 1 s, wanted at most 0.9 s",
    ]
    summary = figures.summary()
    assert "Of 3 measurements of other ways, 2 took longer than Podium; the median took 4× as long." in summary
    assert "Of 2 aims that we set ourselves and measured, 1 are reached." in summary
    assert "| Votes | 3 | 4× | 0.5× to 8× |" in summary
    assert "Faster than Podium:\n\n- Votes: quick (a worse fit)\n" in summary


def test_a_result_that_changes_makes_the_block_stale(tmp_path, monkeypatch):
    for path in figures.RESULTS.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    changed = json.loads((tmp_path / "pairwise.json").read_text())
    changed["arrays"]["results"][0]["seconds"] = 0.123
    changed["arrays"] |= {"date": "2030-01-02", "commit": "abc1234"}
    (tmp_path / "pairwise.json").write_text(json.dumps(changed))
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    text = figures.rewritten((figures.ROOT / "README.md").read_text())
    assert "| 0.12 s |" in text
    assert "2030-01-02: abc1234" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0045, "4.5 ms"), (0.0996, "0.1 s"), (1.234, "1.2 s"), (14.75, "15 s")]
)
def test_times_are_short(seconds, text):
    assert figures.time_of(seconds) == text


def test_every_command_that_a_page_quotes_can_be_run_by_the_one_that_measures_all():
    named = measure.commands()
    words = [command.words for command in named]
    assert len(words) == len(set(words)) > 20
    assert len({printed.file_of(each) for each in words}) == len(words), (
        "each keeps what it prints in a file of its own"
    )
    for command in named:
        module = figures.ROOT / (command.words.split()[0].replace(".", "/") + ".py")
        assert module.exists() or (module.with_suffix("") / "__main__.py").exists(), command
    pages = {page for command in named for page in command.pages}
    assert {"README.md", "docs/leagues.md", "docs/judge.md", "docs/active-theory.md"} <= pages


def test_what_only_a_user_has_is_not_made_up():
    assert measure.filled("papers.ordinal --data DIR", None) is None
    assert measure.filled("papers.ordinal --data DIR", "a b") == "papers.ordinal --data 'a b'"
    assert measure.filled("benchmarks.run --full --data DIR --family app", None) == "benchmarks.run --full --family app"
    assert measure.filled("benchmarks.judge injections --base-url URL --model NAME", "d") is None
    assert measure.filled("benchmarks.active grid --picture FILE", "d") is None


TABLES = "two tables\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nand\n\n| c |\n|---|\n| 3 |\nthe end\n"


def test_a_block_that_names_a_command_holds_the_tables_it_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(printed, "PRINTED", tmp_path)
    page = "x\n\n<!-- figures: python -m papers.nothing --seeds 4{} -->\nstale\n<!-- /figures -->\ny\n"
    with pytest.raises(SystemExit, match="nothing is kept of python -m"):
        figures.rewritten(page.format(""))
    now = printed.Print("2030-01-02", "abc1234", 3.4, TABLES)
    printed.file_of("papers.nothing --seeds 4").write_text(str(now))
    below = "\nMeasured 2030-01-02 (abc1234) by `python -m papers.nothing --seeds 4`.\n<!-- /figures -->\ny\n"
    assert figures.rewritten(page.format("; 2")).endswith(f"-->\n| c |\n|---|\n| 3 |\n{below}")
    whole = figures.rewritten(page.format(""))
    assert whole.endswith(f"| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n| 3 |\n{below}")
    assert figures.rewritten(whole) == whole
    with pytest.raises(SystemExit, match="printed 2 tables"):
        figures.rewritten(page.format("; 3"))
    copied = printed.Print("2030-01-01", "abc1234", None, TABLES)
    printed.file_of("papers.nothing --seeds 4").write_text(str(copied))
    assert "As this page had it on 2030-01-01 (abc1234), from `python -m" in figures.rewritten(page.format("; 1"))
    assert not printed.is_current("papers.nothing --seeds 4")


FAKES = {
    "quick": "from papers import code\nprint('| a |\\n|---|\\n|', code.Cell().shown(), '|')",
    "slow": "import time; time.sleep(60)",
    "broken": "raise SystemExit(3)",
}
CODE = '''"""Of cells."""
import warnings
from math import floor, ceil
NUMBER = 1
def stays(): return floor(NUMBER)
def other(): from podium.kernels.pairwise import loop
def wrong(): return ceil(NUMBER)
class Cell:
    """A cell."""
    def shown(self):
        """One."""
        if self is None: raise ValueError("none")
        if self == 7: warnings.warn("seven")
        return stays()
    def hidden(self): return 2
'''


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A project of its own: three commands that a page quotes, in a git repository with one commit."""
    for folder in ("benchmarks", "docs", "papers", "src/podium/kernels/pairwise"):
        (tmp_path / folder).mkdir(parents=True)
    for name, source in FAKES.items():
        (tmp_path / "benchmarks" / f"fake_{name}.py").write_text(source)
    (tmp_path / "papers" / "__init__.py").write_text("")
    (tmp_path / "papers" / "code.py").write_text(CODE)
    (tmp_path / "src/podium/kernels/pairwise/loop.py").write_text(
        "from cython.cimports.podium.kernels.pairwise import far"
    )
    (tmp_path / "src/podium/kernels/pairwise/far.py").write_text("one")
    (tmp_path / "src/podium/kernels/pairwise/near.py").write_text("one")
    (tmp_path / "README.md").write_text("`python -m benchmarks.fake_broken`\n")
    page = "<!-- figures: python -m benchmarks.fake_quick -->\n<!-- /figures -->\n`python -m benchmarks.fake_slow`\n"
    (tmp_path / "docs" / "page.md").write_text(page + "`python -m benchmarks.fake_far --data DIR`")
    (tmp_path / ".gitignore").write_text("__pycache__/\nbuild/\nprinted/\nran/\n")
    git(tmp_path, "init")
    commit(tmp_path)
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    monkeypatch.setattr(printed, "ROOT", tmp_path)
    monkeypatch.setattr(printed, "PRINTED", tmp_path / "printed")
    monkeypatch.setattr(ran, "RAN", tmp_path / "ran")
    monkeypatch.setattr(figures, "main", lambda arguments: None)
    return tmp_path


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", ".")
    git(folder, "commit", "-m", "change")


def test_measuring_goes_on_where_it_stopped_and_names_what_is_left(house, capsys):
    printed.PRINTED.mkdir()
    printed.file_of("benchmarks.fake_slow").write_text(str(printed.Print("2020-01-02", "abc1234+", 7200, "")))
    measure.main(["--budget", "60"])
    ran = capsys.readouterr().out
    assert "python -m benchmarks.fake_quick  (never kept; to go: about 120 min for 1, 1 of unknown length)" in ran
    assert "benchmarks.fake_broken: failed with exit code 3" in ran
    assert "benchmarks.fake_slow: left for another day, takes 120 min" in ran
    assert "benchmarks.fake_far --data DIR: needs what is not here" in ran
    last = printed.kept("benchmarks.fake_quick")
    assert last.tables == ["| a |\n|---|\n| 1 |\n"]
    assert printed.kept("benchmarks.fake_broken") is None

    measure.main(["--budget", "60"])
    assert "benchmarks.fake_quick  (" not in capsys.readouterr().out, "it is as this code prints it"
    measure.main(["--only", "fake_quick"])
    assert "python -m benchmarks.fake_quick  (20" in capsys.readouterr().out, "asked for by name, it runs again"
    measure.main(["--list"])
    *_, latest, _, legend = capsys.readouterr().out.splitlines()
    assert latest.startswith(f"* {last.day}, {last.commit}, "), "oldest first"
    assert legend == "* by the code as it is"


def test_a_command_that_outlasts_the_budget_is_stopped_and_keeps_nothing(house):
    slow = measure.Command("benchmarks.fake_slow", ())
    assert measure.measured(slow, slow.words, 0.5) == "not finished within the budget"
    assert slow.last() == "never kept"


def test_what_ran_is_written_down_by_file_and_function(house):
    measure.main(["--only", "fake_quick"])
    assert "| 1 |" in printed.kept("benchmarks.fake_quick").text
    assert ran.kept("benchmarks.fake_quick.txt") == {
        "benchmarks/fake_quick.py": [], "papers/__init__.py": [], "papers/code.py": ["Cell.shown", "stays"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "current"),
    [
        ("Of cells.", "Of some cells.", True),  # words for people
        ('"""One."""', '"""Two."""  # of them', True),
        ('ValueError("none")', 'TypeError("nothing")', True),
        ('warnings.warn("seven")', 'warnings.warn(f"it is {7}")', True),
        ("if self == 7", "if self == 8", False),
        ("def wrong(): return ceil(NUMBER)", "def wrong(): return 7", True),  # it did not run
        ("def wrong(): return ceil(NUMBER)", "", True),
        ("import floor, ceil", "import floor, ceil, exp", True),  # nobody who ran uses it
        ("def hidden(self): return 2", "def hidden(self): return 3", True),
        ("return floor(NUMBER)", "return floor(NUMBER) + 0", False),
        ("NUMBER = 1", "NUMBER = 1\nOTHER: int = 2\nMORE, LESS = 3, 4\n__all__ = ['Cell']", True),
        ("NUMBER = 1", "NUMBER = 2", False),
        ("NUMBER = 1\n", "", False),
        ("NUMBER = 1", "NUMBER = 1\nfloor = abs", False),
        ("NUMBER = 1", "NUMBER = 1\nceil, floor = abs, abs", False),
        ("NUMBER = 1", "NUMBER = 1\nNUMBER += 1", False),
        ("import floor, ceil", "import trunc as floor, ceil", False),
        ("def hidden(self): return 2", "def hidden(self): return 2\n    def __str__(self): return ''", False),
        ("class Cell:", "class Cell(int):", False),
        ("def shown(self):", "def shown(self, more=0):", False),
    ],
)
def test_a_change_of_what_ran_makes_a_figure_old_and_no_other(house, old, new, current):
    measure.main(["--only", "fake_quick"])
    assert old in CODE
    (house / "papers" / "code.py").write_text(CODE.replace(old, new))
    assert printed.is_current("benchmarks.fake_quick") is current
    commit(house)
    assert printed.is_current("benchmarks.fake_quick") is current


def test_a_compiled_kernel_that_a_module_imports_counts_whole(house):
    measure.main(["--only", "fake_quick"])
    kernels = house / "src/podium/kernels/pairwise"
    (kernels / "near.py").write_text("two")
    (house / "docs" / "page.md").write_text("another page")
    commit(house)
    assert printed.is_current("benchmarks.fake_quick"), "nobody imports it"
    (kernels / "far.py").write_text("one  # of them")
    commit(house)
    assert printed.is_current("benchmarks.fake_quick")
    (kernels / "far.py").write_text("two")
    assert not printed.is_current("benchmarks.fake_quick")
    (kernels / "far.py").write_text("one")
    assert printed.is_current("benchmarks.fake_quick")
    (kernels / "far.pxd").write_text("cdef int f()")
    commit(house)
    assert not printed.is_current("benchmarks.fake_quick"), "a file that was not there"


def test_what_was_printed_by_a_tree_with_changes_or_without_a_list_of_what_ran_is_old(house):
    (house / "papers" / "code.py").write_text(CODE.replace("NUMBER = 1", "NUMBER = 2"))
    measure.main(["--only", "fake_quick"])
    assert printed.kept("benchmarks.fake_quick").commit.endswith("+")
    assert not printed.is_current("benchmarks.fake_quick")
    commit(house)
    measure.main(["--only", "fake_quick"])
    assert re.fullmatch("[0-9a-f]{7,}", printed.kept("benchmarks.fake_quick").commit)
    assert printed.is_current("benchmarks.fake_quick")
    (ran.RAN / "benchmarks.fake_quick.txt").unlink()
    assert not printed.is_current("benchmarks.fake_quick")


def test_tracing_sees_through_processes_and_leaves_the_words_of_a_function(tmp_path):
    said = tmp_path / "ran"
    program = (
        "import subprocess, sys\n"
        "from podium.text import counted\n"
        "assert counted.__doc__\n"
        "subprocess.run([sys.executable, '-m', 'podium', '--version'], check=True)"
    )
    environment = {**os.environ, **ran.tracing(said, figures.ROOT)}
    environment["PODIUM_RAN_COMPILED"] = str(tmp_path / "compiled")
    if Path(podium.__file__).parent.parent != figures.ROOT / "src":
        pytest.skip("the package under test is not that of this folder")
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=figures.ROOT)
    names = said.read_text().splitlines()
    assert "src/podium/text.py:" in names
    assert "src/podium/text.py:counted" not in names, "only looked at"
    assert "src/podium/__main__.py:" in names
    assert len({name for name in names if name.startswith("src/podium/cli/")}) > 3
    assert list((tmp_path / "compiled").rglob("text.*.pyc")), "compiled once, whatever others do"
    assert not list((tmp_path / "compiled").rglob("click"))


def test_a_command_that_no_page_quotes_is_refused(house):
    with pytest.raises(SystemExit, match="no page quotes a command with fake_other"):
        measure.main(["--only", "fake_other"])
