"""The manual is true: commands run, reference pages are those of the code, links lead on."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)|src=\"([^\"]+)\"")


def _commands(page: Path) -> str:
    """The shell blocks of a page as one script; `make` runs in continuous integration itself."""
    blocks = BLOCK.findall(page.read_text("utf-8"))
    lines = [line for block in blocks for line in block.splitlines()]
    return "\n".join(line for line in lines if not line.startswith(("make ", "git clone", "cd ")))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if _commands(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_command_runs(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", _commands(page)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{page}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text("utf-8")):
        target = match[1] or match[2]
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
