"""Compiler flags of the project's own targets: warnings are errors."""

DRAFTMARK_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wimplicit-fallthrough",
    # gcc 12 sees uninitialised values in moves out of std::optional (so in StatusOr) that cannot happen; the sanitizer
    # runs look for real ones. The first flag lets clang pass over the name of the second.
    "-Wno-unknown-warning-option",
    "-Wno-maybe-uninitialized",
    "-Werror",
]

# For programs that other machines run: the C++ library inside, so that only glibc is needed. What comes behind
# --as-needed is the toolchain's own -lstdc++, which nothing needs any more. Sanitizers bring a shared one.
PORTABLE_LINKOPTS = select({
    "//tools/sanitizers:asan": [],
    "//tools/sanitizers:asan_and_ubsan": [],
    "//tools/sanitizers:tsan": [],
    "//tools/sanitizers:ubsan": [],
    "//conditions:default": [
        "-l:libstdc++.a",
        "-static-libgcc",
        "-Wl,--as-needed",
    ],
})

# For float64 loops over eight lanes, which are worth vectorising. The order of additions is written out, so no level of
# optimisation changes a bit (tools/golden/check_compilers shows it); other modes than opt keep their own level.
DRAFTMARK_LOOP_COPTS = DRAFTMARK_COPTS + select({
    "//tools:opt": ["-O3"],
    "//conditions:default": [],
})
