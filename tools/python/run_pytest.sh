#!/bin/sh
# run_pytest.sh PYTHON|torch WHEEL: the tests in tests/ on the package in WHEEL, unpacked. With `torch` the interpreter
# is DRAFTMARK_TORCH_PYTHON, and a test that is skipped because PyTorch is missing is a failure.
set -eu
python=$1
folder=$TEST_TMPDIR/package
summary=$TEST_TMPDIR/summary
if [ "$python" = torch ]; then
  python=${DRAFTMARK_TORCH_PYTHON:?expected --test_env=DRAFTMARK_TORCH_PYTHON=/path/to/python3 with torch}
  "$python" -c 'import torch; print("torch", torch.__version__)'
fi
"$python" -m zipfile -e "$2" "$folder"
runtime=$("$(dirname "$0")/sanitizer_runtime.sh" "$folder/draftmark/libdraftmark.so")
result=0
# A sanitizer's report must not end in pytest's capture. What Python itself never frees is no leak of ours.
LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 DRAFTMARK_PACKAGE=$folder "$python" -m pytest -q -rs -p no:cacheprovider \
  --basetemp="$TEST_TMPDIR/pytest" ${runtime:+--capture=sys} "$(dirname "$0")/tests" >"$summary" 2>&1 || result=$?
cat "$summary"
exit $result
