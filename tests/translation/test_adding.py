"""Models that users bring: what is found in a folder, its conversion, and the manual's commands."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from builder.errors import FormatError, UsageError
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation import add_model, adding, check_model
from builder.translation.adding import (
    ModelFormat,
    detect_format,
    find_license,
    language_prefixes,
)

MANUAL = Path(__file__).parents[2] / "docs/translation.md"
WITHOUT = "the converter of Transformers models needs transformers and torch"


def _module(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny = _module("tiny_models")


@pytest.fixture
def limits(tmp_path: Path) -> ResourceLimits:
    """One thread and a scratch folder."""
    (tmp_path / "scratch").mkdir()
    return ResourceLimits(tmp_path / "scratch", threads=1)


def test_a_ctranslate2_folder(model: Path, limits: ResourceLimits, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(model, folder)
    (folder / "LICENSE.txt").write_text("CC0")
    found = add_model(folder / "model.bin", limits, compute_type="float32")
    assert found["kind"] == "CTranslate2"
    assert found["licence"] == "LICENSE.txt"
    assert found["ends_sources"] == "caller adds </s>"
    assert tomllib.loads(found["definition"]) == {"translate": {"model": str(folder)}}


def test_an_opus_mt_folder_is_converted(limits: ResourceLimits, tmp_path: Path) -> None:
    folder, out = tiny.build_opus_mt(tmp_path / "opus"), tmp_path / "converted"
    with pytest.raises(UsageError, match="must be converted to CTranslate2; use --out"):
        add_model(folder, limits)
    found = add_model(folder, limits, out=out)
    assert found["kind"] == "OPUS-MT (Marian)"
    assert found["ends_sources"] == "engine adds </s>"
    assert found["licence"] == "LICENSE"
    assert tomllib.loads(found["definition"])["translate"]["model"] == str(out)
    assert add_model(out, limits)["sha256"] == found["sha256"]
    with pytest.raises(UsageError, match="exists"):
        add_model(folder, limits, out=out)


def test_a_damaged_model_is_reported_and_leaves_nothing(
    limits: ResourceLimits, tmp_path: Path
) -> None:
    folder = tiny.build_opus_mt(tmp_path / "opus")
    (folder / "opus.npz").write_bytes(b"PK")
    with pytest.raises(FormatError, match="cannot convert"):
        add_model(folder, limits, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("config", [None, "{", "[]", '{"model_type": "llama"}'])
def test_a_folder_of_no_known_kind(
    config: str | None, limits: ResourceLimits, tmp_path: Path
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    if config is not None:
        (folder / "config.json").write_text(config)
    with pytest.raises(FormatError, match="found none of them"):
        add_model(folder, limits)
    with pytest.raises(UsageError, match="no such folder"):
        add_model(tmp_path / "no", limits)


def test_languages_of_multilingual_models() -> None:
    nllb = language_prefixes({"fra_Latn", "eng_Latn", "deu_Latn"})
    assert nllb == {"source_prefix": "fra_Latn", "target_prefix": "eng_Latn"}
    assert language_prefixes({">>eng<<", ">>deu<<"}) == {"source_prefix": ">>eng<<"}
    assert language_prefixes({"fra_Latn", "chat"}) == {}


def test_the_licence_is_a_file_or_named_by_the_card(tmp_path: Path) -> None:
    assert find_license(tmp_path) == "no licence file"
    (tmp_path / "README.md").write_text("---\nlanguage: fr\nlicense: apache-2.0\n---\n")
    assert find_license(tmp_path) == "apache-2.0 (README.md)"
    (tmp_path / "COPYING").write_text("GPL")
    assert find_license(tmp_path) == "COPYING"


def _transformers() -> None:
    for name in ("transformers", "torch"):
        pytest.importorskip(name, reason=WITHOUT)


@pytest.mark.parametrize(
    ("build", "kind", "prefixes"),
    [
        (tiny.build_marian, "OPUS-MT (Transformers)", {}),
        (
            tiny.build_nllb,
            "NLLB or M2M-100 (Transformers)",
            {"source_prefix": "fra_Latn", "target_prefix": "eng_Latn"},
        ),
    ],
)
def test_a_transformers_folder_is_converted(
    build: Callable[[Path], Path],
    kind: str,
    prefixes: dict[str, str],
    limits: ResourceLimits,
    tmp_path: Path,
) -> None:
    _transformers()
    found = add_model(build(tmp_path / "model"), limits, out=tmp_path / "out")
    assert found["kind"] == kind
    section = tomllib.loads(found["definition"])["translate"]
    assert section == {"model": str(tmp_path / "out"), **prefixes}


def test_the_missing_converter_is_named(
    limits: ResourceLimits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    with pytest.raises(UsageError, match=r"pip install transformers\[torch\]"):
        add_model(tmp_path, limits, out=tmp_path / "out")


NAMES = {
    "Helsinki-NLP/opus-mt-fr-en": tiny.build_marian,
    "facebook/nllb-200-distilled-600M": tiny.build_nllb,
    "opus-mt-fr-en": tiny.build_opus_mt,
}
"""Models that the manual names, and the tiny ones that stand in for them."""


def _commands() -> list[str]:
    """The conversion commands of the manual, with what is copied after them."""
    text = MANUAL.read_text("utf-8").replace("\\\n", " ")
    return re.findall(r"^ {4}((?:ct2-|cp ).+)$", text, re.MULTILINE)


def test_the_manual_has_a_command_for_each_kind() -> None:
    words = {word for command in _commands() for word in shlex.split(command)}
    assert words >= {"ct2-transformers-converter", "ct2-opus-mt-converter", *NAMES}


@pytest.mark.parametrize("named", NAMES)
def test_the_commands_of_the_manual_convert(
    named: str, limits: ResourceLimits, tmp_path: Path
) -> None:
    if named != "opus-mt-fr-en":
        _transformers()
    NAMES[named](tmp_path / named)
    commands = [shlex.split(c) for c in _commands() if named in re.split(r"[ =]|/(?=\w+\.)", c)]
    assert commands
    for command in commands:
        program = Path(sys.executable).with_name(command[0])
        command[0] = str(program if program.exists() else command[0])
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    (out,) = {path.parent for path in tmp_path.glob("*/model.bin")}
    found = check_model(TranslationParameters(model=out, max_target_pieces=20), limits)
    assert found["vocabulary"] > 20


def test_a_model_and_its_licence_are_described(
    model: Path, limits: ResourceLimits, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(model, folder)
    for name in ("LICENSE", "LICENCE.md"):
        (folder / name).write_text("CC0")
    found = add_model(folder, limits, compute_type="float32")
    digest = found.pop("sha256")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert found == {
        "kind": "CTranslate2",
        "folder": str(folder),
        "megabytes": 1.1,
        "vocabulary": 16,
        "sentencepiece": "source and target",
        "ends_sources": "caller adds </s>",
        "compute_type": "float32",
        "device": "cpu",
        "batch_invariant": found["batch_invariant"],
        "examples": found["examples"],
        "licence": "LICENCE.md, LICENSE",
        "definition": f'[translate]\nmodel = "{folder}"',
    }
    assert list(found["examples"]) == [
        "Comment choisir un vélo pour la ville ?",
        "La bibliothèque est ouverte tous les jours, sauf le lundi.",
        "Le prix comprend le repas et deux nuits à l'hôtel.",
    ]
    assert find_license(tmp_path) == "no licence file"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"model.bin": "", "decoder.yml": ""}, "CTranslate2"),
        ({"decoder.yml": "", "config.json": '{"model_type": "m2m_100"}'}, "OPUS-MT (Marian)"),
        ({"config.json": '{"model_type": "m2m_100"}'}, "NLLB or M2M-100 (Transformers)"),
        ({"config.json": '{"model_type": "marian"}'}, "OPUS-MT (Transformers)"),
    ],
)
def test_the_format_of_a_model_is_that_of_its_files(
    files: dict[str, str], kind: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert str(detect_format(tmp_path)) == kind


def test_what_stands_beside_the_weights_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Converter:
        def convert(self, out: str, quantization: str) -> None:
            Path(out).mkdir()
            (Path(out) / "model.bin").write_text(quantization)

    monkeypatch.setattr(adding, "_create_converter", lambda *_: Converter())
    folder, out = tmp_path / "model", tmp_path / "out"
    folder.mkdir()
    for name in ("source.spm", "spiece.model", "README.md", "COPYING", "weights.npz", "notes.txt"):
        (folder / name).write_text(name)
    assert adding.convert_model(folder, ModelFormat.OPUS_MT, out) == out
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "model.bin": "int8",
        **{name: name for name in ("source.spm", "spiece.model", "README.md", "COPYING")},
    }
