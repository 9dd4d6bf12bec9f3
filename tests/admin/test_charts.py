import re
from xml.etree import ElementTree as ET

import pytest

from sitemaps_plus.admin.charts import HEIGHT, WIDTH, Chart

SVG = "{http://www.w3.org/2000/svg}"


def chart(*values, **given):
    return Chart(**{"name": "urls", "title": "URLs", "values": values, "show": lambda value: f"{value:,}", **given})


def drawn(one):
    """Return the parsed drawing; a browser knows the namespace of an inline one by its name."""
    return ET.fromstring(one.svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))  # noqa: S314 - our own


def lines(one):
    found = drawn(one).iter(f"{SVG}polyline")
    return [[tuple(map(float, point.split(","))) for point in line.get("points").split()] for line in found]


def bars(one):
    return [[float(bar.get(name)) for name in ("x", "y", "width", "height")] for bar in drawn(one).iter(f"{SVG}rect")]


def test_without_numbers_there_is_a_sentence_and_no_drawing():
    assert (chart().svg, chart().summary) == ("", "No numbers yet.")
    assert (chart(None, None).svg, chart(None).summary) == ("", "No numbers yet.")


def test_one_number_is_a_short_line_in_the_middle():
    one = chart(1500)

    ((left, right),) = lines(one)

    assert one.summary == "1,500; one build so far."
    assert left[1] == right[1] == HEIGHT / 2
    assert left[0] < WIDTH / 2 < right[0]


def test_a_line_goes_from_the_oldest_on_the_left_to_the_newest_on_the_right():
    one = chart(10, 30)

    ((first, last),) = lines(one)

    assert first[0] < last[0]
    assert first[1] > last[1]
    assert one.summary == "Last 30, lowest 10, highest 30."


def test_a_small_change_is_a_small_step():
    ((first, last),) = lines(chart(1000, 999))

    assert 0 < last[1] - first[1] < 0.02 * HEIGHT


def test_equal_numbers_are_a_level_line():
    ((*points,),) = lines(chart(7, 7, 7))

    assert {y for _, y in points} == {HEIGHT / 2}


def test_sixty_builds_stay_within_the_picture():
    for kind in ("line", "bars"):
        one = chart(*range(60), kind=kind)

        if kind == "line":
            ((*points,),) = lines(one)
            assert len(points) == 60
            assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
        else:
            found = bars(one)
            assert len(found) == 60
            assert all(x >= 0 and x + width <= WIDTH and y + height <= HEIGHT + 0.1 for x, y, width, height in found)


def test_a_gap_parts_the_line_and_leaves_out_a_bar():
    assert [len(line) for line in lines(chart(1, 2, None, 3, 4, 5, None))] == [2, 3]
    assert len(bars(chart(1, None, 3, kind="bars"))) == 2


def test_huge_numbers_and_none_at_all_are_drawn():
    assert len(lines(chart(0, 10**18, 3))) == 1
    assert [height for *_, height in bars(chart(0, 10**18, kind="bars"))] == [1.0, HEIGHT]
    assert [height for *_, height in bars(chart(0, 0, kind="bars"))] == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["line", "bars"])
def test_it_can_be_read_aloud(kind):
    one = chart(1, 2, kind=kind)

    root = drawn(one)

    texts = {node.get("id"): node.text for node in root if node.get("id")}
    assert root.get("role") == "img"
    assert [texts[name] for name in root.get("aria-labelledby").split()] == ["URLs", one.summary]


def test_texts_are_escaped_and_nothing_is_styled_in_place():
    svg = chart(1, 2, title="<script>&", show=lambda value: f"<b>{value}").svg

    assert "<script" not in svg
    assert "<b>" not in svg
    assert not re.search(r"\bstyle=|\bon\w+=", svg)
