"""Repository rule: a few named headers and archives of installed Debian packages, as a Bazel repository.

Only what is named is linked in, so the inputs of an action stay few, and a missing package is one clear error with
the line that installs it.
"""

_INCLUDE_ROOTS = ["/usr/include"]
_LIBRARY_ROOTS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]

def _find(repository_ctx, roots, name):
    for root in roots:
        path = repository_ctx.path(root + "/" + name)
        if path.exists:
            return path
    return None

def _debian_library_impl(repository_ctx):
    missing = []
    for name in repository_ctx.attr.include_entries:
        found = _find(repository_ctx, _INCLUDE_ROOTS, name)
        if found:
            repository_ctx.symlink(found, "include/" + name)
        else:
            missing.append(name)
    libraries = []
    for name in repository_ctx.attr.libraries + repository_ctx.attr.optional_libraries:
        found = _find(repository_ctx, _LIBRARY_ROOTS, name)
        if found:
            repository_ctx.symlink(found, "lib/" + name)
            libraries.append(name)
        elif name not in repository_ctx.attr.optional_libraries:
            missing.append(name)
    if missing:
        fail("\n@{} needs the Debian package(s) {} (not found: {}).\nInstall: apt-get install -y {}\nor run tools/setup, which installs everything the project needs.".format(
            repository_ctx.name,
            " ".join(repository_ctx.attr.packages),
            ", ".join(missing),
            " ".join(repository_ctx.attr.packages),
        ))
    srcs = []
    if repository_ctx.attr.source:
        repository_ctx.symlink(repository_ctx.attr.source, "source.cc")
        srcs.append("source.cc")
    lines = [
        "load(\"@rules_cc//cc:defs.bzl\", \"cc_import\", \"cc_library\")",
        "package(default_visibility = [\"//visibility:public\"])",
    ]
    deps = []
    for name in libraries:
        target = "import_" + name.replace(".", "_")
        kind = "static_library" if name.endswith(".a") else "shared_library"
        lines.append("cc_import(name = \"{}\", {} = \"lib/{}\")".format(target, kind, name))
        deps.append(":" + target)
    lines.append("""cc_library(
    name = "{short}",
    srcs = {srcs},
    hdrs = glob(["include/**"]),
    defines = {defines},
    includes = ["include"],
    linkopts = {linkopts},
    deps = {deps},
)""".format(short = repository_ctx.attr.target, srcs = repr(srcs), defines = repr(repository_ctx.attr.defines), linkopts = repr(repository_ctx.attr.linkopts), deps = repr(deps)))
    repository_ctx.file("BUILD", "\n".join(lines) + "\n")

debian_library = repository_rule(
    implementation = _debian_library_impl,
    doc = "One cc_library named `target` over headers and archives of Debian packages.",
    local = True,
    attrs = {
        "defines": attr.string_list(),
        "include_entries": attr.string_list(doc = "Files or folders below /usr/include."),
        "libraries": attr.string_list(doc = "Archives or shared objects below the system library folders."),
        "linkopts": attr.string_list(),
        "optional_libraries": attr.string_list(doc = "The same, behind these and where they are installed."),
        "packages": attr.string_list(mandatory = True, doc = "What to install when something is missing."),
        "source": attr.label(allow_single_file = True, doc = "A file of this project that is compiled into the library."),
        "target": attr.string(mandatory = True),
    },
)
