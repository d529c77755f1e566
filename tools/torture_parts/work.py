"""What all scenarios of tools/torture use: the program, folders, faults, and the problems found."""
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import time

NOBODY = 65534
# From the first temporary of a regeneration of three files to its end 5 to 30 ms pass.
WRITING_SECONDS = 0.02


class Skip(Exception):
    """A scenario that this machine does not let happen, and why."""


def snapshot(folder):
    """The bytes of every file below a folder, but temporaries, which a kill may leave."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(pathlib.Path(folder).rglob("*"))
        if path.is_file() and not is_temporary(path.name)
    }


def is_temporary(name):
    """As IsTemporaryName in src/base/file_system.h."""
    return name.startswith(".draftmark-") and name.endswith(".tmp")


def temporaries(folder):
    return {str(path) for path in pathlib.Path(folder).rglob("*") if is_temporary(path.name)}


def count_temporaries(folder):
    return len(temporaries(folder))


class Work:
    """One scenario's run. `check` collects problems; a scenario that returns with none has passed."""

    def __init__(self, program, root, folder, seed, rounds):
        # Where a user without rights can execute it.
        folder.chmod(0o755)
        self.folder = folder
        self.root = root
        self.program = folder / "draftmark"
        shutil.copy(program, self.program)
        self.random = random.Random(seed)
        self.rounds = rounds
        self.done = 0
        self.problems = []

    def check(self, good, problem):
        if not good:
            self.problems.append(f"round {self.done}: {problem}")
        return good

    def command(self, *arguments):
        return [str(self.program), *map(str, arguments)]

    def run(self, *arguments, file_limit=None, user=None, environment=None):
        """The finished process, with its output as text."""

        def before():
            if file_limit is not None:
                # As a disk that is full: an error of write, not a signal.
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)

        return subprocess.run(self.command(*arguments),
                              capture_output=True,
                              text=True,
                              cwd=self.folder,
                              env={**os.environ, **(environment or {})},
                              restore_signals=False,
                              preexec_fn=before,
                              timeout=300)

    def expect(self, *arguments, **how):
        """Runs what must succeed."""
        result = self.run(*arguments, **how)
        self.check(result.returncode == 0, f"{' '.join(map(str, arguments))}: exit code {result.returncode}: "
                   f"{(result.stdout + result.stderr).strip()[-400:]}")
        return result

    def refuse(self, mention, *arguments, **how):
        """Runs what must fail with exit code 2 and an error that names `mention`."""
        result = self.run(*arguments, **how)
        text = result.stdout + result.stderr
        self.check(result.returncode == 2, f"expected exit code 2, found {result.returncode}: {text.strip()[-400:]}")
        self.check(str(mention) in text, f"expected an error that names {mention}, found {text.strip()[-400:]!r}")
        return result

    def duration(self, *arguments):
        start = time.monotonic()
        self.expect(*arguments)
        return time.monotonic() - start

    def kill(self, longest, *arguments, writes_to=()):
        """Starts it and kills it at a random moment before `longest` seconds; every other time, with `writes_to`, a
        moment after the first temporary lies in one of these folders. True if it was still running; and what it had
        printed."""
        left = self.temporaries_in(writes_to)
        process = subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   cwd=self.folder)
        if writes_to and self.random.random() < 0.5:
            # Computing takes seconds and writing milliseconds, which no moment of all would meet.
            while process.poll() is None and self.temporaries_in(writes_to) <= left:
                pass
            time.sleep(self.random.uniform(0, WRITING_SECONDS))
        else:
            # Half of the moments lie in the last third, where files are written.
            share = self.random.random() if self.random.random() < 0.5 else self.random.uniform(0.6, 1.1)
            time.sleep(share * longest)
        process.kill()
        printed = process.communicate()[0].decode()
        return process.returncode == -signal.SIGKILL, printed

    @staticmethod
    def temporaries_in(folders):
        return {(str(folder), name) for folder in folders for name in os.listdir(folder) if is_temporary(name)}

    def expect_old_or_new(self, folder, old, new):
        """Every file is as it was or as it was to become. Returns how many are new."""
        renewed = 0
        now = snapshot(folder)
        for name in sorted(set(old) | set(new) | set(now)):
            found = now.get(name)
            if not self.check(found in (old.get(name), new.get(name)),
                              f"{name}: neither old nor new, {'gone' if found is None else f'{len(found)} bytes'}"):
                continue
            renewed += found != old.get(name)
        return renewed

    def tmpfs(self, kibibytes):
        """A small file system of its own, as a context. Skips where none can be mounted."""
        return SmallDisk(self.folder / "small", kibibytes)


class SmallDisk:

    def __init__(self, path, kibibytes):
        self.path = path
        self.kibibytes = kibibytes

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        try:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.kibibytes}k", "tmpfs", str(self.path)],
                                     capture_output=True, text=True)
        except FileNotFoundError as error:  # Debian's package mount is optional in a container
            raise Skip(f"no tmpfs can be mounted here: {error}") from error
        if mounted.returncode != 0:
            # The lines behind the first only say where more might be known.
            reason = mounted.stderr.strip().partition("\n")[0]
            raise Skip(f"no tmpfs can be mounted here: {reason}")
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", str(self.path)], check=True)


def benchmark_report(number, cases=20):
    """A report of Google Benchmark, each different from all others."""
    return json.dumps({
        "context": {"date": "2026-11-30T02:24:17+00:00", "gpu": "cpu", "commit": "b8a6378"},
        "benchmarks": [{
            "name": f"op/case_{i}/rows=1/bf16", "run_type": "iteration", "real_time": 1.5 + number / 1000 + i,
            "time_unit": "us"
        } for i in range(cases)]
    })
