"""Regeneration of goldens: killed, on a full disk, twice at once, checked meanwhile."""
import shutil
import subprocess
import time

from work import count_temporaries, snapshot, temporaries

FILES = ["operations/rms_norm.safetensors", "operations/rope.safetensors", "operations/row_gather.safetensors"]
ONLY = "operations/r*"


def copy_golden(work, to):
    """Regeneration reads the whole set, and changes the files that are spoilt."""
    shutil.copytree(work.root / "golden", to, symlinks=False)
    for path in to.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return to


def spoil(golden, right, file):
    """One byte of its data is another; the length stays."""
    damaged = bytearray(right[file])
    damaged[-100] ^= 0x40
    (golden / file).write_bytes(damaged)


def regenerate(golden, only=ONLY, reason="torture"):
    return ["golden", "regen", "--golden", golden, "--only", only, "--reason", reason]


def setup(work, folder):
    golden = copy_golden(work, folder / "golden")
    work.expect(*regenerate(golden))
    right = snapshot(golden)
    for file in FILES:
        spoil(golden, right, file)
    return golden, right, snapshot(golden)


def restore(golden, files):
    for name, data in files.items():
        if (golden / name).read_bytes() != data:
            (golden / name).write_bytes(data)


def repaired(work, golden, right):
    work.expect(*regenerate(golden))
    work.check({f: snapshot(golden)[f] == right[f] for f in FILES} == dict.fromkeys(FILES, True),
               "a second regeneration did not repair the files")
    work.expect("golden", "check", "--golden", golden, "--only", ONLY)


def kill(work):
    golden, right, spoilt = setup(work, work.folder)
    longest = work.duration(*regenerate(golden))
    # Entries of what was written have another reason than before.
    new = snapshot(golden)
    killed = partly = 0
    left = set()
    for work.done in range(1, work.rounds + 1):
        restore(golden, spoilt)
        was_killed, _ = work.kill(longest, *regenerate(golden), writes_to=[golden, golden / "operations"])
        killed += was_killed
        renewed = work.expect_old_or_new(golden, spoilt, new)
        partly += 0 < renewed < len(FILES) + 1
        left |= temporaries(golden)
        repaired(work, golden, right)
    return {"killed at work": killed, "with some files new": partly, "temporaries left": len(left)}


def limit(work):
    """No file may be longer than a limit: as a disk that is full at that moment."""
    golden, right, spoilt = setup(work, work.folder)
    largest = max(len(right[f]) for f in FILES + ["manifest.json"])
    for step in range(work.rounds):
        work.done += 1
        limit = largest * step // work.rounds
        work.refuse(golden, *regenerate(golden), file_limit=limit)
        work.check(snapshot(golden) == spoilt, f"files changed at a limit of {limit} bytes")
        work.check(count_temporaries(golden) == 0, f"temporaries left at a limit of {limit} bytes")
    repaired(work, golden, right)
    return {"limits refused": work.done}


def full_disk(work):
    """On a file system of its own, with from none to a few pages free."""
    right = snapshot(work.root / "golden")
    with work.tmpfs(sum(len(data) // 4096 + 1 for data in right.values()) * 4 + 2000) as small:
        golden, right, spoilt = setup(work, small)
        for work.done in range(1, work.rounds + 1):
            with open(small / "ballast", "wb", buffering=0) as ballast:
                try:
                    while True:
                        ballast.write(b"\0" * 4096)
                except OSError:
                    ballast.truncate(max(0, ballast.tell() - 4096 * (work.done - 1)))
            work.refuse(golden, *regenerate(golden))
            work.check(snapshot(golden) == spoilt, "files changed on a full disk")
            work.check(count_temporaries(golden) == 0, "temporaries left on a full disk")
            (small / "ballast").unlink()
        repaired(work, golden, right)
    return {"full disks refused": work.done}


def two(work):
    """Two processes with different files: nothing of either may be lost."""
    golden, right, _ = setup(work, work.folder)
    refused = 0
    for work.done in range(1, work.rounds + 1):
        for file in FILES:
            spoil(golden, right, file)
        started = [(file, subprocess.Popen(work.command(*regenerate(golden, file, f"by {file} {work.done}")),
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
                   for file in FILES]
        # All have ended before one comes again: it would meet those that still work.
        for file, process, printed in [(file, process, process.communicate()[0]) for file, process in started]:
            if process.returncode == 0:
                continue
            refused += 1
            work.check(process.returncode == 2 and "another process" in printed, f"{file}: {printed}")
            work.expect(*regenerate(golden, file, f"by {file} {work.done}"))
        manifest = (golden / "manifest.json").read_text()
        for file in FILES:
            work.check(f"by {file} {work.done}" in manifest, f"the entry of {file} is lost")
            work.check((golden / file).read_bytes() == right[file], f"{file} is not what it should be")
        work.expect("golden", "check", "--golden", golden, "--only", ONLY)
    return {"processes at once": len(FILES), "asked to come again": refused}


def readers(work):
    """One process regenerates, others check: each of these sees the files as they were or as they are to be."""
    golden, right, spoilt = setup(work, work.folder)
    longest = work.duration(*regenerate(golden))
    seen = {"checks of the old": 0, "of the new": 0, "asked to come again": 0}

    def start(*arguments):
        return subprocess.Popen(work.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def look(checker):
        text = checker.communicate()[0]
        if checker.returncode == 2:
            seen["asked to come again"] += 1
            work.check("another process" in text, f"no clear error: {text}")
            return
        failed = sum(line.startswith("FAIL ") for line in text.splitlines())
        work.check(failed in (0, len(FILES)), f"a check saw some files old and some new: {text}")
        seen["checks of the old" if failed else "of the new"] += 1

    check = ["golden", "check", "--golden", golden, "--only", ONLY]
    for work.done in range(1, work.rounds + 1):
        restore(golden, spoilt)
        begin = time.monotonic()
        # Every other time a check is there first.
        first = start(*check) if work.done % 2 else None
        time.sleep(work.random.uniform(0, 0.5) * longest)
        writer = start(*regenerate(golden))
        if first is not None:
            look(first)
        # Some of the checks begin as the files are written.
        time.sleep(work.random.uniform(0, 1) * longest)
        while time.monotonic() < begin + 2 * longest or writer.poll() is None:
            look(start(*check))
        printed = writer.communicate()[0]
        if writer.returncode != 0:
            seen["asked to come again"] += 1
            work.check(writer.returncode == 2 and "another process" in printed, f"regen: {printed}")
        repaired(work, golden, right)
    return seen
