"""embed.py OUT NAME=FILE[,FILE...] ...: writes the C++ source behind page_assets.h, with the files' bytes in it.

The parts of a script (name `script`) are put one after the other into a function of their own, so that nothing of them
becomes global.
"""

import re
import sys

SCRIPT_BEGIN = b"(() => {\n'use strict';\n"
SCRIPT_END = b"})();\n"


def literal(data):
    """A C++ string literal, in pieces of one line."""
    pieces = []
    for begin in range(0, len(data), 60):
        piece = ""
        for byte in data[begin : begin + 60]:
            char = chr(byte)
            plain = 32 <= byte < 127 and char not in '"\\?'
            piece += char if plain else "\\%03o" % byte
        pieces.append('    "%s"' % piece)
    return "\n".join(pieces) if pieces else '    ""'


def main(out, arguments):
    fields = []
    for argument in arguments:
        name, files = argument.split("=", 1)
        data = b""
        for path in files.split(","):
            with open(path, "rb") as file:
                data += file.read()
        # Developer tools would ask for a file that is not there.
        data = re.sub(rb"(//|/\*)# sourceMappingURL=.*", b"", data)
        if name == "script":
            data = SCRIPT_BEGIN + data + SCRIPT_END
        # A script ends at the first </script, whatever it is in; <!-- hides the end from a browser.
        for mark in [b"</script", b"</style", b"<!--"]:
            if mark in data.lower() and name != "html":
                sys.exit(f"embed.py: {files}: has {mark.decode()} in it, which a page cannot hold inline")
        fields.append((name, data))
    with open(out, "w", encoding="ascii") as file:
        file.write('#include "src/perf/dashboard/page_assets.h"\n\nnamespace draftmark {\n\n')
        file.write("const PageAssets& ThePageAssets() {\n  static constexpr PageAssets kAssets = {\n")
        for name, data in fields:
            # The length, since a literal's own ends at the first zero byte.
            file.write(f"      .{name} = std::string_view(\n{literal(data)},\n{len(data)}),\n")
        file.write("  };\n  return kAssets;\n}\n\n}  // namespace draftmark\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
