"""The messages that "What can go wrong" quotes are those of the program."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADING = "## What can go wrong"
QUOTE = re.compile(r"`([^`]+)`")
VARIABLE = re.compile(r"\d[\d,.]*(?:\w+)?|'[^']*'|\([^)]*\)|\.\.\.|[;:]")
"""Parts of a quoted message that the program fills in, or that end a phrase."""
PAGES = [p for p in sorted((ROOT / "docs").glob("*.md")) if HEADING in p.read_text("utf-8")]
HOW_TO = re.findall(
    r": (\w[\w-]*\.md)",
    (ROOT / "mkdocs.yml")
    .read_text("utf-8")
    .partition("How-to guides:")[2]
    .partition("Reference:")[0],
)


def _program_texts() -> str:
    """Every string literal of the program; values of f-strings are left out."""
    texts = []
    for path in (ROOT / "builder").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = (getattr(value, "value", "") for value in node.values)
                texts.append("".join(part for part in parts if isinstance(part, str)))
    return "\n".join(texts)


TEXTS = _program_texts()


def _quoted_phrases(page: Path) -> list[str]:
    """The fixed phrases, of two words or more, of the messages in the first column of the table."""
    rows = page.read_text("utf-8").partition(HEADING)[2].splitlines()
    quotes = [q for row in rows if row.startswith("| ") for q in QUOTE.findall(row.split("|")[1])]
    phrases = (part.strip(" ,") for quote in quotes for part in VARIABLE.split(quote))
    return [phrase for phrase in phrases if len(phrase.split()) > 2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_quoted_messages_exist(page: Path) -> None:
    assert [phrase for phrase in _quoted_phrases(page) if phrase not in TEXTS] == []


def test_messages_are_found_in_tables() -> None:
    assert "expected impressions, found none in" in _quoted_phrases(ROOT / "docs/logs.md")


@pytest.mark.parametrize("name", HOW_TO)
def test_every_how_to_says_what_can_go_wrong(name: str) -> None:
    assert HEADING in (ROOT / "docs" / name).read_text("utf-8")
