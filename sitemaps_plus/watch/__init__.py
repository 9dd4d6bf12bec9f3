"""What people and monitors want to know: how things are, what is wrong, where a URL is."""
