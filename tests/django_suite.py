"""Run Django's own tests of its sitemaps against sitemaps_plus, with only imports and INSTALLED_APPS changed.

The tests come from the source distribution of the Django that is installed; nothing of it is kept.
"""

import ast
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import django

SUITES = ["sitemaps_tests", "flatpages_tests"]


def main() -> None:
    """Fetch, rewrite and run the suites; exit with 1 unless every test that they hold ran and passed."""
    with tempfile.TemporaryDirectory() as folder:
        tests = _fetch_tests(Path(folder))
        held = sum(_held_tests(tests / suite) for suite in SUITES)
        changed = sum(_rewrite(path) for suite in SUITES for path in sorted((tests / suite).rglob("*.py")))
        print(f"Django {django.__version__}: {held} tests, sitemaps_plus put into {changed} files", flush=True)
        sys.exit(_run(tests, held))


def _fetch_tests(folder: Path) -> Path:
    """Download the source distribution into ``folder`` and return its unpacked tests."""
    wanted = ["--no-deps", "--no-binary", "Django", f"Django=={django.__version__}"]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *wanted], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        # Only the tests: with the rest of the tree beside them, another Django than the installed one could be met.
        tests = [member for member in members if member.name.split("/")[1:2] == ["tests"]]
        members.extractall(folder, tests, filter="data")
    (unpacked,) = folder.glob("*/tests")
    return unpacked


def _held_tests(suite: Path) -> int:
    """Return how many test methods the modules of ``suite`` define."""
    trees = [ast.parse(path.read_text()) for path in suite.glob("test*.py")]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [node for cls in classes for node in cls.body if isinstance(node, ast.FunctionDef)]
    return sum(method.name.startswith("test") for method in methods)


def _rewrite(path: Path) -> bool:
    """Put sitemaps_plus where ``path`` imports or installs django.contrib.sitemaps; return whether it did.

    Names of URL patterns such as ``"django.contrib.sitemaps.views.sitemap"`` stay: projects have them, too.
    """
    before = path.read_text()
    after = re.sub(r"(?m)^(\s*(?:from|import) )django\.contrib\.sitemaps\b", r"\g<1>sitemaps_plus", before)
    after = after.replace('"django.contrib.sitemaps"', '"sitemaps_plus"')
    path.write_text(after)
    return after != before


def _run(tests: Path, held: int) -> int:
    """Run the suites as Django does and return the exit status."""
    command = [sys.executable, "-W", "default", "runtests.py", "--parallel=1", *SUITES]
    run = subprocess.run(command, cwd=tests, stderr=subprocess.PIPE, text=True)
    print(run.stderr, end="")
    ran = re.search(r"^Ran (\d+) tests?", run.stderr, re.MULTILINE)
    if run.returncode or ran is None:
        return run.returncode or 1
    if int(ran[1]) < held:
        print(f"Only {ran[1]} of the {held} tests ran.")
        return 1
    return 0


if __name__ == "__main__":
    main()
