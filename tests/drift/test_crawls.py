"""Two crawl files: formats, faults, and the numbers of real pages."""

import gzip
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

import polars as pl
import pytest

import builder
from builder import SimulationParameters
from builder.documents import key_order
from builder.documents.tokens import document_tokens_expr
from builder.drift import compare_crawls
from builder.errors import FormatError, UsageError
from builder.parameters import ChangeParameters, CrawlParameters
from builder.runtime.limits import ResourceLimits
from tests.crawled import read_crawled
from tests.progress import Steps
from tests.thorough import ALL

OLD = [
    ("https://site.fr/a", "A", "le pain du boulanger est frais ce matin"),
    ("https://site.fr/b", "B", "la mairie ouvre à neuf heures"),
    ("https://site.fr/c", "C", "la piscine est fermée"),
]
NEW = [
    ("https://site.fr/a", "A", "le pain du boulanger est frais ce soir"),
    ("https://site.fr/b", "B", "La mairie ouvre, à neuf heures !"),
    ("https://site.fr/d", "D", "le marché revient"),
]


def lines(pages: list[tuple[str, str, str]]) -> str:
    keys = ("url", "title", "text")
    return "".join(
        json.dumps(dict(zip(keys, page, strict=True)) | {"timestamp": 1656633600}) + "\n"
        for page in pages
    )


def compare(old: Path, new: Path, scratch: Path) -> dict[str, Any]:
    scratch.mkdir()
    return compare_crawls(old, new, ChangeParameters(), ResourceLimits(scratch, 2, 2**30))


@pytest.fixture
def plain(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for path, pages in zip(paths, (OLD, NEW), strict=True):
        path.write_text(lines(pages))
    return paths


def test_the_shape_that_scripts_rely_on(plain: tuple[Path, Path], tmp_path: Path) -> None:
    found = compare(*plain, tmp_path / "scratch")
    documents = found["documents"]
    assert [documents[n] for n in ("added", "removed", "updated", "unchanged")] == [1, 1, 1, 1]
    assert documents["dice"]["p10"] == documents["dice"]["median"] == 2 * 8 / 18
    assert documents["shingle_jaccard"]["median"] == 4 / 6
    assert (documents["from"], documents["to"], documents["common"]) == (3, 3, 2)
    assert documents["jaccard"] == 0.5
    first, second = (
        Counter(re.findall(r"\w+", " ".join(f"{t} {x}" for _, t, x in pages).lower()))
        for pages in (OLD, NEW)
    )
    assert found["vocabulary"]["jaccard"] == len(first.keys() & second.keys()) / len(
        first.keys() | second.keys()
    )
    assert (
        found["vocabulary"]["oov_share"]
        == sum(n for word, n in second.items() if word not in first) / second.total()
    )
    counts = {"records": 3, "pages": 3, "rejected": {}}
    assert found["crawls"] == {"old": counts, "new": counts}
    assert found["parameters"] == ChangeParameters().model_dump(mode="json")
    assert (documents["text_changed_only"], documents["hosts"]["kept_share"]) == (1, 1.0)
    json.dumps(found, allow_nan=False)


def test_formats_do_not_matter(plain: tuple[Path, Path], tmp_path: Path) -> None:
    expected = compare(*plain, tmp_path / "one")
    packed = tmp_path / "old.jsonl.gz"
    packed.write_bytes(gzip.compress(plain[0].read_bytes()))
    table = tmp_path / "new.parquet"
    pl.read_ndjson(plain[1]).write_parquet(table)
    assert compare(packed, table, tmp_path / "two") == expected


def test_passes_over_the_texts_do_not_matter(
    plain: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = compare(*plain, tmp_path / "one")
    monkeypatch.setattr(key_order, "MEMORY_SHARE", 2**30 // 10)  # 10 bytes of text in a pass
    assert compare(*plain, tmp_path / "many") == expected


def test_records_that_are_no_pages_are_counted(plain: tuple[Path, Path], tmp_path: Path) -> None:
    with plain[1].open("a") as file:
        file.write("{broken\n")
    found = compare(*plain, tmp_path / "scratch")
    assert found["crawls"]["new"] == {
        "records": 4,
        "pages": 3,
        "rejected": {"not_json": 1},
    }


def test_pages_of_any_date_are_compared_and_their_number_is_shown(
    plain: tuple[Path, Path], tmp_path: Path
) -> None:
    """Two are a month or 50 years old; the interval of the parameters has no effect."""
    text = plain[0].read_text().splitlines()
    old = [
        line.replace("1656633600", str(when))
        for line, when in zip(text, (1, 1654000000, 1656633600), strict=True)
    ]
    plain[0].write_text("\n".join(old))
    steps = Steps()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = compare_crawls(
        *plain,
        ChangeParameters(),
        ResourceLimits(scratch, 1, 2**30),
        steps,
        CrawlParameters(interval="enforce"),
    )
    assert (found["documents"]["from"], found["documents"]["to"]) == (3, 3)
    labels = ["pages of old.jsonl", "pages of new.jsonl", *["moved pages"] * 2, "degree of change"]
    assert [(step[0], step[2], sum(step[3])) for step in steps.done] == [
        (label, unit, count)
        for label, unit, count in zip(
            labels, ["records"] * 2 + ["documents"] * 3, (3, 3, 0, 0, 1), strict=True
        )
    ]
    assert steps.open is None


def test_a_file_that_does_not_exist(plain: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("none.jsonl", "."):
        with pytest.raises(UsageError) as caught:
            compare(plain[0], tmp_path / name, tmp_path / f"scratch{name}")
        assert str(caught.value) == (f"expected a crawl file, found no file at {tmp_path / name}")


def test_a_crawl_without_records(plain: tuple[Path, Path], tmp_path: Path) -> None:
    plain[1].write_text("")
    with pytest.raises(FormatError) as caught:
        compare(*plain, tmp_path / "empty")
    assert str(caught.value) == (
        f"{plain[1]}: expected a crawl with at least one page, found no records"
    )
    plain[1].write_text("{broken\n[1]\n" + json.dumps({"url": "", "text": "x", "title": ""}))
    with pytest.raises(FormatError) as caught:
        compare(*plain, tmp_path / "broken")
    assert str(caught.value).startswith(
        f"{plain[1]}: expected a crawl with at least one page, found only rejected records: "
    )


def test_a_file_without_any_page(plain: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "queries.txt"
    other.write_text("1\teau\n2\tpain\n")
    with pytest.raises(FormatError, match=r"queries\.txt.*found only rejected records"):
        compare(plain[0], other, tmp_path / "scratch")


def reference(old: dict[str, list[str]], new: dict[str, list[str]]) -> dict[str, Any]:
    """Document statistics in plain Python over tokens by address."""
    common = old.keys() & new.keys()
    updated = [url for url in common if old[url] != new[url]]
    dice, jaccard = [], []
    for url in updated:
        a, b = {*old[url]}, {*new[url]}
        dice.append(2 * len(a & b) / (len(a) + len(b)))
        a5, b5 = (shingles(side[url]) for side in (old, new))
        jaccard.append(len(a5 & b5) / len(a5 | b5))
    first, second = (Counter(w for ws in side.values() for w in ws) for side in (old, new))
    totals = first.total(), second.total()
    bits = []
    for word in first.keys() | second.keys():
        p, q = first[word] / totals[0], second[word] / totals[1]
        bits += [x / 2 * math.log2(x / ((p + q) / 2)) for x in (p, q) if x]
    return {
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        "updated": len(updated),
        "unchanged": len(common) - len(updated),
        "dice": sorted(dice),
        "shingle_jaccard": sorted(jaccard),
        "js_bits": math.fsum(bits),
        "jaccard": len(first.keys() & second.keys()) / len(first.keys() | second.keys()),
        "oov_share": sum(n for w, n in second.items() if w not in first) / totals[1],
        "oov_share_back": sum(n for w, n in first.items() if w not in second) / totals[0],
    }


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + 5]) for i in range(max(len(words) - 4, 1))}


def tokens_of(pages: pl.DataFrame) -> dict[str, list[str]]:
    return dict(pages.select("url_key", document_tokens_expr()).iter_rows())


def one_of(every: int, crawl: Path, out: Path) -> Path:
    """A crawl with the pages of one in so many addresses, the same addresses in each crawl."""
    if every == 1:
        return crawl
    with gzip.open(crawl, "rt") as file, gzip.open(out, "wt", compresslevel=1) as kept:
        kept.writelines(
            line for line in file if crc32(json.loads(line)["url"].encode()) % every == 0
        )
    return out


@pytest.mark.parametrize(
    ("old", "new", "every", "known"),
    [("2022-06-30", "2022-09-30", 1, (54, 5)), ("2023-06-30", "2024-06-30", 1, (218, 39))]
    if ALL
    else [("2023-06-30", "2024-06-30", 4, (54, 7))],
)
def test_real_pages_against_plain_python(
    shared: Path, tmp_path: Path, old: str, new: str, every: int, known: tuple[int, int]
) -> None:
    first, second = (
        one_of(every, shared / f"crawl/{date}.jsonl.gz", tmp_path / f"{date}.jsonl.gz")
        for date in (old, new)
    )
    found = compare(first, second, tmp_path / "scratch")
    pages = [read_crawled(tmp_path / "scratch" / side) for side in ("old", "new")]
    expected = reference(*(tokens_of(side) for side in pages))
    for name in ("added", "removed", "updated", "unchanged"):
        assert found["documents"][name] == expected[name]
    assert (found["documents"]["added"], found["documents"]["removed"]) == known
    for name in ("dice", "shingle_jaccard"):
        values = expected[name]
        quantiles = [values[math.ceil(q * len(values)) - 1] for q in (0.1, 0.5)]
        assert [found["documents"][name][q] for q in ("p10", "median")] == pytest.approx(
            quantiles, abs=1e-9
        )
    for name in ("js_bits", "jaccard", "oov_share", "oov_share_back"):
        assert found["vocabulary"][name] == pytest.approx(expected[name], abs=1e-9)


def test_the_php_manual_gives_its_reference_numbers(shared: Path, tmp_path: Path) -> None:
    paths = []
    for date in ("2022-06-30", "2022-09-30"):
        paths.append(tmp_path / f"{date}.jsonl")
        with gzip.open(shared / f"crawl/{date}.jsonl.gz", "rt") as file:
            kept = (line for line in file if "//www.php.net/" in json.loads(line)["url"])
            paths[-1].write_text("".join(kept))
    found = compare(paths[0], paths[1], tmp_path / "scratch")
    documents, vocabulary = found["documents"], found["vocabulary"]
    assert [documents[n] for n in ("added", "removed", "updated")] == [8, 1, 136]
    printed = [
        f"{documents[name][q]:.3f}"
        for name in ("dice", "shingle_jaccard")
        for q in ("p10", "median")
    ]
    assert printed == ["0.843", "0.983", "0.609", "0.873"]
    assert f"{vocabulary['js_bits']:.4f}" == "0.0001"
    assert f"{vocabulary['jaccard']:.3f}" == "0.998"


def test_real_archives(shared: Path, tmp_path: Path) -> None:
    first, second = (shared / f"warc/sante_{date}.warc.gz" for date in ("2025-09-30", "2026-01-31"))
    found = compare(first, second, tmp_path / "scratch")
    pages = [read_crawled(tmp_path / "scratch" / side) for side in ("old", "new")]
    expected = reference(*(tokens_of(side) for side in pages))
    for name in ("added", "removed", "updated", "unchanged"):
        assert found["documents"][name] == expected[name]
    assert found["vocabulary"]["js_bits"] == pytest.approx(expected["js_bits"], abs=1e-9)
    assert found["documents"]["common"] >= 30


def test_a_collection_of_the_same_archives_gives_the_same_numbers(
    shared: Path, tmp_path: Path
) -> None:
    dates = ("2025-09-30", "2026-01-31")
    archives = [shared / f"warc/sante_{date}.warc.gz" for date in dates]
    found = compare(archives[0], archives[1], tmp_path / "scratch")
    pages = []
    for side, date in zip(("old", "new"), dates, strict=True):
        rows = read_crawled(tmp_path / "scratch" / side)
        pages.append(tmp_path / f"{date}.jsonl")
        rows.select("url", "title", "text", timestamp="fetched_at").write_ndjson(pages[-1])
    builder.simulate_over_crawls(
        tmp_path / "world", pages, SimulationParameters(queries=20, impressions=2000)
    )
    definition = tmp_path / "world/workflow.toml"
    text = definition.read_text()
    for page, archive in zip(pages, archives, strict=True):
        text = text.replace(page.as_posix(), archive.resolve().as_posix())
    definition.write_text(text + "\n[documents]\nsample_share = 1.0\n[export]\ntrec = false\n")
    built = builder.build(definition, tmp_path / "collection")
    assert built.version is not None
    drift = json.loads((built.version / "drift.json").read_text())
    shared_names = drift["pairs"][0]["documents"].keys() & found["documents"].keys()
    assert {"added", "removed", "updated", "unchanged", "dice", "hosts"} <= shared_names
    for name in shared_names:
        assert drift["pairs"][0]["documents"][name] == found["documents"][name]
    (vocabulary,) = drift["vocabulary"]["all"]
    for name, value in found["vocabulary"].items():
        assert vocabulary[name] == value
