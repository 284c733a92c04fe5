"""The rows of a collection of three snapshots and of the scores of two systems."""

from typing import Any

DASH = "\N{EN DASH}"


def _query(query: str, text: str, topics: list[str], split: str, **counts: int) -> dict[str, Any]:
    return {"query_id": query, "text": text, "topics": topics, "split": split, **counts}


def _qrel(query: str, doc: str, grade: int, examinations: int = 0) -> dict[str, Any]:
    return {"query_id": query, "doc_id": doc, "grade": grade, "examinations": examinations}


def _sentence(key: str, field: str, number: int, fr: str, en: str, *flags: str) -> dict[str, Any]:
    own = {"id": key, "field": field, "sentence": number, "fr": fr, "en": en}
    return {**own, "flags": list(flags)}


def _page(doc: str, url: str, title: str, text: str, **values: Any) -> dict[str, Any]:
    own = {"doc_id": doc, "url": url, "title": title, "text": text, "shown": False}
    return {**own, "sampled": False, **values}


JUNE, JULY, SEPTEMBER = "2022-06", "2022-07", "2022-09"
PAGES = {
    JUNE: [
        _page("d1", "https://a.example/1", "Eau", "un deux", shown=True, tokens=3, fetched_at=1),
        _page("d2", "http://b.example/2", "", "trois", sampled=True, tokens=1),
        _page("d6", "https://c.example/old", "", "six", sampled=True, tokens=1),
    ],
    JULY: [
        {
            **_page("d1", "https://a.example/1", "Eau", "un trois", shown=True, tokens=3),
            "title_en": "Water",
            "text_en": "one three",
        }
    ],
    SEPTEMBER: [
        _page(
            "d1",
            "https://a.example/1",
            "Eau vive",
            "un trois quatre",
            shown=True,
            sampled=True,
            tokens=5,
            fetched_at=1_662_000_000,
            language="fr",
            language_score=0.987,
            truncated=True,
            duplicate_group="d3",
        ),
        _page(
            "d3",
            "https://www.a.example/1",
            "Pain",
            "cinq",
            sampled=True,
            tokens=2,
            truncated=False,
            near_duplicate_group="d1",
        ),
        _page("d6", "https://c.example/new", "", "six", sampled=True, tokens=1),
    ],
}
SNAPSHOT_TABLES: dict[str, Any] = {
    JUNE: {
        "documents": PAGES[JUNE],
        "queries": [
            _query("q1", "eau", ["t1"], "train", impressions=10, users=6, clicks=4),
            _query("q2", "Crêpe sucrée", ["t1", "t2"], "heldout", impressions=7, users=3, clicks=2),
        ],
        "qrels": [
            {
                **_qrel("q1", "d1", 2, 8),
                "impressions": 9,
                "clicks": 5,
                "last_clicks": 3,
                "score": 0.75,
                "score_low": 0.6,
                "score_high": 0.9,
                "stability": 0.79,
                "source": "click",
            },
            {**_qrel("q1", "d2", 0, 6), "stability": 0.8, "impressions": 0, "source": "manual"},
            _qrel("q2", "d1", 1, 1),
            _qrel("q4", "d4", 0),
        ],
        "rejects": [
            {"stage": "log", "reason": "bad_url", "file": "b.log", "line": 2, "rows": 1},
            {"stage": "log", "reason": "bad_url", "file": "a.log", "line": 9, "rows": 1},
            {"stage": "log", "reason": "bad_url", "rows": 5},
            {"stage": "crawl", "reason": "empty", "file": "c", "line": 1, "key": "k", "rows": 2},
        ],
    },
    JULY: {
        "documents": PAGES[JULY],
        "queries": [
            {
                **_query("q1", "l'eau", ["t1"], "seen", impressions=4, users=3, clicks=2),
                "text_en": "the water",
            },
            _query("q3", "pain", ["t2"], "test", impressions=20, users=9, clicks=8),
        ],
        "qrels": [_qrel("q1", "d1", 1, 3), _qrel("q3", "d1", 2, 2), _qrel("q3", "d2", 1, 2)],
        "rejects": [{"stage": "log", "reason": "bad_url", "file": "a.log", "line": 3, "rows": 4}],
        "sentences": [
            _sentence("q1", "text", 0, "l'eau", "the water"),
            _sentence("d1", "text", 1, "trois.", "three."),
            _sentence("d1", "text", 0, "un.", "one."),
            _sentence("d1", "title", 0, "Eau", "Water"),
        ],
        "translations": [
            {
                "id": "d1",
                "sentences": 6,
                "translated": 3,
                "copied": 2,
                "source_kept": 1,
                "dropped": 0,
            }
        ],
    },
    SEPTEMBER: {
        "documents": PAGES[SEPTEMBER],
        "queries": [
            _query("q1", "eau vive", ["t1"], "seen", impressions=9, users=7, clicks=1),
            _query("q6", "sel", [], "test", impressions=1, users=1, clicks=0),
        ],
        "qrels": [_qrel("q1", "d1", 1, 4), _qrel("q1", "d2", 2, 1)],
        "sentences": [
            _sentence("d1", "title", 0, "Eau vive", "Live water", "short", "copied"),
        ],
        "translations": [
            {
                "id": "d1",
                "sentences": 1,
                "translated": 1,
                "copied": 0,
                "source_kept": 0,
                "dropped": 0,
            }
        ],
    },
}
TABLES: dict[str, Any] = {
    "topics": [
        {"topic_id": "t2", "label": "Cuisine"},
        {"topic_id": "t1", "label": "Boissons"},
    ],
    "documents_map": [
        {
            "doc_id": "d1",
            "url": "https://a.example/1",
            "snapshots": [JUNE, JULY, SEPTEMBER],
            "loose_id": "d1",
            "crawled": [JUNE, JULY, SEPTEMBER],
        },
        {"doc_id": "d2", "url": "http://b.example/2", "snapshots": [JUNE], "crawled": []},
        {
            "doc_id": "d3",
            "url": "https://www.a.example/1",
            "snapshots": [SEPTEMBER],
            "loose_id": "d1",
        },
    ],
    "queries_map": [
        {"query_id": "q1", "text": "eau vive", "core": True, "aliases": ["eau pure", "flotte"]},
        {"query_id": "q2", "text": "Crêpe sucrée", "core": False, "aliases": []},
        {"query_id": "q3", "text": "pain", "core": False, "aliases": []},
        {"query_id": "q4", "text": "vin", "core": False, "aliases": []},
        {"query_id": "q6", "text": "sel", "core": False, "aliases": []},
    ],
    "query_changes": [
        {
            "query_id": query,
            "from_snapshot": start,
            "to_snapshot": end,
            "status": status,
            "impressions_from": before,
            "impressions_to": after,
        }
        for query, start, end, status, before, after in (
            ("q1", JUNE, JULY, "kept", 10, 4),
            ("q2", JUNE, JULY, "gone", 7, None),
            ("q3", JUNE, JULY, "new", None, 20),
            ("q7", JUNE, JULY, "kept", 3, 3),
            ("q1", JULY, SEPTEMBER, "kept", 4, 9),
            ("q3", JULY, SEPTEMBER, "gone", 20, None),
            ("q6", JULY, SEPTEMBER, "new", None, 1),
        )
    ],
    "qrel_changes": [
        {
            "query_id": query,
            "doc_id": doc,
            "from_snapshot": start,
            "to_snapshot": end,
            "grade_from": before,
            "grade_to": after,
            "examinations_from": seen,
            "examinations_to": seen_later,
        }
        for query, doc, start, end, before, after, seen, seen_later in (
            ("q1", "d1", JUNE, JULY, 2, 1, 8, 3),
            ("q1", "d2", JUNE, JULY, 0, None, 6, None),
            ("q2", "d1", JUNE, JULY, 1, None, 1, None),
            ("q3", "d1", JUNE, JULY, None, 2, None, 2),
            ("q3", "d2", JUNE, JULY, None, 1, None, 2),
            ("q4", "d4", JUNE, JULY, 0, 1, 0, 5),
            ("q1", "d1", JULY, SEPTEMBER, 1, 1, 3, 4),
            ("q1", "d2", JULY, SEPTEMBER, None, 2, None, 1),
            ("q8", "d1", JULY, SEPTEMBER, 0, 0, None, None),
        )
    ],
    "document_changes": [
        {
            "doc_id": "d1",
            "from_snapshot": JUNE,
            "to_snapshot": JULY,
            "status": "updated",
            "dice": 0.5,
            "shingle_jaccard": 0.25,
            "tokens_from": 3,
            "tokens_to": 3,
            "band": "edited",
        },
        {
            "doc_id": "d1",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "updated",
            "dice": 0.75,
            "shingle_jaccard": 0.125,
            "tokens_from": 3,
            "tokens_to": 5,
            "band": "rewritten",
        },
        {
            "doc_id": "d2",
            "from_snapshot": JUNE,
            "to_snapshot": JULY,
            "status": "not_sampled",
            "tokens_from": 1,
        },
        {
            "doc_id": "d3",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "added",
            "tokens_to": 2,
            "matched_by": "moved",
            "matched_id": "d2",
        },
        {
            "doc_id": "d5",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "updated",
            "dice": 0.25,
            "tokens_from": 5,
            "tokens_to": 2,
            "band": "cosmetic",
        },
        {
            "doc_id": "d9",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "removed",
            "tokens_from": 8,
            "matched_by": "loose",
            "matched_id": "d3",
        },
    ],
}
SCORES = [
    {"snapshot": snapshot, "system": system, "measure": measure, "query_key": query, "score": score}
    for snapshot, system, measure, query, score in (
        (JUNE, "a", "nDCG@10", "q1", 0.5),
        (JUNE, "b", "nDCG@10", "q1", 0.75),
        (JUNE, "a", "nDCG@10", "q2", 0.25),
        (JUNE, "b", "nDCG@10", "q2", 0.25),
        (JULY, "a", "nDCG@10", "q1", 1.0),
        (JULY, "b", "nDCG@10", "q1", 0.25),
        (JULY, "a", "nDCG@10", "q3", 0.125),
        (JULY, "b", "nDCG@10", "q3", 1.0),
        (JULY, "a", "nDCG@10", "q5", 0.5),
        (JULY, "b", "nDCG@10", "q5", None),
        (JUNE, "a", "AP", "q1", 0.0),
        (JUNE, "b", "AP", "q1", 1.0),
    )
]
