"""Checks for the defects of texts: repeated, untranslated, runaway, broken on export."""

from collections.abc import Callable, Iterable, Iterator

import polars as pl

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading

COMMON = 0.01
"""Share of documents with one text from which it is boilerplate."""
MARKUP = 0.05
"""Share of texts with tags beyond which a crawl of HTML was taken for text; some are about HTML."""
REPEATED = 50
"""Documents below which a repeated text is none."""


def _boilerplate(reading: Reading) -> Iterator[Found]:
    for name, documents in reading.snapshots("documents"):
        counts = documents.group_by("text_hash").agg(pl.len(), pl.col("doc_id").min()).collect()
        least = max(REPEATED, COMMON * int(counts["len"].sum()))
        found = counts.filter(pl.col("len") > least).sort("len", "doc_id", descending=True)
        if found.height:
            message = f"texts stand for many documents, the most frequent for {found['len'][0]:,}"
            yield (
                f"snapshots/{name}/documents",
                message,
                found.height,
                tuple(found["doc_id"].head(3)),
            )


def _faults(*names: str, share: float = 0) -> Callable[[Reading], Iterable[Found]]:
    """Findings for faults of the texts of documents and queries that more than a share have."""
    messages = {
        "empty_english": "English texts are empty",
        "untranslated": "English texts are the French ones",
        "runaway_english": "English texts repeat a word over and over",
        "search_operator": "texts have a search operator such as site:",
        "markup": "texts are pages of HTML, tags and all",
    }

    def find(reading: Reading) -> Iterator[Found]:
        for where, facts in reading.facts.items():
            for name in names:
                count = facts.faults.counts[name]
                if count > share * facts.rows:
                    yield where, messages[name], count, tuple(facts.faults.examples[name])

    return find


def _exports(reading: Reading) -> Iterator[Found]:
    """TREC files that do not hold what the tables do."""
    for name in reading.collection.snapshots:
        documents = reading.facts.get(f"snapshots/{name}/documents")
        for folder in sorted((reading.collection.path / "trec" / name).glob("*/documents")):
            found = sum(path.read_bytes().count(b"<DOC>\n") for path in folder.iterdir())
            if documents and documents.is_readable and found != documents.rows:
                where = folder.relative_to(reading.collection.path).as_posix()
                yield where, f"{found} documents, where the table has {documents.rows}", 1, ()


CHECKS = (
    Check(
        "LB215",
        "no text stands for many documents",
        "warning",
        "one boilerplate text 13,288 times",
        'set `documents.duplicates = "keep_first"` or `documents.duplicates = "drop"`',
        _boilerplate,
    ),
    Check(
        "LB216",
        "no English text is empty",
        "error",
        "337,348 of 1,790,028 English documents empty",
        'translate again with `translate.on_empty_output = "source"`, which marks what it keeps',
        _faults("empty_english"),
    ),
    Check(
        "LB217",
        "English texts are English",
        "warning",
        "untranslated French left silently",
        "translate again with `translate.retry = true`, which marks what it keeps",
        _faults("untranslated"),
    ),
    Check(
        "LB218",
        "no translation runs away",
        "warning",
        "leg leg leg ... 108 times",
        'translate again with `translate.beam_size = 4` and `translate.on_repetition = "source"`',
        _faults("runaway_english"),
    ),
    Check(
        "LB219",
        "TREC files hold the documents of the tables",
        "error",
        "page text with <DOC> or </TEXT>, which breaks every TREC reader",
        "export again; escape markup",
        _exports,
    ),
    Check(
        "LB222",
        "queries hold no search operator",
        "warning",
        "site: operators among published queries",
        'set `select.operators = "drop"`',
        _faults("search_operator"),
    ),
    Check(
        "LB226",
        "texts are no markup",
        "warning",
        "crawls of HTML that were taken for text: the words of every page are tags",
        'set `crawl.text_format = "html"`',
        _faults("markup", share=MARKUP),
    ),
)
