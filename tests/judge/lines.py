"""Record of the lines that each check runs, made once for each state of the sources.

Only the checks that run a changed line can notice its mutant, so only these run. Code that runs at import or
at the start of a lab may affect all checks: then all run, those that run the line themselves first. Model checks
are slow, but find more than others: they run after the quick ones.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from labkit.conformance import areas
from labkit.conformance.check import Check
from labkit.conformance.fork_server import Ended, ForkServer
from labkit.core.errors import LabkitError
from labkit.settings.notebooks import notebooks_folder
from tests.judge.mutations import FOLDERS, Mutation, home
from tests.judge.play import IMPORT, START

QUICK_SECONDS = 5.0  # seconds that the checks before models take without a mutant
MIN_LIMIT = 30.0  # minimum of seconds of real time for a check, since the machine may be busy
LIMIT_FACTOR = 20  # multiple of a check's time without a mutant, after which it counts as a hang
Progress = Callable[[str], object]
BEFORE = {IMPORT, START}
Ran = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class Lines:
    """Result of a recorded run of the checks.

    seconds: of real time per check; models: names of model checks; ran: by module and line the names of
    checks, IMPORT and START.
    """

    seconds: dict[str, float]
    models: list[str]
    ran: Ran

    def restricted_to(self, checks: AbstractSet[str]) -> Lines:
        """Return the record of these checks alone, with IMPORT and START."""
        wanted = checks | BEFORE
        seconds = {name: each for name, each in self.seconds.items() if name in checks}
        ran = {
            module: {line: [each for each in names if each in wanted] for line, names in lines.items()}
            for module, lines in self.ran.items()
        }
        return Lines(seconds, [each for each in self.models if each in checks], ran)

    def checks_running(self, mutation: Mutation) -> set[str]:
        """Return the names of all checks that run a changed line, and IMPORT and START if they do."""
        lines = self.ran.get(mutation.module, {})
        return {name for line in mutation.lines for name in lines.get(str(line), [])}

    def is_later(self, mutation: Mutation, than: str) -> bool:
        """Return whether a mutation is in a function that does not run yet at IMPORT, or at START."""
        lines = self.ran.get(mutation.module, {})
        function = mutation.function
        return function is not None and not any(than in lines.get(str(line), []) for line in function.body)

    def checks_for(self, mutation: Mutation) -> list[tuple[str, float]]:
        """Return the checks that may notice, in order, each with its time limit in seconds of real time."""
        running = self.checks_running(mutation)
        own = self._ordered(running - BEFORE, mutation.module)
        rest = self._ordered(self.seconds.keys() - running, mutation.module) if BEFORE & running else []
        models = [each for each in own if each in self.models]
        others = [each for each in [*own, *rest] if each not in self.models]
        ends = accumulate(self.seconds[each] for each in others)
        soon = sum(end <= QUICK_SECONDS for end in ends)
        chosen = [*others[:soon], *models, *others[soon:]]
        return [(each, max(MIN_LIMIT, LIMIT_FACTOR * self.seconds[each])) for each in chosen]

    def _ordered(self, names: AbstractSet[str], module: str) -> list[str]:
        """Return names of checks, first the ones mostly about this module, then the quick ones."""
        mine = self._per_module.get(module, Counter())
        return sorted(
            names & self.seconds.keys(),
            key=lambda name: (-mine[name] / max(1, self._all[name]), self.seconds[name], name),
        )

    @cached_property
    def _per_module(self) -> dict[str, Counter[str]]:
        return {
            module: Counter(name for names in lines.values() for name in names)
            for module, lines in self.ran.items()
        }

    @cached_property
    def _all(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for each in self._per_module.values():
            total.update(each)
        return total


def recorded(
    checks: Sequence[Check],
    server: ForkServer,
    keep: Path | None = None,
    progress: Progress = lambda name: None,
) -> Lines:
    """Run the checks without a mutant: once plainly, which is the baseline, and once to record the lines that they run.

    keep: a file that stores the record; it is reused while the judged sources are unchanged, and per check while the
    check's file is. Raises LabkitError if the baseline does not pass.
    """
    digest, files = _digest(), _files(checks)
    kept, old = Lines({}, [], {}), dict[str, str]()
    if keep is not None and keep.is_file():
        data = json.loads(keep.read_text(encoding="utf-8"))
        if data["digest"] == digest:
            kept, old = Lines(**data["lines"]), data["files"]
    anew = [each.name for each in checks if files[each.name] != old.get(each.name)]
    if not anew:
        return kept.restricted_to({each.name for each in checks})
    seconds = kept.seconds | dict(_baseline(anew, server, progress))
    models = [each.name for each in checks if each.model is not None]
    lines = Lines(
        seconds, models, _merged(kept.restricted_to(files.keys() - {*anew}).ran, _ran(anew, server, progress))
    )
    if keep is not None:
        keep.parent.mkdir(parents=True, exist_ok=True)
        data = {"digest": digest, "files": files, "lines": asdict(lines)}
        keep.write_text(json.dumps(data), encoding="utf-8")
    return lines.restricted_to({each.name for each in checks})


def _merged(one: Ran, other: Ran) -> Ran:
    """Return both records merged, by module and line."""
    return {
        module: {
            line: sorted({*one.get(module, {}).get(line, []), *other.get(module, {}).get(line, [])})
            for line in one.get(module, {}).keys() | other.get(module, {}).keys()
        }
        for module in one.keys() | other.keys()
    }


def _baseline(names: Sequence[str], server: ForkServer, progress: Progress) -> Iterator[tuple[str, float]]:
    given = {
        "module": None,
        "source": None,
        "later": False,
        "last": [],
        "checks": [(each, 120.0) for each in names],
    }
    wrong = []
    for event in server.run("tests.judge.play:attempt", [given], processes=1):
        if isinstance(event, Ended):
            wrong += [event.error] if event.error else []
        elif "incompetent" in event.message:
            wrong.append(event.message["incompetent"])
        elif "outcome" in event.message:
            verdict = event.message
            progress(verdict["check"])
            if verdict["outcome"] == "passed":
                yield verdict["check"], verdict["seconds"]
            elif verdict["outcome"] != "skipped":
                wrong.append(f"{verdict['check']}: {verdict['outcome']}: {verdict['reason']}")
    if wrong:
        raise LabkitError(f"judge: the checks do not pass on what is not mutated: {'; '.join(wrong)}")


def _ran(names: Sequence[str], server: ForkServer, progress: Progress) -> Ran:
    patterns = [f"{home()}/{folder}/*" for folder in FOLDERS]
    found = {}
    for event in server.run("tests.judge.play:record", [{"files": patterns, "checks": names}], processes=1):
        if isinstance(event, Ended):
            if event.error:
                raise LabkitError(f"judge: the lines that checks run: {event.error}: {event.printed[-500:]}")
        elif "file" in event.message:
            path = Path(event.message["file"]).relative_to(home()).as_posix()
            found[path] = event.message["lines"]
        else:
            progress(event.message["check"])
    return found


def _digest() -> str:
    """Return a digest of all that a run depends on, except the checks themselves."""
    digest = hashlib.sha256()
    for folder in (home(), notebooks_folder() / "solutions"):
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder).parts
            own = parts[0] == "conformance" and parts[-1].startswith(("checks", "mutants"))
            if path.is_file() and "__pycache__" not in parts and path.suffix != ".toml" and not own:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(checks: Sequence[Check]) -> dict[str, str]:
    """Return the digest of its file by the name of each check."""
    found: dict[str, str] = {}
    for module in areas.modules("checks"):
        assert module.__file__ is not None
        digest = hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()
        found |= {each.name: digest for each in vars(module).values() if isinstance(each, Check)}
    return {each.name: found[each.name] for each in checks}
