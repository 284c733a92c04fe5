"""The simulated world: the same bytes, sensible French, truth that is true."""

import gzip
import hashlib
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder import SimulationParameters, UsageError, simulate, simulate_over_crawls
from builder.queries.personal import detect_personal_data
from builder.simulation import generate_sentence_pairs
from builder.simulation.lexicon import Noun, subject_areas, subjects
from builder.simulation.pages import generate_page, nth_page_about, page_subject
from builder.simulation.personal import PERSONAL_DATA_KINDS, create_personal_data_query
from builder.simulation.rng import (
    Rng,
    hash_arrays,
    hash_arrays_to_uniform,
    hash_integers,
    hash_integers_to_uniform,
)
from builder.simulation.text_variants import add_typo, normalize_text, pluralize
from builder.simulation.user_model import simulate_clicks
from builder.simulation.world import (
    create_queries_for_needs,
    create_unwanted_queries,
    query_probabilities,
)

SMALL = SimulationParameters(
    documents=200, queries=20, impressions=400, snapshots=2, malformed_rate=0.05
)


def tree(folder: Path) -> dict[str, str]:
    """sha256 of every file."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files
    }


def read_lines(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return file.read().split(b"\n")[:-1]


def content_digest(path: Path) -> str:
    """Beginning of the sha256 of what a file contains, however it is compressed or encoded."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".parquet":
        data = pl.read_parquet(path).write_ndjson().encode()
    return hashlib.sha256(data).hexdigest()[:12]


def content_digests(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): content_digest(path) for path in paths}


LIVELY = SimulationParameters(
    seed=5,
    documents=60,
    queries=12,
    impressions=150,
    snapshots=2,
    malformed_rate=0.05,
    moved=0.1,
    refetched=0.1,
    personal_rate=0.1,
    bot_rate=0.05,
    off_topic=0.1,
    tracked=0.1,
    anonymous=0.1,
)
"""A small world in which everything happens that parameters allow."""


def test_a_seed_gives_the_same_world_as_in_earlier_versions(tmp_path: Path) -> None:
    """Published figures on simulated worlds can be reproduced; whoever changes them says so."""
    simulate(tmp_path, LIVELY)
    assert content_digests(tmp_path) == {
        "crawls/2022-06.jsonl.gz": "6012afed7b3f",
        "crawls/2022-07.jsonl.gz": "a4daaba34fb9",
        "logs/2022-06.jsonl.gz": "bde8d7fd170c",
        "logs/2022-07.jsonl.gz": "6abeed54ebf3",
        "topics.tsv": "9e91dd7319d9",
        "truth/attraction.parquet": "32ead94bbc1e",
        "truth/bots.parquet": "fe0922e060e0",
        "truth/malformed.parquet": "77b38d0abefb",
        "truth/pages/2022-06.parquet": "9d7a07daf98c",
        "truth/pages/2022-07.parquet": "7c85f552c06a",
        "truth/personal.parquet": "afc0ea623d39",
        "truth/queries.parquet": "b7cd5cdb3784",
        "workflow.toml": "e793545b05e2",
    }


@pytest.mark.parametrize(
    ("crawl_format", "digests"),
    [
        ("qwant", ["13f0dfdf95bd", "b116519fbcc3"]),
        ("warc", ["4fe23b2257d7", "66f28a2b0441"]),
    ],
)
def test_a_seed_gives_the_same_crawls_in_every_format(
    crawl_format: str, digests: list[str], tmp_path: Path
) -> None:
    simulate(tmp_path, SimulationParameters(**LIVELY.model_dump() | {"crawl_format": crawl_format}))
    assert [content_digest(path) for path in sorted((tmp_path / "crawls").iterdir())] == digests


def test_a_seed_gives_the_same_logs_in_parquet(tmp_path: Path) -> None:
    simulate(tmp_path, SimulationParameters(**LIVELY.model_dump() | {"log_format": "parquet"}))
    assert [content_digest(path) for path in sorted((tmp_path / "logs").iterdir())] == [
        "0c34988a4019",
        "6a3db15406c8",
    ]


def test_a_seed_gives_the_same_users_over_crawls(tmp_path: Path) -> None:
    simulate_over_crawls(tmp_path / "w", write_crawls(tmp_path), LIVELY)
    found = content_digests(tmp_path / "w")
    found.pop("workflow.toml")  # it has the path of the crawls
    assert found == {
        "logs/2022-06.jsonl.gz": "949370b45921",
        "logs/2022-09.jsonl.gz": "d5973463505a",
        "topics.tsv": "f7cdb9f7b643",
        "truth/attraction.parquet": "ac5edb5532f1",
        "truth/bots.parquet": "fe0922e060e0",
        "truth/malformed.parquet": "0f26bbf4a23e",
        "truth/personal.parquet": "835390370a41",
        "truth/queries.parquet": "289566004ef6",
    }


@pytest.mark.parametrize("crawl_format", ["jsonl", "qwant", "warc"])
@pytest.mark.parametrize("log_format", ["jsonl", "parquet"])
def test_same_arguments_same_bytes(tmp_path: Path, crawl_format: str, log_format: str) -> None:
    options = SMALL.model_dump() | {"crawl_format": crawl_format, "log_format": log_format}
    params = SimulationParameters.model_validate(options)
    simulate(tmp_path / "a", params)
    simulate(tmp_path / "b", params)
    first = tree(tmp_path / "a")
    assert first == tree(tmp_path / "b")
    simulate(tmp_path / "c", params.model_copy(update={"seed": 2}))
    other = tree(tmp_path / "c")
    assert first.keys() == other.keys()
    same = {name for name in first if first[name] == other[name]}
    assert same <= {"topics.tsv", "workflow.toml", "truth/bots.parquet", "truth/malformed.parquet"}
    assert len(same) < len(first) / 2


def test_processes_write_the_same_bytes(tmp_path: Path) -> None:
    params = SMALL.model_copy(update={"documents": 2500, "refetched": 0.1})
    simulate(tmp_path / "one", params)
    simulate(tmp_path / "two", params, threads=2)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_logs_are_the_same_in_both_formats(tmp_path: Path) -> None:
    params = SMALL.model_copy(update={"malformed_rate": 0, "bot_rate": 0.1, "tracked": 0.2})
    simulate(tmp_path / "lines", params)
    simulate(tmp_path / "columns", params.model_copy(update={"log_format": "parquet"}))
    for month in ("2022-06", "2022-07"):
        lines = list(map(json.loads, read_lines(tmp_path / f"lines/logs/{month}.jsonl.gz")))
        columns = pl.read_parquet(tmp_path / f"columns/logs/{month}.parquet")
        assert columns.to_dicts() == lines
        assert len(lines) == SMALL.impressions


def test_pages_are_as_long_as_they_are_asked_for() -> None:
    params = SMALL.model_copy(update={"sentences": 72})
    pages = [generate_page(params, number, 0, 0) for number in range(60)]
    assert 4500 < np.mean([len(page.text) for page in pages]) < 5500
    for page in pages:
        sentences = re.findall(r"[^.?!]+[.?!]", " ".join(page.text.split("\n")[::2]))
        assert len(set(sentences)) == len(sentences) > 30


def test_truth_of_pages_is_that_of_the_texts(tmp_path: Path) -> None:
    params = SimulationParameters(
        documents=600,
        queries=5,
        impressions=50,
        snapshots=3,
        malformed_rate=0,
        refetched=0,
        edited=0.2,
        rewritten=0.05,
        moved=0.05,
    )
    simulate(tmp_path, params)
    crawls = [
        {json.loads(line)["url"]: json.loads(line)["text"] for line in read_lines(path)}
        for path in sorted(tmp_path.glob("crawls/*"))
    ]
    for number in (1, 2):
        before, after = crawls[number - 1], crawls[number]
        truth = pl.read_parquet(tmp_path / f"truth/pages/2022-{6 + number:02d}.parquet")
        status = {url: (kind, old) for _, url, kind, old in truth.iter_rows()}
        seen = Counter(kind for kind, _ in status.values())
        assert min(seen[k] for k in ("added", "removed", "edited", "rewritten", "moved")) > 5
        assert {u for u, (kind, _) in status.items() if kind != "removed"} == set(after)
        for url, (kind, old) in status.items():
            if kind == "unchanged":
                assert before[url] == after[url]
            elif kind in ("edited", "rewritten"):
                assert before[url] != after[url] or kind == "edited"
            elif kind == "moved":
                assert old in before
                assert old not in after
            elif kind == "added":
                assert url not in before
            else:
                assert url in before
                assert url not in after


def test_every_noted_fault_is_one_and_no_other_line(tmp_path: Path) -> None:
    simulate(tmp_path, SMALL)
    truth = pl.read_parquet(tmp_path / "truth/malformed.parquet")
    assert truth.height > 30
    assert truth["kind"].n_unique() >= 8
    for path in sorted(tmp_path.glob("*/*.jsonl.gz")):
        name = path.relative_to(tmp_path).as_posix()
        faults = set(truth.filter(pl.col("file") == name)["line"])
        keys = {"time", "user", "query", "results", "clicks"}
        if name.startswith("crawls"):
            keys = {"url", "timestamp", "title", "text"}
        for number, line in enumerate(read_lines(path), 1):
            if number not in faults:
                assert json.loads(line).keys() == keys


def test_impressions_are_as_many_and_as_documented(tmp_path: Path) -> None:
    params = SMALL.model_copy(update={"malformed_rate": 0.0, "impressions": 3000})
    simulate(tmp_path, params)
    rows = [json.loads(line) for line in read_lines(tmp_path / "logs/2022-06.jsonl.gz")]
    assert len(rows) == 3000
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
    assert all(1654041600 <= row["time"] < 1656633600 for row in rows)
    for row in rows:
        assert 1 <= len(row["results"]) <= 10
        assert row["clicks"] == sorted(set(row["clicks"]))
        assert all(1 <= rank <= len(row["results"]) for rank in row["clicks"])
    bots = set(pl.read_parquet(tmp_path / "truth/bots.parquet")["user"])
    by_bots = [row for row in rows if row["user"] in bots]
    assert by_bots
    assert all(len(row["clicks"]) == len(row["results"]) for row in by_bots)
    assert 10 < sum(row["user"] is None for row in rows) < 150


def test_popular_needs_are_asked_more_often(tmp_path: Path) -> None:
    simulate(tmp_path, SMALL.model_copy(update={"malformed_rate": 0.0, "impressions": 5000}))
    truth = pl.read_parquet(tmp_path / "truth/queries.parquet").filter(
        pl.col("snapshot") == "2022-06"
    )
    rows = (json.loads(line) for line in read_lines(tmp_path / "logs/2022-06.jsonl.gz"))
    counts = Counter(row["query"] for row in rows)
    shares = truth.group_by("number").agg(
        pl.col("probability").first(), pl.col("text").replace_strict(counts, default=0).sum()
    )
    assert shares["probability"].sum() == pytest.approx(1)
    assert shares.select(pl.corr("probability", "text")).item() > 0.95


def test_clicks_follow_the_model() -> None:
    rng = np.random.default_rng(1)
    a, s = np.full((200_000, 2), [0.5, 0.4]), np.full((200_000, 2), [0.7, 0.2])
    clicks = simulate_clicks(a, s, rng.random(a.shape), rng.random(a.shape))
    first, second = clicks.mean(axis=0)
    assert first == pytest.approx(0.5, abs=0.005)
    examined = 0.5 + 0.5 * (1 - 0.7)
    assert second == pytest.approx(examined * 0.4, abs=0.005)


def test_certain_clicks_by_hand() -> None:
    a = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    s = np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    half = np.full(a.shape, 0.5)
    assert simulate_clicks(a, s, half, half).tolist() == [[True, False, True], [True, True, False]]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
def test_scalars_and_arrays_mix_alike(parts: list[int]) -> None:
    arrays = [np.array([part], dtype=np.uint64) for part in parts]
    assert int(hash_arrays(*arrays)[0]) == hash_integers(*parts)
    assert float(hash_arrays_to_uniform(*arrays)[0]) == hash_integers_to_uniform(*parts)


def test_units_are_uniform() -> None:
    values = hash_arrays_to_uniform(7, np.arange(100_000, dtype=np.uint64))
    counts, _ = np.histogram(values, bins=10, range=(0, 1))
    assert counts.min() > 9_600
    assert counts.max() < 10_400


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        (Noun("eau", True, "water"), ("l'eau", "de l'eau", "à l'eau", "une eau")),
        (Noun("haie", True, "hedge"), ("la haie", "de la haie", "à la haie", "une haie")),
        (Noun("hôtel", False, "hotel"), ("l'hôtel", "de l'hôtel", "à l'hôtel", "un hôtel")),
        (Noun("pain", False, "bread"), ("le pain", "du pain", "au pain", "un pain")),
        (Noun("école", True, "school"), ("l'école", "de l'école", "à l'école", "une école")),
    ],
)
def test_articles(noun: Noun, expected: tuple[str, ...]) -> None:
    forms = noun.template_slots(("neuf", "new"))
    found = tuple(forms[slot].removesuffix(" neuf") for slot in ("le", "du", "au", "un"))
    assert found == expected


def test_sentences_are_french_and_english() -> None:
    wrong = re.compile(
        r"[{}]|  |\bde le\b|\bà le\b|\bde les\b|\bque il|\b(le|la|de|que) [aeiouéèêà]|\ba [aeio]"
    )
    pairs = list(generate_sentence_pairs(5, 20_000))
    assert len(set(pairs)) > 5_000
    for french, english in pairs:
        assert not wrong.search(french.replace("la un", "")), french
        assert not re.search(r"[{}]|  |\ba [aeio]|[éèêàç]", english.replace("a one", "")), english
        assert french[0].isupper()
        assert english[0].isupper()


def test_a_fifth_of_the_pairs_are_headings_and_titles() -> None:
    pairs = [french for french, _ in generate_sentence_pairs(3, 2000)]
    heading = re.compile("(Comment choisir|Prix |Nos conseils pour|Questions fr|Ce qui change en)")
    title = re.compile(r".* : (le guide|prix et conseils|nos réponses)|Tout savoir|Choisir une? ")
    counts = [sum(bool(kind.match(text)) for text in pairs) for kind in (heading, title)]
    assert 150 < min(counts) <= max(counts) < 250


def test_there_are_many_subjects_and_pages_are_about_them() -> None:
    assert len(subjects()) >= 600
    assert len({s.area.name for s in subjects()}) >= 8
    for subject in range(0, len(subjects()), 37):
        for turn in (0, 1, 5):
            assert page_subject(nth_page_about(subject, turn)) == subjects()[subject]


def test_personal_data_has_valid_check_digits() -> None:
    texts = [create_personal_data_query(3, number) for number in range(300)]
    found = detect_personal_data(pl.Series([text for text, _ in texts]))
    assert [kind for _, kind in texts] == found.to_list()
    assert set(found) == set(PERSONAL_DATA_KINDS)


def test_words_as_people_type_them() -> None:
    assert normalize_text("L'Œuf n° 2, pâte à crêpes") == "l oeuf n 2 pate a crepes"
    assert [pluralize(w) for w in ("gâteau", "prix", "crêpe")] == ["gâteaux", "prix", "crêpes"]
    for number in range(50):
        typed = add_typo("recette facile", Rng(number))
        assert typed != "recette facile" or "cc" in typed or "tt" in typed
    assert add_typo("le pain", Rng(1)) == "le pain"


def write_crawls(folder: Path) -> list[Path]:
    words = [noun.french for noun in subject_areas()[5].nouns]
    paths = []
    for number, month in enumerate(("2022-06", "2022-09")):
        path = folder / f"{month}-30.jsonl.gz"
        with gzip.open(path, "wt") as file:
            for i in range(80 + number):
                theme = "theme" + "abcdefghijklmnopqrstu"[i // 4]  # in at most 5 % of the pages
                title = f"{theme} {words[i % 10]} {words[i * 3 % 7]} {words[i // 10]} guide"
                row = {"url": f"https://a.example/{i}", "timestamp": i}
                row |= {"title": title, "text": title}
                file.write(json.dumps(row) + "\n")
            file.write("broken\n")
        paths.append(path)
    return paths


def test_users_over_existing_pages(tmp_path: Path) -> None:
    paths = write_crawls(tmp_path)
    simulate_over_crawls(
        tmp_path / "w", paths, SimulationParameters(queries=10, impressions=300, malformed_rate=0)
    )
    assert sorted(p.name for p in (tmp_path / "w/logs").iterdir()) == [
        "2022-06.jsonl.gz",
        "2022-09.jsonl.gz",
    ]
    rows = [json.loads(line) for line in read_lines(tmp_path / "w/logs/2022-09.jsonl.gz")]
    assert len(rows) == 300
    assert {u.partition("?")[0] for r in rows for u in r["results"]} <= {
        f"https://a.example/{i}" for i in range(81)
    }
    assert 'interval = "ignore"' in (tmp_path / "w/workflow.toml").read_text()


def test_the_truth_over_crawls_has_the_personal_queries_of_the_logs_and_no_others(
    tmp_path: Path,
) -> None:
    params = SimulationParameters(queries=10, impressions=2000, personal_rate=0.5, malformed_rate=0)
    simulate_over_crawls(tmp_path / "w", write_crawls(tmp_path), params)
    truth = set(pl.read_parquet(tmp_path / "w/truth/personal.parquet")["text"])
    lines = read_lines(tmp_path / "w/logs/2022-06.jsonl.gz")
    asked = {json.loads(line)["query"] for line in lines}
    found = detect_personal_data(pl.Series(sorted(asked)))
    assert truth == {text for text, kind in zip(sorted(asked), found, strict=True) if kind}


@pytest.mark.parametrize("results", [1, 2, 3, 4])
def test_short_lists_over_crawls_contain_a_related_page(tmp_path: Path, results: int) -> None:
    params = SimulationParameters(queries=10, impressions=50, results_per_page=results)
    simulate_over_crawls(tmp_path / "w", write_crawls(tmp_path), params)
    attraction = pl.read_parquet(tmp_path / "w/truth/attraction.parquet")
    best = attraction.group_by("snapshot", "query").agg(pl.col("grade").max())
    related = best.filter(pl.col("grade") > 0).group_by("snapshot").len()
    assert related.sort("snapshot").rows() == [("2022-06", 10), ("2022-09", 10)]


def test_no_query_finds_a_document(tmp_path: Path) -> None:
    few = {"documents": 1, "queries": 1, "impressions": 5, "snapshots": 1}
    unasked = {"off_topic": 0.0, "personal_rate": 0.0}
    for params in (
        SimulationParameters(seed=4, **few),
        SimulationParameters(seed=1, **few, **unasked),
    ):
        with pytest.raises(UsageError, match=r"expected queries with results in 2022"):
            simulate(tmp_path / "world", params)


def test_shares_of_queries_are_never_negative() -> None:
    params = SimulationParameters(documents=200, queries=5, off_topic=1.0, personal_rate=0.5)
    queries = [*create_queries_for_needs(params, 0), *create_unwanted_queries(params, 0)]
    popularity = query_probabilities(params, queries, 0)
    kinds = np.array([query.kind for query in queries])
    assert popularity.min() >= 0
    assert popularity.sum() == pytest.approx(1)
    assert popularity[kinds == "need"].sum() == 0
    assert popularity[kinds == "personal"].sum() == pytest.approx(1 / 3)


@pytest.mark.parametrize("crawl_format", ["warc", "qwant", "parquet", "csv"])
def test_users_over_crawls_of_every_format(tmp_path: Path, crawl_format: str) -> None:
    """The users over a crawl are the same, whatever its format."""
    params = SimulationParameters(
        documents=120, snapshots=1, queries=5, impressions=60, malformed_rate=0
    )
    simulate(tmp_path / "pages", params)
    (lines,) = (tmp_path / "pages/crawls").iterdir()
    rows = [json.loads(line) for line in gzip.decompress(lines.read_bytes()).splitlines()]
    path = tmp_path / f"2022-06.{crawl_format}"
    if crawl_format == "warc":
        path.write_bytes(b"".join(_record(row) for row in rows))
    elif crawl_format == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif crawl_format == "csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    users = SimulationParameters(queries=8, impressions=80, malformed_rate=0)
    for out, crawl in (("wanted", lines), ("found", path)):
        simulate_over_crawls(tmp_path / out, [crawl], users)
    logs = [sorted((tmp_path / out / "logs").iterdir()) for out in ("wanted", "found")]
    assert [log.read_bytes() for log in logs[0]] == [log.read_bytes() for log in logs[1]]


def _record(row: dict[str, Any]) -> bytes:
    """A page as a resource of an archive."""
    title, text = (html.escape(row[name]) for name in ("title", "text"))
    page = f"<html><head><meta charset=utf-8><title>{title}</title></head><p>{text}</p></html>"
    body = page.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {row['url']}\r\n"
        f"WARC-Date: 2022-06-15T12:00:00Z\r\nContent-Type: text/html\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


def test_over_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="file not found; expected a crawl file"):
        simulate_over_crawls(tmp_path / "w", [tmp_path / "none.jsonl"], SimulationParameters())
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(UsageError, match="found none"):
        simulate_over_crawls(tmp_path / "w", [tmp_path / "empty.jsonl"], SimulationParameters())
    page = {"url": "https://a.example/", "timestamp": 0, "title": "Une seule page", "text": "x"}
    (tmp_path / "one.jsonl").write_text(json.dumps(page) + "\n")
    with pytest.raises(UsageError, match=r"3 or more of the 1 pages.*no such word to use as a"):
        simulate_over_crawls(tmp_path / "w", [tmp_path / "one.jsonl"], SimulationParameters())


def test_an_edited_definition_is_kept_when_a_simulation_is_repeated(tmp_path: Path) -> None:
    small = SimulationParameters(documents=40, queries=4, impressions=20, snapshots=1)
    simulate(tmp_path, small)
    definition = tmp_path / "workflow.toml"
    written = definition.read_text()
    simulate(tmp_path, small)
    assert not list(tmp_path.glob("*.bak"))
    for number in (1, 2):
        definition.write_text(f"# edited {number}")
        simulate(tmp_path, small)
        assert (tmp_path / f"workflow.toml.{number}.bak").read_text() == f"# edited {number}"
    assert definition.read_text() == written
    assert len(list(tmp_path.glob("*.bak"))) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"snapshots": 0}, "snapshots: expected at least 1; found 0"),
        ({"documents": "many"}, "documents: expected an integer; found 'many'"),
        ({"bot_rate": 1.5}, "bot_rate: expected at most 1.0; found 1.5"),
        ({"pages": 3}, "pages: unknown parameter"),
    ],
)
def test_wrong_parameters_are_usage_errors(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        SimulationParameters(**values)
    assert str(error.value) == message


def test_threads_are_positive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--threads: expected at least 1, found 0"):
        simulate(tmp_path, SMALL, threads=0)


def test_crawls_may_be_strings_but_not_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.warc: file not found"):
        simulate_over_crawls(tmp_path, [str(tmp_path / "none.warc")], SMALL)
    with pytest.raises(UsageError, match="expected at least one crawl file, found none"):
        simulate_over_crawls(tmp_path, [], SMALL)
