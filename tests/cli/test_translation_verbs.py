"""Translation of files, and what a model is, from the command line."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from builder.cli import main

Captured = pytest.CaptureFixture[str]


def run(*arguments: object) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-made lexicon model."""
    path = Path(__file__).parents[1] / "translation/toy_model.py"
    spec = importlib.util.spec_from_file_location("toy_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder: Path = module.build(tmp_path_factory.mktemp("toy") / "model", add_source_eos=False)
    return folder


def test_a_text_keeps_its_lines(model: Path, tmp_path: Path, capsys: Captured) -> None:
    source, out = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("le chat dort\n\n- un chien\n12\n", "utf-8")
    options = ("--model", model, "--compute-type", "float32")
    assert run("translate", source, "--out", out, *options) == 0
    assert out.read_text("utf-8") == "the cat sleeps\n\n- a dog\n12\n"
    shown = capsys.readouterr().out
    assert "1 text, 3 sentences" in shown
    assert "untranslatable" in shown


def test_a_text_goes_to_standard_output(model: Path, tmp_path: Path, capfd: Captured) -> None:
    source = tmp_path / "a.txt"
    source.write_text("le chat\nnoir dort\n12\n", "utf-8")
    assert run("translate", source, "--model", model, "--compute-type", "float32") == 0
    shown = capfd.readouterr()
    assert shown.out == "the cat\nblack sleeps\n12\n"
    assert "untranslatable" in shown.err
    table = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["le chat"]}).write_parquet(table)
    assert run("translate", table, "--model", model) == 2
    message = "a.parquet: expected an output file for a Parquet table, found none; use --out"
    assert capfd.readouterr().err == f"longeval: {message}\n"


def test_it_is_a_filter(model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "builder", "translate", "-", "--model", str(model)]
    command += ["--compute-type", "float32", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for french, english in (("le chat dort", "the cat sleeps"), ("", ""), ("un", "a")):
            process.stdin.write(f"{french}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline() == f"{english}\n".encode()
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0
    out = tmp_path / "out.txt"
    subprocess.run([*command, "--out", str(out)], input=b"le chat\nle", check=True)
    assert out.read_bytes() == b"the cat\nthe\n"


def test_a_model_of_ones_own(model: Path, tmp_path: Path, capsys: Captured) -> None:
    assert run("translate", "model", "add", model, "--compute-type", "float32") == 0
    shown = capsys.readouterr().out
    assert "no licence file" in shown
    assert f'[translate]\nmodel = "{model}"' in shown
    assert run("translate", "model", "add", model, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "CTranslate2"
    assert run("translate", "model", "add", tmp_path) == 1


def test_a_table_gets_columns(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pl.DataFrame({"q": ["le chat", None, "404"], "n": [1, 2, 3]}).write_parquet(source)
    options = ("--model", model, "--compute-type", "float32", "--column", "q", "--kind", "query")
    assert run("translate", source, "--out", out, *options, "--quiet") == 0
    found = pl.read_parquet(out)
    assert found.columns == ["q", "n", "q_en", "q_flags"]
    assert found["q_en"].to_list() == ["the cat", None, "404"]
    assert found["q_flags"].to_list()[2] == ["untranslatable"]
    categories = pl.read_parquet(source).select(pl.col("q").cast(pl.Categorical))
    categories.write_parquet(source)
    assert run("translate", source, "--out", out, *options, "--quiet") == 0
    assert pl.read_parquet(out)["q_en"].to_list() == ["the cat", None, "404"]


@pytest.mark.parametrize("name", ["text_en", "text_flags"])
def test_translations_do_not_replace_a_column(
    model: Path, tmp_path: Path, capsys: Captured, name: str
) -> None:
    source, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pl.DataFrame({"text": ["le chat"], name: ["by a person"]}).write_parquet(source)
    assert run("translate", source, "--out", out, "--model", model) == 2
    assert (
        f"a.parquet: expected no column '{name}', because results are written to a new column of "
        "this name; rename the existing column"
    ) in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_what_a_model_is(model: Path, capsys: Captured) -> None:
    assert run("translate", "model", "check", model, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ends_sources"] == "caller adds </s>"
    assert found["sentencepiece"] == "source and target"
    assert len(found["examples"]) == 3
    assert run("translate", "model", "check", model) == 0
    assert "vocabulary" in capsys.readouterr().out


def test_wrong_uses(model: Path, tmp_path: Path, capsys: Captured) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"\xff\xfe")
    assert run("translate", "model", "check", tmp_path) == 1
    assert run("translate", "model", "check", tmp_path / "no") == 2
    assert run("translate", tmp_path / "no.txt", "--out", tmp_path / "o", "--model", model) == 2
    assert run("translate", text, "--out", tmp_path / "o.parquet", "--model", model) == 2
    assert run("translate", text, "--out", tmp_path / "o.txt", "--model", model) == 1
    assert "Traceback" not in capsys.readouterr().err
