"""A simulated model behind a server on this machine, for trying out `podium judge`: no network, no key.

    python examples/simulated_model.py podium judge essays.csv --question "Better?" --base-url URL --model simulated

starts the server, runs the command with the server's address in place of URL, and ends with it. The model sees a hidden
quality of each text, with noise, and leans a little to the text that is shown first.
"""

import hashlib
import json
import math
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LEAN = 0.7  # to the first place, in log-odds
BLOCK = re.compile(r"\[(A|B) (\w+)\]\n(.*?)\n\[/\1 \2\]", re.DOTALL)


def draw(*words):
    """Noise of a logistic law that depends on the words alone: the same question gets the same answer."""
    digest = hashlib.sha256("\x1f".join(words).encode()).digest()
    chance = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    return math.log(chance / (1 - chance))


def verdict(text):
    """Which of the two texts of a prompt is better."""
    shown = {name: item for name, _, item in BLOCK.findall(text)}
    quality = {name: 2 * draw("quality", item) for name, item in shown.items()}
    margin = quality["A"] - quality["B"] + LEAN + draw("noise", shown["A"], shown["B"])
    return json.dumps({"reason": "It reads better.", "winner": "A" if margin > 0 else "B"})


class Chat(BaseHTTPRequestHandler):
    """Chat completions, as far as they are needed."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = body["messages"][1]["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        said = verdict(text)
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(said) // 4}
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        data = json.dumps({"model": "simulated-1", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing."""


def main():
    """Serve while the command runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    command = [url if word == "URL" else word for word in sys.argv[1:]]
    sys.exit(subprocess.run(command, check=False).returncode if command else "give a command, with URL in it")


if __name__ == "__main__":
    main()
