import logging

import pytest

from sitemaps_plus.errors import InvalidEntry, StrictError
from sitemaps_plus.protocol.reports import PROBLEMS_PER_REPORT, Problem, Report

BAD = InvalidEntry("E-URL-EMPTY", "The URL is None.")


def test_a_row_left_out_is_counted_with_key_hook_and_reason() -> None:
    report = Report("products")

    report.leave_out(5, "location", BAD)

    assert report.left_out == 1
    assert report.problems == [Problem("products", "5", "location", "E-URL-EMPTY", "The URL is None. [E-URL-EMPTY]")]


def test_an_error_of_a_hook_is_reported_by_its_type() -> None:
    report = Report("products")

    report.drop(5, "lastmod", ZeroDivisionError("division by zero"))

    assert (report.problems[0].code, report.problems[0].reason) == (
        "ZeroDivisionError",
        "ZeroDivisionError: division by zero",
    )


def test_each_hook_and_code_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    report = Report("products")

    for key in range(5):
        report.leave_out(key, "location", BAD)
        report.drop(key, "lastmod", BAD)
        report.drop(key, "lastmod", KeyError("x"))
        report.warn(key, "location", "W-URL-FRAGMENT", "The fragment was left out.")

    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "row 0 was left out because of its location: The URL is None. [E-URL-EMPTY]",
        "lastmod of row 0 was dropped: The URL is None. [E-URL-EMPTY]",
        "lastmod of row 0 was dropped: KeyError: 'x'",
        "location of row 0 is questionable: The fragment was left out. [W-URL-FRAGMENT]",
    ]
    assert {(record.name, record.levelno) for record in caplog.records} == {("sitemaps_plus", logging.WARNING)}
    assert (report.left_out, report.dropped, report.warned) == (5, 10, 5)


def test_strict_raises_for_missing_values_and_not_for_warnings() -> None:
    report = Report("products", strict=True)

    report.warn(5, "location", "W-URL-FRAGMENT", "The fragment was left out.")
    with pytest.raises(
        StrictError, match=r"'products': row 5 was left out because of its location: .*E-URL-EMPTY.* STRICT is on"
    ):
        report.leave_out(5, "location", BAD)
    with pytest.raises(StrictError, match=r"lastmod of row 5 was dropped"):
        report.drop(5, "lastmod", BAD)


def test_a_reason_that_ends_a_sentence_gets_no_second_dot() -> None:
    for reason in ("Give it a location.", "Give it a location"):
        with pytest.raises(StrictError, match=r"Give it a location\. This is an error because STRICT is on\."):
            Report("products", strict=True).leave_out(5, "location", ValueError(reason))


def test_a_report_keeps_a_limited_number_of_problems() -> None:
    report = Report("products")

    for key in range(PROBLEMS_PER_REPORT + 50):
        report.leave_out(key, "location", BAD)

    assert len(report.problems) == PROBLEMS_PER_REPORT
    assert report.left_out == PROBLEMS_PER_REPORT + 50


def test_long_texts_and_line_breaks_become_one_short_line(caplog: pytest.LogCaptureFixture) -> None:
    report = Report("products")

    report.drop("a\nb\x1b[31m", "lastmod", ValueError("x" * 10_000 + "\n"))

    assert report.problems[0].key == r"a\nb\x1b[31m"
    assert len(report.problems[0].reason) == 500
    assert "\n" not in caplog.records[0].getMessage()


def test_reports_of_several_pages_add_up() -> None:
    whole, part = Report("products"), Report("products")
    for key in range(PROBLEMS_PER_REPORT - 1):
        whole.leave_out(key, "location", BAD)
    part.leave_out("a", "location", BAD)
    part.drop("b", "lastmod", BAD)
    part.warn("c", "location", "W-URL-FRAGMENT", "The fragment was left out.")

    whole.merge(part)

    assert (whole.left_out, whole.dropped, whole.warned) == (PROBLEMS_PER_REPORT, 1, 1)
    assert len(whole.problems) == PROBLEMS_PER_REPORT
    assert whole.problems[-1].key == "a"


def test_a_problem_can_be_read_from_its_list() -> None:
    problem = Problem("products", "5", "location", "E-URL-EMPTY", "The URL is None.")

    assert problem.as_list() == ["5", "location", "E-URL-EMPTY", "The URL is None."]
    assert Problem.from_list("products", problem.as_list()) == problem
