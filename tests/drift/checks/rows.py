"""Rows that tests of several checks use."""

from typing import Any

from schemas import (
    Qrels,
    Queries,
)
from tests.drift.worlds import Rows, compare, frame, page, qrel


def asking(before: Rows, after: Rows, qrels: tuple[Rows, Rows] = ([], [])) -> Any:
    return compare(
        (frame(before, Queries), frame(qrels[0], Qrels)),
        (frame(after, Queries), frame(qrels[1], Qrels)),
    )


def cells(alpha: float, beta: float, most: int = 24) -> list[tuple[int, int, float, int]]:
    return [
        (c, e, (c + alpha) / (e + alpha + beta), 1 + c)
        for e in range(1, most + 1)
        for c in range(e + 1)
    ]


def scored(alpha: float, beta: float, most: int = 24, **values: Any) -> Rows:
    return [
        qrel("eau", f"p{c}-{e}", 0, clicks=c, examinations=e, attractiveness=a, **values)
        for c, e, a, _ in cells(alpha, beta, most)
    ]


def change(number: int, **values: Any) -> dict[str, Any]:
    row = page(f"https://site{number % 10}.fr/{number}", "", "x")
    return {"doc_id": row["doc_id"], "status": "updated", "band": "cosmetic"} | values
