"""One world in other letters: nothing that is counted depends on which letters words have."""

import gzip
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import pytest

import builder
from builder import SimulationParameters
from tests.thorough import ALL

WORLD = SimulationParameters(
    name="letters", snapshots=2, documents=200, queries=40, impressions=4000, seed=8
)
LATIN = ascii_lowercase[13:] + ascii_lowercase[:13]
"""No longer French, so that no rule for French applies."""
ALPHABETS = {
    "cyrillic": "абвгджзиклмнопрстуфхцчшщъыьэ"[:26],
    "armenian": "".join(map(chr, range(0x561, 0x561 + 26))),
    "devanagari": "".join(map(chr, [*range(0x915, 0x929), *range(0x92A, 0x930)])),
}
TRIED = sorted(ALPHABETS) if ALL else ["cyrillic", "devanagari"]
"""One with capitals and one without; Armenian has capitals, too."""
EXAMPLES = {"movers", "most_rewritten", "mentions_of_other"}
"""Lists in the order of ids, and a number for which each query is compared with the next id."""
EXCLUDED = ("language", "texts_end_freely")
"""Checks of languages, and of lengths in characters: an accent composes with some letters only."""


def written_in(letters: str) -> Callable[[str], str]:
    """A function that writes texts with other letters; accents stay."""
    table = str.maketrans(ascii_lowercase + ascii_uppercase, letters + letters.upper())

    def write(text: str) -> str:
        return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).translate(table))

    return write


def rewrite_lines(path: Path, names: set[str], write: Callable[[str], str]) -> None:
    """Write some fields of lines of JSON with other letters; other lines stay as they are."""
    lines = []
    for line in gzip.decompress(path.read_bytes()).split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            changed = {k: write(v) for k, v in row.items() if k in names and isinstance(v, str)}
            line = json.dumps(row | changed, ensure_ascii=False).encode("utf-8", "surrogatepass")
        lines.append(line)
    path.write_bytes(gzip.compress(b"\n".join(lines)))


def measured(folder: Path, letters: str) -> dict[str, Any]:
    """What is counted in the collection of a world that is written in some letters."""
    builder.simulate(folder / "world", WORLD)
    write = written_in(letters)
    for path in (folder / "world/logs").iterdir():
        rewrite_lines(path, {"query"}, write)
    for path in (folder / "world/crawls").iterdir():
        rewrite_lines(path, {"title", "text"}, write)
    topics = folder / "world/topics.tsv"
    header, *rows = [line.split("\t") for line in topics.read_text("utf-8").splitlines()]
    rows = [[name, write(label), write(aliases), *rest] for name, label, aliases, *rest in rows]
    topics.write_text("".join("\t".join(row) + "\n" for row in (header, *rows)), "utf-8")
    report = builder.build(folder / "world/workflow.toml", folder / "collection")
    assert report.version is not None
    drift = json.loads((report.version / "drift.json").read_text("utf-8"))
    del drift["clicks"]  # the model is tested on queries sampled by their keys
    drift["checks"] = [
        check for check in drift["checks"] if not any(n in json.dumps(check) for n in EXCLUDED)
    ]
    return dict(drift)


def numbers(value: Any) -> Any:
    """A value without the texts and ids in it, and without lists whose order ids decide."""
    if isinstance(value, dict):
        return {name: numbers(inner) for name, inner in value.items() if name not in EXAMPLES}
    if isinstance(value, list):
        return [numbers(inner) for inner in value]
    return None if isinstance(value, str) else value


@pytest.fixture(scope="module")
def in_latin(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return measured(tmp_path_factory.mktemp("latin"), LATIN)


@pytest.mark.parametrize("alphabet", TRIED)
def test_other_letters_are_counted_alike(
    alphabet: str, in_latin: dict[str, Any], tmp_path: Path
) -> None:
    found = measured(tmp_path, ALPHABETS[alphabet])
    assert len(in_latin["checks"]) > 10
    assert in_latin["vocabulary"]["all"][0]["rising"] != found["vocabulary"]["all"][0]["rising"]
    assert numbers(found) == numbers(in_latin)
