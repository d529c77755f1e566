#!/bin/sh
# sanitizer_runtime.sh LIBRARY: what LD_PRELOAD must name for a Python to load it, nothing for one without a sanitizer.
# A Python has no sanitizer's runtime. g++'s library names its own, which must come first; clang's leaves it to the program.
set -eu
for name in asan tsan; do
  if grep -q "lib$name\.so" "$1"; then
    exec gcc -print-file-name="lib$name.so"
  fi
  if grep -q "__${name}_init" "$1"; then
    exec clang -print-file-name="libclang_rt.$name-$(uname -m).so"
  fi
done
