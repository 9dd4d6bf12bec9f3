from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sitemaps_plus", "0003_page_built_at")]

    operations = [
        migrations.CreateModel(
            name="Build",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "site",
                    models.PositiveIntegerField(
                        default=0, help_text="ID of the site; 0 if there are no sites.", verbose_name="site"
                    ),
                ),
                (
                    "lease",
                    models.CharField(
                        blank=True, editable=False, max_length=50, null=True, unique=True, verbose_name="lease"
                    ),
                ),
                (
                    "holder",
                    models.CharField(
                        help_text="Host and process that run the build.", max_length=255, verbose_name="holder"
                    ),
                ),
                ("started_at", models.DateTimeField(verbose_name="started at")),
                (
                    "expires_at",
                    models.DateTimeField(
                        help_text="When another build may take over unless this one renews its lease.",
                        verbose_name="expires at",
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended at")),
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("stopped", "stopped"),
                            ("lost", "lost"),
                        ],
                        default="running",
                        max_length=10,
                        verbose_name="result",
                    ),
                ),
            ],
            options={"verbose_name": "build", "verbose_name_plural": "builds", "ordering": ("-id",)},
        ),
    ]
