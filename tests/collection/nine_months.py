"""Months of queries and judgements as the lab publishes them, in each release layout.

The texts, ids and grades are made up. Every month has queries whose texts fold alike; the `ODD`
months also have the lines that published files have and that no reader can take.
"""

import random
from pathlib import Path

from tests.collection.releases import write
from tests.thorough import ALL

NINE = (
    "2022-06", "2022-07", "2022-08", "2022-09", "2022-10", "2022-11", "2022-12", "2023-01",
    "2023-02",
)  # fmt: skip
MONTHS, ODD = (NINE, NINE[:4]) if ALL else (NINE[:4], NINE[:2])
QUERIES = 15
DOCUMENTS = 40
ODD_LINES = {
    "not_four_columns": b"%(query)s 0 %(document)s\n%(query)s 0 7 1 1\n",
    "grade_unknown": b"%(query)s 0 %(document)s 1.5\n%(query)s 0 %(document)s 9\n",
    "blank_line": b" \n\n",
    "not_utf8": b"%(query)s 0 \xe9t\xe9 1\n",
}
"""Lines that are no judgements, by the reason of their rejects."""


def ids(layout: str, month: str) -> tuple[list[str], list[str]]:
    """Ids of the queries and documents of a month, in the form of a layout."""
    year, number = month.split("-")
    query, document = {
        "longeval-2023": (f"q{number}{year[2:]}{{}}", f"doc{number}{year[2:]}001{{:05d}}"),
        "longeval-web": ("{}", "{}"),
        "longeval-sci": ("00a1-{}", "1401{}"),
    }[layout]
    return [query.format(n) for n in range(QUERIES)], [document.format(n) for n in range(DOCUMENTS)]


def judgements(layout: str, month: str, seed: int) -> list[str]:
    """Judgement lines without repetition, sorted by query."""
    rng, (queries, documents) = random.Random(f"{month} {seed}"), ids(layout, month)
    return [
        f"{query} 0 {document} {rng.randrange(3)}"
        for query in queries
        for document in sorted(rng.sample(documents, 12))
    ]


def repeated_judgements(layout: str, month: str) -> list[str]:
    """Judgement lines of an odd month that repeat or contradict earlier ones, or are new."""
    return judgements(layout, month, 2)[:60] if month in ODD else []


def judgement_file(layout: str, month: str) -> bytes:
    """Content of a judgement file; an odd month has repeated, damaged and CRLF lines."""
    queries, documents = ids(layout, month)
    named = {b"query": queries[0].encode(), b"document": documents[0].encode()}
    damaged = [lines % named for lines in ODD_LINES.values()] if month in ODD else []
    lines = "".join(f"{line}\n" for line in judgements(layout, month, 1)).encode()
    again = "".join(f"{line}\r\n" for line in repeated_judgements(layout, month)).encode()
    return lines + b"".join(damaged) + again


def write_release(root: Path, layout: str) -> dict[str, Path]:
    """Write a release of all months, and return the judgement file of each."""
    paths = {}
    for index, month in enumerate(MONTHS):
        label = f"{'ABCDEFGHI'[index]}-{month}"
        home = "publish" if index == 0 else f"test-collection/{label}"
        queries, qrels = {
            "longeval-2023": (
                f"{home}/French/Queries/{'train' if index == 0 else 'test'}.tsv",
                f"{home}/French/Qrels/train.txt"
                if index == 0
                else f"longeval-relevance-judgements/{label.lower()}.txt",
            ),
            "longeval-web": (f"queries/{month}_queries.txt", f"qrels/{month}_fr/processed.txt"),
            "longeval-sci": (f"{month}/queries.txt", f"{month}/qrels.txt"),
        }[layout]
        texts = (
            f"{name}\t{'Été' if n % 2 else 'ete'} {n // 2}\n"
            for n, name in enumerate(ids(layout, month)[0])
        )
        write(root / queries, "".join(texts))
        write(root / qrels, judgement_file(layout, month))
        paths[month] = root / qrels
    return paths
