"""Stand-in for rules_java: Bazel 4.2.3 loads it even for pure C++ (its JDK toolchains are registered by default)."""

java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
