"""The files of the golden world `verdicts`: labels, lists, sets of variants and judgements."""

import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path

import polars as pl

import builder
from builder.text.keys import doc_id, fold_texts, key64, query_id, url_key
from tests.golden.logs import Record, read_records

SECTIONS = """
[verdicts]
files = ["labels.tsv"]
[[verdicts.filters]]
name = "adult"
kind = "query"
label = "adult"
[[verdicts.filters]]
name = "programs"
kind = "user"
label = "bot"
min_score = 0.8
[[verdicts.filters]]
name = "spam"
kind = "document"
label = "spam"
source = "hand"
[variants]
sets = "edit"
merge = "labels"
files = ["sets.tsv"]
[select]
stop_lists = ["stop.txt"]
stop_matching = "word"
navigational_share = 0.9
min_users = 2
[documents]
deny = ["deny.txt"]
sample_share = 0.6
duplicates = "keep_first"
near_duplicates = "drop"
[qrels]
policy = "target_shares"
manual = "fills_gaps"
min_judged = 2
"""
HEADER = "kind\tkey\tlabel\tscore\tsource\tversion\n"


def add_files(definition: Path) -> None:
    """Write the files beside the definition of a simulated world, and name them in it."""
    folder = definition.parent
    records = read_records(folder / "logs/2022-06.jsonl.gz")
    queries = [text for text, _ in Counter(r["query"] for r in records).most_common()]
    shown = Counter(url for r in records for url in r["results"])
    urls = sorted(shown, key=lambda url: (-shown[url], url))
    (folder / "stop.txt").write_text(queries[9].split()[0] + "\n# nothing\n", "utf-8")
    (folder / "sets.tsv").write_text(f"one\t{queries[2]}\none\t{queries[5]}\n", "utf-8")
    (folder / "deny.txt").write_text(f"# pages\n{urls[7]}\n{urls[30]}\n", "utf-8")
    (folder / "judgements.tsv").write_text(_sheet(records[:60]), "utf-8")
    _repeat_pages(folder / "crawls/2022-07.jsonl.gz")
    (folder / "labels.tsv").write_text(HEADER + _labels(definition, queries, urls), "utf-8")
    text = definition.read_text("utf-8")
    crawl = 'crawl = ["crawls/2022-07'
    named = text.replace(crawl, f'judgements = ["judgements.tsv"]\n{crawl}')
    definition.write_text(named + SECTIONS, "utf-8")


def _labels(definition: Path, queries: list[str], urls: list[str]) -> str:
    """Labels of queries, of users by the pseudonyms that a first build gives, of documents."""
    with tempfile.TemporaryDirectory() as folder:
        builder.build(definition, folder, until="log", threads=1)
        (found,) = Path(folder).glob(".work/log/2022-06/*/impressions")
        impressions = pl.read_parquet(found).sort("impression")
    users = impressions["user"].drop_nulls().unique(maintain_order=True)[:12]
    rows = [("query", query, "adult", 0.4 + n / 10) for n, query in enumerate(queries[3:6])]
    rows += [("user", f"{user:016x}", "bot", 0.5 + n / 25) for n, user in enumerate(users)]
    rows += [("document", url, "spam", 0.9) for url in urls[11:14]]
    return "".join(
        f"{kind}\t{key}\t{label}\t{score}\thand\t1\n" for kind, key, label, score in rows
    )


def _sheet(records: list[Record]) -> str:
    """Judgements of two assessors on the first result of some impressions."""
    grades: dict[tuple[str, str], int] = {}
    for number, record in enumerate(records):
        query = query_id(key64(fold_texts([record["query"]])[0]))
        grades[query, doc_id(key64(url_key(record["results"][0])))] = number % 3
    rows = [
        f"{query}\t{doc}\t{assessor}\t{max(0, grade - less)}\n"
        for (query, doc), grade in grades.items()
        for assessor, less in (("ann", 0), ("bob", 1))
    ]
    return "query_id\tdoc_id\tassessor\tgrade\n" + "".join(rows)


def _repeat_pages(crawl: Path) -> None:
    """Add pages with the text of another, or with nearly the same."""
    pages = read_records(crawl)
    same = [page | {"url": f"{page['url']}/copie"} for page in pages[:10]]
    near = [
        page | {"url": f"{page['url']}/imprimer", "text": f"{page['text']} Fin."}
        for page in pages[5:20]
    ]
    text = "".join(json.dumps(page) + "\n" for page in [*pages, *same, *near])
    crawl.write_bytes(gzip.compress(text.encode(), mtime=0))
