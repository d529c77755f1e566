"""Repository rule: the project's Python environment, .venv/ of tools/setup, as @local_python.

    sh_test(..., data = ["@local_python//:python"], args = ["$(rootpath @local_python//:python)"])

`:python` is an executable script that runs the environment's interpreter by its absolute path. The packages are no
declared inputs (numpy alone is a thousand files); the script carries the list of their pinned versions instead, so
that another version runs the tests again. Without the environment `:python` is incompatible, so that `//...` skips the
tests that use it.
"""

_BUILD_MISSING_SETTING = """
constraint_setting(name = "packages")

# The name is what Bazel prints as the reason when a test is asked for by name.
constraint_value(
    name = "packages_not_found__run_tools_setup",
    constraint_setting = ":packages",
)
"""

_BUILD = """
# Copied by a genrule because a filegroup of Bazel 4.2.3 cannot be incompatible.
genrule(
    name = "python",
    srcs = ["launcher.sh"],
    outs = ["python.sh"],
    cmd = "cp $< $@",
    executable = True,
    target_compatible_with = {needs},
    visibility = ["//visibility:public"],
)
"""

def _python_configure_impl(repository_ctx):
    workspace = repository_ctx.path(Label("@//:WORKSPACE")).dirname
    interpreter = workspace.get_child(".venv").get_child("bin").get_child("python3")
    # tools/setup copies the requirements here once all of them are installed.
    installed = workspace.get_child(".venv").get_child("requirements.installed")
    have_packages = interpreter.exists and installed.exists

    script = "#!/bin/sh\n"
    if have_packages:
        script += "".join(["# " + line + "\n" for line in repository_ctx.read(installed).split("\n") if line])
        script += "exec \"{}\" \"$@\"\n".format(interpreter)
    repository_ctx.file("launcher.sh", script)
    if have_packages:
        repository_ctx.file("BUILD", _BUILD.format(needs = []))
    else:
        needs = [":packages_not_found__run_tools_setup"]
        repository_ctx.file("BUILD", _BUILD_MISSING_SETTING + _BUILD.format(needs = needs))

python_configure = repository_rule(
    implementation = _python_configure_impl,
    doc = "See the top of this file.",
    configure = True,
    local = True,
)
