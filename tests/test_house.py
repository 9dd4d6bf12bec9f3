"""The map of the house is right: rooms, layers and folders agree, and nothing imports by a path in a text."""

import ast
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import sitemaps_plus

PACKAGE = Path(sitemaps_plus.__file__).parent
ROOT = Path(__file__).parent.parent
DJANGO = {"admin", "checks", "management", "templatetags", "migrations", "templates", "static", "locale"}
"""Folders that Django finds by their name."""

MAP = re.findall(r"^    ([a-z]+) {2,}\S", sitemaps_plus.__doc__ or "", re.MULTILINE)


def layers() -> list[list[str]]:
    """Return the layers of the import contract, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [re.findall(r"\w+", layer) for layer in found]


def folders() -> set[str]:
    """Return the folders with files; of a room that has moved, a checkout may keep the compiled modules."""
    files = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_file())
    return {path.parts[0] for path in files if len(path.parts) > 1 and "__pycache__" not in path.parts}


def modules() -> set[str]:
    """Return the modules beside the rooms."""
    return {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}


def test_the_docstring_of_the_package_names_each_room_once() -> None:
    assert sorted(MAP) == sorted(folders() - DJANGO)


def test_the_docstring_names_the_folders_that_django_finds() -> None:
    last = (sitemaps_plus.__doc__ or "").rstrip().splitlines()[-1]

    assert set(re.findall(r"\w+", last.partition(":")[2])) == DJANGO
    assert folders() >= DJANGO


def test_each_room_and_module_is_in_the_import_contract() -> None:
    without_code = {"migrations", "templates", "static", "locale"}

    assert {name for layer in layers() for name in layer} == (folders() | modules()) - without_code


def test_the_docstring_lists_the_rooms_from_the_lowest_layer_to_the_highest() -> None:
    height = {name: at for at, layer in enumerate(reversed(layers())) for name in layer}

    assert [height[room] for room in MAP] == sorted(height[room] for room in MAP)


def test_the_page_about_the_architecture_names_each_room() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text()

    assert [room for room in (*MAP, *DJANGO - {"templates", "static", "locale"}) if f"`{room}/`" not in text] == []


def test_the_page_about_the_architecture_shows_the_layers_of_the_contract() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text()
    (shown,) = re.findall(r"^```text\n(apps\n.*?)^```", text, re.MULTILINE | re.DOTALL)

    assert [set(re.findall(r"\w+", line)) for line in shown.splitlines()] == [set(layer) for layer in layers()]


# Imports by text fail without a sound where a module moves


def imports_by_text(tree: ast.AST) -> list[int]:
    """Return the lines that import a module by a text other than ``import_module(".name", __package__)``."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Others are permissions, ids of checks and of receivers.
            ours = re.fullmatch(r"sitemaps_plus\.(\w+)[\w.]*", node.value)
            if ours and ours[1] in folders() | modules():
                found.append(node.lineno)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
            match node.args:
                case [ast.Constant(value=str(name)), ast.Name(id="__package__")] if name.startswith("."):
                    pass
                case _:
                    found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('import_module(".fast", __package__)', False),
        ('importlib.import_module(".fast", __package__)', False),
        ('import_module("sitemaps_plus.stores.fast")', True),
        ("import_module(name)", True),
        ('import_string("sitemaps_plus.stores.fast.compress")', True),
        ('"sitemaps_plus:index"', False),
        ('"sitemaps_plus.E001"', False),
    ],
)
def test_imports_by_text_are_found(source: str, is_found: bool) -> None:
    assert bool(imports_by_text(ast.parse(source))) is is_found


def test_no_module_imports_by_a_dotted_text() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): lines
        for path in PACKAGE.rglob("*.py")
        if "migrations" not in path.parts and (lines := imports_by_text(ast.parse(path.read_text())))
    }

    assert found == {}


def test_no_folder_of_tests_is_left_out_because_of_its_name(pytestconfig: pytest.Config) -> None:
    patterns = pytestconfig.getini("norecursedirs")
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    left_out = [folder for folder in folders if any(fnmatch(part, one) for part in folder.parts for one in patterns)]

    assert left_out == []
