from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sitemaps_plus", "0002_page_built_digest")]

    operations = [
        migrations.AddField(
            model_name="sitemappage",
            name="built_at",
            field=models.DateTimeField(
                blank=True, help_text="When a build last rendered the page.", null=True, verbose_name="built at"
            ),
        ),
    ]
