"""The module extension of MODULE.bazel; Bazel 4.2.3 does not read this file."""

load("//third_party:repositories.bzl", "draftmark_repositories")

def _repositories_impl(_module_ctx):
    draftmark_repositories()

repositories = module_extension(implementation = _repositories_impl)
