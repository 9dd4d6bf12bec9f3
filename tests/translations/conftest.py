"""Each directory is a project with settings of its own: only the one whose settings are in force is collected.

[testenv:translations] in tox.ini has the commands.
"""

import os

PROJECTS = ("shop", "magazine", "website")

collect_ignore = [name for name in PROJECTS if os.environ.get("DJANGO_SETTINGS_MODULE") != f"{name}.settings"]
