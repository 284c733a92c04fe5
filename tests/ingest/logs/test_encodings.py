"""Text encodings that a definition may name."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from builder.ingest.logs.encoding import resolve_encoding
from builder.io.sources import Source
from builder.parameters import LogParameters


@pytest.mark.parametrize("name", ["auto", "utf-8", "utf-8-sig", "latin-1", "gb18030", "EUC_JP"])
def test_encodings_that_extend_ascii(name: str) -> None:
    assert LogParameters(encoding=name).encoding == name


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-7", "cp037", "raw_unicode_escape", "hz"])
def test_other_encodings_are_refused_with_advice(name: str) -> None:
    with pytest.raises(ValidationError, match=r"does not extend ASCII; convert .* with iconv"):
        LogParameters(encoding=name)


@pytest.mark.parametrize("name", ["", "none", "base64", "rot13"])
def test_non_text_codecs_are_rejected(name: str) -> None:
    with pytest.raises(ValidationError, match="no such text encoding; expected auto, utf-8"):
        LogParameters(encoding=name)


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("été", "windows-1252"),
        ("crêpes à la châtaigne, où ça ? « ici »", "windows-1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "windows-1250"),
        ("Съешь же ещё этих мягких французских булок", "windows-1251"),
        ("搜索引擎的查询日志，您好", "gb18030"),
    ],
)
def test_detected_encodings(tmp_path: Path, text: str, codec: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(f'{{"query": "{text}"}}\n'.encode(codec) * 5)
    name, note = resolve_encoding(Source(path, "log.jsonl"), LogParameters())
    assert name == codec
    assert note == f"detected encoding {name}; set log.encoding to confirm"
