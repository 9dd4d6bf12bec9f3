"""Start a build as a process on this machine that outlives the web server's process."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from django.conf import ENVIRONMENT_VARIABLE, settings
from django.utils.translation import gettext as _

from sitemaps_plus.build.results import LOCKED
from sitemaps_plus.errors import BuildNotStarted
from sitemaps_plus.plan.sites import SiteOrigin

logger = logging.getLogger("sitemaps_plus")

_TAIL = 4000
"""Bytes of the output that are logged."""


def start(
    labels: Sequence[str], *, site: SiteOrigin, started_by: str, full: bool = False, warm_cache: bool = False
) -> None:
    """Start ``build_sitemaps`` with the settings, paths and environment of this process; see `Start`.

    Its output is logged if it fails. Raises BuildNotStarted, with a text in the active language, where the system
    starts no process, or where the settings come from ``settings.configure()``, which another process cannot have.
    """
    flags = [flag for flag, is_given in (("--full", full), ("--warm-cache", warm_cache)) if is_given]
    command = [
        _python(),
        *("-m", "django", "build_sitemaps", *labels, f"--site={site.id}", *flags),
        # With "=", because a name may begin with a hyphen.
        *("--if-locked=fail", f"--started-by={started_by}", "--no-color", "--no-progress"),
    ]
    environment = _environment()
    # A file, not a pipe: nobody would read the pipe after the end of this process.
    output = tempfile.TemporaryFile()  # noqa: SIM115 - it is open for as long as the process runs
    try:
        process = subprocess.Popen(  # noqa: S603 - labels are registered ones, and no shell reads them
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            # Signals to the web server's processes do not reach it.
            start_new_session=True,
        )
    except OSError as error:
        output.close()
        raise BuildNotStarted(
            _("The build process could not be started: %(error)s. Run build_sitemaps by hand or from cron.")
            % {"error": error}
        ) from error
    # Somebody has to wait for it, or it becomes a zombie.
    threading.Thread(target=_wait, args=(process, output, started_by), daemon=True).start()


def _wait(process: subprocess.Popen[bytes], output: IO[bytes], started_by: str) -> None:
    with output:
        status = process.wait()
        if status:
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - _TAIL))
            level = logging.WARNING if status == LOCKED else logging.ERROR
            said = output.read().decode(errors="replace").strip()
            logger.log(level, "The build that %s started ended with status %s: %s", started_by, status, said)


def _environment() -> dict[str, str]:
    module = settings.SETTINGS_MODULE or os.environ.get(ENVIRONMENT_VARIABLE, "")
    if not module:
        raise BuildNotStarted(
            _(
                "A build in another process cannot read settings from settings.configure(). Put them into a module, "
                "and set %(variable)s to its name."
            )
            % {"variable": ENVIRONMENT_VARIABLE}
        )
    # An empty path is the current directory, which may differ in the new process.
    paths = [str(Path(path or ".").resolve()) for path in sys.path]
    return {**os.environ, ENVIRONMENT_VARIABLE: module, "PYTHONPATH": os.pathsep.join(paths)}


def _python() -> str:
    """Return the interpreter; inside uWSGI or Apache ``sys.executable`` is the server."""
    folder = Path(sys.prefix) / ("Scripts" if os.name == "nt" else "bin")
    candidates = [Path(sys.executable or "-"), folder / "python3", folder / "python", folder / "python.exe"]
    for path in candidates:
        if path.stem.lower().startswith(("python", "pypy")) and path.is_file():
            return str(path)
    raise BuildNotStarted(
        _("No Python interpreter was found in %(folder)s to run the build. Run build_sitemaps from cron.")
        % {"folder": folder}
    )
