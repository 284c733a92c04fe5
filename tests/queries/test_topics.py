import polars as pl
import pytest

from builder.errors import DataError, FormatError
from builder.queries import parse_topics, read_topics, require_same_topics, topic_differences
from builder.runtime.progress import NoProgress
from builder.text.keys import key64
from schemas import Topics

HEADER = "topic_id\tlabel\taliases\tlanguage\tsource\n"


def read(room, text):  # type: ignore[no-untyped-def]
    out = room.out()
    source = room.file("topics.tsv", text)
    ledger = read_topics(out, source=source, limits=room.limits, progress=NoProgress())
    ledger.check("topics")
    return pl.read_parquet(out / "topics.parquet"), pl.read_parquet(out / "rejects.parquet"), ledger


def test_a_table_is_read_in_key_order(room) -> None:
    text = HEADER + "water\tEau\teaux| l'eau |\tfr\tman\r\n\nlaw\tloi\t\tfr\tman\n"
    topics, rejects, ledger = read(room, "\ufeff" + text)
    assert topics.rows() == [
        ("law", "loi", [], "fr", "man"),
        ("water", "Eau", ["eaux", "l'eau"], "fr", "man"),
    ]
    assert rejects.select("reason", "file", "line", "rows").rows() == [
        ("blank_line", "topics.tsv", 3, 1)
    ]
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("lines", 3, 2)
    Topics.validate(topics)


def test_a_list_of_words_is_a_table(room) -> None:
    topics, rejects, _ = read(room, "label\r\nEau potable\r\n\r\nСады\r\n")
    assert topics.rows() == [
        ("eau-potable", "Eau potable", [], "fr", ""),
        (f"t{key64('сады'):016x}", "Сады", [], "fr", ""),
    ]
    assert rejects["line"].to_list() == [3]
    Topics.validate(topics)


def test_columns_may_be_in_any_order(room) -> None:
    topics, _, _ = read(room, "aliases\tlanguage\tlabel\nmer|lac\tde\teau\n")
    assert topics.rows() == [("eau", "eau", ["mer", "lac"], "de", "")]


def test_lines_that_start_with_a_number_sign_are_comments(room) -> None:
    text = "label\taliases\n# my topics\neau\tnan|\n\n#loi\tx\ty\nC#\t\n"
    topics, rejects, ledger = read(room, text)
    assert topics.select("topic_id", "label", "aliases").rows() == [
        ("c", "C#", []),
        ("eau", "eau", ["nan"]),
    ]
    assert rejects.select("reason", "line").sort("line").rows() == [
        ("comment_line", 2),
        ("blank_line", 4),
        ("comment_line", 5),
    ]
    assert (ledger.rows_in, ledger.rows_out) == (5, 2)


def test_quoted_cells_lose_their_quotes(room) -> None:
    text = (
        '"label"\t"aliases"\n"v\u00e9lo, cyclisme"\t"bicyclette|""petite reine"""\n'
        '"l\'eau" et "la mer"\t "eaux|mers" \n24" tv\t\n'
    )
    topics, _, _ = read(room, text)
    assert topics.select("label", "aliases").rows() == [
        ('24" tv', []),
        ('"l\'eau" et "la mer"', ["eaux", "mers"]),
        ("v\u00e9lo, cyclisme", ["bicyclette", '"petite reine"']),
    ]


def test_labels_that_lose_characters_are_noted(room) -> None:
    text = "label\taliases\nc++\t\n.net\templois?|dotnet\nemploi*\t\nqui suis-je ?\tl'eau\n"
    _, _, ledger = read(room, text)
    assert ledger.notes == [
        (
            "topic labels and aliases with characters that matching ignores: 4 (c++ matches as c; "
            ".net matches as net; emplois? matches as emplois; emploi* matches as emploi); write "
            "words as users type them, without wildcards, and check that the text without these "
            "characters is not a different word"
        )
    ]
    _, _, ledger = read(room, "label\n" + "".join(f"a{n}+\n" for n in range(10, 22)))
    assert "12 (a10+ matches as a10; " in ledger.notes[0]
    assert "a19+ matches as a19; and 2 more); " in ledger.notes[0]
    assert read(room, "label\neau (boisson)\n")[2].notes == []


@pytest.mark.parametrize(
    "text",
    ['label\n"eau\npotable"\n', 'label\taliases\n"eau\npotable"\t\n', 'label\n"eau\n'],
)
def test_a_quoted_cell_with_a_line_break_is_an_error(room, text: str) -> None:
    with pytest.raises(FormatError) as error:
        read(room, text)
    assert str(error.value) == (
        "topics.tsv, line 2: expected a closing quote before the next tab or line break, found "
        "'\"eau'; write each topic on one line, and double each quote inside a quoted cell"
    )


@pytest.mark.parametrize("cell", ["NA", "NULL", "null", "None", "nan", "#N/A", '"NA"'])
def test_a_missing_value_is_no_label(room, cell: str) -> None:
    with pytest.raises(FormatError) as error:
        read(room, f"aliases\tlabel\n\teau\n\t{cell}\n")
    value = cell.strip('"')
    assert str(error.value) == (
        f"topics.tsv, line 3: label: expected a word or phrase, found {value!r}, which "
        "represents a missing value; delete the line, or, if this is the name of a topic, change "
        "its case (for example, NA to Na), because matching ignores case"
    )


@pytest.mark.parametrize(
    "cell", ["NaN", "nan", "NA", "NULL", "None", "null", "\\N", "<NA>", "#N/A", '"NaN"']
)
def test_a_missing_value_is_no_alias(room, cell: str) -> None:
    with pytest.raises(FormatError) as error:
        read(room, f"label\taliases\neau\t{cell}\n")
    value = cell.strip('"')
    assert str(error.value) == (
        "topics.tsv, line 2: aliases: expected an empty cell or aliases separated by |, found "
        f"{value!r}; leave the cell empty or, if {value} is an alias, write {value}|"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id\tlabel\n",
            "topics.tsv, line 1: expected a header with label",
        ),
        ("", "topics.tsv, line 1: expected a header with label"),
        (
            HEADER + "a\teau\t\tfr\t\na\tloi\t\tfr\t\n",
            "line 3: expected unique topic ids, found 'a', also on line 2",
        ),
        (HEADER + "a\teau\t\tfr\tx\ty\n", "line 2: expected 5 tab-separated fields, found 6"),
        (
            "label" + "x" * 90,
            (
                "line 1: expected a header with label and, optionally, any of "
                f"topic_id<TAB>label<TAB>aliases<TAB>language<TAB>source, found 'label{'x' * 75}'"
            ),
        ),
        ('label\n"' + "x" * 90, "line 2: expected a closing quote before the next tab or line "),
        ('label\n"' + "x" * 90, f"found '\"{'x' * 79}'; write each topic on one line"),
        ("label\tlabel\n", "line 1: expected a header with label"),
        ("label\talias\n", "source, found 'label\\talias'"),
        (
            "label\nl'eau\nL\u2019Eau\n",
            "line 3: expected unique topic ids, found 'l-eau'",
        ),
        ("label\n--\n", "line 2: expected a label or alias with at least one"),
        (HEADER + "a\teau\tfr\n", "line 2: expected 5 tab-separated fields, found 3"),
        (HEADER + "A\teau\t\tfr\t\n", "line 2: topic_id: expected lowercase letters"),
        (HEADER + "a\teau\t\tfra\t\n", "line 2: language: expected a two-letter ISO 639-1 code"),
        (
            HEADER + "a\teau\t--\tfr\t\n",
            "line 2: expected a label or alias with at least one",
        ),
        (
            HEADER + "a\t\t\tfr\t\n",
            "line 2: expected a label or alias with at least one",
        ),
        (b"label\n\xe9t\xe9\n", "topics.tsv: expected UTF-8 text"),
        (b"\xff\xfe", "topics.tsv: expected text in UTF-8, found UTF-16"),
    ],
)
def test_a_faulty_table_is_an_error(room, text, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read(room, text)
    assert message in str(error.value)


def test_a_published_collection_keeps_its_topics(room) -> None:
    one, _ = parse_topics(room.file("a", HEADER + "a\teau\t\tfr\tx\n"))
    same, _ = parse_topics(room.file("b", HEADER + "a\teau\t\tfr\tanother source\n"))
    more, _ = parse_topics(room.file("c", HEADER + "a\teau\tmer\tfr\tx\n"))
    require_same_topics(one, same)
    with pytest.raises(DataError, match="added or changed: 1; removed or changed: 1"):
        require_same_topics(one, more)
    two, _ = parse_topics(room.file("d", HEADER + "a\teau\t\tfr\tx\nb\tloi\t\tfr\tx\n"))
    with pytest.raises(DataError) as error:
        require_same_topics(one, two)
    assert str(error.value) == (
        "expected the topics of the published collection, found different topics (added or "
        "changed: 1; removed or changed: 0), such as ('b', 'loi', [], 'fr'); restore them, or "
        "start a new collection"
    )
    with pytest.raises(DataError, match=r"added or changed: 0; removed or changed: 1\), such as"):
        require_same_topics(two, one)


def test_topics_that_differ_are_listed(room) -> None:
    before = "a\teau\t\tfr\tx\nb\tloi\t\tfr\tx\nc\tmer\t\tfr\tx\nd\tvin\t\tfr\tx\n"
    now = (
        "a\teau\t\tfr\ty\nb\tdroit\t\tfr\tx\nc\tocean\t\tfr\tx\nf\tart\t\tfr\tx\ne\tile\t\tfr\tx\n"
    )
    old, new = (parse_topics(room.file("topics", HEADER + rows))[0] for rows in (before, now))
    assert topic_differences(old, new) == (
        "topics added: e, f",
        "topics removed: d",
        "topics changed: b, c",
    )
    assert topic_differences(new, old) == (
        "topics added: d",
        "topics removed: e, f",
        "topics changed: b, c",
    )
    assert topic_differences(old, old) == ()
