"""The signals for rows that were left out, pages that were rendered and files that were published."""

from __future__ import annotations

from django.dispatch import Signal

entry_left_out = Signal()
"""Sent by the Sitemap class, while a page is rendered, for each row that it leaves out; registered sections only.

Arguments: ``site`` (SiteOrigin), ``label``, ``key``, ``hook``, ``code`` and ``reason``, all text.
"""

page_rendered = Signal()
"""Sent by the Sitemap class after a page of a registered section was rendered, before it is published.

Arguments: ``site`` (SiteOrigin), ``label``, ``number``, ``form`` (``"xml"`` or ``"txt"``), ``urls``, ``bytes`` before
gzip, ``left_out`` (rows) and ``seconds``.
"""

published = Signal()
"""Sent by the class SiteOrigin, once for each site, after a build has published its changes.

Arguments: ``site`` (SiteOrigin), ``changed`` and ``removed``, lists of absolute URLs: those of files with new content,
indexes included, and those that no index lists any more.
"""
