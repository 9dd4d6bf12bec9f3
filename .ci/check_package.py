"""Prove that what would be published is complete: check the files in a folder, install the wheel, compare."""

import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "sitemaps_plus"
ALWAYS = [
    *("py.typed", "migrations/__init__.py", "static/sitemaps_plus/status.css", "static/sitemaps_plus/status.js"),
    *("templates/sitemap.xml", "templates/sitemap_index.xml", "templates/sitemaps_plus/admin/status.html"),
    "locale/de/LC_MESSAGES/django.mo",
]
INSTALLED = "import pathlib, sitemaps_plus; print(pathlib.Path(sitemaps_plus.__file__).parent)"


def main() -> None:
    """Check the wheel and the sdist in the folder named on the command line."""
    folder = Path(sys.argv[1])
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    _python("-m", "twine", "check", "--strict", wheel, sdist)
    _python("-m", "check_wheel_contents", wheel)
    _python("-m", "pip", "install", "--quiet", "--force-reinstall", wheel)
    missing = sorted(_wanted() - _files(_installed()))
    if missing:
        sys.exit("Missing in the installed wheel:\n  " + "\n  ".join(missing))
    print(f"{wheel.name}: all {len(_wanted())} files of the package are in it.")


def _python(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, *arguments], check=True)


def _installed() -> Path:
    """Return the folder that the package is imported from when the checkout is out of sight."""
    command = [sys.executable, "-c", INSTALLED]
    with tempfile.TemporaryDirectory() as elsewhere:
        output = subprocess.run(command, cwd=elsewhere, check=True, capture_output=True, text=True).stdout
    return Path(output.strip())


def _wanted() -> set[str]:
    return _files(SOURCE) | set(ALWAYS)


def _files(folder: Path) -> set[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


if __name__ == "__main__":
    main()
