"""A small search engine in frames: queries, clicks and pages whose change is planted."""

import hashlib
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import polars as pl
import pytest

from builder.alignment import changes, maps
from builder.drift.measure import Series
from builder.parameters import ChangeParameters
from builder.progress import Silent
from builder.resources import Limits
from builder.tables import Table, table_at, write_frame
from schemas import (
    DocumentChanges,
    Documents,
    DocumentsMap,
    Qrels,
    QrelChanges,
    Queries,
    QueriesMap,
    QueryChanges,
)

SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi zo cha ble tri que ron mal".split()


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


@cache
def word(number):
    rng = np.random.default_rng(number)
    return "".join(rng.choice(SYLLABLES, 2 + number % 3))


@dataclass(frozen=True)
class World:
    """What people want and what pages say; nothing that an organiser decides."""

    seed: int = 0
    topics: int = 12
    queries_per_topic: int = 60
    pages_per_query: int = 8
    traffic: float = 1.0
    interest: dict[int, float] = field(default_factory=dict)
    interest_in_long: float = 1.0
    attraction: float = 1.0


@dataclass(frozen=True)
class Rules:
    """What an organiser decides."""

    dropped_topics: tuple[int, ...] = ()
    min_impressions: int = 5
    max_words: int = 9
    cuts: tuple[float, float] = (0.15, 0.4)
    min_examinations: int = 3
    alpha: float = 1.0
    sample: float = 0.3


def observe(world, rules, month):
    """Documents, queries and qrels that a build would publish for one month."""
    fixed = np.random.default_rng(world.seed)
    rng = np.random.default_rng((world.seed, month, 7))
    n = world.topics * world.queries_per_topic
    topic = np.arange(n) % world.topics
    popularity = 40 * np.exp(fixed.normal(0, 1.2, n))
    words = fixed.integers(2, 7, n)
    attraction = fixed.beta(0.8, 2.5, (n, world.pages_per_query))
    page = fixed.integers(0, 4 * n, (n, world.pages_per_query))
    mean = popularity * world.traffic * np.exp(rng.normal(0, 0.3, n))
    mean = mean * np.array([world.interest.get(t, 1.0) for t in topic])
    mean = np.where(words > 4, mean * world.interest_in_long, mean)
    impressions = rng.poisson(mean)
    users = np.ceil(impressions * 0.8).astype(int)
    listed = (impressions >= rules.min_impressions) & (words <= rules.max_words)
    listed &= ~np.isin(topic, rules.dropped_topics)
    queries, qrels = [], []
    for q in np.flatnonzero(listed):
        text = " ".join(word(int(q) * 11 + k) for k in range(words[q]))
        examined = rng.binomial(impressions[q], 0.9 ** np.arange(world.pages_per_query))
        clicked = rng.binomial(examined, np.minimum(attraction[q] * world.attraction, 1))
        judged = relevant = 0
        seen = set()
        for k in range(world.pages_per_query):
            if examined[k] < rules.min_examinations or page[q, k] in seen:
                continue
            seen.add(page[q, k])
            a = (clicked[k] + rules.alpha) / (examined[k] + 2 * rules.alpha)
            grade = int(a >= rules.cuts[0]) + int(a >= rules.cuts[1])
            judged += 1
            relevant += grade > 0
            qrels.append(dict(
                query_id="q" + md5(text)[:16], doc_id="d" + md5(f"page{page[q, k]}")[:16],
                grade=grade, score=a, attractiveness=a, satisfaction=0.25,
                impressions=int(impressions[q]), examinations=int(examined[k]),
                clicks=int(clicked[k]), last_clicks=0, source="click",
            ))
        if judged:
            queries.append(dict(
                query_id="q" + md5(text)[:16], text=text, topics=[f"t{topic[q]}"], split="test",
                impressions=int(impressions[q]), users=int(users[q]), clicks=int(clicked.sum()),
                judged=judged, relevant=relevant,
            ))
    return pages(world, rules, month, 4 * n), frame(queries, Queries), frame(qrels, Qrels)


def frame(rows, contract):
    """Rows of a contract; columns that are not given are null."""
    return pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in contract.dtypes()},
        schema=contract.dtypes(),
    )


def pages(world, rules, month, count):
    fixed = np.random.default_rng((world.seed, 1))
    rows = []
    born = fixed.integers(-30, 3, count)
    life = fixed.geometric(0.02, count) + 8
    edits = fixed.random((count, 4))
    threshold = int(rules.sample * 2**32)
    for number in np.flatnonzero((born <= month) & (month < born + life)):
        vocabulary = [word(int(number) % 97 + k) for k in range(40)]
        for m in range(month + 1):
            if edits[number, m % 4] < 0.15:
                vocabulary[(m * 7) % 40] = word(1000 + m)
            if edits[number, m % 4] < 0.02:
                vocabulary = [word(int(number) + m + k) for k in range(55)]
        url = f"https://site{number % 23}.fr/page/{number}"
        rows.append(document(url, f"Page {number}", " ".join(vocabulary),
                             sampled=int(md5(url)[:8], 16) < threshold, ident=f"page{number}"))
    return frame(rows, Documents)


def document(url, title, text, *, sampled=True, ident=None, language="fr"):
    """A row of `documents`."""
    tokens = pl.Series([f"{title}\n{text}"]).str.to_lowercase().str.extract_all(r"\w+")[0]
    return dict(
        doc_id="d" + md5(ident or url)[:16], url=url, url_key=url, fetched_at=0, title=title,
        text=text, title_en=None, text_en=None, language=language, language_score=0.9, shown=True,
        sampled=sampled, tokens=len(tokens), text_hash=md5(f"{title}\n{text}"),
        token_hash=md5(" ".join(tokens)),
    )


def tables(folder, frames):
    """Write (documents, queries, qrels) of each snapshot and align them: the input of drift."""
    limits = Limits(folder / "scratch")
    limits.scratch.mkdir(parents=True)
    found = {}
    for name, (documents, queries, qrels) in frames.items():
        found[name] = {}
        for table, rows, contract in (
            ("documents", documents, Documents),
            ("queries", queries, Queries),
            ("qrels", qrels, Qrels),
        ):
            path = folder / name / f"{table}.parquet"
            path.parent.mkdir(exist_ok=True)
            write_frame(rows, path, contract)
            found[name][table] = Table((path,), contract)
    names = list(frames)
    pairs = {}
    for place, pair in enumerate(zip(names, names[1:], strict=False)):
        out = folder / "_".join(pair)
        out.mkdir()
        sides = {f"{table}_{side}": found[name][table]
                 for name, side in zip(pair, ("from", "to"), strict=True)
                 for table in ("documents", "queries", "qrels")}
        changes(out, **sides, earlier=tuple(found[n]["documents"] for n in names[:place]),
                from_snapshot=pair[0], to_snapshot=pair[1], params=ChangeParameters(),
                limits=limits, progress=Silent())
        pairs[pair] = out
    out = folder / "maps"
    out.mkdir()
    each = {t: {n: found[n][t] for n in names} for t in ("documents", "queries", "qrels")}
    maps(out, documents=each["documents"], queries=each["queries"], limits=limits,
         progress=Silent())
    return Series(
        **each,
        document_changes={p: table_at(o, "document_changes", DocumentChanges) for p, o in pairs.items()},
        query_changes={p: table_at(o, "query_changes", QueryChanges) for p, o in pairs.items()},
        qrel_changes={p: table_at(o, "qrel_changes", QrelChanges) for p, o in pairs.items()},
        documents_map=table_at(out, "documents_map", DocumentsMap),
        queries_map=table_at(out, "queries_map", QueriesMap),
    ), limits
