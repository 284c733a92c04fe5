"""Simulates query logs over existing crawls, and writes a definition, topics and ground truth.

A query text consists of a topic (a frequent title word) and the rarest other words of a page title
with this topic. Pages whose titles contain all words of a query are highly relevant (grade 2), and
pages whose titles contain some of the words are relevant (grade 1). Random pages fill the remaining
ranks (grade 0 if their titles contain none of the words).
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.ingest.crawls import read_pages
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits
from builder.simulation import truth
from builder.simulation.calendar import Month, consecutive_months
from builder.simulation.definition import write_definition, write_topics
from builder.simulation.faults import Fault
from builder.simulation.files import write_ground_truth_table
from builder.simulation.needs import (
    ATTRACTIVENESS_RANGES,
    SATISFACTION_RANGES,
    SimulatedQuery,
    interpolate_in_grade_ranges,
)
from builder.simulation.parameters import SimulationParameters
from builder.simulation.personal import create_personal_data_query
from builder.simulation.rng import Rng, hash_arrays_to_uniform, hash_integers
from builder.simulation.text_variants import add_typo, normalize_text
from builder.simulation.world import (
    FIRST_UNWANTED_QUERY,
    query_probabilities,
    write_user_ground_truth,
)
from builder.simulation.write_log import log_path, write_log

MIN_WORD_CHARS = 4
MAX_TOPIC_SHARE = 0.05
"""Maximum share of page titles in which a topic word may occur."""
MIN_TOPIC_PAGES = 3
"""Minimum number of page titles in which a topic word must occur."""
MAX_TITLE_CHARS = 80
"""Maximum number of characters read from the title of a page, or from its text if untitled."""
MAX_TOPICS = 200
PERSONAL_QUERIES = 6


class TitledPage(NamedTuple):
    """URL of a page, and the distinct words of its title."""

    url: str
    words: tuple[str, ...]


def simulate_over_crawls(
    out: Path | str, crawls: Sequence[Path | str], params: SimulationParameters
) -> None:
    """Simulate query logs over existing crawls, and write the logs with their ground truth.

    Args:
        out: Output folder; created if missing.
        crawls: One crawl file per snapshot, in chronological order. If the file names contain
            ascending months, such as `2022-06-30.warc.gz`, these are the months of the snapshots.
        params: Parameters of the simulation; those that describe pages are ignored.

    Raises:
        UsageError: there is no crawl, a file is missing, no page has a title or text, or no title
            word is suitable as a topic.
    """
    if not crawls:
        raise UsageError("--over: expected at least one crawl file, found none")
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    files = [Path(crawl) for crawl in crawls]
    months = _detect_months(files)
    snapshots = [_read_titled_pages(path) for path in files]
    topics = _select_topics(snapshots[0])
    if not topics:
        raise UsageError(
            f"--over: {files[0]}: expected title words that occur in {MIN_TOPIC_PAGES} or more of "
            f"the {len(snapshots[0]):,} pages, but in at most {MAX_TOPIC_SHARE:.0%} of them; found "
            "no such word to use as a topic"
        )
    texts = _create_query_texts(snapshots[0], topics, params)
    faults: list[Fault] = []
    relevance_rows: list[tuple[object, ...]] = []
    query_rows: list[tuple[object, ...]] = []
    for snapshot, (month, pages) in enumerate(zip(months, snapshots, strict=True)):
        queries = [
            *_create_topic_queries(params, texts, pages),
            *_create_queries_with_personal_data(params, pages),
        ]
        probabilities = query_probabilities(params, queries, snapshot)
        write_log(out, params, queries, probabilities, month, faults, lambda _: None)
        relevance_rows += truth.create_relevance_rows(month, queries)
        query_rows += truth.create_query_rows(month, queries, probabilities)
    write_ground_truth_table(out / "truth", "attraction", relevance_rows, truth.RELEVANCE_SCHEMA)
    write_ground_truth_table(out / "truth", "queries", query_rows, truth.QUERY_SCHEMA)
    truth.write_faults(out, faults)
    write_user_ground_truth(out, params, PERSONAL_QUERIES)
    write_topics(out, [(word, word, "") for word in topics])
    paths = [path.resolve().as_posix() for path in files]
    rows = [(m, log_path(params, m), path) for m, path in zip(months, paths, strict=True)]
    write_definition(
        out, params.name, rows, ignore_crawl_interval=True, translation=params.translation
    )


def _detect_months(crawls: Sequence[Path]) -> list[Month]:
    """Return the month of each crawl: from its file name, or else consecutive months.

    File names are used only if every name contains a month and the months are in ascending order.
    """
    matches = [re.search(r"(\d{4})-(0[1-9]|1[0-2])", path.name) for path in crawls]
    months = [Month(int(match[1]), int(match[2])) for match in matches if match]
    is_distinct = len({month.name for month in months}) == len(crawls)
    is_sorted = months == sorted(months, key=lambda month: month.name)
    return months if is_distinct and is_sorted else consecutive_months(len(crawls))


def _read_titled_pages(path: Path) -> list[TitledPage]:
    """Read the URL and title words of each page of a crawl; ignore records that are not pages.

    Raises:
        UsageError: the file does not exist, or no page has a title or text.
    """
    if not path.is_file():
        raise UsageError(f"--over: {path}: file not found; expected a crawl file")
    pages: dict[str, TitledPage] = {}
    params = CrawlParameters(interval="ignore", undated="start")
    with TemporaryDirectory(prefix="longeval-") as scratch:
        limits = ResourceLimits(Path(scratch))
        for block in read_pages(Source(path, path.name), Interval(0, 0), params, limits):
            texts = block.pages.select("url", "title", pl.col("text").str.slice(0, MAX_TITLE_CHARS))
            for url, title, text in texts.iter_rows():
                words = normalize_text((title or text)[:MAX_TITLE_CHARS]).split()
                distinct_words = dict.fromkeys(w for w in words if len(w) >= MIN_WORD_CHARS)
                pages[url] = TitledPage(url, tuple(distinct_words))
    if not any(page.words for page in pages.values()):
        raise UsageError(
            f"--over: {path}: expected pages with a title or text, found none; check the crawl file"
        )
    return list(pages.values())


def _select_topics(pages: list[TitledPage]) -> list[str]:
    """Return frequent title words as topics; words that occur in too many titles are skipped."""
    counts = Counter(word for page in pages for word in page.words)
    max_pages = max(MIN_TOPIC_PAGES, round(MAX_TOPIC_SHARE * len(pages)))
    words = [w for w, n in counts.items() if MIN_TOPIC_PAGES <= n <= max_pages and w.isalpha()]
    return sorted(words, key=lambda w: (-counts[w], w))[:MAX_TOPICS]


def _create_query_texts(
    pages: list[TitledPage], topics: list[str], params: SimulationParameters
) -> list[str]:
    """Return distinct query texts, each with up to three words of a page title.

    The first word is a topic; the others are the rarest of the remaining title words.
    """
    counts = Counter(word for page in pages for word in page.words)
    topic_set = set(topics)
    shuffled = sorted(pages, key=lambda page: hash_integers(params.seed, *page.url.encode()[-24:]))
    texts: dict[str, None] = {}
    for page in shuffled:
        page_topics = [word for word in page.words if word in topic_set]
        if page_topics and len(texts) < params.queries:
            topic = page_topics[0]
            rare = sorted(set(page.words) - {topic}, key=lambda w: (counts[w], w))[:2]
            texts[" ".join([topic, *rare])] = None
    return list(texts)


def _create_topic_queries(
    params: SimulationParameters, texts: list[str], pages: list[TitledPage]
) -> list[SimulatedQuery]:
    """Return a query for each text, with results from the pages of one snapshot."""
    pages_by_word: dict[str, list[int]] = {word: [] for text in texts for word in text.split()}
    for number, page in enumerate(pages):
        for word in page.words:
            if word in pages_by_word:
                pages_by_word[word].append(number)
    return [
        _create_topic_query(params, number, text, pages, pages_by_word)
        for number, text in enumerate(texts)
    ]


def _create_topic_query(
    params: SimulationParameters,
    number: int,
    text: str,
    pages: list[TitledPage],
    pages_by_word: dict[str, list[int]],
) -> SimulatedQuery:
    words = text.split()
    matches = Counter(page for word in words for page in pages_by_word[word])
    related = sorted(matches, key=lambda page: (-matches[page], pages[page].url))
    limit = params.results_per_page
    random_pages = (
        hash_integers(params.seed, number, index) % len(pages) for index in range(3 * limit)
    )
    results = list(dict.fromkeys([*related[: max(limit - 3, 1)], *random_pages]))[: limit + 2]
    grades = [2 if matches[page] == len(words) else int(matches[page] > 0) for page in results]
    keys = np.array([hash_integers(*pages[page].url.encode()) for page in results], dtype=np.uint64)
    typo = add_typo(text, Rng(params.seed, number))
    attractiveness, satisfaction = (
        interpolate_in_grade_ranges(
            ranges, grades, hash_arrays_to_uniform(params.seed, number, keys, stream)
        )
        for ranges, stream in ((ATTRACTIVENESS_RANGES, 6), (SATISFACTION_RANGES, 7))
    )
    return SimulatedQuery(
        number,
        "need",
        tuple(dict.fromkeys((text, text.upper(), typo))),
        tuple(pages[page].url for page in results),
        tuple(grades),
        attractiveness,
        satisfaction,
    )


def _create_queries_with_personal_data(
    params: SimulationParameters, pages: list[TitledPage]
) -> list[SimulatedQuery]:
    """Return queries that contain fictitious personal data, with random results of grade 0."""
    queries = []
    for index in range(PERSONAL_QUERIES):
        text, _ = create_personal_data_query(params.seed, index)
        results = [hash_integers(params.seed, index, 51, k) % len(pages) for k in range(5)]
        urls = tuple(dict.fromkeys(pages[page].url for page in results))
        low, number = np.full(len(urls), 0.05), FIRST_UNWANTED_QUERY + index
        queries.append(
            SimulatedQuery(number, "personal", (text,), urls, (0,) * len(urls), low, low)
        )
    return queries
