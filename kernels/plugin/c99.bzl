"""How plug-ins in C are compiled here."""

C99_COPTS = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-pedantic",
    "-Werror",
]
