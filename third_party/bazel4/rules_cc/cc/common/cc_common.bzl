"""Stand-in: cc_common at the path of the real rules_cc."""

load(":native_names.bzl", "native_cc_common")

cc_common = native_cc_common
