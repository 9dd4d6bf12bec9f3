"""Options that are refused or handed on."""

import pytest
from django.core.management import CommandError, call_command

from commands import options_of_builds, run
from samples import Products
from sitemaps_plus import register

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("text", ["some", "-1", "1.5", "", "0"])
def test_a_wrong_number_of_workers_is_an_error_that_says_what_to_give(text: str) -> None:
    _, _, failure = run(f"--workers={text}")

    assert failure is not None
    assert failure.returncode == 1
    assert f"{text!r} is not a number of processes: use 1 or more" in str(failure)


@pytest.mark.parametrize("given", ["some", -1, 0, 1.5, "", None, True])
def test_call_command_refuses_a_wrong_number_of_workers_with_the_same_text(given: object) -> None:
    _, _, failure = run(workers=given)

    assert failure is not None
    assert failure.returncode == 2
    assert str(failure).startswith(f"--workers: {given!r} is not a number of processes: use 1 or more")


@pytest.mark.parametrize(("given", "seen"), [("auto", "auto"), (2, 2), ("3", 3)])
def test_call_command_takes_the_number_of_workers_as_text_too(
    given: object, seen: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = options_of_builds(monkeypatch)

    _, _, failure = run(workers=given)

    assert failure is None
    assert [one["workers"] for one in found] == [seen]


@pytest.mark.parametrize(("text", "given"), [("auto", "auto"), ("1", 1), ("12", 12)])
def test_workers_are_handed_to_the_build(text: str, given: object, monkeypatch: pytest.MonkeyPatch) -> None:
    found = options_of_builds(monkeypatch)

    run("--workers", text)

    assert [one["workers"] for one in found] == [given]


@pytest.mark.parametrize("one", ["--dry-run", "--check"])
@pytest.mark.parametrize("other", ["--repack", "--prune", "--warm-cache"])
def test_options_that_only_read_refuse_options_that_change_something(one: str, other: str) -> None:
    register("products", Products)

    _, _, failure = run(one, other)

    assert failure
    assert str(failure) == f"{one} changes nothing, so it cannot be combined with {other}."
    assert failure.returncode == 2


@pytest.mark.parametrize("one", ["--dry-run", "--check", "--status"])
@pytest.mark.parametrize(
    "other", ["--strict", "--allow-shrink", "--if-locked=wait", "--workers=4", "--started-by=me", "--progress"]
)
def test_options_that_have_no_effect_are_an_error(one: str, other: str) -> None:
    register("products", Products)

    _, _, failure = run(one, other)

    assert failure
    assert str(failure) == f"{other.partition('=')[0]} has no effect with {one}, which only reads. Leave it out."
    assert failure.returncode == 2


@pytest.mark.parametrize("one", ["--check", "--status"])
def test_full_has_no_effect_on_what_only_compares(one: str) -> None:
    _, _, failure = run(one, "--full")

    assert str(failure) == f"--full has no effect with {one}, which only reads. Leave it out."


@pytest.mark.parametrize("one", ["--dry-run", "--check", "--status"])
def test_options_that_only_read_accept_what_is_so_anyway(one: str) -> None:
    _, _, failure = run(one, "--no-progress", "--if-locked=fail", "--workers=1")

    assert "no effect" not in str(failure)


@pytest.mark.parametrize("option", ["--dry", "--stat", "--allow", "--work=2"])
def test_options_are_written_out(option: str) -> None:
    with pytest.raises(CommandError, match="unrecognized arguments"):
        call_command("build_sitemaps", option)
