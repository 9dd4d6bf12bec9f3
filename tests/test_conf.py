from dataclasses import FrozenInstanceError

import pytest

from sitemaps_plus.conf import NAMES, Settings, get_settings, wrong_values


def test_without_settings_every_name_has_its_default(settings):
    assert not hasattr(settings, "SITEMAPS_PLUS")
    assert get_settings() == Settings()


def test_settings_are_read_when_they_are_used(settings):
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 5}
    assert get_settings().CHECK_EVERY == 5

    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 6, "EXTENSION": "xml.gz"}
    assert (get_settings().CHECK_EVERY, get_settings().EXTENSION) == (6, "xml.gz")


@pytest.mark.parametrize("debug", [True, False])
def test_strict_follows_debug_unless_it_is_given(settings, debug):
    settings.DEBUG = debug
    assert get_settings().STRICT is debug

    settings.SITEMAPS_PLUS = {"STRICT": not debug}
    assert get_settings().STRICT is not debug


def test_unknown_names_do_no_harm_at_run_time(settings):
    settings.SITEMAPS_PLUS = {"ORIGNI": "https://example.com", "PROFILE": "yandex"}

    assert get_settings() == Settings(PROFILE="yandex")


@pytest.mark.parametrize("given", [None, [], "https://example.com", 1])
def test_a_value_that_is_no_dict_does_no_harm_at_run_time(settings, given):
    settings.SITEMAPS_PLUS = given

    assert get_settings() == Settings()


def test_settings_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        get_settings().ORIGIN = "https://example.com"


def test_names_are_those_of_the_fields():
    assert {"ORIGIN", "PUBLIC_URL", "EXTENSION", "CHECK_EVERY", "STORAGE", "STRICT"} <= set(NAMES)


def test_each_default_keeps_its_rule():
    assert list(wrong_values(Settings())) == []


def test_a_wrong_secret_is_named_without_its_value():
    ((name, value, hint),) = wrong_values(Settings(HEALTH_TOKEN="too short"))  # noqa: S106 - of one test

    assert (name, value) == ("HEALTH_TOKEN", "...")
    assert "16 or more characters" in hint
