from collections import Counter, defaultdict
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.errors import DataError, FormatError
from builder.parameters import SelectionParameters, VerdictFilter
from builder.queries import funnel_steps, select_queries
from builder.queries.forms import choose_published_texts
from builder.queries.rules import EXCLUDED_USERS_ONLY
from builder.queries.stop_lists import read_stop_lists
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import fold_texts, key64
from schemas import Candidates

ANY = SelectionParameters(min_users=1, min_impressions=1)


def run(room, shown, params, topics=("eau", "loi"), **more) -> tuple[pl.DataFrame, RowLedger]:  # type: ignore[no-untyped-def]
    out = room.out()
    ledger = select_queries(
        out,
        **room.log(shown),
        topics=room.topics(*topics),
        params=params,
        limits=room.limits,
        progress=NoProgress(),
        **more,
    )
    ledger.check("select")
    rejects = pl.read_parquet(out / "rejects.parquet")
    assert rejects["rows"].sum() == sum(ledger.rejected.values())
    assert rejects.select("file", "line", "key").null_count().row(0) == (rejects.height,) * 3
    candidates = pl.read_parquet(out / "candidates.parquet")
    Candidates.validate(candidates)
    assert candidates["query"].is_sorted()
    return candidates, ledger


def asked(text: str, users: int, clicks=()) -> list[tuple[str, int, tuple[int, ...]]]:  # type: ignore[no-untyped-def]
    return [(text, user, tuple(clicks)) for user in range(users)]


def dropped(ledger: RowLedger) -> dict[str, int]:
    return {name: count for name, count in ledger.rejected.items() if count}


def test_counts_by_hand(room) -> None:
    """Two forms of one query; a click twice on one rank counts once; a null user is no user."""
    shown = [
        ("L'eau", 1, (1, 1)),
        ("L'eau", 1, (3, 3, 3)),
        ("l'eau", 1, ()),
        ("l'eau", 2, (2,)),
        ("l'eau", None, (1,)),
        ("loi", 1, ()),
    ]
    candidates, ledger = run(room, shown, ANY)
    assert candidates.select("text", "topics", "impressions", "users", "clicks").rows() == [
        ("l'eau", ["t0"], 5, 2, 4),
        ("loi", ["t1"], 1, 1, 0),
    ]
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("queries", 2, 2)
    assert candidates["query"].to_list() == [key64("l eau"), key64("loi")]


def test_a_form_needs_k_users_of_its_own(room) -> None:
    shown = [*asked("Eau potable", 3), *asked("eau  potable", 4), *asked("EAU POTABLE", 1)]
    params = SelectionParameters(min_users=3, min_impressions=1)
    assert run(room, shown, params)[0]["text"].to_list() == ["Eau potable"]
    params = SelectionParameters(min_users=4, min_impressions=1)
    assert run(room, shown, params)[0]["text"].to_list() == ["eau potable"], "not fit: two spaces"
    params = SelectionParameters(min_users=5, min_impressions=1)
    candidates, ledger = run(room, shown, params)
    assert candidates.is_empty()
    assert dropped(ledger) == {"too_few_users": 1}


def test_forms_as_frequent_are_ordered_by_text(room) -> None:
    shown = [*asked("eau b", 2), *asked("Eau B", 2), *asked("EAU B", 2)]
    candidates, _ = run(room, shown, SelectionParameters(min_users=2, min_impressions=1))
    assert candidates["text"].to_list() == ["EAU B"]


def test_the_published_text_of_each_query_is_chosen() -> None:
    """Query 9: the most frequent form has one quote, the next too few users, then two quotes."""
    forms = pl.DataFrame(
        [
            (9, 'eau "mer"', "eau mer", 2, True),
            (9, 'eau "mer', "eau mer", 5, True),
            (9, "Eau mer", "eau mer", 3, False),
            (9, "EAU MER", "eau mer", 1, True),
            (2, "loi\u00a0 !", "loi", 4, True),
            (5, "a@b.example", "a b example", 1, False),
            (5, "06 12 34 56 78", "06 12 34 56 78", 1, False),
            (5, "zone", "zone", 1, True),
        ],
        schema={
            "query": pl.UInt64,
            "text": pl.String,
            "folded": pl.String,
            "impressions": pl.UInt32,
            "anonymous": pl.Boolean,
        },
        orient="row",
    )
    assert choose_published_texts(forms).rows() == [
        (2, "loi", "loi\u00a0 !", "loi", None),
        (5, "zone", "06 12 34 56 78", "06 12 34 56 78", "email"),
        (9, 'eau "mer"', 'eau "mer', "eau mer", None),
    ]


@pytest.mark.parametrize("form", ['"eau', "eau\t!", " eau!", "eau\u0000!", 'eau "" potable"'])
def test_a_text_unfit_for_a_line_is_replaced_by_its_folded_form(room, form: str) -> None:
    candidates, _ = run(room, asked(form, 5), ANY)
    assert candidates["text"].to_list() == fold_texts([form])


def test_the_funnel_applies_rules_in_order(room) -> None:
    shown = [
        *asked("eau", 6, (1,)),
        *asked("eau rare", 4),
        *asked("eau jean@poste.example", 6, (1,)),
        *asked("eau 06 12 34 56 78", 6, (1,)),
        *asked("eau vue cinq fois", 5, (1,)),
        *asked("eau sans clic", 6),
        *asked("eau un deux trois quatre cinq", 6, (1,)),
        *asked("eau " + "x" * 40, 6, (1,)),
        *asked("site:eau.example eau", 6, (1,)),
        *asked("www.eau.example", 6, (1,)),
        *asked("Eau Défendue", 6, (1,)),
        *asked("bordeaux", 6, (1,)),
    ]
    params = SelectionParameters(min_impressions=6, min_clicks=1, max_words=5, max_chars=40)
    stop = room.file("stop.txt", "EAU DEFENDUE\n\neau")
    stop_word = room.file("stop2.txt", "défendue")
    candidates, ledger = run(room, shown, params, stop_lists=[stop_word])
    assert "stop_list" not in dropped(ledger), "a word is no whole query"
    whole = read_stop_lists([stop])
    assert whole.rows() == [
        ("eau defendue", "stop.txt, line 1"),
        ("eau", "stop.txt, line 3"),
    ]
    by_word = params.model_copy(update={"stop_matching": "word"})
    candidates, ledger = run(room, shown, by_word)
    assert "stop_list" not in dropped(ledger), "there is no stop list"
    candidates, ledger = run(room, shown, by_word, stop_lists=[stop_word])
    assert candidates["text"].to_list() == ["eau"]
    steps = [step for step in funnel_steps(ledger.rows_in, ledger.rejected) if step.left_out]
    assert [(step.rule, step.left_out, step.remaining) for step in steps] == [
        ("too_few_users", 1, 11),
        ("personal_email", 1, 10),
        ("personal_phone", 1, 9),
        ("too_few_impressions", 1, 8),
        ("too_few_clicks", 1, 7),
        ("too_many_words", 1, 6),
        ("too_many_characters", 1, 5),
        ("search_operator", 1, 4),
        ("url_like", 1, 3),
        ("stop_list", 1, 2),
        ("no_topic", 1, 1),
    ]


def test_rules_can_be_switched_off(room) -> None:
    shown = [*asked("site:eau.example eau", 5), *asked("www.eau.example", 5)]
    kept, _ = run(room, shown, SelectionParameters(operators="keep", url_like="keep"))
    assert kept.height == 2


def test_navigational_queries_have_one_clicked_document(room) -> None:
    shown = [
        *asked("eau de paris", 9, (1,)),
        *asked("eau de paris", 1, (2,)),
        *asked("eau minerale", 5, (1,)),
        *asked("eau minerale", 5, (2,)),
        *asked("eau rare", 5, (1,)),
    ]
    params = SelectionParameters(navigational_share=0.9, navigational_clicks=10)
    candidates, ledger = run(room, shown, params)
    assert candidates["text"].to_list() == ["eau minerale", "eau rare"]
    assert dropped(ledger) == {"navigational": 1}
    assert run(room, shown, SelectionParameters())[0].height == 3


def test_personal_data_in_one_rare_form_withholds_the_query(room) -> None:
    """Folding hides the address, so the folded text may not be shown either."""
    shown = [*asked("eau jean poste example", 9), *asked("eau jean@poste.example", 1)]
    candidates, ledger = run(room, shown, SelectionParameters())
    assert candidates.is_empty()
    assert dropped(ledger) == {"personal_email": 1}


def test_a_log_without_users_is_an_error_or_an_explicit_choice(room) -> None:
    shown = [("eau", None, (1,)) for _ in range(5)]
    with pytest.raises(DataError, match=r'select.anonymity = "impressions"'):
        run(room, shown, SelectionParameters())
    params = SelectionParameters(anonymity="impressions")
    candidates, _ = run(room, shown, params)
    assert candidates.select("text", "impressions", "users").rows() == [("eau", 5, 5)]
    forms = [("Eau", None, ()) for _ in range(5)] + [("EAU !", None, ()) for _ in range(4)]
    assert run(room, forms, params)[0]["text"].to_list() == ["Eau"], "typed 5 times"
    assert run(room, forms[1:], params)[0]["text"].to_list() == ["eau"], "each typed 4 times"


def test_an_empty_log_selects_nothing(room) -> None:
    candidates, ledger = run(room, [], SelectionParameters())
    assert candidates.is_empty()
    assert ledger.rows_in == 0


def test_verdicts_leave_out_users_and_queries(room) -> None:
    shown = [
        *asked("eau", 5),
        ("eau", None, ()),
        *asked("loi", 4),
        ("loi", 99, (1,)),
        ("eau", 99, (1,)),
        ("eau du robot", 99, ()),
        *asked("eau interdite", 5),
    ]
    verdicts = room.table(
        "verdicts",
        [
            ("user", 99, "bot", "test", "1", 1.0),
            ("user", 1, "bot", "test", "1", 0.4),
            ("query", key64("eau interdite"), "adult", "test", "1", 0.9),
            ("query", key64("eau"), "adult", "other", "1", 0.9),
        ],
    )
    filters = (
        VerdictFilter(name="bots", kind="user", label="bot"),
        VerdictFilter(name="adult", kind="query", label="adult", source="test"),
    )
    candidates, ledger = run(room, shown, SelectionParameters(), verdicts=verdicts, filters=filters)
    assert candidates.select("text", "impressions", "users", "clicks").rows() == [("eau", 6, 5, 0)]
    assert dropped(ledger) == {EXCLUDED_USERS_ONLY: 1, "too_few_users": 1, "verdict_adult": 1}
    assert [s.rule for s in funnel_steps(ledger.rows_in, ledger.rejected)][-2:] == [
        "verdict_adult",
        "no_topic",
    ]


def test_filters_that_match_no_verdict_are_noted(room) -> None:
    rows = [
        ("user", 99, "bot", "test", "1", 0.4),
        ("query", key64("eau"), "spam", "test", "1", 1.0),
    ]
    filters = (
        VerdictFilter(name="bots", kind="user", label="bot", min_score=0.5),
        VerdictFilter(name="spam", kind="query", label="spam"),
        VerdictFilter(name="typo", kind="query", label="spamm"),
        VerdictFilter(name="kind", kind="query", label="bot"),
        VerdictFilter(name="pages", kind="document", label="spam"),
    )
    advice = (
        "if they are meant to exclude something, check that their kind, label, source and "
        "min_score match those of the verdicts"
    )
    note = "filters in verdicts.filters that match no verdict on any {} of this snapshot: {}; {}"
    for verdicts, unmatched in (
        (room.table("verdicts", rows), "typo, kind"),
        (None, "spam, typo, kind"),
    ):
        shown = [*asked("eau", 5), *asked("loi", 5)]
        _, ledger = run(room, shown, ANY, verdicts=verdicts, filters=filters)
        assert ledger.notes == [
            note.format("query", unmatched, advice),
            note.format("user", "bots", advice),
        ]


def test_a_stop_list_in_another_encoding_is_an_error(room) -> None:
    with pytest.raises(FormatError, match=r"stop\.txt: expected UTF-8"):
        read_stop_lists([room.file("stop.txt", "été".encode("latin-1"))])


def test_a_stop_list_has_comments(room) -> None:
    stop = room.file("stop.txt", "# eau\n\nEau Potable  # a name\neau potable\n #loi\n")
    assert read_stop_lists([stop]).rows() == [("eau potable", "stop.txt, line 3")]
    shown = [*asked("eau potable", 5), *asked("eau de mer", 5)]
    params = SelectionParameters(min_impressions=1, stop_matching="word")
    candidates, ledger = run(room, shown, params, stop_lists=[stop], topics=("eau",))
    assert candidates["text"].to_list() == ["eau de mer"]
    assert (dropped(ledger), ledger.notes) == ({"stop_list": 1}, [])


@pytest.mark.parametrize("line", ["---", "\N{SLIGHTLY SMILING FACE}", "-" * 80])
def test_a_line_of_a_stop_list_needs_a_letter(room, line: str) -> None:
    with pytest.raises(FormatError) as error:
        read_stop_lists([room.file("stop.txt", f"eau\n{line}{'!' * (len(line) // 80)} # all\n")])
    assert str(error.value) == (
        "stop.txt, line 2: expected a query, word or phrase with at least one letter or digit, "
        f"found {line!r}; remove the line, or write # before a comment"
    )


@pytest.mark.parametrize(
    ("matching", "lines"),
    [("query", (1, 2, 3, 6, *range(7, 13))), ("word", (1, 2, 6, *range(7, 14)))],
)
def test_entries_of_stop_lists_that_match_no_query_are_noted(
    room, monkeypatch: pytest.MonkeyPatch, matching: str, lines: tuple[int, ...]
) -> None:
    """Entries are named by line, since the names of persons must not be published in a note."""
    text = "query,count\neau potable,12\npotable\nloi\neau potable\nrare\n"
    stop = room.file("stop.txt", text + "".join(f"jean{n}\n" for n in range(10)))
    shown = [*asked("Eau potable !", 5), *asked("loi", 5), *asked("loi rare", 4)]
    params = SelectionParameters(min_impressions=1, stop_matching=matching)
    monkeypatch.setattr("builder.queries.anonymous.FORMS_PER_RANGE", 1)
    _, ledger = run(room, shown, params, stop_lists=[stop])
    assert dropped(ledger) == {"too_few_users": 1, "stop_list": 2}
    names = "; ".join(f"stop.txt, line {line}" for line in lines)
    count = {"query": 14, "word": 13}[matching]
    assert ledger.notes == [
        (
            "entries of select.stop_lists that match no k-anonymous query of this snapshot: "
            f"{count} ({names}; and {count - 10} more); if they should exclude queries, write one "
            "entry per line, without wildcards or further columns; an entry is a whole query or, "
            'with select.stop_matching = "word", a word or phrase'
        )
    ]


@pytest.mark.parametrize("matching", ["word", "stem", "substring"])
def test_topics_that_match_no_query_are_noted(room, matching: str) -> None:
    """An alias without a query is noted only if it looks like several aliases or a pattern."""
    shown = [
        *asked("bureaux de l'eau", 5),
        *asked("Loi sur l'électricité", 5),
        *asked("petrole", 4),
    ]
    topics = ("Eau|eau;eaux|eaux", "[ée]lectricité", "petrole", "loi|LOI|Lac;mer")
    params = SelectionParameters(min_impressions=1, matching=matching)
    _, ledger = run(room, shown, params, topics=topics)
    assert ledger.notes == [
        (
            "topics that match no k-anonymous query of this snapshot: 4 "
            "(alias 'eau;eaux' of t0; '[ée]lectricité'; alias 'Lac;mer' of t3; 'petrole'); if they "
            "should match queries, write words as users type them, without wildcards, and separate "
            "aliases by |"
        )
    ]


def test_k_beyond_the_64_bits_of_the_first_pass_is_exact(room) -> None:
    shown = [*asked("eau", 70), *asked("loi", 69), *asked("Loi", 69)]
    candidates, ledger = run(room, shown, SelectionParameters(min_users=70))
    assert candidates.select("text", "users").rows() == [("eau", 70)]
    assert dropped(ledger) == {"too_few_users": 1}


def test_users_that_share_a_bit_of_the_first_pass_are_counted_exactly(room) -> None:
    """Users 0, 64 and 128 set the same bit; a user who returns is still one user."""
    params = SelectionParameters(min_users=3, min_impressions=1)
    exactly = [("Eau", user, ()) for user in (0, 64, 128)]
    assert run(room, exactly, params)[0].select("text", "users").rows() == [("Eau", 3)]
    returning = [("Eau", user, ()) for user in (0, 64, 64, 64, None)]
    candidates, ledger = run(room, returning, params)
    assert (candidates.height, dropped(ledger)) == (0, {"too_few_users": 1})
    forms = [*returning, ("EAU !", 128, ())]
    assert run(room, forms, params)[0].select("text", "users").rows() == [("eau", 3)]


def test_queries_with_keys_at_the_ends_of_ranges_are_selected_once(
    room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ranges of 2^63 keys."""
    monkeypatch.setattr("builder.queries.anonymous.FORMS_PER_RANGE", 4)
    keys = [0, 2**63 - 1, 2**63, 2**64 - 1]
    out = room.out()
    select_queries(
        out,
        impressions=room.table(
            "impressions", [(n, n, key, n, [], []) for n, key in enumerate(keys)]
        ),
        log_queries=room.table(
            "log_queries", [(n, key, f"eau {n}", f"eau {n}") for n, key in enumerate(keys)]
        ),
        topics=room.topics("eau"),
        params=ANY,
        limits=room.limits,
        progress=NoProgress(),
    )
    candidates = pl.read_parquet(out / "candidates.parquet")
    assert candidates.select("query", "text").rows() == [
        (key, f"eau {n}") for n, key in enumerate(keys)
    ]


texts = st.sampled_from(["eau", "Eau", "EAU!", "l'eau", "L eau", "loi eau", "bordeaux", "Loi  eau"])
impressions = st.tuples(
    texts,
    st.sampled_from([None, 0, 1, 64, 65, 128]),
    st.lists(st.integers(1, 10), max_size=3).map(tuple),
)


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(impressions, max_size=40), st.integers(1, 4))
def test_every_published_row_is_anonymous(new_room: Callable, shown: list, k: int) -> None:
    """Against a naive count: k users for the query, and for its text unless it is folded."""
    if shown and all(user is None for _, user, _ in shown):
        return
    params = SelectionParameters(min_users=k, min_impressions=1)
    candidates, ledger = run(new_room(), shown, params, topics=("eau",))
    folded = dict(zip((s[0] for s in shown), fold_texts([s[0] for s in shown]), strict=True))
    users_of_query, users_of_text = defaultdict(set), defaultdict(set)
    seen: Counter[str] = Counter()
    clicks: Counter[str] = Counter()
    for text, user, ranks in shown:
        seen[folded[text]] += 1
        clicks[folded[text]] += len(set(ranks))
        if user is not None:
            users_of_query[folded[text]].add(user)
            users_of_text[text].add(user)
    expected = {
        query for query in seen if len(users_of_query[query]) >= k and "eau" in query.split()
    }
    assert ledger.rows_in == len(seen)
    assert set(fold_texts(candidates["text"])) == expected
    for text, shown_times, users, clicked in candidates.select(
        "text", "impressions", "users", "clicks"
    ).rows():
        query = fold_texts([text])[0]
        assert (shown_times, users, clicked) == (
            seen[query],
            len(users_of_query[query]),
            clicks[query],
        )
        assert len(users_of_text[text]) >= k or text == query


def test_ranges_threads_and_order_give_the_same_bytes(
    room, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = [row for n in range(60) for row in asked(f"eau numero {n}", 5)]
    whole, _ = run(room, shown, ANY)
    monkeypatch.setattr("builder.queries.anonymous.FORMS_PER_RANGE", 7)
    parts, _ = run(room, shown, ANY)
    assert whole.equals(parts)
    room.limits = ResourceLimits(scratch=room.folder, threads=1, memory=256 * 2**20)
    run(room, shown[::-1], ANY)
    files = [path.read_bytes() for path in sorted(room.folder.glob("out*/candidates.parquet"))]
    assert len(files) == 3
    assert len(set(files)) == 1
