"""Measures a row: all rounds of each contestant."""

import shutil
from dataclasses import asdict

from results import record

from fault_rows.table import print_cell, print_row, together


def rounds_of(row, contestant, rounds, folder):
    """Returns the results of a cell; none if the measurement failed, and prints the reason."""
    results = []
    for number in range(rounds):
        place = folder / f"{contestant.name}-{number}"
        place.mkdir(parents=True)
        with contestant.ready(place):
            results.append(row.measure(contestant, place, row.limit(contestant)))
        shutil.rmtree(place)
        if results[-1].returned is None or results[-1].left:
            break
    return results


def measure_row(row, contestants, options, folder):
    """Returns False if autodist misses its target."""
    print_row(row.name, row.note)
    met, medians = True, {}
    for contestant in sorted(contestants, key=lambda contestant: contestant.name == "autodist"):
        if contestant.name not in row.tools:
            continue
        try:
            result = together(rounds_of(row, contestant, options.rounds, folder))
        except (RuntimeError, OSError, ValueError) as error:
            print(f"  {contestant.name:32} not measured: {' '.join(str(error).split())[:500]}", flush=True)
            met = met and contestant.name != "autodist"
            continue
        medians[contestant.name] = result
        verdict = []
        if contestant.name == "autodist":
            if "mpirun" in medians and "of_mpirun" in row.target.seen and medians["mpirun"].returned:
                result.seen["of_mpirun"] = result.returned / medians["mpirun"].returned
            elif "mpirun" not in medians:
                row.target.seen.pop("of_mpirun", None)
            missed = row.target.missed(result)
            met = met and not missed
            verdict = [f"MISSED in {', '.join(missed)}" if missed else "met", f"target: {row.target.text()}"]
        record(options, row=row.name, note=row.note, tool=getattr(contestant, "label", contestant.name),
               rounds=options.rounds, ours=contestant.name == "autodist", missed=bool(verdict and "MISSED" in verdict[0]),
               **asdict(result))
        print_cell(contestant.name, result, verdict)
    return met
