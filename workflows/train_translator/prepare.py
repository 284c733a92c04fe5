"""Select the training pairs, with a reason for every pair that is dropped.

In: the corpora of `sources.toml` in a folder, the test and validation sets that must stay apart.
Out: `pairs.tsv` (French, English, repetitions), `validation.tsv` and `prepared.json`, which counts
per corpus the pairs read, taken, and dropped by reason. Pairs that share eight consecutive words,
or a whole side, with a test or validation set are dropped.
"""

import gzip
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

from builder.simulation import generate_sentence_pairs
from workflows.train_translator.queries import query_pairs

OVERLAP = 8
"""Words in a row that a training pair may not share with a test set."""
SHORTEST_WHOLE = 3
"""Texts of fewer words are said by everybody."""
SHORTEST_RATIO, LONGEST_RATIO, SLACK = 0.4, 2.5, 3
"""Bounds of English to French words, and words by which short pairs may exceed them."""

_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]")
HERE = Path(__file__).parent

Pair = tuple[str, str]


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a TSV file, plain or gzip, with columns French and English."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            french, _, english = line.rstrip("\n").partition("\t")
            yield _SPACES.sub(" ", french).strip(), _SPACES.sub(" ", english).strip()


def held_out_sentences() -> list[str]:
    """Held-out everyday French sentences; the card shows their translations."""
    lines = (HERE / "ordinary.tsv").read_text("utf-8").splitlines()
    return [line.partition("\t")[2] for line in lines]


def ngrams(text: str) -> set[str]:
    """The 8-grams of words of a casefolded text; of a shorter text, the whole text."""
    words = _WORD.findall(text.casefold())
    if len(words) < OVERLAP:
        return {f"= {' '.join(words)}"} if len(words) >= SHORTEST_WHOLE else set()
    return {" ".join(words[i : i + OVERLAP]) for i in range(len(words) - OVERLAP + 1)}


def rejection_reason(pair: Pair, longest: int) -> str | None:
    """Reason to drop a pair; None to keep it."""
    french, english = pair
    if not _LETTERS.search(french) or not _LETTERS.search(english):
        return "no_letters"
    if french.casefold() == english.casefold():
        return "copied"
    size, other = len(french.split()), len(english.split())
    if size > longest or other > longest * 1.3:
        return "too_long"
    if not SHORTEST_RATIO * size - SLACK <= other <= LONGEST_RATIO * size + SLACK:
        return "length_ratio"
    return None


def prepare(data: Path, work: Path) -> dict[str, Any]:
    """Write training and validation pairs, and return the counts.

    Args:
        data: Folder of the parallel corpora, with `test/` in it.
        work: Output folder.
    """
    work.mkdir(parents=True, exist_ok=True)
    config = tomllib.loads((HERE / "sources.toml").read_text("utf-8"))
    held_out = {
        gram
        for path in (*sorted((data / "test").glob("*.tsv.gz")), *data.glob("valid.*.tsv.gz"))
        for pair in read_pairs(path)
        for side in pair
        for gram in ngrams(side)
    }
    held_out |= {gram for text in held_out_sentences() for gram in ngrams(text)}
    account: dict[str, Any] = {"held_out_ngrams": len(held_out), "corpora": {}, "words": {}}
    seen: set[bytes] = set()
    with (work / "pairs.tsv").open("w", encoding="utf-8") as out:
        for corpus in config["corpus"]:
            pairs: Iterable[Pair] = read_pairs(data / corpus["file"])
            _take(corpus["file"], pairs, corpus, (held_out, seen), out, account)
        for name, own in project_pairs(config).items():
            settings = {"share": 1.0, "longest": 60, **config[name]}
            _take(name, own, settings, (held_out, seen), out, account)
    with (work / "validation.tsv").open("w", encoding="utf-8") as out:
        for path in sorted(data.glob("valid.*.tsv.gz")):
            out.writelines(f"{fr}\t{en}\n" for fr, en in read_pairs(path))
    (work / "prepared.json").write_text(json.dumps(account, indent=1) + "\n", "utf-8")
    return account


def everyday_pairs() -> Iterator[Pair]:
    """The sentences, titles and queries in `everyday/`, written for this project."""
    for path in sorted((HERE / "everyday").glob("*.tsv")):
        yield from read_pairs(path)


def project_pairs(config: dict[str, Any]) -> dict[str, Iterator[Pair]]:
    """Pairs that the project itself provides, by section of the configuration."""
    sentences, queries = config["generated"], config["queries"]
    return {
        "everyday": everyday_pairs(),
        "generated": generate_sentence_pairs(sentences["seed"], sentences["pairs"]),
        "queries": query_pairs(queries["seed"], queries["pairs"]),
    }


def _take(
    name: str,
    pairs: Iterable[Pair],
    corpus: dict[str, Any],
    avoided: tuple[set[str], set[bytes]],
    out: Any,
    account: dict[str, Any],
) -> None:
    """Write the pairs of a corpus that are kept; count outcomes and English words."""
    held_out, seen = avoided
    counts: Counter[str] = Counter()
    words = 0
    for pair in pairs:
        counts["read"] += 1
        key = md5("\t".join(pair).casefold().encode(), usedforsecurity=False).digest()
        reason = rejection_reason(pair, corpus["longest"])
        if reason is None and int.from_bytes(key[8:12], "big") >= corpus["share"] * 2**32:
            reason = "not_sampled"
        if reason is None and key in seen:
            reason = "duplicate"
        if reason is None and any(not held_out.isdisjoint(ngrams(side)) for side in pair):
            reason = "shares_text_with_a_test_set"
        if reason is not None:
            counts[reason] += 1
            continue
        seen.add(key)
        counts["taken"] += 1
        words += corpus["repeat"] * len(pair[1].split())
        out.write(f"{pair[0]}\t{pair[1]}\t{corpus['repeat']}\n")
    account["corpora"][name], account["words"][name] = dict(counts), words
