"""Write the reference pages from the code: `python docs/generate.py`.

A test compares the pages with what this makes, so that they cannot grow apart.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.main import get_command

import builder
import schemas
from builder.cli import app
from builder.collection.checks import CHECKS
from builder.definition.model import CollectionDefinition, SnapshotDefinition
from builder.evaluation.measures.registry import ALIASES, FAMILIES
from builder.evaluation.tables.persistence import PERSISTENCE_STATISTICS
from builder.explore.glossary import TERMS
from builder.parameters import Section, StageParameters
from builder.pipeline import STAGES
from schemas.describe import describe_schema

REFERENCE = Path(__file__).parent / "reference"
GLOSSARY = Path(__file__).parent / "glossary.toml"
_NOTE = "<!-- Written by docs/generate.py from the code; edit the code. -->\n"


def _row(*cells: object) -> str:
    return "| " + " | ".join(_escape_pipes(str(cell)) for cell in cells) + " |\n"


def _escape_pipes(cell: str) -> str:
    """Escape the pipes of a cell; code with pipes as HTML, as MkDocs would show its backslashes."""
    code = re.sub(r"`([^`]*\|[^`]*)`", lambda found: f"<code>{_entities(found[1])}</code>", cell)
    return code.replace("|", "\\|")


def _entities(text: str) -> str:
    return re.sub(r"[^\w\s]", lambda found: f"&#{ord(found[0])};", text)


def _fields(model: Any, prefix: str) -> str:
    head = _row("key", "default", "meaning") + "|---|---|---|\n"
    return head + "".join(_rows(model, prefix)) + "\n"


def _rows(model: Any, prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if isinstance(field.default, Section):
            yield from _rows(type(field.default), f"{prefix}{name}.")
            continue
        default = "required" if field.is_required() else f"`{_toml(field.default)}`"
        yield _row(f"`{prefix}{name}`", default, field.description or "")
        if get_origin(field.annotation) is tuple:
            for item in get_args(field.annotation):
                if isinstance(item, type) and issubclass(item, Section):
                    yield from _rows(item, f"{prefix}{name}.")


def _toml(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@cache
def definition() -> str:
    """Every key of a workflow definition."""
    text = f"{_NOTE}# The definition of a collection\n\n"
    text += "A definition is a TOML file with the inputs of a collection and all parameters of its "
    text += "build; `longeval build` reads it. Paths are relative to the folder of the definition. "
    text += "Where files are expected, a folder means all files in that folder, and a glob pattern "
    text += "means all matching files. The default `absent` means that the key is not set.\n\n"
    text += "## `[collection]`\n\n" + _fields(CollectionDefinition, "collection.")
    text += "## `[[snapshots]]`\n\nOne section per snapshot, in chronological "
    text += "order. The intervals of snapshots must not overlap.\n\n"
    text += _fields(SnapshotDefinition, "snapshots.")
    for name, field in StageParameters.model_fields.items():
        section: Any = field.annotation
        summary = (section.__doc__ or "").partition(": ")[2]
        text += f"## `[{name}]`\n\n{summary[:1].upper()}{summary[1:]}\n\n"
        text += _fields(section, f"{name}.")
    return text.rstrip() + "\n"


def tables() -> str:
    """Every table and its contract."""
    text = f"{_NOTE}# Tables\n\nThis page lists the columns of every table that `longeval` reads "
    text += "or writes; `longeval schema TABLE` prints those of one table. A `?` after a type "
    text += "means that the column may be null. The columns marked *key* together form the "
    text += "primary key. A *candidate query* is a query of the log that passed the rules of "
    text += "`[select]`. The [glossary](glossary.md) explains the other terms.\n\n"
    for name, contract in schemas.TABLES.items():
        words = describe_schema(contract)
        text += f"## {name}\n\n{words['description']}\n\n"
        text += _row("column", "type", "rules", "meaning") + "|---|---|---|---|\n"
        for c in words["columns"]:
            kind = c["type"] + ("?" if c["nullable"] else "")
            rules = re.sub(r"matches (\S+)", r"matches `\1`", c["rules"])
            text += _row(f"`{c['name']}`", f"`{kind}`", rules, c["description"])
        for rule in words["rules"]:
            text += f"\nRule `{rule['name']}`: {rule['description']}\n"
        text += f"\nSorted by {', '.join(words['order'])}.\n\n"
    return text.rstrip() + "\n"


def checks() -> str:
    """Every check of `longeval validate`."""
    text = (
        f"{_NOTE}# Checks\n\n`longeval validate` runs these checks. The first digit of "
        "an id says what is checked: 0 files, 1 tables and ids, 2 contents. `--select LB103` runs "
        "a single check, and `--select LB2` all checks whose ids begin with LB2; `--ignore` skips "
        "checks in the same way. "
        "`--severity LB205=warning` changes a severity. `longeval schema findings` describes the "
        "output of `--format json`.\n\n"
    )
    head = ("id", "severity", "makes sure that", "defect found in other collections", "fix")
    text += _row(*head) + "|---|---|---|---|---|\n"
    for check in CHECKS:
        words = (check.title, check.why, check.fix)
        escaped = (cell.replace("<", "&lt;") for cell in words)
        text += _row(check.id, check.severity, *escaped)
    return text


def stages() -> str:
    """Every stage of the pipeline."""
    text = f"{_NOTE}# Stages\n\nThe stages of `longeval build`, in order of data flow. "
    text += "A stage runs once for each snapshot, for each pair of consecutive "
    text += (
        "snapshots, or for the whole collection. *Raw files* are input files that the definition "
    )
    text += "names. A stage that reads and writes the same table reads the tables of earlier "
    text += "snapshots, and writes the table of its own snapshot. The last column names the "
    text += "section of the [definition](definition.md) with the parameters of the stage.\n\n"
    text += _row("stage", "once for each", "reads", "writes", "section") + "|---|---|---|---|---|\n"
    for stage in STAGES:
        reads = [read.table_name for read in stage.signature.tables]
        reads += ["raw files"] * bool(stage.raw_files)
        section = f"`[{stage.signature.section}]`" if stage.signature.section else ""
        row = (
            stage.name,
            stage.scope.value,
            ", ".join(dict.fromkeys(reads)),
            ", ".join(stage.output_tables) or "files",
            section,
        )
        text += _row(*row)
    text += "\n[Tables](tables.md) describes the tables. Intermediate tables, which are not "
    text += "published, have the same columns as another table: "
    for name, schema in schemas.INTERMEDIATE_TABLES.items():
        base: Any = schema.__base__
        text += f"`{name}` as `{base.table_name()}`, "
    return text.removesuffix(", ") + ".\n"


@cache
def commands() -> str:
    """Every command of `longeval` with its arguments and options."""
    text = f"{_NOTE}# Commands\n\nAll commands of `longeval`, each with an example, its arguments "
    text += (
        "(in capitals) and its options. `longeval COMMAND --help` prints the same information.\n\n"
    )
    return text + "".join(_commands(get_command(app), "longeval")).rstrip() + "\n"


def _commands(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        whole = f"{path} {name}"
        if hasattr(command, "commands"):
            yield f"## {whole}\n\n{(command.help or '').strip()}\n\n"
            yield from _commands(command, whole)
            continue
        words, _, example = (command.help or "").partition("Example:")
        yield f"## {whole}\n\n{' '.join(words.split())}\n\n"
        if example:
            yield f"    {' '.join(example.split())}\n\n"
        yield _row("argument or option", "default", "meaning") + "|---|---|---|\n"
        for parameter in command.params:
            if parameter.name != "help":
                yield _parameter(parameter)
        yield "\n"


def _parameter(parameter: Any) -> str:
    is_option = any(name.startswith("-") for name in parameter.opts)
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    names = names if is_option else f"`{str(parameter.name).upper()}`"
    default = "required" if parameter.required else _default(parameter.default)
    return _row(names, default, f"{getattr(parameter, 'help', None) or ''}{_choices(parameter)}")


def _choices(parameter: Any) -> str:
    annotation = parameter.type_descriptor.annotation
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Enum):
            *others, last = (f"`{member.value}`" for member in kind)
            return f" Values: {', '.join(others)} or {last}."
    return ""


def _default(value: Any) -> str:
    if value is None or callable(value) or value in ((), []):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"`{getattr(value, 'value', value)}`"


def measures() -> str:
    """Every family of measures."""
    text = f"{_NOTE}# Measures\n\n"
    text += (
        "This page lists the measures that options such as `--measures` of `longeval evaluate` "
        "accept. The name of a measure consists of a family, in some families a cutoff `@k`, and "
        "optional parameters: `nDCG@10`, `AP`, `P@10(rel=2)`, "
        "`ERR@20(max=4)`. `rel` is the minimum grade that counts as relevant, `max` the highest "
        "grade. [Evaluation over time](../evaluation.md) describes further measures.\n\n"
    )
    head = ("family", "@k", "parameters", "source or definition", "computed by")
    text += _row(*head) + "|---|---|---|---|---|\n"
    for family in FAMILIES.values():
        given = ", ".join(f"`{name}={value}`" for name, value in family.parameters.items())
        engine = "longeval-builder" if family.compute else "trec_eval (pytrec_eval)"
        text += _row(f"`{family.name}`", family.cutoff, given, family.source, engine)
    others = ", ".join(f"`{alias}` for `{name}`" for alias, name in ALIASES.items())
    return f"{text}\nAlso accepted: {others}, and the names of trec_eval, such as `ndcg_cut_10`.\n"


def python() -> str:
    """Directives of mkdocstrings for every public name of the package."""
    text = f"{_NOTE}# Python API\n\nThe package `builder` has the main commands of `longeval` as "
    text += "functions. [In Python and notebooks](../notebook.md) shows an example.\n\n"
    functions = [name for name in builder.__all__ if name.islower() and name.isidentifier()]
    functions.remove("__version__")
    classes = [name for name in builder.__all__ if not name.islower()]
    for title, names in (("Functions", functions), ("Classes and errors", classes)):
        text += f"## {title}\n\n"
        text += "".join(f"::: {getattr(builder, n).__module__}.{n}\n\n" for n in names)
    return text.rstrip("\n") + "\n"


def glossary() -> str:
    """Terms of the field, of the explorer and of reports, with what carries them."""
    content = tomllib.loads(GLOSSARY.read_text("utf-8"))
    entries: dict[str, dict[str, Any]] = content["terms"]
    text = f"# Glossary\n\n{_NOTE}\nTerms of the field as this project uses them in columns, "
    text += "parameters, messages and [the explorer](../explore.md).\n\n"
    text += _row("term", "meaning, where it is found, and source") + "|---|---|\n"
    for term in sorted({**TERMS, **entries}, key=str.casefold):
        entry = entries.get(term, {})
        if ("meaning" in entry) == (term in TERMS):
            problem = "is defined twice" if term in TERMS else "has no meaning"
            raise ValueError(f"{GLOSSARY.name}: the term {term!r} {problem}")
        where = ", ".join(map(_link, entry.get("where", ())))
        lines = (TERMS.get(term) or entry["meaning"], where, entry.get("source"))
        text += _row(term, "<br>".join(line for line in lines if line))
    text += "\n## Papers\n\n"
    return text + "".join(f"- {paper}: {title}\n" for paper, title in content["papers"].items())


def _link(name: str) -> str:
    """A link from a column, parameter, command, quantity or check to its description."""
    table, _, column = name.partition(".")
    if table in schemas.TABLES and column in schemas.TABLES[table].columns():
        return f"[`{name}`](tables.md#{table})"
    if f"| `{name}` |" in definition():
        return f"[`{name}`](definition.md#{table})"
    if f"## {name}\n" in commands():
        anchor = name.replace(" ", "-")
        return f"[`{name}`](commands.md#{anchor})"
    if name in {check.id for check in CHECKS}:
        return f"[{name}](checks.md)"
    if name in {quantity.name for quantity in PERSISTENCE_STATISTICS}:
        return f"[`{name}`](../evaluation.md)"
    raise ValueError(f"{GLOSSARY.name}: expected a column, key, command or check, found {name!r}")


PAGES = {
    "python.md": python,
    "measures.md": measures,
    "commands.md": commands,
    "definition.md": definition,
    "tables.md": tables,
    "checks.md": checks,
    "stages.md": stages,
    "glossary.md": glossary,
}


def main() -> int:
    """Write all pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
