"""HTML: charsets, main text, language and dates of pages."""

import codecs
import time
from datetime import UTC, datetime

import pytest
from resiliparse.parse.html import HTMLTree

from builder.ingest.crawls import dates, main_text
from builder.ingest.crawls.dates import parse_date
from builder.ingest.crawls.html import HtmlPage, parse_html
from builder.ingest.rejects import RejectError

FETCHED = int(datetime(2022, 6, 15, tzinfo=UTC).timestamp())
BODY = (
    "<nav>Menu Accueil Contact</nav><main><article><h1>Les crêpes</h1>"
    "<p>Il faut de la farine, du lait et trois œufs pour préparer la pâte à crêpes bretonnes.</p>"
    "</article></main>"
)


def page(head: str = "", body: str = BODY, lang: str = ' lang="fr-FR"') -> str:
    return f"<!DOCTYPE html><html{lang}><head>{head}</head><body>{body}</body></html>"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_a_byte_order_mark_beats_the_header(mark: bytes, encoding: str) -> None:
    found = parse_html(mark + page("<title>Les œufs</title>").encode(encoding), "latin-1", FETCHED)
    assert found.title == "Les œufs"
    assert "trois œufs pour préparer" in found.text


@pytest.mark.parametrize("end", [b"</p></body></html>", "é".encode()[:1]])
@pytest.mark.parametrize("charset", [None, "utf-8"])
def test_utf8_may_be_short_or_cut(charset: str | None, end: bytes) -> None:
    html = "<html><body><p>Le numéro 1 de l’été".encode() + end
    assert parse_html(html, charset, FETCHED).text == "Le numéro 1 de l’été"


@pytest.mark.parametrize("charset", [None, "utf-8"])
def test_bytes_of_another_charset_within_utf8_are_windows_1252(charset: str | None) -> None:
    html = page(body="<p>Les œufs, l’été, la pâte à crêpes.</p><p># 12 €</p>").encode()
    mixed = html.replace(b"#", "Déjà vendus\x81\x96".encode("latin-1"))
    assert parse_html(mixed, charset, FETCHED).text.split("\n") == [
        "Les œufs, l’été, la pâte à crêpes.",
        "",
        "Déjà vendus\x81– 12 €",
    ]


@pytest.mark.parametrize(("charset", "encoding"), [(None, "cp1252"), ("utf-8", "cp1252")])
def test_a_wrong_or_absent_charset_costs_no_character(charset: str | None, encoding: str) -> None:
    found = parse_html(page().encode(encoding), charset, FETCHED)
    assert "trois œufs pour préparer la pâte à crêpes" in found.text
    assert "\ufffd" not in found.text


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [("iso-8859-2", "iso8859-2", "Zażółć gęślą jaźń."), ("euc-kr", "cp949", "물에 대한 한국어 글")],
)
def test_an_xml_declaration_says_the_charset(label: str, encoding: str, text: str) -> None:
    """It was ignored: the charset was guessed."""
    html = f'<?xml version="1.0" encoding="{label}"?>\n' + page(body=f"<p>{text}</p>")
    assert parse_html(html.encode(encoding), None, FETCHED).text == text


def test_a_meta_element_beats_the_xml_declaration() -> None:
    html = '<?xml version="1.0" encoding="koi8-r"?>' + page('<meta charset="windows-1252">')
    assert "trois œufs" in parse_html(html.encode("cp1252"), None, FETCHED).text


def test_menus_are_no_main_text() -> None:
    assert "Contact" not in parse_html(page().encode(), "utf-8", FETCHED).text


def test_where_next_to_nothing_is_main_the_whole_text_stands() -> None:
    banner = "<article><p>Nous utilisons des cookies pour mesurer notre audience.</p></article>"
    answers = "".join(
        f"<div class='menu-item'><a href='/{n}'>Réponse {n} à la question</a></div>"
        for n in range(300)
    )
    whole = parse_html(page(body=banner + answers).encode(), "utf-8", FETCHED).text
    assert "Réponse 299 à la question" in whole
    short = parse_html(page(body=banner).encode(), "utf-8", FETCHED).text
    assert short == "Nous utilisons des cookies pour mesurer notre audience."


@pytest.mark.parametrize(
    ("lang", "code"),
    [
        (' lang="fr"', "fr"),
        (' lang="FR_ca"', "fr"),
        (' xml:lang="br"', "br"),
        (' lang=" gsw - CH"', "gsw"),
        (' lang="" xml:lang="en"', "en"),
        (' lang="x"', None),
        (' lang="fr1"', None),
        (' lang="latn"', None),
        (' lang="é-FR"', None),
        (' lang="français"', None),
        ("", None),
    ],
)
def test_the_declared_language_is_a_hint(lang: str, code: str | None) -> None:
    assert parse_html(page(lang=lang).encode(), "utf-8", FETCHED).language == code


def test_the_language_of_a_page_of_frames() -> None:
    frames = "<html lang='fr'><head><title>Eau</title></head><frameset><frame src='a'></frameset>"
    assert parse_html(frames.encode(), "utf-8", FETCHED).language == "fr"


DAY = int(datetime(2021, 5, 3, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("head", "body", "published", "modified"),
    [
        ('<meta property="article:published_time" content="2021-05-03T00:00:00Z">', "", DAY, None),
        ('<meta name="DC.date.modified" content="2021-05-03">', "", None, DAY),
        ('<meta itemprop="dateModified" content="Mon, 03 May 2021 00:00:00 GMT">', "", None, DAY),
        ("", '<time itemprop="datePublished" datetime="2021-05-03">3 mai</time>', DAY, None),
        ("", "<time pubdate datetime='2021-05-03T02:00:00+02:00'>3 mai</time>", DAY, None),
        ("", '<time class="entry-date updated" datetime="2021-05-03">3 mai</time>', None, DAY),
        ("", '<time datetime="2021-05-03">un concert</time>', None, None),
        ('<meta name="date" content="3 mai 2021">', "", None, None),
        ('<meta name="date" content="2031-05-03">', "", None, None),
        ('<meta name="date" content="1021-05-03">', "", None, None),
    ],
)
def test_dates_in_elements(
    head: str, body: str, published: int | None, modified: int | None
) -> None:
    found = parse_html(page(head, BODY + body).encode(), "utf-8", FETCHED)
    assert (found.published_at, found.modified_at) == (published, modified)


def _dates(markup: str) -> tuple[int | None, int | None]:
    found = parse_html(page(markup).encode(), "utf-8", FETCHED)
    return found.published_at, found.modified_at


def test_the_first_plausible_date_counts() -> None:
    """Names of meta elements have an order, and of one name the first element counts."""
    day = '<meta name="{}" content="2021-05-03">'
    other = '<meta name="{}" content="2020-01-01">'
    assert _dates(other.format("date") + day.format("DC.date")) == (DAY, None)
    assert _dates(day.format("date") + other.format("date")) == (DAY, None)
    assert _dates('<meta name="dc.date" content="x">' + day.format("date")) == (DAY, None)
    assert _dates('<meta name="dc.date">' + day.format("date")) == (DAY, None)
    assert _dates(other.format("revised") + day.format("last-modified")) == (None, DAY)
    time_element = '<time class="published updated" datetime="2020-01-01">'
    assert _dates(day.format("date") + time_element)[0] == DAY


def _linked(*blocks: str) -> tuple[int | None, int | None]:
    return _dates("".join(f'<script type="application/ld+json">{b}</script>' for b in blocks))


def test_dates_anywhere_in_linked_data_count(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = '{"a": [{"b": {"DATEPUBLISHED": "2021-05-03"}}], "dateModified": 5}'
    assert _linked("{broken", inner) == (DAY, None)
    assert _linked('["2020-01-01", {"dateModified": "2021-05-03"}]') == (None, DAY)
    assert _linked('{"datePublished": "x"}', '{"datePublished": "2021-05-03"}') == (DAY, None)
    assert _linked('{"datePublished": ["2021-05-03"], "dateModified": null}') == (None, None)
    monkeypatch.setattr(dates, "MAX_NODES", 4)
    assert _linked(inner) == (DAY, None)
    monkeypatch.setattr(dates, "MAX_NODES", 3)
    assert _linked(inner, '{"dateModified": "2021-05-03"}') == (None, DAY)


def test_linked_data_counts_before_meta() -> None:
    block = (
        '<script type="application/ld+json">{"@graph": [{"@type": "Article", '
        '"datePublished": "2021-05-03", "dateModified": ["x"]}, 5, null]}</script>'
        '<script type="application/ld+json">{broken</script>'
        '<meta name="date" content="2020-01-01"><meta name="revised" content="2021-05-03">'
    )
    found = parse_html(page(block).encode(), "utf-8", FETCHED)
    assert (found.published_at, found.modified_at) == (DAY, DAY)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *((text, None) for text in ("", "hier", "2021-13-45", "0000-00-00", "9" * 400, "2021")),
        ("2021-05-03T25", DAY),
        (" 2021-05-03 à midi ", DAY),
        ("Mon, 03 May 2021 02:00:00 +0200", DAY),
        ("Mon, 03 May 2021 00:00:00", DAY),
        ("2021-05-03T02:00:00.9+02:00", DAY),
        ("1990-01-01", 631_152_000),
        ("1989-12-31T23:59:59Z", None),
        ("2022-06-16T00:00:00Z", FETCHED + 86_400),
        ("2022-06-16T00:00:01Z", None),
    ],
)
def test_dates_are_plausible_from_1990_to_a_day_after_the_fetch(
    text: str, seconds: int | None
) -> None:
    assert parse_date(text, FETCHED) == seconds


def test_a_date_with_an_offset_is_midnight_there() -> None:
    """The offset was read as the time of day."""
    assert parse_date("2021-05-03+02:00", FETCHED) == DAY - 7200


@pytest.mark.parametrize("body", [b"", b"\x00" * 50, b"<" * 5000, b"<div>" * 5000, b"\xff\xfe\x00"])
def test_broken_markup_is_a_page_or_a_reject(body: bytes) -> None:
    reason = ""
    try:
        parse_html(body, None, FETCHED)
    except RejectError as reject:
        reason = str(reject)
    assert reason in ("", "not_html")


@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_a_parser_that_fails_rejects_the_page(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        @staticmethod
        def parse(_: str) -> None:
            raise error("cannot parse")

    monkeypatch.setattr("builder.ingest.crawls.html.HTMLTree", Broken)
    with pytest.raises(RejectError, match="not_html"):
        parse_html(b"<html><p>Bonjour</html>", None, 0)


LIST = "<ul><li>250 g de farine</li><li>4 œufs</li></ul>"
PARAGRAPH = f"<p>{'Voici la recette des crêpes de ma grand-mère. ' * 10}</p>"
MENU = '<ul><li><a href="/">Accueil</a></li><li><a href="/blog">Blog</a></li></ul>'


@pytest.mark.parametrize("outer", ["", "<div>", "<main>", "<div><div><article>", "<div>" * 9])
def test_lists_are_kept_however_shallow_the_page_is(outer: str) -> None:
    """Near the root, lists were taken for navigation."""
    close = "".join(f"</{tag}" for tag in reversed(outer.split("<")[1:]))
    body = f"{MENU}{outer}{PARAGRAPH}{LIST}{PARAGRAPH}{close}"
    found = parse_html(page("", body).encode(), "utf-8", FETCHED).text
    assert "250 g de farine" in found
    assert "4 œufs" in found
    assert "Accueil" not in found


def test_a_page_without_a_body_has_no_text() -> None:
    html = b"<html><title>Cadres</title><frameset><frame src=a></frameset></html>"
    assert parse_html(html, None, FETCHED) == HtmlPage("Cadres", "", None, None, None)


@pytest.mark.parametrize(
    ("main", "visible", "is_main"),
    [(399, 3990, True), (399, 3991, False), (400, 9999, True), (0, 0, True), (0, 1, False)],
)
def test_a_short_main_text_of_less_than_a_tenth_of_the_visible_text_is_none(
    main: int, visible: int, monkeypatch: pytest.MonkeyPatch, *, is_main: bool
) -> None:
    def extract(_: HTMLTree, *, main_content: bool) -> str:
        return "m" * main if main_content else "v" * visible

    monkeypatch.setattr(main_text, "_extract_text", extract)
    found = main_text.extract_main_text(HTMLTree.parse("<p>x</p>"))
    assert found == ("m" * main if is_main else "v" * visible)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('Né le <time datetime="1769-08-15"><a href="/">15 août</a></time> à', "Né le 15 août à"),
        ("<a href='/c'>中国</a>的<a href='/s'>首都</a>", "中国的首都"),
        ("<b> 水 </b>と<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>", "水 と漢(かん)"),
        ("ก<b>ข</b>ค", "กขค"),
        ("<a href='/v'>Ville</a> où <a href='/n'>n&#233;</a> l&agrave;<b>!</b>", "Ville où né là!"),
        ("Surface : 12 <b>m²</b>", "Surface : 12 m²"),
        ("Prix : 12<span>€</span>, 9<b> &euro; </b>", "Prix : 12€, 9 €"),
        ("À 25 <i>℃</i> <b>&ge;</b> 20<b>&#x2026;</b>", "À 25 ℃ ≥ 20…"),
        ("<b>&#27700;</b><b>。</b> n<sup>n°</sup>", "水。 nn°"),
    ],
)
def test_dates_and_short_texts_between_tags_are_kept(markup: str, text: str) -> None:
    """The main text of the first was `Né le à`, that of the second 中国首都."""
    body = f"<main><p>{markup} {PARAGRAPH[3:]}</main>"
    assert parse_html(page("", body).encode(), "utf-8", FETCHED).text.startswith(text)


def test_icons_of_one_character_are_dropped() -> None:
    found = parse_html(
        page(
            "", f"<p><i>\ue001</i>Bonjour <b>水</b><i>&#xf015;</i> <a>★</a></p>{PARAGRAPH}"
        ).encode(),
        None,
        0,
    )
    assert found.text.startswith("Bonjour 水\n")


def test_the_title_may_be_a_single_letter() -> None:
    assert parse_html(page("<title>水</title>").encode(), "utf-8", FETCHED).title == "水"


def test_a_summary_is_not_joined_with_the_text_after_it() -> None:
    body = f"<details><summary>Prix</summary>Douze euros.</details>{PARAGRAPH}"
    assert parse_html(page("", body).encode(), "utf-8", FETCHED).text.startswith(
        "Prix\nDouze euros."
    )


def test_a_long_flat_page_is_parsed_in_linear_time() -> None:
    """4,000 paragraphs took minutes."""
    date = '<time datetime="2022-06-01T08:00:00Z">1er juin</time>'
    body = f"<p>{date} une ligne de texte</p>\n" * 4000
    start = time.process_time()
    found = parse_html(page("", body).encode(), "utf-8", FETCHED)
    assert time.process_time() - start < 20
    assert found.text.count("1er juin une ligne de texte") == 4000


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (
            (
                "<figure class='wp-block-table'><table><tr><td>Pain</td><td>1,20</td></tr></table>"
                "<figcaption>Les prix</figcaption></figure>"
            ),
            "Pain\t\t1,20\nLes prix\n\n",
        ),
        ("<figure class='highlight'><pre>a = 1</pre></figure>", "a = 1\n\n"),
        ("<figure><blockquote><p>Une citation</p></blockquote></figure>", "Une citation\n\n"),
        ("<h3><button type='button'>Qui paie ?</button></h3><p>Nous.</p>", "Qui paie ?\n\nNous.\n"),
        ("<search>Chercher</search>Ici", "Chercher\nIci\n"),
        ("<dialog>Bonjour</dialog>Ici", "Bonjour\nIci\n"),
    ],
)
def test_figures_and_titles_of_accordions_are_kept(markup: str, text: str) -> None:
    """The text of all figures was lost, and so was that of buttons in headings."""
    body = f"<main>{markup}{PARAGRAPH}</main>"
    assert parse_html(page("", body).encode(), "utf-8", FETCHED).text.startswith(text)


@pytest.mark.parametrize(
    "start",
    [
        "figure class='advertisement'",
        "figure hidden",
        "dialog style='display:none'",
        "time aria-hidden='true'",
    ],
)
def test_elements_that_are_hidden_or_no_content_are_dropped(start: str) -> None:
    body = f"<main><{start}>Publicité</{start.partition(' ')[0]}>{PARAGRAPH}</main>"
    found = parse_html(page("", body).encode(), "utf-8", FETCHED).text
    assert found.startswith("Voici la recette")


def test_a_page_that_consists_of_a_figure_has_text() -> None:
    html = page("", "<figure><img src=a><figcaption>Le pont en 1900</figcaption></figure>").encode()
    assert parse_html(html, "utf-8", FETCHED).text == "Le pont en 1900"


def test_buttons_of_forms_and_markup_for_browsers_without_frames_are_dropped() -> None:
    body = f"{PARAGRAPH}<button>Envoyer</button><noframes><p>Sans cadres</p></noframes>"
    body += "<noembed>Sans objets</noembed><p><img src=a alt='Un pont'></p>"
    found = parse_html(page("", body).encode(), "utf-8", FETCHED).text
    assert found == "Voici la recette des crêpes de ma grand-mère. " * 9 + (
        "Voici la recette des crêpes de ma grand-mère."
    )


@pytest.mark.parametrize("tag", ["menu", "dir"])
def test_a_paragraph_after_a_menu_has_no_bullet(tag: str) -> None:
    body = f"{PARAGRAPH}<{tag}><li>Une entrée</li></{tag}><p>La suite du texte.</p>"
    found = parse_html(page("", body).encode(), "utf-8", FETCHED).text
    assert found.endswith("\n\n  • Une entrée\n\nLa suite du texte.")
