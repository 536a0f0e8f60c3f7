"""Records the results of a benchmark for tests/bench/all, as a line of JSON for each."""

import json


def add_option(parser):
    parser.add_argument("--results", metavar="FILE", help="append the results to a file outside /tmp, as lines of JSON")


def record(options, **result):
    if options.results:
        with open(options.results, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
