"""A clock that only moves when a test says so."""

from datetime import timedelta

from django.utils import timezone


class Clock:
    """The time of ``django.utils.timezone.now()`` and ``time.time()``."""

    def __init__(self, monkeypatch):
        self.now = timezone.now()
        monkeypatch.setattr("django.utils.timezone.now", lambda: self.now)
        monkeypatch.setattr("time.time", lambda: self.now.timestamp())

    def pass_(self, **period):
        self.now += timedelta(**period)
