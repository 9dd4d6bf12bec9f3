"""Say which rows were left out, which pages were rendered and what was published, to all who want to hear of it."""

from __future__ import annotations

from django.dispatch import Signal

entry_left_out = Signal()
"""Sent for each row that a page of a registered section does not show, where it is rendered; by the Sitemap class.

Arguments: ``site`` (SiteOrigin), ``label``, ``key``, ``hook``, ``code`` and ``reason``, all text.
"""

page_rendered = Signal()
"""Sent after a page of a registered section was rendered, which is not yet published; by the Sitemap class.

Arguments: ``site`` (SiteOrigin), ``label``, ``number``, ``form`` (``"xml"`` or ``"txt"``), ``urls``, ``bytes`` before
gzip, ``left_out`` (rows) and ``seconds``.
"""

published = Signal()
"""Sent once for each site by a build that changed something, when all of it is in place; by the class SiteOrigin.

Arguments: ``site`` (SiteOrigin), ``changed`` and ``removed``, lists of absolute URLs: of files whose content is new,
indexes among them, and of those that no index lists any more.
"""
