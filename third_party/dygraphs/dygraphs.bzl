"""Repository rule: dygraphs, the charts of the dashboard, from Debian's libjs-dygraphs, as @dygraphs.

`@dygraphs//:dygraph.min.js` and `@dygraphs//:dygraph.min.css` are always there. Without the package both are empty, and
the dashboard is built without these charts: it then shows its sparklines alone, and says so.
"""

_FOLDER = "/usr/share/javascript/dygraphs/"
_FILES = ["dygraph.min.js", "dygraph.min.css"]

def _dygraphs_impl(repository_ctx):
    paths = [repository_ctx.path(_FOLDER + name) for name in _FILES]
    have_all = all([path.exists for path in paths])
    for name, path in zip(_FILES, paths):
        if have_all:
            repository_ctx.symlink(path, name)
        else:
            repository_ctx.file(name, "")
    repository_ctx.file("BUILD", "exports_files({})\n".format(repr(_FILES)))

dygraphs = repository_rule(
    implementation = _dygraphs_impl,
    doc = "See the top of this file.",
    configure = True,
    local = True,
)
