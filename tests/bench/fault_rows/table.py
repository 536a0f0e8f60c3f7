"""Combines and prints the rounds of one row and contestant."""

import statistics

from fault_rows.measure import Result


def together(rounds):
    """Returns medians of the times, and the worst of everything else."""
    def median(name):
        values = [getattr(result, name) for result in rounds]
        return None if None in values else statistics.median(values)
    codes = sorted({result.code for result in rounds}, key=str)
    names = set.union(*(set(result.seen) for result in rounds))
    return Result(
        gone=median("gone"), returned=median("returned"), empty=median("empty"),
        code=codes[0] if len(codes) == 1 else "/".join(map(str, codes)),
        left=max(result.left for result in rounds), limit=rounds[0].limit,
        seen={name: statistics.median(values) for name in sorted(names)
              if len(values := [result.seen[name] for result in rounds if name in result.seen]) == len(rounds)},
        wrong=list(dict.fromkeys(wrong for result in rounds for wrong in result.wrong)))


def seconds(value, limit):
    return f"> {limit:.0f} s" if value is None else f"{value:.2f} s"


def print_head(rounds):
    print(f"Seconds from the fault, medians of {rounds} rounds; \"left\": processes on any host at the end.\n")
    print(f"{'':34} {'ranks gone':>11} {'returned':>10} {'code':>5} {'left':>5}")


def print_row(name, note):
    print(f"\n{name}{f'  (autodist: {note})' if note else ''}", flush=True)


def print_cell(tool, result, verdict):
    seen = [f"{name} {value:.2f}" for name, value in result.seen.items()]
    code = "-" if result.code is None else result.code
    print(f"  {tool:32} {seconds(result.gone, result.limit):>11} "
          f"{seconds(result.returned, result.limit):>10} {code:>5} {result.left:5}"
          f"  {'; '.join(seen + result.wrong + verdict)}", flush=True)
