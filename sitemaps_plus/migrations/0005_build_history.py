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
                blank=True, default=list, help_text="Errors that are not about one section.", verbose_name="errors"
            ),
        ),
        migrations.AddField(
            model_name="build",
            name="labels",
            field=models.JSONField(
                blank=True, default=list, help_text="Empty means all.", verbose_name="requested sections"
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
                blank=True, help_text="Pages that the indexes list.", null=True, verbose_name="pages"
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
            field=models.JSONField(
                blank=True, default=list, help_text="The result of each section.", verbose_name="sections"
            ),
        ),
        migrations.AddField(
            model_name="build",
            name="skipped",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="unchanged pages"),
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
                default=0,
                help_text="Optional parts of rows that are missing in the built file.",
                verbose_name="parts dropped",
            ),
        ),
        migrations.AddField(
            model_name="sitemappage",
            name="left_out",
            field=models.PositiveIntegerField(
                default=0, help_text="Rows that are missing in the built file.", verbose_name="rows left out"
            ),
        ),
        migrations.AddField(
            model_name="sitemappage",
            name="problems",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="The first rows left out and parts dropped: key, hook, code and reason.",
                verbose_name="problems",
            ),
        ),
    ]
