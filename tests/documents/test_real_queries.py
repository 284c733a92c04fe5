"""Real queries: language is noted and drops none; folding leaves something of every one."""

import json
from pathlib import Path

from builder.documents.language import MIN_CHARS, detect_languages
from builder.text.keys import fold_texts


def real_queries(shared: Path) -> list[str]:
    """Every variant of both dates, and the suggestions."""
    found: list[str] = []
    for path in sorted((shared / "queries").glob("cdtn_requests_*.json")):
        found += [variant for each in json.loads(path.read_text()) for variant in each["variants"]]
    for path in sorted((shared / "queries").glob("cdtn_suggestions_*.txt")):
        found += [json.loads(line)["entity"] for line in path.read_text().splitlines() if line]
    return found


def test_no_real_query_is_lost_by_its_language(shared: Path) -> None:
    queries = real_queries(shared)
    assert len(queries) > 12_000
    guesses = detect_languages(queries)
    assert len(guesses) == len(queries)
    for query, (code, score) in zip(queries, guesses, strict=True):
        if len(" ".join(query.split())) < MIN_CHARS:
            assert (code, score) == (None, None)
        else:
            assert code is not None
            assert score is not None
            assert 0 <= score <= 1
    asked = [code for code, _ in guesses if code is not None]
    mislabelled = sum(code != "fr" for code in asked) / len(asked)
    assert 0.005 < mislabelled < 0.2


def test_every_real_query_has_an_identity(shared: Path) -> None:
    queries = real_queries(shared)
    folded = fold_texts(queries)
    assert len(folded) == len(queries)
    assert [q for q, f in zip(queries, folded, strict=True) if q.strip() and not f] == []
    assert fold_texts(folded) == folded
