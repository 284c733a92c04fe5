"""Random logs through the stage `log`, against the specification of one record.

A file is made of its number, so that one that fails can be made again.
"""

import random
from collections import Counter

from builder.parameters import LogFields, LogParameters
from tests.fuzz.log_records import GOOD, ONE, THREE, TWO, WRITERS, long_rows
from tests.fuzz.specified import first_difference, ingested, judge, specified

RECORDS = 500
NESTED = LogFields(time="at", user="who.id", query="q.text", results="page.shown", clicks="q.on")
"""Records of a file."""
PARAMS = (
    LogParameters(max_line_bytes=20_000),
    LogParameters(address="https://b.example/{id}", max_line_bytes=20_000),
    LogParameters(time_zone="Europe/Paris", max_results=2, max_query_chars=5),
    LogParameters(click_form="ids", address="https://b.example/{id}"),
    LogParameters(click_form="flags"),
    LogParameters(time_unit="ms", scheme=None),
    LogParameters(time_format="%Y-%m-%d"),
    LogParameters(time_format="%Y%m%d"),
    LogParameters(fields=NESTED),
)
"""How files are read, in turn."""
LONG_FORMS = ("tsv", "jsonl", "parquet")
ENCODINGS = ("latin-1", "cp1252", "gb18030", "big5", "iso-8859-15")
QUERIES = ("eau", "impôts", "crêpe brûlée", "équipe", "à côté")
"""In Latin-1, and in GB18030; of Big5 the first one alone."""


def try_file(number: int, records: int = RECORDS) -> dict[str, int]:
    """Compare one file of random records; how many were kept and rejected.

    Raises:
        AssertionError: the stage makes something else of a record than the specification.
    """
    draw = random.Random(number)
    form = list(WRITERS)[number % len(WRITERS)]
    params = PARAMS[number // len(WRITERS) % len(PARAMS)]
    if form in ("csv", "tsv"):
        params = params.model_copy(update={"format": form, "click_form": "ranks"})
    if form != "jsonl":
        params = params.model_copy(update={"fields": LogFields()})
    params = params.model_copy(update={"encoding": "utf-8"})
    data, judged = WRITERS[form](draw, records, params)
    wanted, found = specified(judged, params), ingested(data, params, threads=1 + number % 2)
    difference = first_difference(wanted, found)
    assert difference is None, f"{form}, number {number}: {difference}"
    return {"kept": len(found.kept), "rejected": len(found.reasons)}


def try_long(number: int, records: int = RECORDS) -> dict[str, int]:
    """Compare one file in the long format, with rows of an impression together.

    Raises:
        AssertionError: an impression is another one than in the wide format.
    """
    draw, params = random.Random(number), LogParameters()
    form = LONG_FORMS[number % len(LONG_FORMS)]
    shown = [
        GOOD
        | {
            "time": GOOD["time"] + second,  # type: ignore[operator]
            "user": draw.choice((None, "ada", "bob")),
            "results": draw.sample((ONE, TWO, THREE), draw.randint(1, 3)),
            "clicks": [1] if draw.random() < 0.5 else [],
        }
        for second in range(records)
    ]
    wanted = specified([(n, judge(record, params)) for n, record in enumerate(shown)], params)
    found = ingested(long_rows(shown, form), params)
    difference = first_difference(wanted, found)
    assert difference is None, f"long {form}, number {number}: {difference}"
    return {"kept": len(found.kept), "rejected": len(found.reasons)}


def try_encoded(number: int, records: int = RECORDS) -> dict[str, int]:
    """Compare a log in some encoding, which `log.encoding` names, with the same one in UTF-8.

    Raises:
        AssertionError: they are not the same.
    """
    draw, encoding = random.Random(number), ENCODINGS[number % len(ENCODINGS)]
    queries = QUERIES[:1] if encoding == "big5" else QUERIES
    shown = [GOOD | {"query": draw.choice(queries), "user": None} for _ in range(records)]
    form = ("tsv", "jsonl")[number // len(ENCODINGS) % 2]
    data = long_rows(shown, form)
    wanted = ingested(data, LogParameters(encoding="utf-8"))
    found = ingested(data.decode().encode(encoding), LogParameters(encoding=encoding))
    difference = first_difference(wanted, found)
    assert difference is None, f"{encoding} {form}, number {number}: {difference}"
    return {"kept": len(found.kept), "rejected": len(found.reasons)}


def try_all(count: int, first: int = 0) -> dict[str, int]:
    """Compare files of random records, of eight one in the long format and one in another encoding.

    Returns:
        How many records were kept and rejected.

    Raises:
        AssertionError: see `try_file`, `try_long` and `try_encoded`.
    """
    ends: Counter[str] = Counter()
    for number in range(first, first + count):
        block, place = divmod(number, 8)
        if place < 6:
            ends.update(try_file(6 * block + place))
        else:
            ends.update(try_long(block) if place == 6 else try_encoded(block))
    return dict(ends)
