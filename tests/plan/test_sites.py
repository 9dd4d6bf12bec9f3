import pytest
from django.contrib.sites.models import Site
from django.db import OperationalError

from sitemaps_plus.errors import NoOrigin, UnknownHost
from sitemaps_plus.plan.sites import NO_SITE, get_site, get_sites


@pytest.fixture
def one_site(db):
    Site.objects.clear_cache()
    Site.objects.filter(pk=1).update(domain="sites.example", name="Sites")
    yield Site.objects.get(pk=1)
    Site.objects.clear_cache()


@pytest.fixture
def two_sites(one_site, settings):
    del settings.SITE_ID
    return one_site, Site.objects.create(pk=2, domain="two.example:8443", name="Two")


@pytest.fixture
def without_sites(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    del settings.SITE_ID


def origins():
    return [(site.id, str(site.origin)) for site in get_sites()]


def test_the_settings_come_before_the_sites(one_site, settings, rf):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://settings.example"}

    for site in (get_site(), get_site(rf.get("/", secure=False))):
        assert (site.id, str(site.origin)) == (1, "https://settings.example")
        assert site.model == one_site
        assert site.is_configured
    assert origins() == [(1, "https://settings.example")]


def test_the_sites_come_before_the_request(one_site, rf):
    site = get_site(rf.get("/", headers={"host": "request.example"}, secure=True))

    assert (site.id, str(site.origin)) == (1, "https://sites.example")
    assert site.is_configured


def test_the_request_comes_last(without_sites, rf):
    site = get_site(rf.get("/", headers={"host": "request.example:8000"}))

    assert (site.id, str(site.origin)) == (NO_SITE, "http://request.example:8000")
    assert not site.is_configured
    assert site.model is None


def test_without_anything_the_remedy_is_named(without_sites):
    with pytest.raises(NoOrigin, match=r'Set SITEMAPS_PLUS = \{"ORIGIN": .*\}, or install django\.contrib\.sites'):
        get_site()
    with pytest.raises(NoOrigin):
        list(get_sites())


def test_one_origin_serves_without_sites(without_sites, settings, rf):
    settings.SITEMAPS_PLUS = {"ORIGIN": "http://settings.example/"}

    assert str(get_site(rf.get("/", secure=True)).origin) == "http://settings.example"
    assert origins() == [(NO_SITE, "http://settings.example")]


def test_a_mapping_gives_each_site_its_origin(two_sites, settings, rf):
    settings.SITEMAPS_PLUS = {"ORIGIN": {2: "https://second.example", 1: "https://first.example"}}

    assert str(get_site(rf.get("/", headers={"host": "two.example:8443"})).origin) == "https://second.example"
    assert str(get_site(rf.get("/", headers={"host": "sites.example"})).origin) == "https://first.example"
    assert origins() == [(2, "https://second.example"), (1, "https://first.example")]
    assert [site.model for site in get_sites()] == [two_sites[1], two_sites[0]]


def test_a_mapping_with_one_entry_needs_no_site_id(without_sites, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {7: "https://seven.example"}}

    assert (get_site().id, str(get_site().origin)) == (7, "https://seven.example")


def test_a_mapping_is_read_by_site_id(without_sites, settings):
    settings.SITE_ID = 2
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://first.example", 2: "https://second.example"}}

    assert (get_site().id, str(get_site().origin)) == (2, "https://second.example")


def test_a_mapping_that_does_not_tell_the_site_is_an_error(without_sites, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://first.example", 2: "https://second.example"}}

    with pytest.raises(NoOrigin, match=r"names the sites \[1, 2\], and SITE_ID does not say which .* Set SITE_ID"):
        get_site()


@pytest.mark.parametrize(
    ("host", "secure", "site_id"),
    [
        ("a.example", True, 1),
        ("B.EXAMPLE", True, 2),
        ("b.example", False, 2),
        ("b.example:8000", False, 2),
        ("c.example:8443", True, 3),
        ("c.example:9443", True, 4),
        ("b.example:8443", True, 2),
    ],
)
def test_without_the_sites_framework_the_host_of_the_request_chooses(
    without_sites, settings, rf, host, secure, site_id
):
    settings.SITEMAPS_PLUS = {
        "ORIGIN": {
            1: "https://a.example",
            2: "https://b.example",
            3: "https://c.example:8443",
            4: "https://c.example:9443",
        }
    }

    site = get_site(rf.get("/", headers={"host": host}, secure=secure))

    assert (site.id, str(site.origin)) == (site_id, settings.SITEMAPS_PLUS["ORIGIN"][site_id])
    assert site.is_configured


@pytest.mark.parametrize("host", ["evil.example", "c.example"])
def test_without_the_sites_framework_a_host_of_no_entry_is_unknown(without_sites, settings, rf, host):
    settings.SITEMAPS_PLUS = {
        "ORIGIN": {1: "https://a.example", 2: "https://c.example:8443", 3: "https://c.example:9443"}
    }

    with pytest.raises(UnknownHost, match=rf"There is no site for '{host}': SITEMAPS_PLUS.* no entry with this host"):
        get_site(rf.get("/", headers={"host": host}))


def test_a_host_that_is_no_host_is_unknown(without_sites, settings, rf):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}

    with pytest.raises(UnknownHost, match="Host header cannot be used"):
        get_site(rf.get("/", headers={"host": "-"}))


def test_without_the_sites_framework_each_entry_is_built(without_sites, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {7: "https://a.example", 5: "https://b.example"}}

    assert origins() == [(7, "https://a.example"), (5, "https://b.example")]


def test_site_id_comes_before_the_host(without_sites, settings, rf):
    settings.SITE_ID = 1
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}

    assert get_site(rf.get("/", headers={"host": "b.example"})).id == 1


def test_an_origin_that_differs_from_the_domain_of_its_site_chooses_the_site(two_sites, settings, rf):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://www.one.example", 2: "https://www.two.example"}}

    site = get_site(rf.get("/", headers={"host": "www.two.example"}))

    assert (site.id, str(site.origin), site.model) == (2, "https://www.two.example", two_sites[1])


def test_a_site_that_the_mapping_lacks_is_an_error(one_site, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {3: "https://three.example", 4: "https://four.example"}}

    with pytest.raises(NoOrigin, match=r'no entry for the site 1, only for \[3, 4\]\. Add 1: "https://example\.com"'):
        get_site()


def test_an_empty_mapping_is_an_error(without_sites, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {}}

    with pytest.raises(NoOrigin):
        list(get_sites())


def test_without_site_id_the_host_chooses_the_site(two_sites, rf):
    first = get_site(rf.get("/", headers={"host": "sites.example"}))
    second = get_site(rf.get("/", headers={"host": "two.example:8443"}, secure=True))

    assert (first.id, str(first.origin)) == (1, "http://sites.example")
    assert (second.id, str(second.origin), second.domain) == (2, "https://two.example:8443", "two.example:8443")


def test_an_unknown_host_is_an_error(two_sites, rf):
    with pytest.raises(NoOrigin, match=r"No Site .* has the host of this request as its domain\. Add it in the admin"):
        get_site(rf.get("/", headers={"host": "unknown.example"}))


def test_a_site_id_without_site_is_an_error(one_site, settings):
    settings.SITE_ID = 99

    with pytest.raises(NoOrigin, match=r"No Site .* has the id 99, which is SITE_ID\. .*or set SITEMAPS_PLUS"):
        get_site()


def test_the_settings_are_enough_where_the_site_is_missing(one_site, settings):
    settings.SITE_ID = 99
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://settings.example"}

    assert (get_site().id, str(get_site().origin), get_site().model) == (99, "https://settings.example", None)


def test_every_site_is_built_over_https(two_sites):
    assert origins() == [(1, "https://sites.example"), (2, "https://two.example:8443")]


def test_outside_of_requests_the_first_site_counts_where_none_is_chosen(two_sites):
    assert get_site().id == 1


def test_sites_without_a_row_are_an_error_that_says_so(one_site, settings):
    del settings.SITE_ID
    Site.objects.all().delete()

    with pytest.raises(NoOrigin, match=r"install django\.contrib\.sites and add a Site"):
        list(get_sites())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.com", "https://example.com"),
        ("HTTPS://Example.COM/", "https://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("https://example.com:8443", "https://example.com:8443"),
        ("http://example.com:443", "http://example.com:443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
    ],
)
def test_an_origin_is_scheme_host_and_port(without_sites, settings, text, expected):
    settings.SITEMAPS_PLUS = {"ORIGIN": text}

    assert str(get_site().origin) == expected


def test_an_international_domain_is_written_in_ascii(one_site, settings, rf):
    pytest.importorskip("idna")
    Site.objects.filter(pk=1).update(domain="faß.example")
    Site.objects.clear_cache()

    assert str(get_site(rf.get("/")).origin) == "http://xn--fa-hia.example"
    assert origins() == [(1, "https://xn--fa-hia.example")]


@pytest.mark.parametrize(
    "text",
    ["example.com", "https://example.com/shop/", "ftp://example.com", "https://", "https://a b.example", 7, None],
)
def test_a_text_that_is_no_origin_is_an_error_that_names_its_setting(without_sites, settings, text):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: text}}

    with pytest.raises(NoOrigin, match=r'SITEMAPS_PLUS\["ORIGIN"\] cannot be used: .* like https://example\.com\.'):
        get_site()


def test_a_domain_that_is_no_host_is_an_error_that_names_its_place(one_site):
    Site.objects.filter(pk=1).update(domain="sites.example/shop")
    Site.objects.clear_cache()

    with pytest.raises(NoOrigin, match=r"Site\.domain cannot be used: .*/shop"):
        get_site()


def test_a_site_has_what_django_asks_of_one(without_sites, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com:8443"}

    assert (get_site().domain, get_site().name) == ("example.com:8443", "example.com:8443")


@pytest.mark.parametrize("host", ["evil.example", "three.example"])
def test_a_host_that_the_mapping_does_not_know_is_no_site(two_sites, settings, rf, host):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://one.example", 2: "https://two.example"}}
    Site.objects.create(pk=3, domain="three.example", name="Three")

    with pytest.raises(UnknownHost, match="There is no site for"):
        get_site(rf.get("/", headers={"host": host}))


def test_the_host_chooses_while_the_database_is_down(two_sites, settings, monkeypatch, rf):
    def fail(*_args, **_kwargs):
        raise OperationalError("no route to host")

    monkeypatch.setattr("django.contrib.sites.models.SiteManager.get_queryset", fail)
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://sites.example", 2: "https://two.example"}}

    site = get_site(rf.get("/", headers={"host": "two.example"}))

    assert (site.id, str(site.origin), site.model) == (2, "https://two.example", None)


def test_the_settings_are_enough_while_the_database_is_down(one_site, settings, monkeypatch, rf):
    def fail(*_args):
        raise OperationalError("no route to host")

    monkeypatch.setattr("django.contrib.sites.models.SiteManager.get_current", fail)
    with pytest.raises(OperationalError):
        get_site(rf.get("/"))
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}

    site = get_site(rf.get("/"))

    assert (site.id, str(site.origin)) == (1, "https://example.com")
