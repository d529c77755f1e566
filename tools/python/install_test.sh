#!/bin/sh
# install_test.sh PYTHON WHEEL: pip installs the wheel into a fresh environment, which then sizes a model, runs a golden
# draft and compares it. No network: numpy is lent by PYTHON's own environment.
set -eu
python=$PWD/$1
wheel=$PWD/$2
golden=$PWD/golden
fresh=$TEST_TMPDIR/fresh
/usr/bin/python3 -m venv "$fresh"
"$python" -c 'import numpy, pathlib; print(pathlib.Path(numpy.__file__).resolve().parent.parent)' \
  >"$("$fresh/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/lent.pth"
"$fresh/bin/python3" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
"$fresh/bin/python3" -m pip show --files draftmark
runtime=$("$(dirname "$0")/sanitizer_runtime.sh" "$fresh"/lib/python3*/site-packages/draftmark/libdraftmark.so)
cd "$TEST_TMPDIR" # nothing of the checkout is in the way
# What Python itself never frees is no leak of ours.
LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 "$fresh/bin/python3" - "$golden" <<'END'
import sys

import draftmark

assert "/fresh/" in draftmark.__file__, draftmark.__file__
golden = sys.argv[1]
sizes = draftmark.sizes(golden + "/configs/qwen3_8b.json", max_batch_tokens=8, max_seq_len=1024, kv_block_size=16,
                        max_batch_size=2)
assert len(sizes["buffers"]) == 41
case = draftmark.golden.open(golden).case("drafts/qwen3-4b-dflash")
stages = draftmark.reference.run(case.config, case.weights, case.inputs)
draftmark.testing.assert_close(case.select("step0.fc", stages["step0.fc"]), case.expected["step0.fc"],
                               tolerance_class="T1", output="F32")
print("installed", draftmark.__version__)
END
# Everything goes away again.
"$fresh/bin/python3" -m pip uninstall --quiet --yes draftmark
if "$fresh/bin/python3" -c 'import draftmark' 2>/dev/null; then
  echo "draftmark can be imported after pip uninstall"
  exit 1
fi
