"""Queries that are still encoded: they matched few topics, and were published, without a word."""

from pathlib import Path

import polars as pl
import pytest

from builder.ingest.logs.encoded_queries import note_encoded_queries
from tests.ingest.logs.log_files import ingest, shown

HTML, PERCENT, MISREAD = "HTML entities", "percent-encoding", "characters such as Ã©"
TEXTS = {
    HTML: ["l&#39;eau", "l&#039;eau", "r&amp;d", "&quot;eau&quot;", "caf&eacute;", "&#x27;"],
    PERCENT: ["h%C3%B4tel", "eau%20potable", "l%27eau", "caf%e9"],
    MISREAD: [text.encode().decode("cp1252") for text in ("hôtel", "l’eau", "вода", "20°")],
}
PLAIN = ["r&d", "r & d; eau", "50% de 20", "100 %", "AT&T;", "São Paulo", "SÃO", "Ñandú", "l'eau"]


def _notes(folder: Path, texts: list[str]) -> list[str]:
    pl.DataFrame({"text": texts}).write_parquet(folder / "log_queries.parquet")
    return list(note_encoded_queries(folder / "log_queries.parquet"))


@pytest.mark.parametrize(("kind", "text"), [(k, text) for k in TEXTS for text in TEXTS[k]])
def test_encoded_texts_are_noted(tmp_path: Path, kind: str, text: str) -> None:
    (note,) = _notes(tmp_path, [text, f"{text} 2", f"{text} 3", "eau"])
    assert note.startswith(f"3 of 4 distinct queries contain {kind}")
    assert _notes(tmp_path, [text, f"{text} 2", *PLAIN]) == []
    assert _notes(tmp_path, [text] * 3 + ["eau"] * 297) != []
    assert _notes(tmp_path, [text] * 3 + ["eau"] * 298) == []


def test_other_texts_are_not_noted(tmp_path: Path) -> None:
    assert _notes(tmp_path, [text for text in PLAIN for _ in range(3)]) == []


def test_a_log_of_encoded_queries_has_a_note(tmp_path: Path) -> None:
    lines = [shown("u", f"l&#39;eau {n}", n, [1]) for n in range(3)]
    ledger, _ = ingest(tmp_path, {"log": b"".join(lines)})
    assert ledger.notes == [
        "3 of 3 distinct queries contain HTML entities such as &#39;; decode the queries"
    ]
