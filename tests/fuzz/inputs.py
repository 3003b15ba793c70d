"""Strange things to put in: values, columns, tables, files, and damage to files. All follow from one generator."""

import contextlib
import datetime
import decimal
import io
import json

import numpy as np
import polars as pl

NUMBERS = (0, 1, -1, 2, 3, 0.5, 1.5, -0.0, 1e-300, 5e-324, 1e300, 1.7e308, 2**31, 2**63, -(2**63), 10**30, 1e16)
NO_NUMBERS = (float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "", " ", "a", "b", "A", "é", "e\u0301", "nan", "NaN", "None", "null", "NULL", "inf", "0", "1", "01", "1.0", "-1", "true",
    "tie", "left", "right", "a,b", 'a"b', "a\nb", "a\tb", "a;b", "a|b", "=1+1", "<b>x</b>", "{}", "[b]", "%s", "\x00", "\x1b[2J",
    "\u202eabc", "\u2028", "\ufeff", "\U0001f600", "x" * 300, "../x", "winner", "id", "2020-01-01", "1e5", "1_000",
)  # fmt: skip
LONE = "\ud800"  # half of a surrogate pair: no text file can hold it
OBJECTS = (None, True, False, b"bytes", (), ("a", 1), frozenset({1}), datetime.date(2020, 1, 1), decimal.Decimal("1.5"))


LEVEL = [1.0]  # how strange the present input is, 0 to 1: an input that is odd everywhere never gets past the door


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def odd(rng, chance):
    """Whether to do something strange here."""
    return rng.random() < chance * LEVEL[0]


def value(rng):
    """Any single thing."""
    match int(rng.integers(7)):
        case 0 | 1:
            return pick(rng, NUMBERS)
        case 2:
            return pick(rng, NO_NUMBERS)
        case 3 | 4:
            return pick(rng, TEXTS)
        case 5:
            return pick(rng, (*OBJECTS, LONE))
        case _:
            return pick(
                rng, (np.float32(1), np.int8(3), np.bool_(True), np.str_("a"), [], [1, 2], {}, {"a": 1}, object())
            )


def labels(rng, count):
    """Labels of items: mostly of one kind, sometimes of all."""
    if not odd(rng, 0.8):
        return [f"i{k}" for k in range(count)]
    match int(rng.integers(6)):
        case 0:
            return [f"item{k}" for k in range(count)]
        case 1:
            return list(range(count))
        case 2:
            return [pick(rng, TEXTS) for _ in range(count)]
        case 3:
            return [float(k) for k in range(count)]
        case 4:
            return [(k, "x") for k in range(count)]
        case _:
            return [value(rng) for _ in range(count)]


def numbers(rng, count):
    """A column of numbers, most often decent."""
    column = rng.normal(size=count).round(2).tolist()
    if not odd(rng, 0.6):
        return column
    match int(rng.integers(6)):
        case 0:
            return [pick(rng, NUMBERS) for _ in range(count)]
        case 1:
            return [pick(rng, (*NUMBERS, *NO_NUMBERS)) for _ in range(count)]
        case 2:
            return rng.integers(0, 4, count).tolist()
        case 3 if count:
            column[int(rng.integers(count))] = value(rng)
    return column


def array(rng, *shape):
    """A numeric array of an odd type, order or content, now and then of another shape."""
    if odd(rng, 0.15):
        shape = tuple(int(rng.integers(0, 5)) for _ in range(int(rng.integers(0, 4))))
    made = rng.normal(size=shape)
    if not odd(rng, 0.7):
        return made
    match int(rng.integers(9)):
        case 0:
            return made.astype(np.float32)
        case 1:
            return (made * 3).astype(np.int64)
        case 2:
            return np.asfortranarray(made)
        case 3:
            return np.repeat(made, 2, axis=0)[::2] if made.ndim else made
        case 4:
            made = made * 10.0 ** int(rng.integers(-320, 308))
        case 5 if made.size:
            made.flat[int(rng.integers(made.size))] = pick(rng, (*NO_NUMBERS, 1e308, -1e308))
        case 6:
            return made.astype(object)
        case 7:
            return (made > 0).astype(pick(rng, (bool, np.int8, np.uint8, ">f8", "<U3", np.complex128, np.float16)))
        case 8:
            made.setflags(write=False)
    return made


def vote_columns(rng, rows):
    """Columns of votes in one of the known forms, under their usual names, perhaps with one strange cell or column."""
    items = labels(rng, int(rng.integers(2, 7)))
    left = [pick(rng, items) for _ in range(rows)]
    right = [pick(rng, items) for _ in range(rows)]
    if not odd(rng, 0.3):  # most often nobody meets himself
        places = rng.integers(0, len(items), rows), rng.integers(1, len(items), rows)
        left = [items[k] for k in places[0]]
        right = [items[(k + step) % len(items)] for k, step in zip(*places, strict=True)]
    match int(rng.integers(7)):
        case 0:
            table = {"winner": left, "loser": right}
        case 5:
            goals = [rng.integers(0, 4, rows).tolist() for _ in range(2)]
            table = {"home": left, "away": right, "home_goals": goals[0], "away_goals": goals[1]}
        case 6:
            mark = pick(rng, (" > ", ">", ", ", " | "))
            orders = [rng.permutation(len(items))[: int(rng.integers(1, len(items) + 1))] for _ in range(rows)]
            table = {"ranking": [mark.join(as_text(items[k]) for k in order) for order in orders]}
        case 1:
            table = {"left": left, "right": right, "outcome": [pick(rng, (1, 0, 0.5)) for _ in range(rows)]}
        case 2:
            counts = [rng.integers(0, 5, rows).tolist() for _ in range(3)]
            table = {"left": left, "right": right, "left_wins": counts[0], "right_wins": counts[1], "ties": counts[2]}
        case 3:
            table = {"left": left, "right": right, "margin": numbers(rng, rows)}
        case _:
            table = {
                "left": left,
                "right": right,
                "outcome": [pick(rng, (a, b, "tie")) for a, b in zip(left, right, strict=True)],
            }
    if rng.random() < 0.4:
        table["when"] = times(rng, rows)
    if rng.random() < 0.1:  # in any unit, and far apart
        table["weight"] = (10.0 ** rng.uniform(*pick(rng, ((-320, -280), (-20, 20), (100, 300))), rows)).tolist()
    for extra in ("weight", "count", "judge", "group", "x"):
        if rng.random() < 0.2:
            table[extra] = (
                [pick(rng, ("ann", "bob", "")) for _ in range(rows)]
                if extra in ("judge", "group")
                else rng.integers(1, 4, rows).tolist()
            )
    if rows and odd(rng, 0.5):
        table[pick(rng, list(table))][int(rng.integers(rows))] = value(rng)
    return table


def times(rng, rows):
    """When votes were cast, in one of the ways that files have it."""
    days = np.sort(rng.integers(0, pick(rng, (1, 30, 4000)), rows))
    form = pick(
        rng, ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%m/%d/%y", "%Y-%m-%dT%H:%M:%SZ", "", "%d.%m.%Y", "%Y")
    )
    if not form:
        return pick(rng, (days.tolist(), (days * 86400.0 + 1.7e9).tolist(), (days / 7).tolist()))
    return [(datetime.datetime(2020, 1, 1) + datetime.timedelta(int(day))).strftime(form) for day in days]


def feature_columns(rng, rows, grades=True):
    """A table of examples: an id, numbers, and columns of grades and tags."""
    table = {"id": [f"i{k}" for k in range(rows)]}
    for name in ("f", "g", "h")[: int(rng.integers(1, 4))]:
        table[name] = numbers(rng, rows)
    if grades:
        table["grade"] = rng.integers(1, 4, rows).tolist()
        table["low"] = [1] * rows
        table["high"] = rng.integers(1, 4, rows).tolist()
        for tag in ("tag_a", "tag_b", "tag_c"):
            table[tag] = rng.integers(0, 2, rows).tolist()
    if rows and odd(rng, 0.5):
        table[pick(rng, list(table))][int(rng.integers(rows))] = value(rng)
    if odd(rng, 0.2):
        table.pop(pick(rng, list(table)))
    return table


def as_text(cell):
    return "" if cell is None else str(cell).encode("utf-8", "replace").decode()


def csv(rng, table):
    """Comma separated, with the quoting and line ends that files have in the wild."""
    ends = pick(rng, ("\n", "\r\n", "\r")) if odd(rng, 0.4) else "\n"
    mark = pick(rng, (";", "\t", "|")) if odd(rng, 0.3) else ","

    def cell(text):
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in '",;\t|\r\n') else text

    rows = [list(table), *zip(*table.values(), strict=True)] if table else [[]]
    if table and odd(rng, 0.1):
        rows[0] = [rows[0][0]] * len(rows[0])  # one name for all columns
    lines = [mark.join(cell(as_text(one)) for one in row) for row in rows]
    if len(lines) > 1 and odd(rng, 0.2):
        lines[int(rng.integers(1, len(lines)))] += mark + "more"
    text = ends.join(lines) + ("" if odd(rng, 0.3) else ends)
    code = pick(rng, ("utf-8-sig", "utf-16", "latin-1")) if odd(rng, 0.3) else "utf-8"
    return text.encode(code, "replace")


def json_lines(rng, table):
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    lines = [json.dumps(row, default=as_text) for row in rows]
    if odd(rng, 0.2):
        lines.append(pick(rng, ("[]", "1", "null", "{", '{"a": {"b": [1]}}', '{"winner": "a", "winner": "b"}', "NaN")))
    if odd(rng, 0.1):
        return ("[" + ",".join(lines) + "]").encode()
    return "\n".join(lines).encode("utf-8", "replace")


def parquet(rng, table):
    """Columns of the types that fit; what fits none becomes text."""
    frame = []
    for name, column in table.items():
        try:
            frame.append(pl.Series(name, column, strict=True))
        except Exception:
            frame.append(pl.Series(name, [None if cell is None else as_text(cell) for cell in column], dtype=pl.String))
    made = pl.DataFrame([each for each in frame if each.dtype != pl.Object and each.dtype != pl.Struct({})])
    if made.width and odd(rng, 0.4):
        name = pick(rng, made.columns)
        other = pick(
            rng, (pl.Categorical, pl.Int8, pl.UInt64, pl.Float32, pl.Date, pl.Boolean, pl.Binary, pl.Decimal(10, 2))
        )
        with contextlib.suppress(pl.exceptions.PolarsError):
            made = made.with_columns(made[name].cast(pl.String).cast(other, strict=False).alias(name))
    file = io.BytesIO()
    made.write_ipc(file) if odd(rng, 0.2) else made.write_parquet(file)
    return file.getvalue()


def damaged(rng, data):
    """The same bytes after an accident."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data) + 1))
        match int(rng.integers(7)):
            case 0:
                data = data[:at]
            case 1:
                data[at : at + 1] = bytes([int(rng.integers(256))])
            case 2:
                data[at:at] = pick(
                    rng, (b"\x00", b"\xff\xfe", b'"', b"\n", b"\r", b"\xef\xbb\xbf", b"\xc3", b"\\", b",")
                )
            case 3:
                data[at:at] = data[: int(rng.integers(len(data) + 1))]
            case 4:
                del data[at : at + int(rng.integers(1, 9))]
            case 5:
                data[at:at] = str(value(rng)).encode("utf-8", "replace")
            case _:
                if at < len(data):
                    data[at] ^= 1 << int(rng.integers(8))
    return bytes(data)


def table_file(rng, folder, columns, name="table"):
    """Write the columns in some format and return the path, not always under a telling name."""
    kind = pick(rng, ("csv", "csv", "csv", "jsonl", "parquet"))
    data = {"csv": csv, "jsonl": json_lines, "parquet": parquet}[kind](rng, columns)
    if odd(rng, 0.4):
        data = damaged(rng, data)
    if odd(rng, 0.03):
        data = b""
    ending = kind if not odd(rng, 0.1) else pick(rng, ("txt", "json", "tsv", "ipc", "gz", "csv"))
    path = folder / f"{name}.{ending}"
    path.write_bytes(data)
    return path


def lines_file(rng, folder, name, lines):
    data = "\n".join(lines).encode("utf-8", "replace") + b"\n"
    path = folder / name
    path.write_bytes(damaged(rng, data) if odd(rng, 0.6) else data)
    return path
