"""Repository rule: the oracle cases beside the checkout, `../shared/cases`, where they exist.

The project's own golden/ holds a selection of them; with the whole set at hand the conformance suites run all of it.
Without it the repository is empty and those tests say why they are skipped.
"""

def _oracle_cases_impl(repository_ctx):
    workspace = repository_ctx.path(Label("//:WORKSPACE")).dirname
    cases = workspace.dirname.get_child("shared").get_child("cases")
    if cases.exists:
        repository_ctx.symlink(cases, "cases")
    repository_ctx.file("BUILD", """
package(default_visibility = ["//visibility:public"])

filegroup(
    name = "drafter",
    srcs = glob(["cases/drafter/*/config.json", "cases/drafter/*/*.safetensors"], allow_empty = True),
)

filegroup(
    name = "buffer_sizes",
    srcs = glob(["cases/buffer_sizes/*.json"], allow_empty = True),
)

filegroup(
    name = "hf_configs",
    srcs = glob(["cases/hf_configs/*.json"], allow_empty = True),
)
""")

oracle_cases = repository_rule(
    implementation = _oracle_cases_impl,
    doc = "Filegroups :drafter, :buffer_sizes and :hf_configs; empty when ../shared/cases is absent.",
    local = True,
)
