"""The ranks' numbered lines, so that a missing one is detected."""

LINE = 100  # bytes of each, including the line feed
HEAD = b"r%02d %08d "


def numbered(rank, start, count):
    return b"".join((HEAD % (rank, number)).ljust(LINE - 1, b"x") + b"\n"
                    for number in range(start, start + count))
