"""Folders that may not be written, foreign locales, foreign time zones, clocks that jump."""
import os
import pathlib
import re
import shutil
import subprocess

import golden_scenarios
import history_scenarios
from work import NOBODY, Skip, snapshot


def read_only(work):
    """As a user without rights, who may read everything and write nothing."""
    if os.geteuid() != 0:
        raise Skip("only root can become a user without rights")
    try:
        subprocess.run(["true"], user=NOBODY, check=True)
    except OSError as error:  # a sandbox maps one user alone
        raise Skip(f"no other user to become: {error.strerror}") from error
    golden, _, spoilt = golden_scenarios.setup(work, work.folder)
    database, out, _, old, _ = history_scenarios.dashboards(work)
    held = history_scenarios.records(database)
    reports = history_scenarios.reports(work, 50, 2)
    for path in [work.folder, *work.folder.rglob("*")]:
        if path != work.program:
            path.chmod(0o555 if path.is_dir() else 0o444)
    refusals = [(golden, golden_scenarios.regenerate(golden)),
                (database, history_scenarios.take_in(database, reports)),
                (work.folder, history_scenarios.take_in(work.folder / "new.db", reports)),
                (out, ["dashboard", "--db", database, "--out", out]),
                (work.folder / "new", ["dashboard", "--db", database, "--out", work.folder / "new"])]
    for mention, command in refusals:
        work.done += 1
        work.refuse(mention, *command, user=NOBODY)
    # What only reads works.
    readers = [["history", "check", "--db", database], ["history", "list", "--db", database],
               ["golden", "list", "--golden", golden]]
    for command in readers:
        work.done += 1
        work.expect(*command, user=NOBODY)
    for path in [work.folder, *work.folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path == work.program else 0o644)
    work.check(snapshot(golden) == spoilt and snapshot(out) == old, "a read-only folder changed")
    work.check(history_scenarios.records(database) == held, "a read-only history changed")
    return {"writers refused": len(refusals), "readers": len(readers)}


def everything(work, name, environment):
    """What the program prints and writes of the same inputs, in one environment: text by name."""
    database, out, golden = (work.folder / f"{name}.{part}" for part in ("db", "out", "golden"))
    reports = history_scenarios.reports(work, 0, 4)
    config = work.root / "golden" / "configs"
    case = "op/rms_norm/rows=16,h=4096/bf16"
    commands = {
        "sizes": ["sizes", config / "qwen3_8b.json", "--max-batch-tokens", 2048, "--max-seq-len", 8192,
                  "--kv-block-size", 16, "--max-batch-size", 8],
        "scratch": ["scratch", config / "drafter_specforge_qwen3_8b_dflash.json", "--version", 2, "--ctx-window", 4096,
                    "--max-batch", 8],
        "config": ["config", config / "gpt_oss_20b.json"],
        "verify": ["verify", case, "--format", "json"],
        "import": history_scenarios.take_in(database, reports),
        "list": ["history", "list", "--db", database],
        "dashboard": ["dashboard", "--db", database, "--out", out],
        "compare": ["perf", "compare", "--base", *reports[:2], "--new", *reports[2:]],
    }
    shutil.copytree(work.root / "golden", golden, symlinks=False)
    commands["regen"] = golden_scenarios.regenerate(golden)
    commands["golden"] = ["golden", "check", "--golden", golden, "--only", "operations/r*"]
    results = {}
    for what, command in commands.items():
        work.done += 1
        result = work.run(*command, environment=environment)
        work.check(result.returncode in (0, 3), f"{what}: exit code {result.returncode}: {result.stderr[-300:]}")
        # Paths differ, as each environment has files of its own.
        results[what] = (result.returncode, (result.stdout + result.stderr).replace(str(work.folder / name), ""))
    for file, data in {**snapshot(out), **history_scenarios.records(database)}.items():
        results[file] = data.replace(str(work.folder / name).encode(), b"")
    results["manifest"] = (golden / "manifest.json").read_bytes()
    return results


def compare(work, environments):
    usual = everything(work, "usual", {"LC_ALL": "C", "TZ": "UTC"})
    for number, environment in enumerate(environments):
        found = everything(work, f"other{number}", environment)
        for what in sorted(set(usual) | set(found)):
            work.check(usual.get(what) == found.get(what), f"{what}: another output with {environment}")
    return {"environments": len(environments), "outputs compared in each": len(usual)}


def locale(work):
    """With a decimal comma, and letters that are no ASCII. (A program that embeds us may set the locale of the
    process: tools/commands/foreign_locale_test.cc.)"""
    made = work.folder / "locales"
    made.mkdir()
    names = ["de_DE", "tr_TR"]
    for name in names:
        result = subprocess.run(["localedef", "-i", name, "-f", "UTF-8", str(made / f"{name}.UTF-8")],
                                capture_output=True, text=True) if shutil.which("localedef") else None
        if result is None or not (made / f"{name}.UTF-8").is_dir():
            raise Skip("no locale can be made: localedef and Debian's package `locales` are needed")
    return compare(work, [{"LOCPATH": str(made), "LC_ALL": f"{name}.UTF-8", "TZ": "UTC"} for name in names])


def time_zone(work):
    zones = ["Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "XYZ+11:59:30", ":/nowhere"]
    return compare(work, [{"LC_ALL": "C", "TZ": zone} for zone in zones])


HERE = pathlib.Path(__file__).resolve().parent
DAY = 86400
NOW = 1796000000  # 2026-11-30; what the reports say


def clock(work):
    """The clock is wrong, and jumps between any two times that a process looks at it. Results do not depend on it, and a
    history that was written before and behind a jump is whole."""
    shim = work.folder / "jumping_clock.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Skip("no C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, HERE / "jumping_clock.c", "-ldl"], check=True)
    clocks = {
        "before 1970": [-40 * 365 * DAY],
        "behind 2038": [2**31 + DAY],
        "a day back and forth": [NOW, NOW - DAY, NOW + DAY],
        "years back and forth": [0, NOW + 5000 * DAY, NOW - 300 * DAY],
    }

    def with_clock(seconds):
        return {"LD_PRELOAD": str(shim), "JUMPING_CLOCK": ",".join(map(str, seconds)), "LC_ALL": "C", "TZ": "UTC"}

    def results(name, seconds):
        """Without what says the day and is meant to: the page's, and the warning of reports from the future."""
        found = everything(work, name, with_clock(seconds))
        found["index.html"] = re.sub(rb"Made \d{4}-\d\d-\d\d", b"", found["index.html"])
        code, text = found["import"]
        found["import"] = (code, re.sub(r".* lies in the future: a clock may be wrong\n", "", text))
        return found

    usual = results("usual", [NOW])
    for number, (name, seconds) in enumerate(clocks.items()):
        found = results(f"other{number}", seconds)
        for what in sorted(set(usual) | set(found)):
            work.check(usual.get(what) == found.get(what), f"{what}: another output with a clock {name}")
    # One history, each import under another clock.
    database, reports = work.folder / "h.db", history_scenarios.reports(work, 100, 2 * len(clocks))
    held = {}
    for number, seconds in enumerate([*clocks.values()] * 2):
        work.done += 1
        work.expect(*history_scenarios.take_in(database, reports[number:number + 1]), environment=with_clock(seconds))
        held = history_scenarios.intact(work, database, held)
    work.check(len(held) == len(reports), f"{len(held)} of {len(reports)} records")
    return {"clocks": len(clocks), "outputs compared in each": len(usual), "records behind jumps": len(held)}
