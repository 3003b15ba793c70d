"""Votes at an address: files served over HTTP by this machine to itself."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from podium import read_comparisons
from podium.errors import InputError

VOTES = pl.DataFrame({"winner": ["a", "b", "a"] * 50, "loser": ["b", "c", "c"] * 50, "text": ["long " * 40] * 150})


class Files(BaseHTTPRequestHandler):
    """Serves a folder, parts of files included, as object stores do."""

    folder = None
    sent = 0

    def do_GET(self):
        path = self.folder / self.path.lstrip("/").split("?")[0]
        if not path.exists():
            self.send_error(404)
            return
        data = path.read_bytes()
        asked = re.match(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        self.send_response(206 if asked else 200)
        if asked:
            first, last = asked.groups()
            start = int(first) if first else max(0, len(data) - int(last))
            end = int(last) + 1 if first and last else len(data)
            self.send_header("Content-Range", f"bytes {start}-{min(end, len(data)) - 1}/{len(data)}")
            data = data[start:end]
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            type(self).sent += len(data)
            self.wfile.write(data)

    do_HEAD = do_GET

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    VOTES.write_parquet(folder / "votes.parquet", compression="uncompressed", use_pyarrow=False)
    VOTES.write_csv(folder / "votes.csv")
    VOTES.write_ndjson(folder / "votes.jsonl")
    VOTES.write_ipc(folder / "votes.arrow")
    (folder / "broken.parquet").write_bytes(b"PAR1 no")
    Files.folder = folder
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["votes.parquet", "votes.csv", "votes.jsonl", "votes.arrow", "votes.csv?key=1"])
def test_files_at_an_address_are_read_as_those_here(address, name):
    votes = read_comparisons(f"{address}/{name}")
    assert votes.items == ("a", "b", "c")
    assert votes.count.tolist() == [50, 50, 50]


def test_several_addresses_and_files_are_read_together_by_any_number_of_jobs(address, tmp_path):
    VOTES.write_csv(tmp_path / "more.csv")
    for jobs in (1, 2):
        votes = read_comparisons([f"{address}/votes.parquet", tmp_path / "more.csv"], jobs=jobs)
        assert votes.count.tolist() == [100, 100, 100]


@pytest.mark.parametrize("name", ["none.parquet", "none.csv", "broken.parquet"])
def test_an_address_without_the_file_is_one_sentence(address, name):
    with pytest.raises(InputError, match=rf"{name}.*; check the (address|path)$") as caught:
        read_comparisons(f"{address}/{name}")
    assert "\n" not in str(caught.value)


def test_other_ways_than_http_are_for_columnar_files(tmp_path):
    with pytest.raises(
        InputError, match=r"^s3://bucket/votes.csv: from s3:// only Parquet and Arrow IPC files are read"
    ):
        read_comparisons("s3://bucket/votes.csv")
    with pytest.raises(InputError, match=r"PostgreSQL is not read as a file; `podium campaign export votes") as caught:
        read_comparisons("postgresql://ann:secret@host/name")
    assert "secret" not in str(caught.value)
    path = tmp_path / "votes.csv"
    VOTES.write_csv(path)
    assert len(read_comparisons(f"file://{path}")) == 150


def test_the_same_address_twice_would_count_double(address):
    with pytest.raises(InputError, match="is given twice"):
        read_comparisons([f"{address}/votes.csv", f"{address}/votes.csv"])
