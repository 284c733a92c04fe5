"""What a table offers to copy gives the rows that it shows, in each of its three forms."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import polars as pl
import pytest
from starlette.types import ASGIApp

import builder
from tests.explore.client import Reader, ask


def _addresses(path: Path) -> list[str]:
    collection = builder.open_collection(path)
    query = collection.table("queries_map").collect()["query_id"][0]
    page = collection.table("documents_map").collect()["doc_id"]
    changed = collection.table("document_changes").collect().filter(status="updated")["doc_id"]
    pages = [f"/page/{one}" for one in [*page[:1], *changed[:1]]]
    lists = ["/", "/queries?text=é&sort=flips", "/pages?text=www", "/changes", "/rejects"]
    lists += ["/changes?kind=queries", "/changes?kind=qrels&direction=changed", "/systems"]
    return [*lists, f"/query/{query}", *pages]


def _same(app: ASGIApp, addresses: list[str]) -> int:
    compared = 0
    for address in addresses:
        for copied in Reader(ask(app, address).text).copies:
            expected = _csv(copied["CSV"])
            with duckdb.connect() as connection:
                *before, last = re.split(r";\n", copied["DuckDB"].removesuffix(";"))
                for statement in before:
                    connection.execute(statement)
                found = connection.sql(last).pl()
            assert _plain(found) == expected, (address, copied["caption"])
            values: dict[str, Any] = {}
            exec(copied["Polars"], values)
            assert _plain(values["rows"]) == expected, (address, copied["caption"])
            compared += 1
    return compared


def _csv(text: str) -> list[dict[str, str | None]]:
    return pl.read_csv(text.encode(), infer_schema=False).to_dicts()


def _plain(rows: pl.DataFrame) -> list[dict[str, str | None]]:
    def written(value: Any) -> str | None:
        if value is None or value == []:
            return None
        if isinstance(value, bool):
            return str(value).lower()
        return "|".join(value) if isinstance(value, list) else str(value)

    return [{name: written(v) or None for name, v in row.items()} for row in rows.to_dicts()]


def test_of_a_built_collection(app: ASGIApp, explored: Path) -> None:
    assert _same(app, _addresses(explored)) >= 20


def test_of_an_imported_release(imported_app: ASGIApp, release: Path) -> None:
    addresses = ["/queries", "/pages", "/changes?kind=queries"]
    query = Reader(ask(imported_app, "/queries?text=question 7").text).links
    addresses += [one for one in query if one.startswith("/query/")]
    assert _same(imported_app, addresses) >= 5


@pytest.mark.parametrize("text", ["'", "''; DROP TABLE queries; --", '"""', "\\", "\\'"])
def test_values_are_quoted(app: ASGIApp, text: str) -> None:
    assert _same(app, [f"/queries?text={quote(text, safe='')}"]) <= 1
    from builder.explore.statements import Statement, sql_literal
    from builder.explore.tables import _to_triple_quoted_string

    written = Statement("SELECT $value AS v", {"value": text}).inline_parameters()
    assert duckdb.sql(written).fetchall() == [(text,)]
    assert duckdb.sql(f"SELECT {sql_literal([text])}").fetchall() == [([text],)]
    assert eval(_to_triple_quoted_string(text)).strip("\n") == text
