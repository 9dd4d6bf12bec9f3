from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sitemaps_plus", "0004_build"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="sitemappage",
            options={
                "ordering": ("site", "label", "rank", "number"),
                "permissions": (("build_sitemappage", "Can build sitemaps"),),
                "verbose_name": "sitemap page",
                "verbose_name_plural": "status",
            },
        ),
        migrations.AddField(
            model_name="build",
            name="bytes",
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name="uncompressed bytes"),
        ),
        migrations.AddField(
            model_name="build",
            name="errors",
            field=models.JSONField(
                blank=True, default=list, help_text="What failed beside the sections.", verbose_name="errors"
            ),
        ),
        migrations.AddField(
            model_name="build",
            name="labels",
            field=models.JSONField(
                blank=True, default=list, help_text="Empty for all.", verbose_name="sections asked for"
            ),
        ),
        migrations.AddField(
            model_name="build",
            name="left_out",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="rows left out"),
        ),
        migrations.AddField(
            model_name="build",
            name="pages",
            field=models.PositiveIntegerField(
                blank=True, help_text="Pages that are listed.", null=True, verbose_name="pages"
            ),
        ),
        migrations.AddField(
            model_name="build",
            name="progress",
            field=models.CharField(blank=True, default="", max_length=255, verbose_name="progress"),
        ),
        migrations.AddField(
            model_name="build",
            name="rendered",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="pages rendered"),
        ),
        migrations.AddField(
            model_name="build",
            name="sections",
            field=models.JSONField(blank=True, default=list, help_text="What became of each.", verbose_name="sections"),
        ),
        migrations.AddField(
            model_name="build",
            name="skipped",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="pages as they were"),
        ),
        migrations.AddField(
            model_name="build",
            name="started_by",
            field=models.CharField(blank=True, default="", max_length=255, verbose_name="started by"),
        ),
        migrations.AddField(
            model_name="build",
            name="urls",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="URLs"),
        ),
        migrations.AddField(
            model_name="build",
            name="written",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="pages written"),
        ),
        migrations.AddField(
            model_name="sitemappage",
            name="dropped",
            field=models.PositiveIntegerField(
                default=0, help_text="Parts that are missing from rows in the built file.", verbose_name="parts dropped"
            ),
        ),
        migrations.AddField(
            model_name="sitemappage",
            name="left_out",
            field=models.PositiveIntegerField(
                default=0, help_text="Rows that the built file does not show.", verbose_name="rows left out"
            ),
        ),
        migrations.AddField(
            model_name="sitemappage",
            name="problems",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="The first of both: key, hook, code and reason.",
                verbose_name="problems",
            ),
        ),
    ]
