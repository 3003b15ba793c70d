"""A simulated model behind a server on this machine, for trying out `podium judge`: no network, no key.

    python examples/simulated_model.py podium judge essays.csv --question "Better?" --base-url URL --model simulated

starts the server, runs the command with the server's address in place of URL, and ends with it. The model sees a hidden
quality of each text, with noise, and leans a little to the text that is shown first.
"""

import subprocess
import sys

from podium.judge.simulated import simulated_model


def main():
    """Serve while the command runs."""
    if len(sys.argv) < 2:
        sys.exit("give a command, with URL in it")
    with simulated_model() as url:
        command = [url if word == "URL" else word for word in sys.argv[1:]]
        code = subprocess.run(command, check=False).returncode
    sys.exit(code)


if __name__ == "__main__":
    main()
