"""What a benchmark has measured, for tests/bench/all: a line of JSON for each result."""

import json


def add_option(parser):
    parser.add_argument("--results", metavar="FILE", help="adds what was measured to a file outside /tmp, as lines of JSON")


def record(options, **result):
    if options.results:
        with open(options.results, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
