"""Errors and warnings: messages of parts, on one line, that mean the same wherever they travel."""

import copy
import pickle
import subprocess
import sys

import pytest

import podium.errors
from podium.errors import (
    DataWarning,
    InputError,
    InPython,
    Option,
    PodiumError,
    PodiumWarning,
    RefusedError,
    UnavailableError,
)

NAMES = [name for name in podium.errors.__all__ if name.endswith(("Error", "Warning")) and name != "RefusedError"]
PARTS = ("row 3: ", Option("missing", "mean"), InPython(" (or tol=)"), "; set ", Option("one_hot"))


@pytest.mark.parametrize("name", NAMES)
def test_a_message_is_its_parts_in_order_worded_by_whoever_shows_it(name):
    kind = getattr(podium.errors, name)
    for told in (kind(*PARTS), pickle.loads(pickle.dumps(kind(*PARTS)))):
        assert str(told) == "row 3: missing='mean' (or tol=); set one_hot="
        shouted = told.worded(lambda option: option.name.upper(), python=False)
        assert shouted == "row 3: MISSING; set ONE_HOT"
        assert told.worded(lambda option: "…") == "row 3: … (or tol=); set …"
        assert told.options == (PARTS[1], PARTS[4])
        assert isinstance(told, PodiumWarning if name.endswith("Warning") else PodiumError)


def test_an_option_has_a_value_where_one_was_given_even_none():
    for value in (None, False, 0, ""):
        assert Option("ties", value).has_value
        assert str(Option("ties", value)) == f"ties={value!r}"
        assert pickle.loads(pickle.dumps(Option("ties", value))).has_value
    for bare in (Option("ties"), pickle.loads(pickle.dumps(Option("ties")))):
        assert not bare.has_value
        assert str(bare) == "ties="
        assert not bare.column
    assert Option("judge", column=True).column


# Where str.splitlines cuts a text, tried here on every character of the basic plane.
ENDS = [chr(code) for code in range(0x10000) if len(f"a{chr(code)}b".splitlines()) > 1]


def test_a_message_is_one_line_with_any_label_and_says_all_other_characters_as_they_are():
    assert len(ENDS) == 10
    for end in ENDS:
        told = str(InputError("no item is called ", f"tea{end}pot"))
        assert told == f"no item is called tea{end.encode('unicode_escape').decode()}pot"
        assert str(DataWarning(f"tea{end}", Option("x", 1))).splitlines() == [
            str(DataWarning(f"tea{end}", Option("x", 1)))
        ]
    for plain in ("tab\there", "é 茶 \u2027 \u202a \x1f \t \x84 \x86 \x0e", ""):
        assert str(InputError(plain)) == plain


def test_a_refusal_has_a_code_for_programs_and_words_for_people():
    told = RefusedError("closed", "the campaign is closed")
    assert (told.code, str(told), told.args) == ("closed", "the campaign is closed", ("the campaign is closed",))


def test_errors_are_those_that_other_code_catches():
    from sklearn.exceptions import NotFittedError as Theirs

    parents = {
        "InputError": ValueError, "ConvergenceError": ArithmeticError, "RefusedError": ValueError,
        "EngineError": RuntimeError, "NotFittedError": Theirs, "PodiumWarning": UserWarning,
    }  # fmt: skip
    for name, parent in parents.items():
        assert issubclass(getattr(podium.errors, name), parent)
    assert issubclass(UnavailableError, PodiumError)
    ours = podium.errors.NotFittedError
    assert ours is podium.errors.NotFittedError, "made once"
    assert (ours.__name__, ours.__module__) == ("NotFittedError", "podium.errors")
    assert "before `fit`" in ours.__doc__
    with pytest.raises(AttributeError, match="has no attribute"):
        podium.errors.NoSuchError  # noqa: B018


def test_the_error_made_on_first_use_is_there_at_once():
    code = "import podium.errors as e; assert issubclass(e.NotFittedError, e.PodiumError)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_refusal_travels_between_processes_with_its_code():
    told = pickle.loads(pickle.dumps(RefusedError("no-ties", "this campaign takes no ties")))
    assert (type(told), told.code, str(told)) == (RefusedError, "no-ties", "this campaign takes no ties")
    assert str(copy.copy(told)) == str(told)


def test_the_error_made_on_first_use_is_made_once_and_is_both(monkeypatch):
    from sklearn.exceptions import NotFittedError as Theirs

    monkeypatch.delitem(vars(podium.errors), "NotFittedError", raising=False)
    made = podium.errors.NotFittedError
    assert vars(podium.errors)["NotFittedError"] is made
    assert made.__bases__ == (PodiumError, Theirs)
    assert (made.__name__, made.__module__) == ("NotFittedError", "podium.errors")
    assert made.__doc__ == "Something learned was asked for before `fit`; scikit-learn's error of this name."
    assert str(made("set ", Option("x", 1))) == "set x=1"
    with pytest.raises(AttributeError) as caught:
        getattr(podium.errors, "Other")  # noqa: B009
    assert str(caught.value) == "module 'podium.errors' has no attribute 'Other'"
