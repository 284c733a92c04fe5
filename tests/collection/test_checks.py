"""Checks of judgements, queries, texts and derived tables, on a few literal rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from builder.collection.checks import contents
from tests.collection.literal import Row, find, write_version

JUNE, JULY, AUGUST = "snapshots/2022-06", "snapshots/2022-07", "snapshots/2022-08"
TOGETHER = {"from_snapshot": "2022-06", "to_snapshot": "2022-07"}


def _judged(query: str, *documents: str, **values: Any) -> list[Row]:
    return [{"query_id": query, "doc_id": document, **values} for document in documents]


def _numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:03}" for number in range(count)]


def test_texts_of_more_than_fifty_documents_are_boilerplate(tmp_path: Path) -> None:
    counts = {"a": 52, "b": 51, "c": 51, "d": 51, "e": 50}
    rows = [
        {"doc_id": document, "text_hash": text}
        for text, count in counts.items()
        for document in reversed(_numbered(text, count))
    ]
    version = write_version(tmp_path, {f"{JUNE}/documents": rows})
    assert find("LB215", version) == [
        (
            f"{JUNE}/documents",
            "texts occur in many documents; the most frequent text occurs in 52 documents",
            4,
            ("a000", "d000", "c000"),
        )
    ]


def test_boilerplate_is_more_than_one_percent_of_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MIN_BOILERPLATE_DOCUMENTS", 2)
    copies = [{"doc_id": f"a{number}", "text_hash": "a"} for number in range(3)]
    others = [{"doc_id": f"b{number}", "text_hash": f"b{number}"} for number in range(297)]
    tables = {f"{JUNE}/documents": copies + others, f"{JULY}/documents": copies + others[1:]}
    found = find("LB215", write_version(tmp_path, tables))
    assert [(where, count) for where, _, count, _ in found] == [(f"{JULY}/documents", 1)]


@pytest.mark.parametrize(("check", "text"), [("LB226", "</p>" * 5), ("LB228", "\ufffd" * 3)])
def test_one_faulty_text_of_twenty_is_tolerated(check: str, text: str, tmp_path: Path) -> None:
    good = [{"doc_id": f"d{number:02}", "text": "eau"} for number in range(18)]
    bad = [{"doc_id": f"e{number}", "text": text} for number in range(2)]
    tables = {f"{JUNE}/documents": [*good, {"doc_id": "d18"}, bad[0]]}
    tables[f"{JULY}/documents"] = [*good, *bad]
    found = find(check, write_version(tmp_path, tables))
    assert [(where, *rest) for where, _, *rest in found] == [(f"{JULY}/documents", 2, ("e0", "e1"))]


def test_queries_that_equal_their_translation_are_counted(tmp_path: Path) -> None:
    def queries(copied: int, total: int) -> list[Row]:
        return [
            {"query_id": f"q{n}", "text": "paris", "text_en": "paris" if n < copied else "Paris"}
            for n in range(total)
        ]

    tables = {
        f"{JUNE}/queries": queries(8, 10),
        f"{JULY}/queries": queries(9, 10),
        f"{AUGUST}/queries": queries(9, 9),
    }
    version = write_version(tmp_path, tables, snapshots=("2022-06", "2022-07", "2022-08"))
    assert find("LB217", version) == [
        (
            f"{JULY}/queries",
            "English texts of most of the 10 queries equal the source text",
            9,
            ("q0", "q1", "q2"),
        )
    ]


def test_a_query_has_unusually_many_judgements_from_101_on(tmp_path: Path) -> None:
    """More than five times those of the 99th percentile, repeated lines included."""
    usual = _judged("q1", *_numbered("d", 20))
    tables = {
        f"{JUNE}/qrels": usual + _judged("q2", *_numbered("d", 100)),
        f"{JUNE}/rejects": [
            {"stage": "import", "reason": "repeated_judgement", "key": "q2 d000", "rows": 1},
            {"stage": "import", "reason": "grade_unknown", "key": "q2 d000", "rows": 1},
        ],
        f"{JULY}/qrels": [
            *_judged("q1", *_numbered("d", 101)),
            *_judged("q2", *_numbered("d", 103)),
            *_judged("q3", *_numbered("d", 100)),
            *_judged("q4", *_numbered("d", 101)),
            *_judged("q5", *_numbered("d", 101)),
            *({"query_id": f"r{number}", "doc_id": "d1"} for number in range(499)),
        ],
        f"{AUGUST}/qrels": _judged("q1", *_numbered("d", 21)) + _judged("q2", *_numbered("d", 105)),
    }
    version = write_version(tmp_path, tables, snapshots=("2022-06", "2022-07", "2022-08"))
    message = "queries have up to 101 judgements; 99 % have at most 20"
    several = "queries have up to 103 judgements; 99 % have at most 1"
    assert find("LB211", version) == [
        (f"{JUNE}/qrels", message, 1, ("q2",)),
        (f"{JULY}/qrels", several, 4, ("q2", "q5", "q4")),
    ]


def _flips(pairs: int, flips: int, **snapshots: str) -> list[Row]:
    grades = [(0, 2) if n % 2 else (2, 0) for n in range(flips)]
    grades += [(1, 2) if n % 2 else (1, 0) for n in range(pairs - flips)]
    return [
        {"query_id": "q1", "doc_id": f"d{n:03}", "grade_from": a, "grade_to": b, **snapshots}
        for n, (a, b) in enumerate(grades)
    ]


@pytest.mark.parametrize(
    ("pairs", "flips", "found"), [(100, 16, "16%"), (100, 15, None), (99, 99, None)]
)
def test_grades_are_unstable_if_more_than_15_percent_flip(
    pairs: int, flips: int, found: str | None, tmp_path: Path
) -> None:
    later = {"from_snapshot": "2022-07", "to_snapshot": "2022-08"}
    new = [{"query_id": "q2", "doc_id": f"d{n}", "grade_to": 2, **TOGETHER} for n in range(50)]
    gone = [{"query_id": "q3", "doc_id": f"d{n}", "grade_from": 2, **TOGETHER} for n in range(50)]
    rows = [*_flips(200, 40, **later), *_flips(pairs, flips, **TOGETHER), *new, *gone]
    names = ("2022-06", "2022-07", "2022-08")
    version = write_version(tmp_path, {"changes/qrels": rows}, snapshots=names)
    message = "of the pairs changed between grades 0 and 2 since"
    first = [] if found is None else [(f"{JULY}/qrels", f"{found} {message} 2022-06", flips, ())]
    second = (f"{AUGUST}/qrels", f"20% {message} 2022-07", 40, ())
    assert find("LB220", version) == [*first, second]


def test_most_relevant_documents_should_be_clicked(tmp_path: Path) -> None:
    relevant = {"source": "click", "grade": 1}
    half = [
        *_judged("q2", "d2", "d1", clicks=0, **relevant),
        *_judged("q5", "d1", "d2", clicks=0, **relevant),
        *_judged("q1", "d3", "d4", "d5", "d6", clicks=1, **relevant),
    ]
    others = [
        *_judged("q3", "d1", "d2", clicks=0, source="click", grade=0),
        *_judged("q4", "d1", "d2", clicks=0, source="manual", grade=2),
    ]
    tables = {f"{JUNE}/qrels": half + others, f"{JULY}/qrels": half[:7] + others}
    message = "too many of the 7 relevant documents were never clicked"
    assert find("LB227", write_version(tmp_path, tables)) == [
        (f"{JULY}/qrels", message, 4, ("q2 d1", "q2 d2", "q5 d1"))
    ]


def test_only_changes_of_construction_between_two_snapshots_are_reported(tmp_path: Path) -> None:
    version = write_version(tmp_path, {})
    months = ["2022-06", "2022-07", "2022-08"]
    checks = [
        {"check": "a", "verdict": verdict, "snapshots": names, "evidence": f"evidence {number}"}
        for number, (verdict, names) in enumerate(
            [
                ("construction", months[:2]),
                ("construction", months),
                ("construction", months[:1]),
                ("world", months[:2]),
                ("construction", months[1:]),
            ]
        )
    ]
    (tmp_path / "drift.json").write_text(json.dumps({"checks": checks}))
    assert find("LB212", version) == [
        (JULY, "evidence 0 (a)", 1, ("2022-06", "2022-07")),
        (AUGUST, "evidence 4 (a)", 1, ("2022-07", "2022-08")),
    ]
    (tmp_path / "drift.json").unlink()
    assert find("LB212", version) == []


@pytest.mark.parametrize("content", ["[1]", '{"checks": [1]}', '{"checks": [{}]}'])
def test_drift_checks_that_cannot_be_read_are_one_finding(content: str, tmp_path: Path) -> None:
    version = write_version(tmp_path, {})
    (tmp_path / "drift.json").write_text(content)
    message = "cannot read the drift checks of consecutive snapshots"
    assert find("LB212", version) == [("drift.json", message, 1, ())]


def test_topics_inside_words_may_be_a_fifth_of_the_queries(tmp_path: Path) -> None:
    inside = ["bordeaux", "tableau", "nouveau", "bateau"]
    texts = [*inside, "eau", "Eau claire", "de l'eau", "l’EAU", "eau-vive"]
    queries = [{"query_id": f"q{n}", "text": text} for n, text in enumerate(texts)]
    tables = {
        "topics": [{"topic_id": "eau", "label": "eau", "language": "fr"}],
        f"{JUNE}/queries": queries[3:8],
        f"{JULY}/queries": queries,
    }
    substring = {"select": {"matching": "substring"}}
    message = "44% of the queries contain their topic only inside another word"
    version = write_version(tmp_path / "a", tables, parameters=substring)
    assert find("LB213", version) == [(f"{JULY}/queries", message, 4, tuple(inside[:3]))]
    word = write_version(tmp_path / "b", tables, parameters={"select": {"matching": "word"}})
    assert find("LB213", word) == []
    tables.pop("topics")
    assert find("LB213", write_version(tmp_path / "c", tables, parameters=substring)) == []


def test_the_snapshots_with_rarer_parameters_deviate(tmp_path: Path) -> None:
    units = {
        f"{stage} {name}": {"parameters": parameters}
        for stage, name, parameters in (
            ("select", "2022-06", {"min_users": 5}),
            ("select", "2022-07", {"min_users": 6}),
            ("select", "2022-08", {"min_users": 5}),
            ("clicks", "2022-06", {"clicks.prior": "beta"}),
            ("clicks", "2022-07", {"clicks.prior": "mean"}),
            ("clicks", "2022-08", {"clicks.prior": "mean"}),
            ("log", "2022-06", {"log.fields": {"time": "t"}}),
            ("log", "2022-07", {"log.fields": {"time": "u"}}),
            ("maps", "all", {"a": 1}),
            ("maps", "2022-06_2022-07", {"a": 2}),
            ("qrels", "2022-06", {"a": 1, "b": 2}),
            ("qrels", "2022-07", {"b": 2, "a": 1}),
        )
    }
    names = ("2022-06", "2022-07", "2022-08")
    version = write_version(tmp_path, {}, snapshots=names, units=units)
    message = "parameters of stage {} differ from those of other snapshots"
    assert find("LB214", version) == [
        (JUNE, message.format("clicks"), 1, ("2022-06",)),
        (JULY, message.format("select"), 1, ("2022-07",)),
    ]


def test_personal_data_is_reported_by_kind(tmp_path: Path) -> None:
    texts = ["a@b.example", "06 12 34 56 78", "eau", "c@d.example", "e@f.example", "g@h.example"]
    queries = [{"query_id": f"q{6 - n}", "text": text} for n, text in enumerate(texts)]
    version = write_version(tmp_path, {f"{JUNE}/queries": queries})
    assert find("LB221", version) == [
        (f"{JUNE}/queries", "texts contain personal data: email", 4, ("q1", "q2", "q3")),
        (f"{JUNE}/queries", "texts contain personal data: phone", 1, ("q5",)),
    ]


def _texts(kind: str, *english: str | None) -> list[Row]:
    column = {"queries": "query_id", "documents": "doc_id"}[kind]
    return [{column: f"x{n}", "text": "eau", "text_en": text} for n, text in enumerate(english)]


def test_english_texts_are_missed_in_each_table(tmp_path: Path) -> None:
    tables = {
        f"{JUNE}/queries": _texts("queries", "water", None, None),
        f"{JULY}/queries": _texts("queries", " ", ""),
        f"{JUNE}/documents": _texts("documents", " a ", " "),
        f"{JULY}/documents": [],
    }
    french = write_version(tmp_path / "a", tables)
    assert find("LB225", french) == []
    both = write_version(tmp_path / "b", tables, languages=("fr", "en"))
    none = (f"{JULY}/queries", "no query has an English text", 2, ())
    assert find("LB225", both) == [
        (f"{JUNE}/queries", "English texts of some queries are missing", 2, ()),
        none,
    ]
    tables[f"{JULY}/documents"] = _texts("documents", None)
    release = write_version(tmp_path / "c", tables, languages=("fr", "en"), imported={})
    assert find("LB225", release) == [none]
    (_, _, missed) = find("LB225", write_version(tmp_path / "d", tables, languages=("fr", "en")))
    assert missed == (f"{JULY}/documents", "no document has an English text", 1, ())


def test_queries_that_are_one_in_english_have_to_be_listed(tmp_path: Path) -> None:
    english = ["water", "bread", "water", "bread", None, None, "salt", "bread"]
    queries = [{"query_id": f"q{n}", "text_en": text} for n, text in enumerate(english)]
    tables: dict[str, list[Row]] = {f"{JUNE}/queries": queries, f"{JULY}/queries": queries}
    tables[f"{JULY}/query_collisions"] = [{"query_id": f"q{n}"} for n in (0, 1, 2, 3)]
    message = "queries have the same English text as another query"
    assert find("LB223", write_version(tmp_path, tables)) == [
        (f"{JUNE}/queries", message, 5, ("q1", "q3", "q7")),
        (f"{JULY}/queries", message, 1, ("q7",)),
    ]


def test_tables_that_may_not_be_empty(tmp_path: Path) -> None:
    empty: dict[str, list[Row]] = {
        f"{JUNE}/{name}": [] for name in ("documents", "queries", "qrels", "click_estimates")
    }
    tables = {"topics": [], **empty, f"{JULY}/qrels": _judged("q1", "d1", "d2", grade=0)}
    queries, documents, qrels = (
        (f"{JUNE}/{name}", f"the table {name} is empty", 1, ())
        for name in ("queries", "documents", "qrels")
    )
    irrelevant = (f"{JULY}/qrels", "qrels contain no relevant documents", 2, ())
    version = write_version(tmp_path / "a", tables)
    assert find("LB224", version) == [documents, queries, qrels, irrelevant]
    release = write_version(tmp_path / "b", tables, imported={})
    assert find("LB224", release) == [documents, queries, irrelevant]
    release = write_version(tmp_path / "c", tables, imported={"documents": False})
    assert find("LB224", release) == [queries, irrelevant]
    tables[f"{JULY}/qrels"] = _judged("q1", "d1", grade=0) + _judged("q1", "d2", grade=1)
    assert find("LB224", write_version(tmp_path / "d", tables, imported={})) == [documents, queries]


def test_queries_reach_each_minimum(tmp_path: Path) -> None:
    counts = [(5, 9, 1), (4, 9, 1), (5, 8, 1), (5, 8, 0), (4, 8, 2), (5, 9, 0), (5, 8, 1)]
    queries = [
        {"query_id": f"q{9 - n}", "users": users, "impressions": shown, "clicks": clicks}
        for n, (users, shown, clicks) in enumerate(counts)
    ]
    tables = {f"{JUNE}/queries": queries, f"{JULY}/queries": queries[:1]}
    minimum = {"min_users": 5, "min_impressions": 9}
    version = write_version(tmp_path / "a", tables, parameters={"select": minimum})
    where = f"{JUNE}/queries"
    message = "queries have fewer than {}, the minimum set in the definition (select.min_{})"
    users = (where, message.format("5 users", "users"), 2, ("q5", "q8"))
    shown = (where, message.format("9 impressions", "impressions"), 4, ("q3", "q5", "q6"))
    assert find("LB119", version) == [users, shown]
    parameters = {"select": {**minimum, "min_clicks": 1}}
    clicked = (where, message.format("1 clicks", "clicks"), 2, ("q4", "q6"))
    version = write_version(tmp_path / "b", tables, parameters=parameters)
    assert find("LB119", version) == [users, shown, clicked]
    assert find("LB119", write_version(tmp_path / "c", tables, imported={})) == []


def _documents(**tokens: int) -> list[Row]:
    return [{"doc_id": name, "tokens": count} for name, count in tokens.items()]


def _document_changes(**tokens: tuple[int | None, int | None]) -> list[Row]:
    return [
        {"doc_id": name, "tokens_from": before, "tokens_to": after, **TOGETHER}
        for name, (before, after) in tokens.items()
    ]


CHANGED = "the changes from 2022-06 to 2022-07 differ from the {} of the two snapshots"


def test_changes_have_the_values_of_both_snapshots(tmp_path: Path) -> None:
    tables = {
        f"{JUNE}/documents": _documents(d1=1, d2=2, d3=3, d4=4),
        f"{JULY}/documents": _documents(d1=1, d2=9, d4=4, d5=5),
        f"{JUNE}/qrels": _judged("q1", "d1", grade=0) + _judged("q1", "d2", grade=1),
        f"{JULY}/qrels": _judged("q1", "d1", grade=2),
        "changes/documents": _document_changes(
            d1=(1, 1), d2=(2, 8), d3=(3, None), d4=(None, 4), d6=(6, 6)
        ),
        "changes/qrels": [
            {"query_id": "q1", "doc_id": "d1", "grade_from": 0, "grade_to": 2, **TOGETHER},
            {"query_id": "q1", "doc_id": "d2", "grade_from": 1, "grade_to": None, **TOGETHER},
        ],
    }
    version = write_version(tmp_path / "a", tables)
    documents = ("changes/documents", CHANGED.format("documents"), 4, ("d2", "d4", "d5"))
    assert find("LB120", version) == [documents]
    tables["changes/qrels"] = [
        {"query_id": "q1", "doc_id": "d1", "grade_from": 1, "grade_to": 2, **TOGETHER}
    ]
    qrels = ("changes/qrels", CHANGED.format("qrels"), 2, ("q1 d1", "q1 d2"))
    assert find("LB120", write_version(tmp_path / "b", tables)) == [documents, qrels]


def test_changes_of_a_release_list_keys_without_values(tmp_path: Path) -> None:
    ids = [
        {"kind": "document", "id": "1", "key": "da"},
        {"kind": "document", "id": "2", "key": "db"},
        {"kind": "query", "id": "1", "key": "qa"},
    ]
    tables = {
        f"{JUNE}/documents": _documents(**{"1": 1, "2": 2}),
        f"{JULY}/documents": _documents(**{"1": 3}),
        f"{JUNE}/release_ids": ids,
        f"{JULY}/release_ids": ids,
        "changes/documents": _document_changes(da=(None, None), db=(7, 7)),
    }
    assert find("LB120", write_version(tmp_path / "a", tables, imported={})) == []
    tables["changes/documents"] = _document_changes(da=(None, None))
    found = find("LB120", write_version(tmp_path / "b", tables, imported={}))
    assert found == [("changes/documents", CHANGED.format("documents"), 1, ("db",))]


def test_changes_of_each_pair_of_snapshots_are_compared(tmp_path: Path) -> None:
    tables = {
        f"{JUNE}/queries": [{"query_id": "q1", "impressions": 3}],
        f"{JULY}/queries": [{"query_id": "q1", "impressions": 4}],
        f"{AUGUST}/queries": [{"query_id": "q1", "impressions": 5}],
        "changes/queries": [
            {"query_id": "q1", "impressions_from": 3, "impressions_to": 4, **TOGETHER},
            {
                "query_id": "q1",
                "impressions_from": 4,
                "impressions_to": 6,
                "from_snapshot": "2022-07",
                "to_snapshot": "2022-08",
            },
        ],
    }
    names = ("2022-06", "2022-07", "2022-08")
    message = CHANGED.replace("2022-07", "2022-08").replace("2022-06", "2022-07").format("queries")
    version = write_version(tmp_path / "a", tables, snapshots=names)
    assert find("LB120", version) == [("changes/queries", message, 1, ("q1",))]
    tables.pop(f"{AUGUST}/queries")
    assert find("LB120", write_version(tmp_path / "b", tables, snapshots=names)) == []


def test_documents_are_fetched_from_the_start_to_before_the_end(tmp_path: Path) -> None:
    """June 2022 is 1654041600 to 1656633600 in Unix seconds."""
    times = [1654041599, 1654041600, 1656633599, 1656633600, 0, 1]
    documents = [{"doc_id": f"d{9 - n}", "fetched_at": time} for n, time in enumerate(times)]
    tables = {f"{JUNE}/documents": documents}
    enforced = {"crawl": {"interval": "enforce"}}
    message = "documents were fetched outside the interval of the snapshot"
    version = write_version(tmp_path / "a", tables, parameters=enforced)
    assert find("LB121", version) == [(f"{JUNE}/documents", message, 4, ("d4", "d5", "d6"))]
    ignored = {"crawl": {"interval": "ignore"}}
    assert find("LB121", write_version(tmp_path / "b", tables, parameters=ignored)) == []
    release = write_version(tmp_path / "c", tables, parameters=enforced, imported={})
    assert find("LB121", release) == []


def test_topics_of_queries_that_do_not_exist_are_listed(tmp_path: Path) -> None:
    queries = [
        {"query_id": "q1", "topics": ["eau", "sel", "vin"]},
        {"query_id": "q2", "topics": ["sel", "ail", "blé"]},
        {"query_id": "q3", "topics": []},
    ]
    tables = {"topics": [{"topic_id": "eau"}], f"{JUNE}/queries": queries}
    message = "topic ids of queries are missing from the table `topics`"
    version = write_version(tmp_path / "a", tables)
    assert find("LB122", version) == [(f"{JUNE}/queries", message, 4, ("ail", "blé", "sel"))]
    assert find("LB122", write_version(tmp_path / "b", tables, imported={})) == []
    tables.pop("topics")
    assert find("LB122", write_version(tmp_path / "c", tables)) == []


def test_judgements_have_the_click_counts_of_their_estimates(tmp_path: Path) -> None:
    counts = {"impressions": 9, "examinations": 5, "clicks": 2, "last_clicks": 1}
    same = {**counts, "attractiveness": 0.5}
    query, document = "q000000000000000a", "d000000000000000"
    qrels = [
        *_judged(query, f"{document}1", source="click", **same),
        *_judged(query, f"{document}2", source="click", **counts),
        *_judged(query, f"{document}3", source="click", **{**same, "clicks": 3}),
        *_judged(query, f"{document}4", source="manual", **{**same, "clicks": 3}),
        *_judged(query, *(f"{document}{n}" for n in (5, 6, 7)), source="click", **same),
    ]
    estimates = [{"query": 10, "doc": n, **same} for n in (1, 3, 4)]
    estimates.append({"query": 10, "doc": 2, **counts})
    tables = {f"{JUNE}/qrels": qrels, f"{JUNE}/click_estimates": estimates}
    message = "the click evidence of judgements differs from click_estimates"
    examples = tuple(f"{query} {document}{n}" for n in (3, 5, 6))
    version = write_version(tmp_path / "a", tables)
    assert find("LB124", version) == [(f"{JUNE}/qrels", message, 4, examples)]
    merged = {"variants": {"merge": "labels"}}
    assert find("LB124", write_version(tmp_path / "b", tables, parameters=merged)) == []
    assert find("LB124", write_version(tmp_path / "c", tables, imported={})) == []
