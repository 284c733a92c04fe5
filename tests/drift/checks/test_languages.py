"""The language filter: named where most hosts show its change, undecided where sites may be why."""

import pytest

from builder.drift.checks.languages import check_languages
from builder.drift.checks.outcome import Outcome
from tests.drift.worlds import Rows, holding, page


def crawl(hosts: int = 10, of_each: int = 20, *, folder: str = "", language: str = "fr") -> Rows:
    """Pages of hosts `site0.fr` to `site9.fr`."""
    return [
        page(f"https://site{n % hosts}.fr/{folder}{n}", "", f"{folder}{n}", language=language)
        for n in range(hosts * of_each)
    ]


def in_english(rows: Rows, *, text: str = "") -> Rows:
    """The same pages in English, and with another text if one is given."""
    return [page(r["url"], "", f"{text}{r['text']}", language="en") for r in rows]


def numbers(
    foreign: tuple[int, int], documents: tuple[int, int], **values: int
) -> dict[str, object]:
    return {
        "main": "fr",
        "documents_from": documents[0],
        "documents_to": documents[1],
        "foreign_from": foreign[0],
        "foreign_to": foreign[1],
        "relabeled": 0,
    } | values


def test_a_filter_that_is_switched_off_or_on() -> None:
    french, english = crawl(), crawl(of_each=3, folder="en/", language="en")
    assert check_languages(holding(french, french)) == Outcome(
        False,
        "0.0 % of documents before and 0.0 % after are not in the main language 'fr'",
        numbers((0, 0), (200, 200), unchanged=200),
        "a difference of 7.0 points",
    )
    assert check_languages(holding(french, french + english)) == Outcome(
        True,
        "0.0 % of documents before and 13.0 % after are not in the main language 'fr': the "
        "language filter changed",
        numbers((0, 30), (200, 230), unchanged=200, changed_language=0),
    )
    assert check_languages(holding(french + english, french)).is_construction is True
    few = Outcome(None, "a snapshot has fewer than 100 documents, or no document has a language")
    hundred = french[:100]
    unlabeled = [row | {"language": None} for row in hundred]
    for pair in ((french[:99], hundred), (hundred, french[:99]), (unlabeled, unlabeled)):
        assert check_languages(holding(*pair)) == few
    assert check_languages(holding(hundred, hundred)).numbers["documents_to"] == 100
    mixed = [*french, *(row | {"language": None} for row in crawl(of_each=40, folder="x/"))]
    assert check_languages(holding(mixed, mixed)).numbers == numbers(
        (0, 0), (600, 600), unchanged=600
    )


def test_the_main_language_is_that_of_most_pages_of_both_snapshots() -> None:
    """60 French pages stay the same, 50 English ones are replaced by 50 others."""
    french = crawl(of_each=6)
    english = [crawl(of_each=5, folder=folder, language="en") for folder in ("en/", "new/")]
    outcome = check_languages(holding(french + english[0], french + english[1]))
    assert outcome.numbers == numbers((50, 50), (110, 110), unchanged=60)


@pytest.mark.parametrize(("hosts", "found"), [(21, True), (20, None)])
def test_translations_of_some_sites_are_no_other_filter(hosts: int, found: bool | None) -> None:
    """Of 40 hosts, some get English pages."""
    french = crawl(40, 10)
    english = crawl(hosts, 10, folder="en/", language="en")
    assert check_languages(holding(french, french + english)).is_construction is found


@pytest.mark.parametrize(
    ("before", "after", "found"), [(40, 140, True), (41, 200, None), (40, 60, False)]
)
def test_a_snapshot_with_foreign_pages_was_not_filtered(
    before: int, after: int, found: bool | None
) -> None:
    french, english = crawl(of_each=200), crawl(folder="en/", language="en")
    months = [french[: 2000 - n] + english[:n] for n in (before, after)]
    for pair in (months, months[::-1]):
        outcome = check_languages(holding(*pair))
        assert outcome.is_construction is found
        assert outcome.evidence.endswith(": the language filter changed") == (found is True)
        assert (": either the language filter or" in outcome.evidence) == (found is None)


@pytest.mark.parametrize(("relabeled", "found"), [(2, False), (3, True)])
def test_one_in_a_hundred_texts_may_be_labeled_otherwise(relabeled: int, *, found: bool) -> None:
    """A page that has no language any more is labeled otherwise, too; edited pages do not count."""
    french = crawl()
    later = [row | {"language": None} for row in french[:relabeled]] + french[relabeled:]
    outcome = check_languages(holding(french, later))
    assert (outcome.is_construction, outcome.numbers["relabeled"]) == (found, relabeled)
    assert outcome.evidence.endswith("language identification changed") is found
    edited = in_english(french[:relabeled], text="new ") + french[relabeled:]
    assert check_languages(holding(french, edited)).numbers["relabeled"] == 0


def test_unchanged_texts_in_another_language() -> None:
    french = crawl()
    outcome = check_languages(holding(french, french[:170] + in_english(french[170:])))
    assert outcome.is_construction is True
    assert outcome.evidence == (
        "30 of 200 unchanged texts were assigned another language: language identification changed"
    )


@pytest.mark.parametrize("is_later", [True, False])
def test_a_site_that_writes_in_english(*, is_later: bool) -> None:
    """Its pages are in both snapshots: no filter let them in or kept them out."""
    french = crawl()
    site = [row for row in french if row["url"].startswith("https://site0.")]
    english = [row for row in french if row not in site] + in_english(site, text="new ")
    shares, foreign = ("0.0 % of documents before and 10.0 %", (0, 20))
    if not is_later:
        shares, foreign = ("10.0 % of documents before and 0.0 %", (20, 0))
    pair = (french, english) if is_later else (english, french)
    assert check_languages(holding(*pair)) == Outcome(
        None,
        f"{shares} after are not in the main language 'fr'; 20 pages in both snapshots "
        "changed to or from this language: either their texts or language identification changed",
        numbers(foreign, (200, 200), unchanged=180, changed_language=20),
    )


def test_a_menu_that_changes_the_language_of_all_foreign_pages() -> None:
    """All English pages got a French menu, so that none is in English any more."""
    french, english = crawl(), crawl(of_each=3, folder="en/", language="en")
    menu = [page(r["url"], "", f"accueil {r['text']}") for r in french + english]
    outcome = check_languages(holding(french + english, menu))
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "13.0 % of documents before and 0.0 % after are not in the main language 'fr'; 30 pages in "
        "both snapshots changed to or from this language: either their texts or language "
        "identification changed"
    )


@pytest.mark.parametrize(("hosts", "changed"), [(1, 0), (4, 4)])
def test_english_sites_that_begin_or_end(hosts: int, changed: int) -> None:
    """One site that is all in English, or four with a French and an English part."""
    french = crawl()
    english = crawl(hosts, 20, folder="en/", language="en")
    if not changed:
        english = [row | {"url_key": "https://english.fr/"} for row in english]
    says = f"are not in the main language 'fr'; many such pages were %s on {changed} of 10 hosts "
    says += "with at least 3 pages in each snapshot: either the language filter or sites changed"
    for pair, direction in (
        ((french, french + english), "added"),
        ((french + english, french), "removed"),
    ):
        outcome = check_languages(holding(*pair))
        assert outcome.is_construction is None
        assert outcome.evidence.endswith(says % direction)
        assert (outcome.numbers["hosts_changed"], outcome.numbers["hosts"]) == (changed, 10)
        assert (
            outcome.detectable == "a change on more than half of the hosts, given at least 5 hosts"
        )
