"""A simulated model behind a server on this machine, for trying out `podium judge`: no network, no key.

    python examples/simulated_model.py podium judge essays.csv --question "Better?" --base-url URL --model simulated

starts the server, runs the command with the server's address in place of URL, and ends with it. The model sees a hidden
quality of each text, with noise, and leans a little to the text that is shown first.
"""

import shutil
import subprocess
import sys

from podium.judge.simulated import simulated_model


def main():
    """Serve while the command runs."""
    words = sys.argv[1:]
    if words in (["--help"], ["-h"]):
        print(__doc__.strip())
        return
    if not words or words[0].startswith("-"):
        sys.exit("give a command, with URL in it")
    if shutil.which(words[0]) is None:
        sys.exit(f"there is no command {words[0]!r}; check its name")
    with simulated_model() as url:
        code = subprocess.run([url if word == "URL" else word for word in words], check=False).returncode
    sys.exit(code)


if __name__ == "__main__":
    main()
