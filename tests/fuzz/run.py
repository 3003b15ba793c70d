"""Fuzz one target in a process of its own: python tests/fuzz/run.py TARGET [--first SEED] [--count N].

Input number SEED of a target is always the same. Allowed are success, our own errors and our own warnings, and what
scikit-learn says about arrays that no estimator takes. Anything else is a finding, told in one JSON line with its seed.
"""

import argparse
import contextlib
import faulthandler
import importlib
import inspect
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zlib

sys.path[:0] = [str(pathlib.Path(__file__).parents[1])]

import numpy as np  # noqa: E402

# Rooms whose whole `__all__` is for users.
ROOMS = ("podium", "podium.active", "podium.metrics", "podium.multilabel", "podium.ordinal", "podium.datasets",
         "podium.models", "podium.store", "podium.evaluate.diagnosis", "podium.evaluate.assessment",
         "podium.evaluate.differences", "podium.evaluate.feature_diagnosis", "podium.show.plots", "podium.show.report",
         "podium.show.feature_plots", "podium.show.grade_plots", "podium.show.active_plots")  # fmt: skip
SECONDS = 60  # of this process' own CPU, far more than any of these inputs takes
WAITING = 900  # seconds on the clock: an input that waits for something uses no CPU, a busy machine gives little
MANY = re.compile(
    r"(?<![\w.,–-])1 (check |more |other |compared )?(items|votes|rows|labels|grades|judges|pairs|columns|groups|features|scores|examples)\b"
)
MEGABYTES = 1500  # by which the most memory ever used may grow in one input


class TooLong(BaseException):
    """Not an Exception, so that no handler of the library keeps it."""


def late(number, frame):
    raise TooLong(f"no end after {SECONDS} seconds of CPU")


def all_targets():
    from fuzz import commands

    return entries() | commands.targets()


def entries():
    """Targets that call the library."""
    from fuzz import api, arguments, asking, learners, over_http, showing, stored

    rooms = (api, learners, asking, showing, stored, over_http, arguments)
    return {name: target for room in rooms for name, target in room.targets().items()}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def is_sklearns(problem):
    """Whether scikit-learn itself refused an array or a parameter."""
    frames = traceback.extract_tb(problem.__traceback__)
    inner = [frame.filename.replace(os.sep, "/") for frame in frames]
    ours = max((k for k, name in enumerate(inner) if "/podium/" in name), default=0)
    return isinstance(problem, ValueError | TypeError | AttributeError) and any(
        "/sklearn/utils/" in name for name in inner[ours:]
    )


def is_foreign(event):
    """Whether a warning came up in our code and is neither ours nor the one that scikit-learn wants of learners."""
    from sklearn.exceptions import DataConversionWarning

    from podium.errors import PodiumWarning

    return is_ours(event.filename) and not issubclass(event.category, PodiumWarning | DataConversionWarning)


def is_ours(name):
    """Whether a warning comes from the package, or from NumPy at its call; wherever the checkout lies."""
    import podium

    return name.startswith(os.path.dirname(podium.__file__)) or "/numpy/" in name.replace(os.sep, "/")


def finding(target, seed, folder):
    """What is wrong with one input (a short key and the words, or None), and whether it was done or refused."""
    from fuzz import inputs
    from podium.errors import PodiumError

    ignored = []
    sys.unraisablehook = lambda event: ignored.append(
        f"{type(event.exc_value).__name__}: {event.exc_value}, in {event.object!r}"
    )
    before = peak()
    rng = np.random.default_rng([zlib.crc32(target.__name__.encode()) if hasattr(target, "__name__") else 0, seed])
    inputs.LEVEL[0] = float(rng.choice([0.0, 0.2, 0.5, 1.0]))
    found, ended = None, "refused"
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                ended = target(rng, folder) or "done"
            except PodiumError as problem:
                if len(str(problem).splitlines()) != 1 or MANY.search(str(problem)):
                    found = "sentence", f"not one line, or one of many: {str(problem)!r}"
            except BaseException as problem:  # a panic of polars is no Exception
                if not is_sklearns(problem):
                    found = where(problem), "".join(traceback.format_exception(problem))[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    foreign = [each for each in said if is_foreign(each)]
    if ignored:
        found = "ignored", f"an exception was ignored: {ignored[0]}"
    elif found is None and foreign:
        each = foreign[0]
        found = (
            f"{each.category.__name__} at {short(each.filename)}:{each.lineno}",
            f"a warning that is not ours: {each.message}",
        )
    elif found is None and peak() - before > MEGABYTES:
        found = "memory", f"{peak() - before:.0f} MB more memory than before"
    return found, ended


def short(name):
    return name.replace(os.sep, "/").rpartition("/podium/")[2] or name


def where(problem):
    frames = [
        frame
        for frame in traceback.extract_tb(problem.__traceback__)
        if "/podium/" in frame.filename.replace(os.sep, "/")
    ]
    place = f" at {short(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(problem).__name__}{place}" if frames else f"{type(problem).__name__} {str(problem)[:160]}"


def public():
    """Every function and method that users call, by name: what docs/api*.md list and what the rooms offer."""
    names = set()
    pages = sorted((pathlib.Path(__file__).parents[2] / "docs").glob("api*.md"))
    text = "\n".join(page.read_text() for page in pages)
    blocks = re.findall(r"\.\. auto(function|class|module):: (\S+)((?:\n   :.*)*)", text)
    for kind, name, more in blocks:
        if kind == "module":
            listed = re.search(r":members: (.+)", more)
            names |= {f"{name}.{each.strip()}" for each in listed[1].split(",")} if listed else set()
        else:
            names.add(name)
    for room in ROOMS:
        names |= {f"{room}.{each}" for each in importlib.import_module(room).__all__}
    found = {}
    for name in sorted(names):
        room, _, last = name.rpartition(".")
        found |= codes_of(name, getattr(importlib.import_module(room), last))
    return found


def codes_of(name, thing):
    """The code of a function, or of the methods and properties that a class of ours defines."""
    if inspect.isclass(thing):
        if issubclass(thing, BaseException | Warning) or not thing.__module__.startswith("podium"):
            return {}
        own = [
            (each, member) for cls in thing.__mro__ if "podium" in cls.__module__ for each, member in vars(cls).items()
        ]
        methods = {
            each: getattr(member, "__func__", getattr(member, "fget", getattr(member, "func", member)))
            for each, member in reversed(own)
            if not each.startswith("_")
        }
        return {
            f"{name}.{each}": code
            for each, member in methods.items()
            if (code := getattr(inspect.unwrap(member), "__code__", None))
            if callable(member)
        }
    code = getattr(inspect.unwrap(thing), "__code__", None) if callable(thing) else None
    return {name: code} if code else {}


def reach():
    """Make every ordinary call; print the public entries that none of them enters, and the calls that do not succeed."""
    from fuzz import arguments

    left, called, failed = public(), set(), {}
    print(json.dumps({"public": len(left)}), flush=True)

    def note(frame, event, argument):
        if event == "call":
            called.add(frame.f_code)

    for call in arguments.ordinary():

        def plain(rng, folder, call=call):
            with contextlib.chdir(folder):
                call()

        with tempfile.TemporaryDirectory(prefix="podium-fuzz-") as folder:
            sys.setprofile(note)
            try:
                found, ended = finding(plain, 0, pathlib.Path(folder))
            finally:
                sys.setprofile(None)
        if found or ended != "done":
            failed[call.name] = found or ended
    print(
        json.dumps({"left": sorted(each for each, code in left.items() if code not in called), "failed": failed}),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target", help="a target, or `reach`: every public entry called as it should be")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    given = parser.parse_args()
    faulthandler.enable()
    signal.signal(signal.SIGPROF, late)
    if given.target == "reach":
        reach()
        return
    target = all_targets()[given.target]
    target.__name__ = given.target
    succeeded = 0
    for seed in range(given.first, given.first + given.count):
        print(json.dumps({"seed": seed}), flush=True)  # a crash leaves this as the last line
        faulthandler.dump_traceback_later(WAITING, exit=True)  # also for a loop that never comes back to Python
        folder = pathlib.Path(tempfile.mkdtemp(prefix="podium-fuzz-"))
        try:
            found, ended = finding(target, seed, folder)
            succeeded += ended == "done"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if found:
            print(json.dumps({"seed": seed, "key": found[0], "what": found[1]}), flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps({"inputs": given.count, "done": succeeded}), flush=True)


if __name__ == "__main__":
    main()
