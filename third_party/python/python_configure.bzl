"""Repository rule: the project's Python environment, .venv/ of tools/setup, as @local_python.

    load("@local_python//:defs.bzl", "HAVE_PACKAGES")   # False: not installed; leave such a test out
    sh_test(..., data = ["@local_python//:python"], args = ["$(rootpath @local_python//:python)"])

`:python` is an executable script that runs the environment's interpreter by its absolute path. The packages are no
declared inputs (numpy alone is a thousand files); the script carries the list of their pinned versions instead, so
that another version runs the tests again. Without the environment the script says what is missing and fails.
"""

def _python_configure_impl(repository_ctx):
    workspace = repository_ctx.path(Label("@//:WORKSPACE")).dirname
    interpreter = workspace.get_child(".venv").get_child("bin").get_child("python3")
    # tools/setup copies the requirements here once all of them are installed.
    installed = workspace.get_child(".venv").get_child("requirements.installed")
    have_packages = interpreter.exists and installed.exists

    lines = ["#!/bin/sh"]
    if have_packages:
        lines += ["# " + line for line in repository_ctx.read(installed).split("\n") if line]
        lines.append("exec \"{}\" \"$@\"".format(interpreter))
    else:
        lines.append("echo 'The Python packages of the tests are not installed. Run tools/setup.' >&2")
        lines.append("exit 1")
    repository_ctx.file("python", "\n".join(lines) + "\n", executable = True)
    repository_ctx.file("defs.bzl", "HAVE_PACKAGES = {}\n".format(have_packages))
    repository_ctx.file("BUILD", "exports_files([\"python\"], visibility = [\"//visibility:public\"])\n")

python_configure = repository_rule(
    implementation = _python_configure_impl,
    doc = "See the top of this file.",
    configure = True,
    local = True,
)
