"""The lines that the ranks number, so that a missing one shows."""

LINE = 100  # bytes of each, the line feed included
HEAD = b"r%02d %08d "


def numbered(rank, start, count):
    return b"".join((HEAD % (rank, number)).ljust(LINE - 1, b"x") + b"\n"
                    for number in range(start, start + count))
