from importlib.metadata import EntryPoint

import polars as pl
import pytest

from builder.errors import FormatError, SchemaError, UsageError
from builder.io.tables import Table, table_at
from builder.parameters import SelectionParameters, VerdictFilter, VerdictFilterParameters
from builder.queries import collect_verdicts, excluded_keys, verdict_coverage
from builder.queries.verdict_files import read_verdicts
from builder.runtime.ledger import RowLedger
from builder.runtime.progress import NoProgress
from builder.text.keys import key64, url_key
from schemas import Verdicts

HEADER = "kind\tkey\tlabel\tscore\tsource\tversion\n"
URL = "https://eau.example/"
SHOWN = [
    *(("eau", user, (1,)) for user in range(5)),
    ("loi secrete", 4, (1,)),
    *(("eau du bot", 7, ()) for _ in range(9)),
    *(("loi secrete", user, ()) for user in range(2)),
    *(("eau a@b.example", user, ()) for user in range(6)),
]


def run(room, files=(), plugins=()) -> tuple[Table, RowLedger]:  # type: ignore[no-untyped-def]
    log = room.log(SHOWN, results=1)
    urls = [(key64(url_key(URL)), URL, URL)]
    out = room.out()
    ledger = collect_verdicts(
        out,
        **log,
        log_urls=room.table("log_urls", urls),
        params=VerdictFilterParameters(plugins=plugins),
        select=SelectionParameters(),
        limits=room.limits,
        progress=NoProgress(),
        files=files,
    )
    ledger.check("verdicts")
    table = table_at(out, "verdicts", Verdicts)
    Verdicts.validate(table.scan().collect())
    return table, ledger


class Judge:
    """Remembers what it was asked."""

    def __init__(self, kind: str, label: str = "spam", score: float = 0.7) -> None:
        self.name, self.version, self.kind = f"judge_{kind}", "1.2", kind
        self.label, self.score = label, score
        self.asked: list[pl.DataFrame] = []

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame:
        self.asked.append(subjects)
        note = pl.lit("of the plug-in itself")
        return subjects.select("key", note, label=pl.lit(self.label), score=pl.lit(self.score))


def install(monkeypatch: pytest.MonkeyPatch, **objects: object) -> None:
    """As if a package had brought these entry points."""

    class Point(EntryPoint):
        def load(self) -> object:
            return objects[self.name]

    points = [Point(name, "a.package:thing", "longeval_builder.verdicts") for name in objects]
    monkeypatch.setattr("builder.plugins.entry_points", lambda group: points)


def test_a_list_applies_where_the_log_has_its_keys(room) -> None:
    text = HEADER + (
        "query\tEAU !\tbot\t0.5\tmanual\t2022\n"
        "query\tabsente\tadult\t1\tmanual\t2022\n"
        "user\t0000000000000007\tbot\t1\tmanual\t2022\n"
        "user\tabc\tbot\t0\tmanual\t2022\n"
        f"user\t{key64('eau'):x}\tbot\t1\tmanual\t2022\n"
        f"document\t{URL}\tspam\t0\tmanual\t2022\n"
        "document\thttps://nulle-part.example/\tspam\t1\tmanual\t2022\n\n"
    )
    table, ledger = run(room, [room.file("verdicts.tsv", text)])
    assert table.scan().collect().rows() == [
        ("document", key64(url_key(URL)), "spam", "manual", "2022", 0.0),
        ("query", key64("eau"), "bot", "manual", "2022", 0.5),
        ("user", 7, "bot", "manual", "2022", 1.0),
    ]
    assert (ledger.rows_in, dict(ledger.rejected)) == (7, {"not_in_this_log": 4})


def test_a_plugin_sees_only_anonymous_queries_without_personal_data(
    room, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Judge("query")
    install(monkeypatch, mine=judge)
    table, _ = run(room, plugins=("mine",))
    assert pl.concat(judge.asked).rows() == [(key64("eau"), "eau", 5, 5)]
    assert table.scan().collect().rows() == [
        ("query", key64("eau"), "spam", "judge_query", "1.2", 0.7)
    ]


def test_a_plugin_sees_users_and_documents_in_keys(room, monkeypatch: pytest.MonkeyPatch) -> None:
    users, documents = Judge("user"), Judge("document")
    install(monkeypatch, users=users, documents=documents)
    table, _ = run(room, plugins=("users", "documents"))
    asked = {row["key"]: row for row in pl.concat(users.asked).to_dicts()}
    assert asked[7] == {"key": 7, "impressions": 9, "queries": 1, "clicks": 0}
    assert asked[0] == {"key": 0, "impressions": 3, "queries": 3, "clicks": 1}
    assert asked[4] == {"key": 4, "impressions": 3, "queries": 3, "clicks": 2}
    assert pl.concat(documents.asked)["url"].to_list() == [URL]
    assert table.scan().collect().height == 7 + 1


def test_plugins_that_are_none_are_errors(room, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, wrong=object(), label=Judge("query", label="Not a label"))
    with pytest.raises(UsageError, match="'missing' is not installed"):
        run(room, plugins=("missing",))
    with pytest.raises(UsageError, match="expected 'wrong' to have the attributes name"):
        run(room, plugins=("wrong",))
    with pytest.raises(SchemaError, match=r"plug-in judge_query: .* that violate the rules"):
        run(room, plugins=("label",))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (pl.DataFrame({"key": [1]}), "missing: label, score"),
        (
            pl.DataFrame({"key": [99, 7, 98], "label": ["bot"] * 3, "score": [0.5] * 3}),
            (
                "^plug-in judge_user: expected only verdicts on the keys that it received, found 2 "
                "verdicts on other keys, such as 0000000000000063$"
            ),
        ),
        (pl.DataFrame({"key": [7], "label": ["bot"], "score": [1.5]}), "violate the rules"),
    ],
)
def test_wrong_answers_are_errors(
    room, monkeypatch: pytest.MonkeyPatch, answer: pl.DataFrame, message: str
) -> None:
    judge = Judge("user")
    judge.judge = lambda _: answer  # type: ignore[method-assign]
    install(monkeypatch, wrong=judge)
    with pytest.raises(SchemaError, match=message):
        run(room, plugins=("wrong",))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("query\teau\tbot\t2\ts\t1", "line 2: score: expected a number from 0 to 1"),
        ("page\teau\tbot\t1\ts\t1", "line 2: kind: expected query, user or document"),
        ("query\teau\tBot\t1\ts\t1", "line 2: label: expected lowercase letters"),
        ("query\teau\tbot!\t1\ts\t1", "line 2: label: expected lowercase letters"),
        ("query\teau\tb\u00f6t\t1\ts\t1", "line 2: label: expected lowercase letters"),
        ("query\teau\tbot\t-0.5\ts\t1", "line 2: score: expected a number from 0 to 1"),
        ("query\teau\tbot\t1\ts\t1\tx", "line 2: expected 6 tab-separated fields, found 7"),
        ("query\teau\tbot\t1\ts\t", "line 2: expected a source and a version, found 's' and ''"),
        (
            f"query\teau\tbot\t{'9' * 90}\ts\t1",
            f"line 2: score: expected a number from 0 to 1, found '{'9' * 80}'",
        ),
        (
            f"user\t{'z' * 90}\tbot\t1\ts\t1",
            f"key: expected a user key of 1 to 16 hexadecimal digits, found '{'z' * 80}'",
        ),
        (
            "user\tdupont\tbot\t1\ts\t1",
            "line 2: key: expected a user key of 1 to 16 hexadecimal digits",
        ),
        (
            "user\t-1f\tbot\t1\ts\t1",
            "line 2: key: expected a user key of 1 to 16 hexadecimal digits",
        ),
        ("query\teau\tbot\thigh\ts\t1", "line 2: score: expected a number from 0 to 1"),
        ("query\teau\tbot\tnan\ts\t1", "line 2: score: expected a number from 0 to 1"),
        ("document\tnope\tbot\t1\ts\t1", "line 2: expected an absolute http or https URL"),
        ("query\teau\tbot\t1\t\t1", "line 2: expected a source and a version"),
        ("query\teau\tbot", "line 2: expected 6 tab-separated fields, found 3"),
        (
            (
                "user\t2a\tbot\t1\ts\t1\nuser\t2A\tbot\t0\ts\t1\n"
                "user\t1\tspam\t1\ts\t1\nuser\t01\tspam\t0\ts\t1\nuser\t3\tspam\t0\ts\t1"
            ),
            (
                "verdicts.tsv: expected one verdict with label 'spam' on user 0000000000000001 "
                "from source s, version 1, found two with different scores; remove one of them"
            ),
        ),
    ],
)
def test_a_faulty_list_is_an_error(room, line: str, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read_verdicts([room.file("verdicts.tsv", HEADER + line + "\n")])
    assert message in str(error.value)
    with pytest.raises(FormatError, match="line 1: expected the header"):
        read_verdicts([room.file("other.tsv", line)])
    long = "x" * 90
    with pytest.raises(FormatError) as error:
        read_verdicts([room.file("other.tsv", long)])
    assert str(error.value) == (
        "other.tsv, line 1: expected the header kind<TAB>key<TAB>label<TAB>score<TAB>source<TAB>"
        f"version, found '{long[:80]}'"
    )


def test_filters_choose_by_label_score_and_source(room) -> None:
    table = room.table(
        "verdicts",
        [
            ("query", 1, "adult", "a", "1", 0.9),
            ("query", 2, "adult", "a", "1", 0.4),
            ("query", 3, "adult", "b", "1", 0.9),
            ("query", 4, "spam", "a", "1", 0.9),
            ("user", 5, "adult", "a", "1", 0.9),
            ("document", 6, "adult", "a", "1", 0.9),
            ("query", 7, "abuse", "a", "1", 0.9),
            ("query", 8, "adult", "c", "1", 0.5),
        ],
    )
    filters = [
        VerdictFilter(name="one", kind="query", label="adult"),
        VerdictFilter(name="two", kind="query", label="adult", source="b"),
        VerdictFilter(name="three", kind="user", label="adult"),
    ]
    assert {k: v.to_list() for k, v in excluded_keys(table, filters, "query").items()} == {
        "one": [1, 3, 8],
        "two": [3],
    }
    assert excluded_keys(table, filters, "user")["three"].to_list() == [5]
    assert excluded_keys(None, filters, "query") == {}
    assert excluded_keys(table, filters, "document") == {}


def test_coverage_names_the_snapshots_without_a_verdict(room) -> None:
    june = room.table("verdicts", [("query", 1, "adult", "a", "1", 0.9)])
    july = room.table("verdicts", [])
    table = verdict_coverage({"2022-06": june, "2022-07": july})
    assert table.select("source", "label", "snapshot", "verdicts").rows() == [
        ("a", "adult", "2022-06", 1),
        ("a", "adult", "2022-07", 0),
    ]
