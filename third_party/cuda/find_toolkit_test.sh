#!/bin/sh
# find_toolkit_test.sh FIND_TOOLKIT: takes a complete toolkit, and none that lacks a file or is too old.
set -eu
find_toolkit=$PWD/$1
cd "$TEST_TMPDIR"

make_toolkit() { # NAME VERSION LIBRARY_FOLDER
  mkdir -p "$1/bin" "$1/include" "$1/$3"
  echo "#define CUDA_VERSION $2" >"$1/include/cuda.h"
  touch "$1/bin/nvcc" "$1/include/cuda_runtime.h" "$1/$3/libcudart_static.a" "$1/$3/libcudadevrt.a"
  chmod +x "$1/bin/nvcc"
}
fail() { echo "FAILED: $*" >&2; exit 1; }

for folder in lib64 lib targets/x86_64-linux/lib; do
  make_toolkit complete 13000 "$folder"
  [ "$("$find_toolkit" '' /nowhere complete)" = "complete
13000
complete/$folder" ] || fail "libraries in $folder"
  rm -r complete
done

make_toolkit good 12080 lib
make_toolkit old 12060 lib
[ "$("$find_toolkit" old good | head -n 1)" = good ] || fail "a toolkit that is too old was not passed over"
if "$find_toolkit" old; then fail "a toolkit that is too old was taken"; fi

for file in bin/nvcc include/cuda.h include/cuda_runtime.h lib/libcudart_static.a lib/libcudadevrt.a; do
  make_toolkit partial 13000 lib
  rm "partial/$file"
  if "$find_toolkit" partial; then fail "a toolkit without $file was taken"; fi
  rm -r partial
done
