"""Stand-in: CcInfo at the path of the real rules_cc."""

load(":native_names.bzl", "native_cc_info")

CcInfo = native_cc_info
