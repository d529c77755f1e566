"""The history and its dashboard: killed, on a full disk, written by several at once."""
import os
import shutil
import subprocess

from work import benchmark_report, count_temporaries, snapshot, temporaries

REPORTS = 12


def reports(work, first=0, count=REPORTS):
    paths = []
    for number in range(first, first + count):
        path = work.folder / f"report{number}.json"
        path.write_text(benchmark_report(number))
        paths.append(path)
    return paths


def take_in(database, paths):
    return ["history", "import", "--db", database, "--arch", "cpu", *paths]


def records(database):
    """The record files, which are the history; the database can be made of them again."""
    folder = database.with_name(database.name + ".runs")
    return {name: data for name, data in snapshot(folder).items() if name.endswith(".jsonl")} if folder.is_dir() else {}


# A writer that dies between a record's file and its rows leaves this, and the next writer mends it.
UNFINISHED = "not in the database; the next command that opens it for writing takes it in"


def intact(work, database, at_least, finished=True):
    """The history is whole, and holds at least what was there. Not finished: rows of records may yet be missing."""
    if database.exists():
        result = work.run("history", "check", "--db", database)
        faults = [line for line in result.stdout.splitlines() if line.startswith("FAULT ")]
        good = result.returncode == 0 or (not finished and all(fault.endswith(UNFINISHED) for fault in faults))
        work.check(good, f"history check: exit code {result.returncode}: {faults or result.stderr}")
    now = records(database)
    for name, data in at_least.items():
        work.check(now.get(name) == data, f"{name}: a record is lost or changed")
    return now


def kill(work):
    database = work.folder / "h.db"
    paths = reports(work)
    whole = work.folder / "whole.db"
    longest = work.duration(*take_in(whole, paths))
    all_records = records(whole)
    before = work.folder / "before.db"
    work.expect(*take_in(before, paths[:3]))
    killed = partly = 0
    for work.done in range(1, work.rounds + 1):
        fresh_copy(before, database)
        was_killed, printed = work.kill(longest, *take_in(database, paths))
        killed += was_killed
        # What it said is added is there; of the others each is whole or not there.
        now = intact(work, database, records(before), finished=False)
        for line in printed.splitlines():
            if line.startswith("added "):
                work.check(line.split()[1] + ".jsonl" in now, f"said, and lost: {line}")
        for name, data in now.items():
            work.check(all_records.get(name) == data, f"{name}: no whole record")
        partly += 3 < len(now) < REPORTS
        work.expect(*take_in(database, paths))
        work.check(intact(work, database, all_records) == all_records, "a second import did not complete it")
    return {"killed at work": killed, "with some records added": partly}


def fresh_copy(source, database):
    for old in database.parent.glob(database.name + "*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for path in source.parent.glob(source.name + "*"):
        to = database.with_name(path.name.replace(source.name, database.name))
        shutil.copytree(path, to) if path.is_dir() else shutil.copy(path, to)


def limit(work):
    """No file may be longer than a limit: as a disk that is full at that moment."""
    paths = reports(work)
    whole, before, database = (work.folder / f"{name}.db" for name in ("whole", "before", "h"))
    work.expect(*take_in(whole, paths))
    work.expect(*take_in(before, paths[:3]))
    all_records = records(whole)
    largest = whole.stat().st_size + sum(p.stat().st_size for p in whole.parent.glob("whole.db-*")) + 100_000
    refused = 0
    for step in range(work.rounds):
        work.done += 1
        fresh_copy(before, database)
        result = work.run(*take_in(database, paths), file_limit=largest * step // work.rounds)
        if result.returncode != 0:
            refused += 1
            work.check(result.returncode == 2 and result.stderr.strip() != "", f"exit code {result.returncode}, no error")
        intact(work, database, records(before), finished=False)
        work.expect(*take_in(database, paths))
        work.check(intact(work, database, all_records) == all_records, "a second import did not complete it")
    return {"limits refused": refused}


def full_disk(work):
    """Imports go on until a small file system is full, then there is room again."""
    paths = reports(work)
    done = 0
    with work.tmpfs(400) as small:
        database = small / "h.db"
        work.expect(*take_in(database, paths[:2]))
        held = records(database)
        for number in range(100, 400):
            work.done += 1
            result = work.run(*take_in(database, reports(work, number, 1)))
            if result.returncode != 0:
                work.check(result.returncode == 2 and str(database) in result.stderr, f"no clear error: {result.stderr}")
                break
            done += 1
            held = intact(work, database, held)
        work.check(done < 300, "the disk never filled")
        # There is no room for a check's own files either; it comes with room.
        work.check(all(records(database).get(name) == data for name, data in held.items()), "a record is lost")
        subprocess.run(["mount", "-o", "remount,size=4m", str(small)], check=True)
        intact(work, database, held, finished=False)
        work.expect(*take_in(database, paths))
        intact(work, database, held)
    return {"imports before it was full": done}


def two(work):
    paths = reports(work)
    whole = work.folder / "whole.db"
    work.expect(*take_in(whole, paths))
    all_records = records(whole)
    processes = 4
    for work.done in range(1, work.rounds + 1):
        database = work.folder / f"h{work.done}.db"
        # The first of them also race for making the database. Some reports come twice.
        started = [subprocess.Popen(work.command(*take_in(database, paths[i::processes] + paths[:2])),
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for i in range(processes)]
        for process in started:
            printed = process.communicate()[0]
            work.check(process.returncode == 0, f"exit code {process.returncode}: {printed}")
        work.check(intact(work, database, all_records) == all_records, "not every record is there")
        fresh_copy(work.folder / "none.db", database)
    return {"processes at once": processes, "records": len(all_records)}


def dashboards(work):
    """A history, its dashboard, and that of a longer one."""
    first, second = work.folder / "first.db", work.folder / "second.db"
    work.expect(*take_in(first, reports(work, 0, 2)))
    work.expect(*take_in(second, reports(work, 0, REPORTS)))
    out = work.folder / "out"
    longest = work.duration("dashboard", "--db", second, "--out", out)
    new = snapshot(out)
    work.expect("dashboard", "--db", first, "--out", out)
    old = snapshot(out)
    return second, out, longest, old, new


def put_back(out, files):
    for name, data in files.items():
        (out / name).write_bytes(data)


def dashboard_kill(work):
    database, out, longest, old, new = dashboards(work)
    killed = partly = 0
    left = set()
    for work.done in range(1, work.rounds + 1):
        put_back(out, old)
        was_killed, _ = work.kill(longest, "dashboard", "--db", database, "--out", out)
        killed += was_killed
        partly += 0 < work.expect_old_or_new(out, old, new) < len(new)
        left |= temporaries(out)
        work.expect("dashboard", "--db", database, "--out", out)
        work.check(snapshot(out) == new, "a second dashboard is another")
        intact(work, database, {})
    return {"killed at work": killed, "with some files new": partly, "temporaries left": len(left)}


def dashboard_limit(work):
    database, out, _, old, new = dashboards(work)
    largest = max(map(len, new.values()))
    full = 0
    for step in range(work.rounds):
        work.done += 1
        put_back(out, old)
        # SQLite, too, writes a file of its own when it reads.
        work.refuse(work.folder, "dashboard", "--db", database, "--out", out, file_limit=largest * step // work.rounds)
        full += 1
        work.expect_old_or_new(out, old, new)
        work.check(snapshot(out)["index.html"] == old["index.html"], "the page is new, and not all of its exports")
        work.check(count_temporaries(out) == 0, "temporaries left")
    work.check(not os.path.exists(out / "core"), "it crashed")
    return {"limits refused": full}


def dashboard_two(work):
    """Two processes with histories of their own: the page and its exports are all of the same one."""
    database, out, _, old, new = dashboards(work)
    commands = [["dashboard", "--db", each, "--out", out] for each in (work.folder / "first.db", database)]
    seen = {"of the shorter history": 0, "of the longer": 0, "asked to come again": 0}
    for work.done in range(1, work.rounds + 1):
        # Every other time they also race for making the folder.
        shutil.rmtree(out) if work.done % 2 else put_back(out, old)
        started = [(command, subprocess.Popen(work.command(*command), cwd=work.folder, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT, text=True))
                   for command in work.random.sample(commands, 2)]
        ended = [(command, process, process.communicate()[0]) for command, process in started]
        files = snapshot(out)
        of = {name: "old" if data == old[name] else "new" if data == new[name] else "neither"
              for name, data in files.items()}
        if work.check(files in (old, new), f"not all files are of one history: {of}"):
            seen["of the longer" if files == new else "of the shorter history"] += 1
        work.check(count_temporaries(out) == 0, "temporaries left")
        for command, process, printed in ended:
            if process.returncode == 0:
                continue
            seen["asked to come again"] += 1
            work.check(process.returncode == 2 and "another process" in printed, f"no clear error: {printed}")
            work.expect(*command)
            work.check(snapshot(out) == (new if database in command else old), "a second dashboard is another")
    return seen
