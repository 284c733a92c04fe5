"""Users over existing pages: a log, topics and truth for crawls that somebody else made.

In: one crawl file per snapshot, of any format that a build reads. Out: what `simulate` writes,
without the crawls. Queries are made of rare words of page titles; a page whose title has all of
them answers (grade 2), one that has some is related (grade 1), others fill the list (grade 0).
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
from builder.runtime.limits import Limits
from builder.simulation import truth
from builder.simulation.calendar import Month, months
from builder.simulation.definition import write_definition, write_topics
from builder.simulation.draw import Draw, mix, units
from builder.simulation.faults import Fault
from builder.simulation.files import write_truth
from builder.simulation.needs import ATTRACTIVENESS, SATISFACTION, Query, spread
from builder.simulation.parameters import Simulation
from builder.simulation.personal import personal_query
from builder.simulation.words import plain, slip
from builder.simulation.world import FIRST_OTHER, popularities, write_people
from builder.simulation.write_log import log_name, write_log

SHORTEST_WORD = 4
MOST_FREQUENT = 0.05
LEAST_PAGES = 3
TITLE_CHARS = 80
"""Characters of a title, or of a text without one, that are looked at."""
MOST_TOPICS = 200


class Title(NamedTuple):
    """A page by its address and the words of its title."""

    url: str
    words: tuple[str, ...]


def simulate_over(out: Path | str, crawls: Sequence[Path], params: Simulation) -> None:
    """Simulate users over crawls.

    Args:
        out: Folder; created.
        crawls: A crawl file for each snapshot, in order of time; a month in its name, such as
            `2022-06-30.warc.gz`, is the snapshot's.
        params: The users; the parameters of pages do not count.

    Raises:
        UsageError: a file is missing, or has no page with a title.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    calendar = _calendar(crawls)
    indexes = [_read_titles(path) for path in crawls]
    topics = _topics(indexes[0])
    texts = _queries(indexes[0], topics, params)
    noted: list[Fault] = []
    attraction: list[tuple[object, ...]] = []
    asked: list[tuple[object, ...]] = []
    for snapshot, (month, titles) in enumerate(zip(calendar, indexes, strict=True)):
        queries = [*_needs(params, texts, titles), *_personal(params, titles)]
        popularity = popularities(params, queries, snapshot)
        write_log(out, params, queries, popularity, month, noted, lambda _: None)
        attraction += truth.attraction_rows(month, queries)
        asked += truth.query_rows(month, queries, popularity)
    write_truth(out / "truth", "attraction", attraction, truth.ATTRACTION)
    write_truth(out / "truth", "queries", asked, truth.QUERIES)
    truth.write_faults(out, noted)
    write_people(out, params)
    write_topics(out, [(word, word, "") for word in topics])
    paths = [path.resolve().as_posix() for path in crawls]
    rows = [(m, log_name(params, m), p) for m, p in zip(calendar, paths, strict=True)]
    write_definition(out, params.name, rows, any_page_time=True, translation=params.translation)


def _calendar(crawls: Sequence[Path]) -> list[Month]:
    """The month in each file's name; consecutive months where a name has none or repeats one."""
    found = [re.search(r"(\d{4})-(0[1-9]|1[0-2])", path.name) for path in crawls]
    named = [Month(int(match[1]), int(match[2])) for match in found if match]
    distinct = len({month.name for month in named}) == len(crawls)
    return (
        named if distinct and named == sorted(named, key=lambda m: m.name) else months(len(crawls))
    )


def _read_titles(path: Path) -> list[Title]:
    """Addresses and title words of the pages of a crawl; records that are no page are ignored."""
    if not path.is_file():
        raise UsageError(f"--over: no such file: {path}")
    titles: dict[str, Title] = {}
    params = CrawlParameters(interval="ignore", undated="start")
    with TemporaryDirectory(prefix="longeval-") as scratch:
        limits = Limits(Path(scratch))
        for block in read_pages(Source(path, path.name), Interval(0, 0), params, limits):
            texts = block.pages.select("url", "title", pl.col("text").str.slice(0, TITLE_CHARS))
            for url, title, text in texts.iter_rows():
                words = plain((title or text)[:TITLE_CHARS]).split()
                long = dict.fromkeys(word for word in words if len(word) >= SHORTEST_WORD)
                titles[url] = Title(url, tuple(long))
    if not any(title.words for title in titles.values()):
        raise UsageError(f"--over: {path}: expected a crawl with titles, found no title")
    return list(titles.values())


def _topics(titles: list[Title]) -> list[str]:
    """Words that several titles have, but not too many."""
    counts = Counter(word for title in titles for word in title.words)
    most = max(LEAST_PAGES, round(MOST_FREQUENT * len(titles)))
    words = [w for w, n in counts.items() if LEAST_PAGES <= n <= most and w.isalpha()]
    return sorted(words, key=lambda w: (-counts[w], w))[:MOST_TOPICS]


def _queries(titles: list[Title], topics: list[str], params: Simulation) -> list[str]:
    """Query texts: a topic and the rarest other words of one title."""
    counts = Counter(word for title in titles for word in title.words)
    wanted = set(topics)
    order = sorted(titles, key=lambda title: mix(params.seed, *title.url.encode()[-24:]))
    texts: dict[str, None] = {}
    for title in order:
        on_topic = [word for word in title.words if word in wanted]
        if on_topic and len(texts) < params.queries:
            rare = sorted(set(title.words) - {on_topic[0]}, key=lambda w: (counts[w], w))[:2]
            texts[" ".join([on_topic[0], *rare])] = None
    return list(texts)


def _needs(params: Simulation, texts: list[str], titles: list[Title]) -> list[Query]:
    holders: dict[str, list[int]] = {word: [] for text in texts for word in text.split()}
    for number, title in enumerate(titles):
        for word in title.words:
            if word in holders:
                holders[word].append(number)
    return [_need(params, number, text, titles, holders) for number, text in enumerate(texts)]


def _need(
    params: Simulation, number: int, text: str, titles: list[Title], holders: dict[str, list[int]]
) -> Query:
    words = text.split()
    shared = Counter(page for word in words for page in holders[word])
    related = sorted(shared, key=lambda page: (-shared[page], titles[page].url))
    most = params.results_per_page
    fillers = (mix(params.seed, number, place) % len(titles) for place in range(3 * most))
    pages = list(dict.fromkeys([*related[: most - 3], *fillers]))[: most + 2]
    grades = [2 if shared[p] == len(words) else int(shared[p] > 0) for p in pages]
    keys = np.array([mix(*titles[p].url.encode()) for p in pages], dtype=np.uint64)
    return Query(
        number,
        "need",
        tuple(dict.fromkeys((text, text.upper(), slip(text, Draw(params.seed, number))))),
        tuple(titles[p].url for p in pages),
        tuple(grades),
        spread(ATTRACTIVENESS, grades, units(params.seed, number, keys, 6)),
        spread(SATISFACTION, grades, units(params.seed, number, keys, 7)),
    )


def _personal(params: Simulation, titles: list[Title]) -> list[Query]:
    """Queries with personal data, answered by anything."""
    found = []
    for number in range(6):
        text, _ = personal_query(params.seed, number)
        pages = [mix(params.seed, number, 51, k) % len(titles) for k in range(5)]
        urls = tuple(dict.fromkeys(titles[page].url for page in pages))
        low = np.full(len(urls), 0.05)
        number_of_query = FIRST_OTHER + number
        found.append(Query(number_of_query, "personal", (text,), urls, (0,) * len(urls), low, low))
    return found
