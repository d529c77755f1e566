"""Compiler flags of the project's own targets: warnings are errors."""

DRAFTMARK_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wimplicit-fallthrough",
    "-Werror",
]
