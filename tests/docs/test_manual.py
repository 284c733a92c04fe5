"""The manual is true: commands run, reference pages are those of the code, links lead on."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import builder
from builder import BuildReport
from builder.cli import main
from builder.collection.compare import compare as compare_versions
from builder.collection.compare.judgements import CAUSES
from builder.collection.findings import FINDINGS_SCHEMA
from builder.pipeline import STAGES
from tests.docs.outputs import compare, has_commands, read_blocks, run_blocks

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CELL = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)|src=\"([^\"]+)\"")


@pytest.mark.parametrize(
    "page", [p for p in PAGES if has_commands(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_command_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    blocks = read_blocks(page)
    shown = [block.text for block in blocks if block.language == "text"]
    differences = map(compare, shown, run_blocks(blocks, tmp_path))
    assert not [difference for difference in differences if difference], page
    for chart in tmp_path.glob("*.svg"):  # the figures of a page are those of its commands
        assert chart.read_text("utf-8") == (ROOT / "docs/images" / chart.name).read_text("utf-8")


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("kept 3\n...\nwrote a\n", "kept 3\nx\ny\nwrote a\n"),
        ("kept 3\n...\nwrote a\n", "kept 3\nwrote a\n"),
        ("log    3 records  0.5 s\n", "log    3 records  12.25 s\n"),
        ("peak   12 MiB, 1,024 MB/s\n", "peak 9 MiB, 7 MB/s\n"),
        ("a.b (c)*\n", "a.b (c)*  \n"),
        ("(no_topic 9, ...)\n", "(no_topic 9, url_like 1)\n"),
    ],
)
def test_outputs_agree_but_for_elided_lines_and_measured_numbers(shown: str, output: str) -> None:
    assert not compare(shown, output)


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("kept 3\n", "kept 4\n"),
        ("kept 3\n", "kept 3\nwrote a\n"),
        ("...\nwrote a\n", "wrote a\nend\n"),
        ("a  1\n", "a 1\n"),
        ("a.b\n", "axb\n"),
        ("(no_topic 9, ...)\n", "(no_topic 8, url_like 1)\n"),
        ("3 snapshots\n", "4 snapshots\n"),
    ],
)
def test_any_other_difference_of_outputs_is_shown(shown: str, output: str) -> None:
    assert compare(shown, output).startswith("--- shown\n+++ real\n")


def test_the_cells_of_the_notebook_run_in_order(tmp_path: Path) -> None:
    page = (ROOT / "docs/notebook.md").read_text("utf-8")
    cells = CELL.findall(page)
    assert len(cells) > 5
    code = f"if __name__ == '__main__':\n{textwrap.indent(chr(10).join(cells), '    ')}"
    (tmp_path / "notebook.py").write_text(code, "utf-8")
    done = subprocess.run(
        [sys.executable, "notebook.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "did you mean 'clicks'?" in done.stdout


def test_shapes_of_json_are_those_that_are_described(
    built: BuildReport, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/json.md").read_text("utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `longeval")}

    def keys(*arguments: object) -> set[str]:
        with pytest.raises(SystemExit) as end:
            main([*map(str, arguments), "--format", "json"])
        assert not end.value.code
        value = json.loads(capsys.readouterr().out)
        first = value[0] if isinstance(value, list) else value
        found = set(first)
        for inner in first.get("units", [])[:1] if isinstance(first, dict) else []:
            found |= set(inner)
        return found

    asked = {
        "longeval build": ("build", world / "workflow.toml", "--out", built.root),
        "longeval sanity": ("sanity", built.root),
        "longeval doctor": ("doctor",),
    }
    for verb, arguments in asked.items():
        described = set(re.findall(r"`([a-z_]+)`", rows[verb])) - {"good", "note", "bad"}
        assert keys(*arguments) == described, verb


def test_findings_and_differences_are_those_that_are_described(
    built: BuildReport, world: Path, tmp_path: Path
) -> None:
    page = (ROOT / "docs/json.md").read_text("utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `longeval")}
    finding = FINDINGS_SCHEMA["properties"]["findings"]["items"]["required"]
    described = re.findall(r"`([a-z_]+)`", rows["longeval validate"])
    assert described == [*FINDINGS_SCHEMA["required"], *finding]
    other = world / "json.toml"
    other.write_text((world / "workflow.toml").read_text() + "\n[qrels]\nmin_examinations = 15\n")
    report = builder.build(other, out=shutil.copytree(built.root, tmp_path / "other"))
    assert built.version is not None
    assert report.version is not None
    found = compare_versions(built.version, report.version).to_dict()
    described = re.findall(r"`([a-z_]+)`", rows["longeval diff"])
    named = set(found) | set(found["judgements"][0]) | set(CAUSES) | set(found["tables"][0])
    assert named == set(described)


@pytest.mark.parametrize(
    ("page", "rule"),
    [
        ("queries.md", "NFKD"),
        ("queries.md", "no digits"),
        ("crawls.md", "rejected as `superseded`"),
    ],
)
def test_rules_that_decide_on_identity_are_described(page: str, rule: str) -> None:
    assert rule in " ".join((ROOT / "docs" / page).read_text("utf-8").split())


def test_the_workflow_engine_has_a_rule_for_each_stage() -> None:
    text = (ROOT / "workflows/Snakefile").read_text("utf-8")
    listed = re.findall(r'"([a-z_]+)"', text.partition("STAGES = (")[2].partition("\n)\n")[0])
    assert listed == [stage.name for stage in STAGES]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_pages_are_those_of_the_code() -> None:
    generator = _generator()
    for name, page in generator.PAGES.items():
        written = (generator.REFERENCE / name).read_text("utf-8")
        assert written == page(), f"docs/reference/{name} is out of date: python docs/generate.py"


def test_a_glossary_entry_must_name_what_exists(tmp_path: Path) -> None:
    generator = _generator()
    generator.GLOSSARY = tmp_path / "glossary.toml"
    for entry, problem in (
        ('[terms."sDBN"]\nmeaning = "m"\nwhere = ["qrels.grades"]\n', "'qrels.grades'"),
        ('[terms."sDBN"]\nwhere = ["qrels.grade"]\n', "'sDBN' has no meaning"),
        ('[terms."snapshot"]\nmeaning = "m"\n', "'snapshot' is defined twice"),
    ):
        generator.GLOSSARY.write_text(f"{entry}[papers]\n", "utf-8")
        with pytest.raises(ValueError, match=problem):
            generator.glossary()


@pytest.mark.parametrize("term", ["sDBN", "k-anonymity", "qrel", "RnD", "SERP", "churn"])
def test_the_glossary_defines_the_terms_that_readers_search(term: str) -> None:
    page = (ROOT / "docs/reference/glossary.md").read_text("utf-8")
    assert re.search(rf"^\| {term}[ |]", page, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text("utf-8")):
        target = match[1] or match[2]
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_manual_links_only_to_its_own_pages() -> None:
    docs = ROOT / "docs"
    published = {path for path in docs.rglob("*.*") if docs / "examples" not in path.parents}
    for page in docs.rglob("*.md"):
        for match in LINK.finditer(page.read_text("utf-8")):
            target = match[1] or match[2]
            if not target.startswith(("http:", "https:", "mailto:")):
                assert (page.parent / target).resolve() in published, f"{page.name}: {target}"


def test_pipes_of_reference_tables_are_shown_without_a_backslash() -> None:
    row = _generator()._row("`a|b`", "c|d", "`[e]`")
    assert row == "| <code>a&#124;b</code> | c\\|d | `[e]` |\n"


def test_rules_of_a_column_are_code_or_a_list_of_values() -> None:
    page = (ROOT / "docs/reference/tables.md").read_text("utf-8")
    assert "| key, matches `^d[0-9a-f]{16}$` |" in page
    assert "| one of click, manual, release |" in page
