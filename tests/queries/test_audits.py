import gzip
from pathlib import Path

import polars as pl
import pytest

import schemas
from builder.errors import FormatError
from builder.queries import audit_texts, audit_texts_in_file, audit_topics, audit_topics_in_files
from builder.queries.texts import read_query_texts
from builder.queries.topics import read_topic_table

TOPICS = "topic_id\tlabel\taliases\tlanguage\tsource\neau\teau\t\tfr\tx\nloi\tloi\t\tfr\tx\n"

LINES = (
    b"1\teau\r\n"
    b'2\t"leaked\n'
    b'3\tvideo"" ""autre"\n'
    b"4\tdeux  espaces\n"
    b"5\t" + b"x" * 3947 + b"\n"
    b"6\tjean@poste.example\n"
    b"7\tsite:impots.example formulaire\n"
    b"8\tEau\n"
    b"9\teau\n"
    b"10\twww.eau.example\n"
    b"11\t!!\n"
)


def test_every_known_fault_is_found_and_counted(room) -> None:
    audit = audit_texts_in_file(room.file("queries.txt", LINES).path)
    assert audit.lines == 11
    assert {name: count for name, count in audit.faults.items() if count} == {
        "carriage_return": 1,
        "leaked_quotes": 2,
        "double_space": 1,
        "over_long": 1,
        "nothing_left_after_folding": 1,
        "search_operator": 1,
        "url_like": 1,
        "personal_email": 1,
    }
    assert audit.longest == 3947
    assert audit.same_text.rows() == [("eau", ["1", "9"])]
    assert audit.same_folded.rows() == [("eau", ["1", "8", "9"], ["Eau", "eau"])]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('"eau" mer', ["leaked_quotes"]),
        ('eau "" mer', ["leaked_quotes"]),
        ('eau "mer', ["leaked_quotes"]),
        ('un "b" le "d', ["leaked_quotes"]),
        ('le "vrai" prix', []),
        (" eau", ["outer_space"]),
        ("eau\u0007", ["control_character"]),
        ("x" * 499, []),
        ("x" * 499 + "\r", ["carriage_return"]),
        ("x" * 500, ["over_long"]),
        ("x" * 501, ["over_long"]),
    ],
)
def test_the_faults_of_a_text(text: str, faults: list[str]) -> None:
    audit = audit_texts(pl.DataFrame({"id": ["1"], "text": [text]}))
    assert [name for name, count in audit.faults.items() if count] == faults
    assert audit.longest == len(text.removesuffix("\r"))


def test_a_text_under_several_ids_is_listed_by_its_spellings() -> None:
    texts = ["mer", "mer", "loi", "Loi", "a@b.example", "a@b.example", "eau", "!", "?"]
    queries = pl.DataFrame({"id": list("123456788"), "text": texts})
    audit = audit_texts(queries)
    assert audit.same_text.rows() == [("mer", ["1", "2"])]
    assert audit.same_folded.rows() == [("loi", ["3", "4"], ["Loi", "loi"])]


def test_an_empty_table_has_no_faults() -> None:
    empty = pl.DataFrame(schema={"id": pl.String, "text": pl.String})
    audit = audit_texts(empty)
    assert (audit.lines, audit.faults, audit.longest) == (0, {}, 0)


def test_texts_are_read_as_they_are(room) -> None:
    plain = room.file("queries.txt", "1\t eau \r\n2\tloi").path
    rows = [("1", " eau \r", 1), ("2", "loi", 1)]
    assert read_query_texts(plain).rows() == rows
    packed = room.file("queries.txt.gz", gzip.compress(plain.read_bytes())).path
    assert read_query_texts(packed).rows() == rows
    path = room.folder / "table.parquet"
    pl.DataFrame({"query_id": ["q1"], "text": ["eau"], "impressions": [7]}).write_parquet(path)
    assert read_query_texts(path).rows() == [("q1", "eau", 7)]
    pl.DataFrame({"query": [7], "text": ["eau"]}).write_parquet(path)
    assert read_query_texts(path).rows() == [("7", "eau", 1)]
    pl.DataFrame({"surface": [7, 8], "text": ["eau", None]}).write_parquet(path)
    with pytest.raises(FormatError) as error:
        read_query_texts(path)
    assert str(error.value) == f"{path}: text: expected a value in every row, found null"


@pytest.mark.parametrize("header", ["query_id\tquery", "ID\tText\r", "qid\ttitle"])
def test_a_header_is_no_query(room, header: str) -> None:
    path = room.file("queries.tsv", f"{header}\n1\teau\n2\tid\n").path
    assert read_query_texts(path).rows() == [("1", "eau", 1), ("2", "id", 1)]
    topics = room.file("topics.tsv", "label\nquery\n").path
    assert audit_topics_in_files(topics, [path]).counts["texts"].to_list() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"1 eau\n", "line 1: expected id<TAB>text, found 0 tabs"),
        ("b.txt", b"1\teau\n2\tloi\tx\n", "line 2: expected id<TAB>text, found 2 tabs"),
        ("e.txt", b"id\tquery\n2 loi\n", "line 2: expected id<TAB>text, found 0 tabs"),
        ("c.txt", b"\xff", "expected UTF-8 text"),
        ("d.gz", b"not gzip", "expected id<TAB>text"),
    ],
)
def test_another_format_is_an_error(room, name: str, data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read_query_texts(room.file(name, data).path)
    assert message in str(error.value)


def test_policies_are_compared_by_hand() -> None:
    queries = pl.DataFrame(
        {
            "text": ["bordeaux", "Bordeaux !", "château", "eau", "les eaux", "emploi", "vin"],
            "count": [5, 2, 9, 3, 1, 4, 8],
        },
        schema={"text": pl.String, "count": pl.UInt32},
    )
    topics = pl.DataFrame(
        [("eau", "eau", [], "fr", ""), ("loi", "loi", [], "fr", "")],
        schema=schemas.Topics.dtypes(),
        orient="row",
    )
    audit = audit_topics(topics, queries)
    assert (audit.texts, audit.queries) == (7, 6)
    assert audit.counts.drop("share_of_texts").rows() == [
        ("eau", "substring", 5, 4, 20),
        ("eau", "word", 1, 1, 3),
        ("eau", "stem", 2, 2, 4),
        ("loi", "substring", 1, 1, 4),
        ("loi", "word", 0, 0, 0),
        ("loi", "stem", 0, 0, 0),
    ]
    shares = [5 / 7, 1 / 7, 2 / 7, 1 / 7, 0, 0]
    assert audit.counts["share_of_texts"].to_list() == pytest.approx(shares)
    only = audit.differences.filter(pl.col("topic_id") == "eau")
    assert only.select("only_in", "not_in", "text", "asked").rows() == [
        ("stem", "word", "les eaux", 1),
        ("substring", "stem", "château", 9),
        ("substring", "stem", "bordeaux", 7),
        ("substring", "word", "château", 9),
        ("substring", "word", "bordeaux", 7),
        ("substring", "word", "les eaux", 1),
    ]
    assert audit.false_words.rows() == [
        ("eau", "bordeaux", 1),
        ("eau", "chateau", 1),
        ("eau", "eaux", 1),
        ("loi", "emploi", 1),
    ]


def _topics(*labels: str) -> pl.DataFrame:
    rows = [(label, label, [], "fr", "") for label in labels]
    return pl.DataFrame(rows, schema=schemas.Topics.dtypes(), orient="row")


def _queries(texts: dict[str, int]) -> pl.DataFrame:
    schema = {"text": pl.String, "count": pl.UInt32}
    return pl.DataFrame({"text": list(texts), "count": list(texts.values())}, schema=schema)


def test_the_share_of_one_text_and_of_none() -> None:
    shares = [
        audit_topics(_topics("eau"), _queries(texts)).counts["share_of_texts"].to_list()
        for texts in ({"eau": 3}, {})
    ]
    assert shares == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_frequent_examples_come_first_and_20_are_shown() -> None:
    texts = {f"bateau {'abcdefghijklmnopqrstuv'[n]}": 5 for n in range(22)}
    texts |= {"gateau": 6, "gateau noir": 4, "seau": 7, "nouveaux gateaux": 4}
    audit = audit_topics(_topics("mer", "eau"), _queries(texts))
    assert audit.false_words.head(3).rows() == [
        ("eau", "bateau", 22),
        ("eau", "gateau", 2),
        ("eau", "gateaux", 1),
    ]
    by_policies = audit.differences.filter(pl.col("not_in") == "word")
    assert by_policies["text"].to_list()[:4] == ["seau", "gateau", "bateau a", "bateau b"]
    assert by_policies.height == 20
    few = audit_topics(_topics("mer", "eau"), _queries(texts), examples=2)
    assert few.false_words["word"].to_list() == ["bateau", "gateau"]
    words = {f"{letter}eau": 1 for letter in "abcdefghijklmnopqrstuv"}
    assert audit_topics(_topics("eau"), _queries(words)).false_words.height == 20


def test_topics_are_compared_in_the_order_of_their_ids() -> None:
    audit = audit_topics(_topics("mer", "eau"), _queries({"chameau amer": 1}))
    assert audit.differences.rows() == [
        (topic, "substring", other, "chameau amer", 1)
        for topic in ("eau", "mer")
        for other in ("stem", "word")
    ]


def test_topics_are_read_from_a_collection_as_from_its_source(room) -> None:
    source = room.file(
        "topics.tsv", "topic_id\tlabel\taliases\nmer\tmer\tplage|océan\neau\teau\t\n"
    ).path
    table = room.folder / "topics.parquet"
    read_topic_table(source).write_parquet(table)
    assert read_topic_table(table).rows() == [
        ("mer", "mer", ["plage", "océan"], "fr", ""),
        ("eau", "eau", [], "fr", ""),
    ]
    queries = room.file("queries.txt", "1\tbordeaux\n2\tOcean\n").path
    assert audit_topics_in_files(table, [queries]).counts.drop("share_of_texts").rows() == [
        ("eau", "substring", 1, 1, 1),
        ("eau", "word", 0, 0, 0),
        ("eau", "stem", 0, 0, 0),
        ("mer", "substring", 1, 1, 1),
        ("mer", "word", 1, 1, 1),
        ("mer", "stem", 1, 1, 1),
    ]


def test_a_topic_table_with_an_invalid_id_is_an_error(room) -> None:
    path = room.folder / "topics.parquet"
    row = ("A b", "eau", [], "fr", "")
    pl.DataFrame([row], schemas.Topics.dtypes(), orient="row").write_parquet(path)
    with pytest.raises(FormatError) as error:
        read_topic_table(path)
    assert str(error.value) == (
        f"{path}: expected topics as described by `longeval schema topics`, "
        "found violations: topic_id|regex in 1 rows"
    )


def test_published_queries_show_what_substring_topics_take(room, real_data: Path) -> None:
    files = [real_data / "longeval-web" / f"2022-0{m}_queries.txt.gz" for m in (6, 7)]
    topics = room.file("topics.tsv", TOPICS).path
    audit = audit_topics_in_files(topics, files, examples=10)
    counts = {(topic, policy): texts for topic, policy, texts, *_ in audit.counts.rows()}
    assert audit.texts == 24_651 + 25_470
    assert counts == {
        ("eau", "substring"): 23_535,
        ("eau", "word"): 1_768,
        ("eau", "stem"): 2_014,
        ("loi", "substring"): 8_979,
        ("loi", "word"): 1_058,
        ("loi", "stem"): 1_150,
    }
    words = {
        topic: audit.false_words.filter(pl.col("topic_id") == topic)["word"].to_list()
        for topic in ("eau", "loi")
    }
    assert words["eau"][:3] == ["bordeaux", "chateau", "gateau"]
    assert words["loi"][0] == "emploi"


def test_published_queries_have_the_known_faults(real_data: Path) -> None:
    june = audit_texts_in_file(real_data / "longeval-web" / "2022-06_queries.txt.gz")
    july = audit_texts_in_file(real_data / "longeval-web" / "2022-07_queries.txt.gz")
    names = ("carriage_return", "leaked_quotes", "double_space", "search_operator")
    assert [june.faults[name] for name in names] == [20_767, 2, 13, 3]
    assert [july.faults[name] for name in names] == [20_767, 2, 14, 4]
    assert (june.same_folded.height, july.same_folded.height) == (429, 460)


@pytest.mark.parametrize("columns", [["text"], ["query_id"], ["text", "id"]])
def test_a_table_of_queries_has_ids_and_texts(tmp_path: Path, columns: list[str]) -> None:
    path = tmp_path / "queries.parquet"
    pl.DataFrame({name: ["a"] for name in columns}).write_parquet(path)
    with pytest.raises(FormatError, match="expected a table with the columns text and query_id"):
        read_query_texts(path)
