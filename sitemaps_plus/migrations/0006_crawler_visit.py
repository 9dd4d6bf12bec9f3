from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sitemaps_plus", "0005_build_history")]

    operations = [
        migrations.CreateModel(
            name="CrawlerVisit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "site",
                    models.PositiveIntegerField(
                        default=0, help_text="ID of the site; 0 if there are no sites.", verbose_name="site"
                    ),
                ),
                (
                    "label",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Empty for the index of the site.",
                        max_length=100,
                        verbose_name="section",
                    ),
                ),
                (
                    "crawler",
                    models.CharField(
                        help_text="Name that the user agent claims.", max_length=30, verbose_name="crawler"
                    ),
                ),
                ("day", models.DateField(help_text="In UTC.", verbose_name="day")),
                (
                    "count_200",
                    models.PositiveIntegerField(
                        default=0, help_text="Responses with status 200.", verbose_name="documents"
                    ),
                ),
                (
                    "count_304",
                    models.PositiveIntegerField(
                        default=0, help_text="Responses with status 304.", verbose_name="not modified"
                    ),
                ),
                ("count_other", models.PositiveIntegerField(default=0, verbose_name="other responses")),
                ("last_at", models.DateTimeField(verbose_name="last visit")),
            ],
            options={
                "verbose_name": "crawler visit",
                "verbose_name_plural": "crawler visits",
                "ordering": ("-day", "site", "label", "crawler"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "label", "crawler", "day"), name="sitemaps_plus_visit_of_a_day"
                    )
                ],
            },
        ),
    ]
