"""Memory follows the distinct pairs, not the files: under a limit a tenth of their size, they are counted."""

import gzip
import os
import subprocess
import sys
from functools import partial

import pytest

LIMIT = 128 << 20  # bytes beyond what Python and polars take before they read anything
# Each thread's own heap reserves up to 128 MB of addresses nobody uses, and RLIMIT_AS counts them: one heap for all.
ONE_HEAP = {"MALLOC_ARENA_MAX": "1", "POLARS_MAX_THREADS": "2"}
SCRIPT = """
import resource, sys
import polars, scipy.linalg, scipy.optimize, scipy.sparse.linalg
from podium import BradleyTerry, read_comparisons
BradleyTerry(l2=0.01).fit(read_comparisons(sys.argv[2]))  # whatever is loaded on first use is loaded
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
votes = read_comparisons(sys.argv[1])
print(len(votes), len(votes.left), *BradleyTerry(l2=0.01).fit(votes).ranking_.order)
if len(sys.argv) > 4:
    bytearray(int(sys.argv[3]) + (64 << 20))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc as on Linux")
def test_files_ten_times_larger_than_memory_are_ranked(tmp_path):
    # One order throughout: the fit needs the libraries that the small file has loaded, and no more.
    row = "tea,milk,{}\nmilk,cola,{}\ntea,cola,{}\n".replace("{}", "a remark that nobody reads " * 40)
    block = (row * 300).encode()
    blocks = 10 * LIMIT // len(block) + 1
    folder = tmp_path / "votes"
    folder.mkdir()
    for k in range(2):
        with gzip.open(folder / f"part{k}.csv.gz", "wb", compresslevel=1) as file:
            file.write(b"winner,loser,remark\n")
            for _ in range(blocks // 2 + 1):
                file.write(block)
    (tmp_path / "small.csv").write_text("winner,loser\ntea,milk\nmilk,cola\ntea,cola\n")
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(folder), str(tmp_path / "small.csv"), str(LIMIT)]
    run = partial(subprocess.run, capture_output=True, text=True, env={**os.environ, **ONE_HEAP})
    done = run(command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(2 * (blocks // 2 + 1) * 900), "3", "tea", "milk", "cola"]
    over = run([*command[:-3], command[-2], *command[-2:], "more"])
    assert "MemoryError" in over.stderr, "the limit is one"
