"""Random records of logs in every format, by seed: of wrong types, nested, empty, huge, repeated.

Each writer gives the bytes of a file, and what the specification says of each of its records.
"""

import io
import json
import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.ingest.logs.cell_lists import parse_lists_stored_as_text
from builder.ingest.logs.impression import Impression, parse_impression
from builder.ingest.parquet_rows import read_numbered_rows
from builder.ingest.rejects import RejectError
from builder.parameters import LogFields, LogParameters
from tests.fuzz.specified import INTERVAL, judge

Judged = list[tuple[int, Impression | str]]
Writer = Callable[[random.Random, int, LogParameters], tuple[bytes, Judged]]

ONE, TWO, THREE = (f"https://a.example/{n}" for n in (1, 2, 3))
GOOD = {"time": 1_655_294_400, "query": "eau", "results": [ONE, TWO], "clicks": [2]}
SOME: dict[str, tuple[Any, ...]] = {
    "time": (
        *(0, 1_655_294_400, -1, 2**62, 2**64, 1.5, -0.0, float("inf"), True, None, [], {}),
        *("1655294400", "1655294400.5", "2022-06-15", "2022-06-15T12:00:00Z", "hier", "", "١٢٣"),
        *("2022-06-15T12:00:00.123456+02:00", "2022-06-15T24:00:00", "2022-02-30", " 5 "),
        *(-(2**63), 2**63, 1.5e9, 1_655_294_400_000, float("nan"), "1e9", "NaN", "2022-W24-3"),
        *("2022-10-30T02:30:00", "2022-03-27T02:30:00", "20220615", "2022-06-15T12:00", "-5"),
        *(20_220_615, 20_220_615.0),
    ),
    "user": ("ada", "bob", "é", "", 5, 2**63, 1.5, None, False, ["u"], {}, "x" * 3000, "\x00", " "),
    "query": (
        *("eau", " eau  potable ", "EAU", "e\u0301au", "\u00a0", "", "!!", None, 5, 2**70, 5.5),
        *(["eau"], {}, True, "x" * 501, "a\x00b", "水", "\U0001f600", "eau" * 100, "\ud800"),
        *("\x00", "\u2028eau\u0085", "\ufeffeau", "e\u0301" * 300, -0, 2**63, -(2**63), "\udc80"),
    ),
    "results": (
        *([ONE], [ONE, TWO, THREE], [ONE, ONE], [], None, ONE, 7, {}, [None], [""], [[ONE]]),
        *(["ftp://a.example/"], ["x"], [ONE, 3], [5, 7], [True], ["HTTPS://A.example:443/1#x"]),
        *([f"{ONE}{n}" for n in range(1001)], [f"{ONE}{n}" for n in range(300)], [ONE, None]),
        *([{"url": ONE}], [{"url": TWO, "rank": 2}, {"url": ONE, "rank": 1}], [{"url": None}]),
        *([{"url": ONE, "clicked": True}, {"url": TWO}], [{"url": ONE, "clicked": "x"}], [{}]),
        *([{"url": ONE, "rank": 1}, {"url": TWO, "rank": 1}], [{"url": ONE, "rank": 2.0}]),
        *(["www.a.example/1", ONE], ["a.example"], [" " + ONE + " "], ["https://a.example/\x00"]),
        *([2**63, 2**64], [-0.0], ["https://é.example/à"], [ONE, "\ud800"], [[]], [float("nan")]),
        *([{"url": 5, "rank": "2"}, {"url": ONE, "rank": 1.0}], [{"url": ONE, "clicked": 2}]),
        *([{"url": ONE, "clicked": "yes"}, {"url": TWO, "clicked": "2.0"}, {"url": THREE}],),
        *(
            [{"url": ONE, "clicked": -1}],
            [{"url": ONE, "rank": None}],
            [{"url": ONE, "rank": True}],
        ),
        *([{"url": TWO, "clicked": 2}, {"url": ONE, "clicked": 1}], [{"url": "a.example/x"}]),
        *([{"url": ONE}, TWO], [{"link": ONE}], [{"url": ONE, "rank": 5, "more": {"a": [1]}}]),
        *([f"{ONE},{TWO}"], ["5;7"], [f"{ONE},{TWO}", THREE], [{"url": ONE, "rank": -1}]),
    ),
    "clicks": (
        *([], [1], [2, 1], [1, 1], None, [0], [-1], [3], [2**40], [1.5], ["1"], [True], [None]),
        *(1, "1", ONE, {}, [ONE], ["https://b.example/"], [[1]], [[]], [{}], [{"rank": 1}]),
        *([{"url": TWO}, {"rank": 1}], [{"rank": 1, "time": 9}, {"rank": 2, "time": 3}]),
        *([1.0, 2.0], [2**63], [-0.0], [float("nan")], [[[1]]], ["1.0"], [[1, 2], 1], [None, 1]),
        *(
            [{"rank": 1.0}],
            [{"rank": "1"}],
            [{"rank": True}],
            [{"url": ONE, "rank": None}],
            [[TWO]],
        ),
        *([{"rank": 2, "time": float("inf")}, {"rank": 1, "time": 2}], [0, 1], [1, 0], [[TWO]]),
        *([{"rank": 1, "time": 5}, {"rank": 2}], [{"rank": 1, "time": "noon"}], [[1, "x"], [2]]),
    ),
    "more": (1, "x", {"a": [1, None]}, 1e300, None, [[[[]]]]),
}
"""Values of each key, most of them wrong."""
BROKEN = (
    *(b"", b" ", b"{}", b"[]", b"null", b"7", b'"x"', b'{"time": NaN}', b"{" * 1500, b"[" * 2000),
    *(b'{"time": 1}{"time": 2}', b'{"time": 01}', b'{"time": 1,}', b'{"more": "\xff"}', b"\xff"),
    *(b"{\r}", b'{"query": "\\ud800"}', b"\x00", b'{"more": ' + b"[" * 1200 + b"]" * 1200 + b"}"),
    b'{"time":1655294400,"query":"eau","results":[{"url":"x","url":"https://a.example/1"}]}',
    b'{"time":1655294400,"query":"eau","results":[{"url":"https://a.example/","rank":2,"rank":1}]}',
    b"x" * 30_000,
    *(b'{"time": Infinity}', b'{"time": -Infinity}', b'{"time": 1e99999}', b'{"more": 1E-99999}'),
    *(
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"query": "\\udc00\\ud800"}',
        b'{"a": "\\u0000"}',
    ),
    *(
        b'{"query": "a\rb"}',
        b"\r",
        b'{"time": -0}',
        b'{"more": -0.0}',
        b'{"more": +1}',
        b"{'a': 1}",
    ),
    b'{"t\\u0069me":1655294400,"qu\\u0065ry":"eau","results":["https://a.example/1"]}',
    b'{"time":1655294400,"query":"eau","query":null,"results":["https://a.example/1"]}',
    b'{"time":1655294400,"query":"eau","results":["a.example"],"clicks":[9],"cl\\u0069cks":[1]}',
    b'{"time":1655294400,"query":"eau","results":["https://a.example/1"]} // remark',
    b'\xc2\xa0{"time":1655294400,"query":"eau","results":["https://a.example/1"]}',
    b'\x0b{"time":1655294400,"query":"eau","results":["https://a.example/1"]}',
    b'{"time":1655294400.0e0,"query":"eau","results":["https://a.example/1"],"clicks":[1e0]}',
    b'{"time":16552944e2,"query":"eau","results":["https://a.example/1"],"clicks":[1]}',
    b'{"time":1655294400,"user":18446744073709551616,"query":"eau","results":["https://a.example/1"]}',
    b'{"time":1655294400,"query":"\xc3\xa9\xed\xa0\x80","results":["https://a.example/1"]}',
    b'{"time":1655294400,"query":"\xf8\x88\x80\x80\x80","results":["https://a.example/1"]}',
)


def random_record(draw: random.Random) -> dict[str, Any]:
    """A record with a user in half of the cases, and up to three odd values."""
    record: dict[str, Any] = dict(GOOD)
    if draw.random() < 0.5:
        record["user"] = draw.choice(("ada", "bob", "cid"))
    for key in draw.sample(sorted(SOME), draw.choice((0, 0, 1, 1, 2, 3))):
        record[key] = draw.choice(SOME[key])
        if draw.random() < 0.1:
            del record[key]
    return record


def nested(record: dict[str, Any], fields: LogFields) -> dict[str, Any]:
    """A record under the names of a log, which may lead into objects."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        outer, _, inner = getattr(fields, key, key).partition(".")
        if inner:
            found.setdefault(outer, {})[inner] = value
        else:
            found[outer] = value
    return found


def _line(draw: random.Random, broken: float, fields: LogFields) -> bytes:
    """A line of JSON; now and then broken, or with a key twice."""
    if draw.random() < broken:
        return draw.choice(BROKEN)
    record = nested(random_record(draw), fields)
    line = json.dumps(record, ensure_ascii=draw.random() < 0.2)
    if draw.random() < 0.1:
        key = draw.choice(("time", "user", "query", "results", "clicks"))
        name = getattr(fields, key).partition(".")[0]
        line = f"{line[:-1]}, {json.dumps(name)}: {json.dumps(draw.choice(SOME[key]))}}}"
    return line.encode("utf-8", "surrogatepass")


def json_lines(draw: random.Random, count: int, params: LogParameters) -> tuple[bytes, Judged]:
    """JSON lines; the first is good, since it decides whether a line is an impression."""
    end, broken = draw.choice((b"\n", b"\r\n")), draw.choice((0.01, 0.1, 0.3))
    fields = params.fields
    lines = [json.dumps(nested(GOOD, fields)).encode()]
    lines += [_line(draw, broken, fields) for _ in range(count - 1)]
    judged: Judged = []
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > params.max_line_bytes:
                raise RejectError("line_too_long")
            judged.append((number, parse_impression(line, INTERVAL, params)))
        except RejectError as reject:
            judged.append((number, str(reject)))
    return end.join(lines) + end, judged


CODES = pa.dictionary(pa.int32(), pa.string())
TAGGED = pa.struct({"url": pa.string(), "rank": pa.int32(), "clicked": pa.bool_()})
ORDERED = pa.struct({"url": pa.large_string(), "rank": pa.float64(), "clicked": pa.float32()})
PARQUET_TYPES: dict[str, tuple[pa.DataType, ...]] = {
    "time": (
        *(pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.bool_(), CODES),
        *(pa.timestamp("us"), pa.timestamp("ms", "Europe/Paris"), pa.timestamp("ns", "UTC")),
        *(pa.date32(), pa.decimal128(20, 3)),
    ),
    "user": (
        *(pa.string(), pa.int64(), CODES, pa.float64(), pa.uint64(), pa.bool_(), pa.binary()),
        *(pa.decimal128(20, 0), pa.list_(pa.string()), pa.null()),
    ),
    "query": (
        *(pa.string(), pa.large_string(), pa.int64(), CODES, pa.float64(), pa.binary()),
        *(pa.string_view(), pa.large_binary()),
    ),
    "results": (
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.int64()),
        *(pa.list_(TAGGED), pa.list_(ORDERED), pa.list_(pa.string(), 2), pa.list_(pa.binary())),
        *(pa.list_(pa.list_(pa.string())), pa.list_(pa.uint64()), pa.string()),
    ),
    "clicks": (
        *(pa.list_(pa.int64()), pa.list_(pa.string()), pa.null(), pa.list_(pa.float64())),
        *(pa.list_(pa.bool_()), pa.list_(pa.list_(pa.int8())), pa.list_(pa.uint8())),
        *(pa.large_list(pa.int32()), pa.int64(), pa.string()),
        pa.list_(pa.struct({"rank": pa.int16(), "time": pa.int64()})),
        pa.list_(pa.struct({"url": pa.string(), "time": pa.timestamp("us")})),
    ),
}
TYPED: dict[str, tuple[Any, ...]] = {
    "time": (
        *(datetime(2022, 6, 15, 12, 0, 0, 5), datetime(2022, 10, 30, 2, 30), datetime(1969, 1, 1)),  # noqa: DTZ001
        *(datetime(2022, 6, 15, tzinfo=UTC), date(2022, 6, 15), Decimal("1655294400.5")),
    ),
    "user": (b"ada", b"\xff", Decimal(7), float("nan")),
    "query": (b"eau", b"\xff", float("nan")),
    "results": ([b"https://a.example/1"], [b"\xff"]),
    "clicks": ([{"url": ONE, "time": datetime(2022, 6, 15)}],),  # noqa: DTZ001
}
"""Values that Parquet has and JSON has not."""


def parquet_rows(draw: random.Random, count: int, params: LogParameters) -> tuple[bytes, Judged]:
    """Parquet with one type drawn for each column; values that it cannot have are drawn again."""
    columns = {}
    for name, kinds in PARQUET_TYPES.items():
        kind = draw.choice((kinds[0], *kinds))
        some = (*SOME[name], *TYPED[name], GOOD.get(name))
        values = [value for value in some if _fits(value, kind)] or [None]
        good = [GOOD.get(name)] if _fits(GOOD.get(name), kind) else values
        drawn = [draw.choice(good if draw.random() < 0.7 else values) for _ in range(count)]
        columns[name] = pa.array(drawn, kind)
    table = pa.table(columns)
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=draw.choice((7, 100, count)))
    data = file.getvalue()
    rows = read_numbered_rows(
        pq.ParquetFile(io.BytesIO(data)),
        len(data),
        table.column_names,
        decoders={"user": bytes.hex},
    )
    return data, [(number, _judged_row(row, params)) for number, row in rows]


def _judged_row(row: dict[str, Any] | str, params: LogParameters) -> Impression | str:
    record = (
        row if isinstance(row, str) else parse_lists_stored_as_text(_whole_numbers(row), params)
    )
    return record if isinstance(record, str) else judge(record, params)


def _whole_numbers(value: Any) -> Any:
    """Whole floats and decimals of Parquet are integers there, and NaN is a missing value."""
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float | Decimal):
        return None if math.isnan(value) else int(value) if value == int(value) else value
    return value


def _is_object(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _fits(value: Any, kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if isinstance(value, dict) or (value is not None and isinstance(value, list) != is_list):
        return False
    if (
        is_list
        and pa.types.is_struct(kind.value_type)
        and not all(_is_object(v) for v in value or ())
    ):
        return False
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, UnicodeEncodeError):
        return False
    return True


CELLS: dict[str, tuple[tuple[str, Any], ...]] = {
    "time": tuple((text, text) for text in SOME["time"] if isinstance(text, str)),
    "user": (
        *(("ada", "ada"), ("é", "é"), ("", None), ("NULL", None), ("x" * 3000, "x" * 3000)),
        *((" ", None), ("NA", None), ("\\N", None), ("na", "na"), ("12.0", "12.0")),
    ),
    "query": (
        *((t, t) for t in ("eau", " eau ", "EAU", "", "!!", "水", "5", "NULL", "x" * 501)),
        ("\\N", None),
    ),
    "results": (
        (ONE, [ONE]),
        (f"{ONE} {TWO}", [ONE, TWO]),
        (json.dumps([ONE, TWO]), [ONE, TWO]),
        (f"['{ONE}', '{TWO}']", [ONE, TWO]),
        (f"('{ONE}', '{TWO}')", [ONE, TWO]),
        (f"{{{ONE},{TWO}}}", [ONE, TWO]),
        ("[007, 12]", ["007", 12]),
        ("", []),
        ("NULL", []),
        ("\\N", None),
        ("ftp://a.example/", ["ftp://a.example/"]),
        ("[null]", [None]),
        ("[[1]]", [[1]]),
        ("[1", "bad_list"),
        ("5;7", "bad_list"),
        (f"{ONE};{TWO}", "bad_list"),
        (" ".join(f"{ONE}{n}" for n in range(1001)), [f"{ONE}{n}" for n in range(1001)]),
    ),
    "clicks": (
        *(("", []), ("1", [1]), ("2 1", [2, 1]), ("[1]", [1]), ("[2, 1]", [2, 1]), ("0", [0])),
        *(("9", [9]), ("x", ["x"]), ("-1", ["-1"]), ("[(1, 'a')]", [[1, "a"]]), ("{1", "bad_list")),
        ("(2, 1)", [2, 1]),
        *((TWO, [TWO]), ("[null]", [None]), ("None", []), ("\\N", None), ("['1']", [1])),
    ),
}
"""Cells of a table, each with its value or the reason why it has none."""


def csv_rows(draw: random.Random, count: int, params: LogParameters) -> tuple[bytes, Judged]:
    """CSV, in which quotes surround what has a comma or a quote."""
    return _table(draw, count, params, ",")


def tsv_rows(draw: random.Random, count: int, params: LogParameters) -> tuple[bytes, Judged]:
    """Tab-separated text without quotes."""
    return _table(draw, count, params, "\t")


def _table(
    draw: random.Random, count: int, params: LogParameters, mark: str
) -> tuple[bytes, Judged]:
    names = draw.sample(sorted(CELLS), len(CELLS))
    lines, judged = [mark.join(names).encode()], Judged()
    for number in range(2, count + 2):
        row = {
            name: draw.choice(_plain(name) if draw.random() < 0.8 else CELLS[name])
            for name in names
        }
        line = mark.join(_cell(text, mark) for text, _ in row.values()).encode()
        odd = draw.random()
        if len(line) > params.max_line_bytes - 10:
            lines.append(line + b"x" * 10)
            judged.append((number, "line_too_long"))
        elif odd < 0.03:
            lines.append(line + mark.encode() + b"more")
            judged.append((number, "wrong_number_of_cells"))
        elif odd < 0.06:
            lines.append(draw.choice((b"", b"   ")))
            judged.append((number, "blank_line"))
        elif odd < 0.09:
            lines.append(line.replace(b"e", b"\xe9", 1) + b"\xff")
            judged.append((number, "not_utf8"))
        else:
            lines.append(line)
            judged.append((number, _judged_cells({k: v for k, (_, v) in row.items()}, params)))
    end = draw.choice((b"\n", b"\r\n"))
    return end.join(lines) + end, judged


def _plain(name: str) -> tuple[tuple[str, Any], ...]:
    """Cells that are right."""
    if name == "time":
        return (("1655294400", "1655294400"), ("2022-06-15T12:00:00Z", "2022-06-15T12:00:00Z"))
    return CELLS[name][1:4] if name in ("results", "clicks") else CELLS[name][:2]


def _cell(text: str, mark: str) -> str:
    quoted = mark == "," and (mark in text or '"' in text)
    return '"' + text.replace('"', '""') + '"' if quoted else text


def _judged_cells(record: dict[str, Any], params: LogParameters) -> Impression | str:
    if "bad_list" in record.values():
        return "bad_list"
    return judge({name: value for name, value in record.items() if value is not None}, params)


def long_rows(records: Sequence[dict[str, Any]], form: str) -> bytes:
    """Good records with one row for each result, in TSV, JSON lines or Parquet.

    In text, the time of every second result is written as a float.
    """
    names = ("time", "user", "query", "url", "rank", "clicked")
    is_text = form != "parquet"
    rows = [
        {
            "time": float(r["time"]) if is_text and n % 2 == 0 else r["time"],
            "user": r["user"],
            "query": r["query"],
        }
        | {"url": url, "rank": n, "clicked": n in r["clicks"]}
        for r in records
        for n, url in enumerate(r["results"], 1)
    ]
    if form == "parquet":
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=50)
        return file.getvalue()
    if form == "jsonl":
        return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    lines = ["\t".join(names)]
    lines += [
        "\t".join(str(int(v)) if v is True or v is False else str(v or "") for v in row.values())
        for row in rows
    ]
    return ("\n".join(lines) + "\n").encode()


WRITERS: dict[str, Writer] = {
    "jsonl": json_lines,
    "parquet": parquet_rows,
    "csv": csv_rows,
    "tsv": tsv_rows,
}
