"""A row of the table."""

from collections.abc import Callable
from dataclasses import dataclass, field

PEER_LIMIT_S = 20
AUTODIST_LIMIT_S = 45
ALL = ("autodist", "mpirun", "torchrun", "srun")


@dataclass
class Target:
    """The target for autodist: at most these seconds, this exit code, nothing left."""
    gone: float | None = None
    returned: float | None = None
    empty: float | None = None
    code: int | None = None
    seen: dict = field(default_factory=dict)  # limits of other numbers

    def text(self):
        parts = [f"{name} ≤ {limit:g} s" for name, limit in
                 (("ranks gone", self.gone), ("returned", self.returned), ("nothing left", self.empty))
                 if limit is not None]
        parts += [f"{name} ≤ {limit:g}" for name, limit in self.seen.items()]
        return ", ".join(parts + ([f"code {self.code}"] if self.code is not None else []))

    def missed(self, result):
        """Returns the parts of the target that this result misses."""
        parts = [name for name in ("gone", "returned", "empty")
                 if getattr(self, name) is not None
                 and (getattr(result, name) is None or getattr(result, name) > getattr(self, name))]
        parts += [name for name, limit in self.seen.items() if result.seen.get(name, 1e9) > limit]
        if self.code is not None and result.code != self.code:
            parts.append("code")
        return parts + (["left"] if result.left else []) + (["wrong"] if result.wrong else [])


@dataclass
class Row:
    name: str
    measure: Callable  # (contestant, folder, limit) -> Result
    target: Target
    tools: tuple = ALL
    peer_limit: float = PEER_LIMIT_S
    note: str = ""  # the options of autodist

    def limit(self, contestant):
        return AUTODIST_LIMIT_S if contestant.name == "autodist" else self.peer_limit
