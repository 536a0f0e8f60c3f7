"""Checks that the numbered lines of all ranks arrived once, whole and in order."""

from fault_rows.contestants import RANKS
from fault_rows.rank_lines import HEAD, LINE


def check_lines(result, contestant, lines, count):
    """Adds errors in the lines of stdout to the result."""
    following = [0] * RANKS  # the next number of each rank
    torn = doubled = lost = 0
    for line in lines:
        text = contestant.rank_line(line)
        if text.startswith(b"ready "):
            continue
        try:
            rank, number = int(text[1:3]), int(text[4:12])
        except ValueError:
            torn += 1
            continue
        if len(text) != LINE or rank >= RANKS or text.rstrip(b"x\n") != HEAD % (rank, number):
            torn += 1
            continue
        if number < following[rank]:
            doubled += 1
            continue
        lost += number - following[rank]
        following[rank] = number + 1
    lost += sum(count - number for number in following)
    for name, number in (("lost", lost), ("torn", torn), ("doubled or late", doubled)):
        result.expect(number == 0, f"{number} lines {name}")
