"""A small project with tests of its own, written with Django's documentation alone; ``manage.py test`` runs them."""
