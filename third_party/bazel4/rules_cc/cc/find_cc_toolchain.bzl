"""Stand-in: the two functions of rules_cc that own rules need, for Bazel 4.2.3."""

def find_cc_toolchain(ctx):
    return ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]

def use_cc_toolchain():
    return ["@bazel_tools//tools/cpp:toolchain_type"]
