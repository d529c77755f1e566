"""Repository rule: Google Benchmark, built from the sources that tools/setup puts into .sources/benchmark/.

    deps = ["@google_benchmark//:benchmark_main"]

Debian's binary package is a shared library built with assertions: it warns in every run that its timings may be off,
and programs linked to it do not run on other machines. Without the sources the targets are incompatible, so that
`//...` skips what needs them.
"""

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "benchmark",
    srcs = glob(["src/*.cc", "src/*.h"], exclude = ["src/benchmark_main.cc"]),
    hdrs = glob(["include/benchmark/*.h"]),
    # What the upstream's CMake build defines on Linux. Optimised in every mode: it is the measuring instrument.
    copts = ["-O2", "-DNDEBUG", "-DHAVE_STD_REGEX", "-DHAVE_STEADY_CLOCK"],
    defines = ["BENCHMARK_STATIC_DEFINE"],
    includes = ["include"],
    linkopts = ["-pthread"],
    visibility = ["//visibility:public"],
)

cc_library(
    name = "benchmark_main",
    srcs = ["src/benchmark_main.cc"],
    visibility = ["//visibility:public"],
    deps = [":benchmark"],
)
"""

_BUILD_MISSING = """load("@rules_cc//cc:defs.bzl", "cc_library")

constraint_setting(name = "sources")

# The name is what Bazel prints as the reason when such a target is asked for by name.
constraint_value(
    name = "sources_not_found__run_tools_setup",
    constraint_setting = ":sources",
)

[
    cc_library(
        name = name,
        target_compatible_with = [":sources_not_found__run_tools_setup"],
        visibility = ["//visibility:public"],
    )
    for name in ["benchmark", "benchmark_main"]
]
"""

def _google_benchmark_impl(repository_ctx):
    workspace = repository_ctx.path(Label("@//:WORKSPACE")).dirname
    sources = workspace.get_child(".sources").get_child("benchmark")
    # tools/setup writes VERSION last.
    if not sources.get_child("VERSION").exists:
        repository_ctx.file("BUILD", _BUILD_MISSING)
        return
    repository_ctx.symlink(sources.get_child("src"), "src")
    repository_ctx.symlink(sources.get_child("include"), "include")
    repository_ctx.file("BUILD", _BUILD)

google_benchmark = repository_rule(
    implementation = _google_benchmark_impl,
    doc = "See the top of this file.",
    configure = True,
    local = True,
)
