"""What an imported release looked like: ids that it used, lines that were not as they should be."""

from typing import ClassVar

import dataframely as dy

from schemas._base import Contract


class ReleaseIds(Contract):
    """The ids of a published release in a snapshot, and the stable ones they stand for."""

    order: ClassVar[tuple[str, ...]] = ("kind", "alias")

    kind = dy.String(primary_key=True, regex=r"^(document|query)$", description="What it names")
    alias = dy.String(primary_key=True, min_length=1, description="Id in the release")
    id = dy.String(regex=r"^[dq][0-9a-f]{16}$", description="Stable id")


class Irregularities(Contract):
    """Lines of an imported release that were read in spite of what is wrong with them."""

    order: ClassVar[tuple[str, ...]] = ("file", "kind")

    file = dy.String(primary_key=True, description="File, relative to the release")
    kind = dy.String(primary_key=True, regex=r"^[a-z0-9_]+$", description="What is wrong")
    lines = dy.UInt64(min=1, description="How many lines")
    first = dy.UInt64(min=1, description="1-based number of the first one")
    example = dy.String(description="The first one, shortened")
