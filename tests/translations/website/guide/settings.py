SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}
