"""The reference names all there is, links lead somewhere, and code in the documentation compiles."""

import ast
import dataclasses
import importlib.util
import json
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import sitemaps_plus
from sitemaps_plus import conf, errors, urls, values
from sitemaps_plus.declare import hooks, sitemaps, url_for
from sitemaps_plus.declare.registry import Registry
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from sitemaps_plus.protocol import entries
from sitemaps_plus.serve import crawlers
from sitemaps_plus.templatetags import sitemaps_plus as tags

PACKAGE = Path(sitemaps_plus.__file__).parent
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"[\"'`](?P<code>[EW]-[A-Z]+(?:-[A-Z]+)*)[\"'`]")
_CHECK = re.compile(r"sitemaps_plus\.(?P<id>[EW]\d{3})\b|(?<!: )\b(?P<short>[EW]\d{3})\b")
_NOQA = re.compile(r"#.*noqa.*")
_ROOMS = sorted(path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py")
_NAME = re.compile(rf"`(?P<name>(?:{'|'.join(map(re.escape, _ROOMS))})(?:\.\w+)+)`")
_PATH = re.compile(r"`(?P<path>[\w./-]*(?:/|\.(?:py|md|toml|ini|xml)))`")


def _read(name: str) -> str:
    return (DOCS / "reference" / name).read_text()


def _sources(*paths: Path) -> str:
    return "\n".join(_NOQA.sub("", path.read_text()) for path in paths)


def _missing(names: set[str], text: str) -> list[str]:
    """Return the names that do not stand in code marks, alone or at the beginning of an expression."""
    return sorted(name for name in names if not re.search(rf"`(?:\w+\.)*{re.escape(name)}\b", text))


def _public_members(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_")}


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def _fences(path: Path, language: str) -> Iterator[str]:
    for match in _FENCE.finditer(path.read_text()):
        if match["language"] == language:
            yield textwrap.dedent(match["code"])


def _blocks(language: str) -> list[object]:
    return [
        pytest.param(code, id=f"{path.relative_to(ROOT)}-{number}")
        for path in PAGES
        for number, code in enumerate(_fences(path, language), start=1)
    ]


def _anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    text = _FENCE.sub("", path.read_text())
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_setting_has_its_default_in_the_table():
    defaults = {cells[0].strip("`"): cells[1].strip("`") for cells in _rows(_read("settings.md")) if len(cells) == 3}
    declared = conf.Settings()

    documented = {name: ast.literal_eval(defaults[name]) for name in conf.NAMES if name != "STRICT"}

    assert documented == {name: getattr(declared, name) for name in conf.NAMES if name != "STRICT"}


@pytest.mark.parametrize("debug", [True, False])
def test_strict_is_debug_as_the_table_says(settings, debug):
    settings.DEBUG = debug

    assert conf.get_settings().STRICT is debug
    assert "| `STRICT` | `settings.DEBUG` |" in _read("settings.md")


def test_every_profile_stands_with_its_limits():
    rows = {cells[0].strip('`"'): cells[1:4] for cells in _rows(_read("settings.md")) if len(cells) == 5}

    for name, profile in entries.PROFILES.items():
        assert rows[name] == [f"{limit:,}" for limit in (profile.max_urls, profile.max_bytes, profile.max_loc)]


def test_every_check_is_explained():
    source = _sources(*PACKAGE.glob("checks*.py"), *PACKAGE.glob("checks*/**/*.py"))
    ids = {match["id"] or match["short"] for match in _CHECK.finditer(source)}

    assert ids
    assert _missing({f"sitemaps_plus.{check}" for check in ids}, _read("checks.md")) == []


def test_two_checks_never_share_a_number():
    numbers = [number for cells in _rows(_read("checks.md")) for number in re.findall(r"[EW](\d{3})", cells[0])]

    assert sorted(numbers) == sorted(set(numbers))


def test_no_check_is_explained_that_is_gone():
    source = _sources(*PACKAGE.glob("checks*.py"), *PACKAGE.glob("checks*/**/*.py"))

    explained = {check for cells in _rows(_read("checks.md")) for check in re.findall(r"[EW]\d{3}", cells[0])}

    assert [check for check in sorted(explained) if check not in source] == []


def test_every_command_and_option_is_explained():
    text = _read("commands.md")
    paths = [path for path in (PACKAGE / "management" / "commands").glob("*.py") if path.stem != "__init__"]

    assert paths
    for path in paths:
        assert f"## {path.stem}" in text
        assert _missing(set(re.findall(r"[\"'](--[\w-]+)[\"']", path.read_text())), text) == []


def test_every_hook_is_explained():
    assert _missing({*hooks.HOOKS, *hooks.EXTENSIONS, "changed"}, _read("sitemap-classes.md")) == []


@pytest.mark.parametrize("name", [name for name in values.__all__ if name != "Value"])
def test_the_table_of_a_value_has_its_fields_and_says_which_are_required(name):
    cls = getattr(values, name)
    _, _, section = _read("values.md").partition(f"# {name}\n")
    table = re.split(r"^#", section, maxsplit=1, flags=re.MULTILINE)[0]
    rows = {cells[0].strip("`"): cells[1:] for cells in _rows(table) if cells[0].startswith("`")}

    assert list(rows) == [field.name for field in dataclasses.fields(cls)]
    required = [field for field, (rule, _) in rows.items() if re.search(r"; required(\.|$)", rule)]
    assert required == list(cls._required)
    assert all(source for _, source in rows.values())


def test_every_method_of_a_value_is_explained():
    assert _missing(_public_members(values.Value), _read("values.md")) == []


def test_every_public_name_is_explained():
    assert _missing(set(sitemaps_plus.__all__), _read("sitemap-classes.md")) == []


@pytest.mark.parametrize(
    "cls", [sitemaps.Sitemap, sitemaps.ModelSitemap, sitemaps.NewsSitemap, Registry], ids=lambda cls: cls.__name__
)
def test_every_attribute_and_method_of_a_class_is_explained(cls):
    assert _missing(_public_members(cls), _read("sitemap-classes.md")) == []


def test_every_method_of_url_for_is_explained():
    assert _missing(_public_members(url_for.UrlFor), _read("sitemap-classes.md")) == []


def test_every_url_name_is_explained():
    names = {f"{urls.app_name}:{pattern.name}" for pattern in urls.urlpatterns}

    assert _missing(names, _read("urls-and-views.md")) == []


def test_every_error_is_explained():
    found = {name for name, value in vars(errors).items() if isinstance(value, type)}

    assert _missing(found, _read("errors-and-codes.md")) == []


def test_every_code_is_explained_with_its_source():
    codes = {match["code"] for match in _CODE.finditer(_sources(*PACKAGE.rglob("*.py")))}
    rows = {cells[0].strip("`"): cells[1:] for cells in _rows(_read("errors-and-codes.md"))}

    assert codes
    assert sorted(codes - set(rows)) == []
    assert [code for code in sorted(codes) if not all(rows[code])] == []


def test_no_code_is_explained_that_is_gone():
    codes = {match["code"] for match in _CODE.finditer(_sources(*PACKAGE.rglob("*.py")))}

    explained = {cells[0].strip("`") for cells in _rows(_read("errors-and-codes.md"))}

    assert sorted(code for code in explained if re.fullmatch(r"[EW]-[A-Z-]+", code) and code not in codes) == []


def test_every_template_and_filter_is_explained():
    templates = {path.name for path in (PACKAGE / "templates").rglob("*.xml")}
    text = _read("templates.md")

    assert templates
    assert [name for name in sorted(templates) if f"## {name}" not in text] == []
    assert _missing({*tags.register.filters, *tags.register.tags}, text) == []


@pytest.mark.parametrize("model", [SitemapPage, Build, CrawlerVisit], ids=lambda model: model.__name__)
def test_every_field_of_a_model_is_explained(model):
    names = {field.name for field in model._meta.get_fields() if not getattr(field, "primary_key", False)}
    _, _, section = _read("model.md").partition(f"\n## {model.__name__}\n")

    assert _missing(names, section.partition("\n## ")[0]) == []


def test_the_number_of_crawlers_is_the_one_in_the_text():
    text = (DOCS / "how-to" / "see-what-crawlers-fetch.md").read_text()

    assert f"{len(crawlers.CRAWLERS) + 1} names" in text


def test_every_extra_stands_in_a_command_that_installs_it():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    commands = "\n".join(code for path in PAGES for code in _fences(path, "console"))

    assert [extra for extra in extras if f"django-sitemaps-plus[{extra}]" not in commands] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(path):
    text = _INLINE_CODE.sub("", _FENCE.sub("", path.read_text()))
    targets = [match["target"] for match in _LINK.finditer(text) if "://" not in match["target"]]

    for target in targets:
        name, _, anchor = target.partition("#")
        page = (path.parent / name).resolve() if name else path
        assert page.exists(), target
        assert not anchor or anchor in _anchors(page), target


@pytest.mark.parametrize(
    "path", sorted(set(PAGES) - {ROOT / "README.md", DOCS / "index.md"}), ids=lambda p: str(p.relative_to(DOCS))
)
def test_every_page_is_in_the_table_of_contents(path):
    name = str(path.relative_to(DOCS).with_suffix(""))

    assert name in [line for code in _fences(DOCS / "index.md", "{toctree}") for line in code.splitlines()]


@pytest.mark.parametrize("code", _blocks("python"))
def test_python_in_the_documentation_compiles(code):
    compile(code, "documentation", "exec")


@pytest.mark.parametrize("code", _blocks("json"))
def test_json_in_the_documentation_parses(code):
    assert json.loads(code)


def test_each_example_of_the_page_about_tests_is_run_by_the_tests_of_a_project():
    """They run in ``tests/serve/test_in_transactions.py``."""
    run = _code_lines((ROOT / "tests" / "bakery" / "tests.py").read_text())
    examples = [_code_lines(code) for code in _fences(DOCS / "how-to" / "testing.md", "python")]

    assert len(examples) > 5
    assert [code for code in examples if code not in run] == []


def _code_lines(code: str) -> str:
    """Return the lines without their indentation, blank lines, comments and imports."""
    lines = (line.partition("  # noqa")[0].strip() for line in code.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("from ", "import ")))


def test_settings_in_the_documentation_are_known():
    for path in PAGES:
        for code in _fences(path, "python"):
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SITEMAPS_PLUS":
                    assert set(ast.literal_eval(node.value)) <= set(conf.NAMES), path


def _is_there(name: str) -> bool:
    """Return whether `name`, such as ``plan.planner.refresh``, is a module of the package or something in one."""
    module, rest = sitemaps_plus.__name__, name.split(".")
    # A module is only imported for what is in it: its optional package may be missing.
    while rest and _is_package(module) and importlib.util.find_spec(f"{module}.{rest[0]}"):
        module = f"{module}.{rest.pop(0)}"
    found: object = importlib.import_module(module) if rest else None
    for part in rest:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def _is_package(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def _architecture() -> str:
    return _FENCE.sub("", (DOCS / "explanation" / "architecture.md").read_text())


def test_every_name_in_the_architecture_exists():
    names = {match["name"] for match in _NAME.finditer(_architecture())} - {
        match["path"] for match in _PATH.finditer(_architecture())
    }

    assert len(names) > 50
    assert sorted(name for name in names if not _is_there(name)) == []


def test_every_file_and_folder_in_the_architecture_exists():
    paths = {match["path"] for match in _PATH.finditer(_architecture())}

    assert paths
    assert sorted(path for path in paths if not (ROOT / path).exists() and not (PACKAGE / path).exists()) == []


def test_pages_for_users_name_no_internal_module():
    public = {"admin", "apps", "errors", "models", "signals", "stores.s3", "urls", "values", "views"}
    # Until it has a public name.
    public.add("watch.visits")
    pages = set(PAGES) - {DOCS / "explanation" / "architecture.md"}
    named = {
        match for path in pages for match in re.findall(r"sitemaps_plus\.([a-z_]+(?:\.[a-z_\d]+)*)", path.read_text())
    }

    rooms = {name for name in named if name.partition(".")[0] in _ROOMS}

    assert sorted(name for name in rooms if not any(f"{name}.".startswith(f"{one}.") for one in public)) == []
