"""The libraries that come from Debian packages. The README says why each is there."""

load("//third_party/debian:debian.bzl", "debian_library")

def debian_repositories():
    """Declares one repository per library."""
    debian_library(
        name = "googletest",
        target = "gtest_main",
        packages = ["libgtest-dev", "libgmock-dev"],
        include_entries = ["gtest", "gmock"],
        # gmock_main starts both frameworks; the order is the link order.
        libraries = ["libgmock_main.a", "libgmock.a", "libgtest.a"],
        linkopts = ["-lpthread"],
    )
    debian_library(
        name = "nlohmann_json",
        target = "json",
        packages = ["nlohmann-json3-dev"],
        include_entries = ["nlohmann"],
    )
    debian_library(
        name = "cli11",
        target = "cli11",
        packages = ["libcli11-dev"],
        include_entries = ["CLI"],
    )
    debian_library(
        name = "fmt",
        target = "fmt",
        packages = ["libfmt-dev"],
        include_entries = ["fmt"],
        source = "//third_party/debian:fmt.cc",
    )
    debian_library(
        name = "openssl",
        target = "crypto",
        packages = ["libssl-dev"],
        include_entries = ["openssl"],
        # The archive, so that programs for other machines need no libcrypto there.
        libraries = ["libcrypto.a"],
        # Debian 12's archive needs neither; forky's does (tools/bazel7).
        optional_libraries = ["libz.a", "libzstd.a"],
        linkopts = ["-ldl", "-lpthread"],
    )
    debian_library(
        name = "expat",
        target = "expat",
        packages = ["libexpat1-dev"],
        include_entries = ["expat.h", "expat_external.h"],
        # The archive, so that programs for other machines need no libexpat there.
        libraries = ["libexpat.a"],
    )
    debian_library(
        name = "sqlite3",
        target = "sqlite3",
        packages = ["libsqlite3-dev"],
        include_entries = ["sqlite3.h"],
        # The archive, so that programs for other machines need no libsqlite3 there.
        libraries = ["libsqlite3.a"],
        linkopts = ["-ldl", "-lm", "-lpthread"],
    )

    # Used header-only; Debian's package also brings a shared library, which nothing here links.
    debian_library(
        name = "tomlplusplus",
        target = "tomlplusplus",
        packages = ["libtomlplusplus-dev"],
        include_entries = ["toml++"],
    )
