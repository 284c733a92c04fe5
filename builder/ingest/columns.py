"""Checks the columns of CSV, TSV and Parquet files against the field names in a definition."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from builder.errors import FormatError
from builder.io.sources import Source
from builder.parameters import LogFields, PageFields

MAX_CHARS = 200
"""Maximum length in characters of the list of column names in a message."""


def check_configured_columns(
    section: str,
    fields: LogFields | PageFields,
    optional_fields: Iterable[str],
    column_names: Sequence[str],
    source: Source,
    available_names: Collection[str] | None = None,
) -> None:
    """Check that a file has the columns that the definition names for optional fields.

    Args:
        section: Name of the section with the field names, such as `log.fields`.
        fields: The parsed section.
        optional_fields: Standard names of the optional fields.
        column_names: Column names of the file.
        source: The file, for error messages.
        available_names: Names of all columns and nested fields; if None, those in `column_names`.

    Raises:
        FormatError: the definition names columns for a field, and the file has none of them.
    """
    for own in optional_fields:
        given = getattr(fields, own) if own in fields.model_fields_set else None
        names = (given,) if isinstance(given, str) else given
        if not names or set(names) & set(
            column_names if available_names is None else available_names
        ):
            continue
        closest = get_close_matches(names[0], column_names, n=1)
        hint = f"did you mean {closest[0]!r}?" if closest else f"correct or remove {section}.{own}"
        raise FormatError(
            f"expected the column {' or '.join(map(repr, names))} ({section}.{own}), "
            f"found {', '.join(column_names)[:MAX_CHARS]}; {hint}",
            source.name,
        )


def check_unique_columns(
    column_names: Sequence[str], columns_to_read: Iterable[str], source: Source
) -> None:
    """Check that the name of each column to be read occurs only once in a file.

    Args:
        column_names: Column names of the file.
        columns_to_read: Names of the columns to be read.
        source: The file, for error messages.

    Raises:
        FormatError: the name of a column to be read occurs more than once.
    """
    for name in columns_to_read:
        if column_names.count(name) > 1:
            raise FormatError(
                f"expected one column {name!r}, found {column_names.count(name)}; rename or remove "
                "the duplicates",
                source.name,
                1,
            )


def note_missing_columns(presence_by_file: Mapping[str, Mapping[str, bool]]) -> Iterator[str]:
    """Yield a note for each optional column that is missing from some files of a snapshot.

    Args:
        presence_by_file: For each file name, whether the file has each optional column, by name.
    """
    for name in dict.fromkeys(name for columns in presence_by_file.values() for name in columns):
        has_column = {
            file: columns[name] for file, columns in presence_by_file.items() if name in columns
        }
        lacking = [file for file, has in has_column.items() if not has]
        if 0 < len(lacking) < len(has_column):
            yield (
                f"column {name!r} is missing from {len(lacking):,} of {len(has_column):,} files, "
                f"such as {lacking[0]}; if it has a different name in those files, rename it"
            )
