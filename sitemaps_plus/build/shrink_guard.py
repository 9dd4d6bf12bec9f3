"""Decide whether a section lost so many URLs, or changed so oddly, that a build must not publish it."""

from __future__ import annotations

from typing import NamedTuple

from sitemaps_plus.protocol.shapes import Shape

_FEWEST = 10


class Objection(NamedTuple):
    """Why a section must not be published."""

    problem: str
    advice: str

    def __str__(self) -> str:
        """Return both as one text."""
        return f"{self.problem} {self.advice}"


def why_not_publish(
    *, urls_before: int, urls_now: int, shape_before: Shape | None, shape_now: Shape | None, most: float
) -> Objection | None:
    """Return why a build must not publish a section, and what to do about it; None if nothing is wrong.

    `most` is the share of its URLs that the section may lose, 0 to 1. Without one of the shapes only the numbers of
    URLs are compared.
    """
    reason = _lost(urls_before, urls_now, most)
    if reason is None and shape_before and shape_now:
        reason = _turned_blank(shape_before, shape_now) or _left_its_prefix(shape_before, shape_now)
    return reason


def _lost(before: int, now: int, most: float) -> Objection | None:
    lost = before - now
    # The small addition makes up for float arithmetic: 29 of 100 are not more than 0.29 of them.
    if lost <= before * most + 1e-9:
        return None
    if not now:
        problem = f"The section lost all of its {before:,} URLs" if before > 1 else "The section lost its only URL"
    else:
        share = "half" if most == 0.5 else f"{most * 100:.4g} %"
        problem = f"The section lost {lost:,} of its {before:,} URLs, more than {share}"
    return _with_advice(problem, "check which rows the section has")


def _turned_blank(before: Shape, now: Shape) -> Objection | None:
    was_fine = before.sampled > 0 and before.blank * 10 < before.sampled
    # In a small sample, one URL that is rightly called /null/ may be half of it.
    is_blank = now.blank > 0 and (now.blank == now.sampled or (now.blank * 2 >= now.sampled >= _FEWEST))
    if not was_fine or not is_blank:
        return None
    problem = (
        f"{now.blank:,} of {now.sampled:,} sampled URLs have an empty part, such as /None/ or //; before, "
        f"{before.blank:,} of {before.sampled:,} had one"
    )
    return _with_advice(problem, "check the location of the section")


def _left_its_prefix(before: Shape, now: Shape) -> Objection | None:
    prefix = before.prefix
    if min(before.sampled, now.sampled) < _FEWEST or prefix == "/" or not now.has_left(prefix):
        return None
    problem = f"None of {now.sampled:,} sampled URLs begins with {prefix}; before, all of them did"
    return _with_advice(problem, "check the location of the section and the URL patterns")


def _with_advice(problem: str, else_do: str) -> Objection:
    return Objection(
        f"{problem}.",
        f"If this is intended, publish it with --allow-shrink. If not, {else_do}. "
        "The published files of the section were not changed.",
    )
