"""PostgreSQL without a server: how it is called, what its locks are, and what is said when it is gone."""

import hashlib
import os
import socket
import sys
from types import SimpleNamespace

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from podium.errors import InputError, UnavailableError
from podium.store import open_store, postgres
from podium.store.base import Hold, Store
from podium.store.postgres import PostgresStore, _Advisory, _clock, _key, _Nothing
from podium.store.statements import ONE_JUDGE, SHOWN, as_driver_sql, change_campaign, change_question, open_questions
from podium.store.values import from_json

psycopg = pytest.importorskip("psycopg")
GONE = OperationalError("SELECT 1", {}, psycopg.OperationalError("connection lost"))
WORDS = "PostgreSQL h:5/tea cannot be reached; is it running? Everything goes on when it is back"


class Connection:
    """Says what it was asked."""

    def __init__(self, answer=None, problem=None):
        self.answer, self.problem, self.said, self.options = answer, problem, [], {}

    def execute(self, statement, values=None):
        if self.problem is not None:
            raise self.problem
        self.said.append((str(statement), values))
        return SimpleNamespace(scalar_one=lambda: self.answer, first=lambda: self.answer)

    def execution_options(self, **options):
        self.options |= options
        return self

    def invalidate(self):
        self.said.append("invalidate")

    def close(self):
        self.said.append("close")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.said.append("left")


def on(connection):
    """A store whose readers have that connection."""
    store = object.__new__(PostgresStore)
    store.name = "PostgreSQL h:5/tea"
    store._reading = SimpleNamespace(connect=lambda: connection)
    return store


def test_a_lock_has_a_number_of_its_own():
    for name in ("plan", "serve"):
        digest = hashlib.sha256(f"podium:{name}".encode()).hexdigest()
        assert _key(name) == int(digest[:16], 16) // 4
        assert 0 <= _key(name) < 2**62


def test_a_lock_is_taken_or_it_is_not():
    free = Connection(True)
    held = on(free).hold("plan")
    assert isinstance(held, _Advisory)
    assert (held.connection, held.key) == (free, _key("plan"))
    assert free.options == {"isolation_level": "AUTOCOMMIT"}
    assert free.said == [("SELECT pg_try_advisory_lock(:key)", {"key": _key("plan")})]
    taken = Connection(False)
    assert on(taken).hold("plan") is None
    assert taken.said[-1] == "close"


def test_a_lock_is_let_go_and_its_connection_never_used_again():
    connection = Connection()
    _Advisory(connection, 7).release()
    assert connection.said == [("SELECT pg_advisory_unlock(:key)", {"key": 7}), "invalidate", "close"]
    lost = Connection(problem=GONE)
    _Advisory(lost, 7).release()
    assert lost.said == ["invalidate", "close"]


def test_a_lock_lives_with_its_connection():
    assert _Advisory(Connection(), 7).keep() is True
    assert _Advisory(Connection(problem=GONE), 7).keep() is False
    nothing = on(Connection()).serve()
    assert isinstance(nothing, _Nothing)
    assert nothing.keep() is True
    assert nothing.release() is None


def test_who_holds_a_lock_is_the_name_of_a_connection():
    connection = Connection(("podium: process 7 on host",))
    assert on(connection).holder("plan") == "process 7 on host"
    assert connection.said[0][1] == {"key": _key("plan")}
    assert on(Connection(("psql",))).holder("plan") == "psql"
    assert on(Connection(None)).holder("plan") is None


def test_the_clock_is_the_server_s():
    connection = Connection("1234")
    assert on(connection).now() == 1234
    assert _clock(connection) == 1234
    assert "clock_timestamp()" in connection.said[0][0]
    assert PostgresStore.remote is True


def test_a_server_that_is_gone_is_a_sentence():
    store = on(Connection(problem=GONE))
    for ask in (store.now, lambda: store.hold("plan")):
        with pytest.raises(UnavailableError) as caught:
            ask()
        assert str(caught.value) == WORDS
        assert caught.value.__cause__ is GONE


def test_every_connection_writes_through_and_has_an_end(monkeypatch):
    asked = []
    monkeypatch.setattr(postgres, "create_engine", lambda url, **options: asked.append((url, options)) or "engine")
    monkeypatch.setattr(socket, "gethostname", lambda: "h" * 99)
    assert postgres._engine("url", 4, isolation_level="X") == "engine"
    named = f"podium: process {os.getpid()} on {'h' * 99}"[:63]  # no longer name is taken
    assert asked == [("url", {
        "pool_size": 4, "max_overflow": 4, "pool_pre_ping": True, "isolation_level": "X",
        "json_deserializer": from_json,
        "connect_args": {
            "connect_timeout": 5, "application_name": named,
            "options": "-c synchronous_commit=on -c statement_timeout=60000 -c lock_timeout=30000",
        },
    })]  # fmt: skip
    assert len(named) == 63


@pytest.fixture
def opened(monkeypatch):
    """Stores are made without a server; what was asked for and closed."""
    seen = SimpleNamespace(engines=[], prepared=[], closed=[], problem=None)

    def engine(url, size, **more):
        seen.engines.append((url, size, more))
        return f"engine {size}"

    def begin(self, name, reading, writing):
        self.name, self._reading, self._writing = name, reading, writing

    def prepare(self, *, new):
        seen.prepared.append(new)
        if seen.problem is not None:
            raise seen.problem

    monkeypatch.setattr(postgres, "_engine", engine)
    monkeypatch.setattr(Store, "__init__", begin)
    monkeypatch.setattr(Store, "_prepare", prepare)
    monkeypatch.setattr(Store, "close", lambda self: seen.closed.append(self.name))
    return seen


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("postgresql://u:secret@h:5/tea", "PostgreSQL h:5/tea"), ("postgres://u@h/tea", "PostgreSQL h/tea"),
        ("postgresql:///tea", "PostgreSQL here/tea"), ("postgresql://h", "PostgreSQL h/"),
    ],
)  # fmt: skip
def test_a_database_is_called_by_its_place_and_never_with_a_password(opened, address, name):
    store = open_store(address, new=True)
    assert store.name == name
    assert opened.prepared == [True]
    assert [(size, more) for _, size, more in opened.engines] == [(10, {"isolation_level": "REPEATABLE READ"}), (2, {})]
    assert all(url.drivername == "postgresql+psycopg" for url, *_ in opened.engines)
    assert (store._reading, store._writing) == ("engine 10", "engine 2")
    assert opened.closed == []
    open_store(address)
    assert opened.prepared == [True, False]


def test_a_database_that_cannot_be_used_is_closed(opened):
    for problem, kind, words in ((GONE, UnavailableError, WORDS), (InputError("holds no campaigns"), InputError, "holds no campaigns")):  # noqa: E501  # fmt: skip
        opened.problem, opened.closed = problem, []
        with pytest.raises(kind) as caught:
            open_store("postgresql://u@h:5/tea")
        assert str(caught.value) == words
        assert opened.closed == ["PostgreSQL h:5/tea"]


def test_what_is_missing_is_named_with_how_to_install_it(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(InputError) as caught:
            open_store("postgresql://u@h/tea")
        assert str(caught.value) == "PostgreSQL needs psycopg; pip install 'podium[postgres]'"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "sqlalchemy", None)
        with pytest.raises(InputError) as caught:
            open_store("c.db")
        assert str(caught.value) == "campaigns need SQLAlchemy; pip install 'podium[serve]'"


def test_a_store_is_closed_at_the_end_of_its_block(opened):
    with open_store("postgresql://u@h:5/tea") as store:
        assert store.name == "PostgreSQL h:5/tea"
        assert opened.closed == []
    assert opened.closed == ["PostgreSQL h:5/tea"]


def test_nothing_is_known_of_other_writers_where_a_database_does_not_say():
    assert on(Connection())._version(Connection()) is None


def test_a_hold_is_let_go_at_the_end_of_its_block():
    released = []

    class Own(Hold):
        def keep(self):
            return True

        def release(self):
            released.append(1)

    own = Own()
    with own as held:
        assert held is own
        assert released == []
    assert released == [1]


# ---- statements straight to a driver --------------------------------------------------------------------------------


def dialect(name):
    return make_url(f"{name}://").get_dialect()()


def test_values_go_by_name_or_in_order_as_a_driver_takes_them():
    sql, picked, own = as_driver_sql(SHOWN, dialect("sqlite"))
    assert sql.count("?") == 3
    assert picked({"c": 1, "q": 2, "j": 3}) == (1, 2, 3)
    assert own == {}
    sql, picked, own = as_driver_sql(SHOWN, dialect("postgresql+psycopg"))
    assert picked is None
    assert all(f"%({name})s" in sql for name in "cqj")
    names = change_campaign(("plans",))
    _, picked, _ = as_driver_sql(names, dialect("sqlite"))
    assert picked({"c": 1, "new_plans": 4}) == (4, 1)


def test_one_value_is_a_row_too():
    from sqlalchemy import bindparam, select

    _, picked, _ = as_driver_sql(select(bindparam("only")), dialect("sqlite"))
    assert picked({"only": 5, "other": 6}) == (5,)


def test_values_of_its_own_stand_in_a_statement():
    """Those that nobody gives: states and kinds that are written in it."""
    from podium.store.statements import HELD

    _, _, own = as_driver_sql(HELD, dialect("sqlite"))
    assert list(own.values()) == ["out"]
    _, _, own = as_driver_sql(ONE_JUDGE, dialect("sqlite"))
    assert own == {}


def test_statements_are_built_once():
    assert change_question(("state", "judge")) is change_question(("state", "judge"))
    assert change_question(("state",)) is not change_question(("judge",))
    assert open_questions(False, False, (1,)) is open_questions(False, False, (1,))
    assert open_questions(False, False, (1,)) is not open_questions(False, False, (2,))
    assert as_driver_sql(SHOWN, dialect("sqlite"))[0].startswith("SELECT lease.shown")
