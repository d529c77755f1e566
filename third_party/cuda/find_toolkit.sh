#!/bin/sh
# find_toolkit.sh ROOT...: the first of these folders that holds a CUDA toolkit the build can use, as three lines
#
#   ROOT
#   CUDA_VERSION of its cuda.h, for example 13000
#   its folder of libraries
#
# Exits with 1 if there is none. The one test of what counts as a toolkit: tools/setup asks it whether to install one,
# cuda_configure.bzl asks it which one to use.
set -u

MINIMUM_VERSION=12080 # the first release that knows sm_100 and sm_120

library_folder() {
  for folder in lib64 lib targets/x86_64-linux/lib; do
    if [ -e "$1/$folder/libcudart_static.a" ] && [ -e "$1/$folder/libcudadevrt.a" ]; then
      echo "$1/$folder"
      return 0
    fi
  done
  return 1
}

for root in "$@"; do
  [ -n "$root" ] && [ -x "$root/bin/nvcc" ] && [ -e "$root/include/cuda_runtime.h" ] || continue
  version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$root/include/cuda.h" 2>/dev/null)
  [ "${version:-0}" -ge $MINIMUM_VERSION ] || continue
  libraries=$(library_folder "$root") || continue
  printf '%s\n' "$root" "$version" "$libraries"
  exit 0
done
exit 1
