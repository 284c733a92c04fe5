"""The collection of literal rows, and its pages."""

from collections.abc import Iterator

import pytest
from starlette.types import ASGIApp

from builder.explore import CollectionSource
from builder.explore.application import create_application
from tests.explore.client import PORT
from tests.explore.literal import open_with_scores, write_collection
from tests.explore.literal_rows.rows import SCORES, SNAPSHOT_TABLES, TABLES


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectionSource]:
    """The collection, with scores of two systems."""
    folder = tmp_path_factory.mktemp("literal")
    source = open_with_scores(write_collection(folder, TABLES, SNAPSHOT_TABLES), SCORES, [])
    yield source
    source.close()


@pytest.fixture(scope="module")
def pages(literal: CollectionSource) -> ASGIApp:
    """The application of the collection."""
    return create_application(literal, PORT)
