#!/bin/sh
# call_plugin_test.sh SCRIPT GOOD COMPILED-IN UNSUPPORTING NEWER: the ctypes example on plug-ins that are here.
set -u
failures=0
expect() { # EXIT-CODE TEXT LIBRARY
  answer=$(python3 "$script" "$3" 2>&1)
  code=$?
  [ $code = "$1" ] && case $answer in *"$2"*) true ;; *) false ;; esac && return
  echo "FAIL: $3: expected $1 and '$2', got $code: $answer"
  failures=$((failures + 1))
}
script=$1
expect 0 "plain C 1.0: rms_norm, linear, silu_mul, residual_add, argmax" "$PWD/$2"
expect 0 "0 of 14 elements differ" "$PWD/$2"
expect 1 "13 of 14 elements differ" "$PWD/$3"
expect 1 "rms_norm: not supported: this is a Tuesday" "$PWD/$4"
expect 2 "has no table for ABI 1" "$PWD/$5"
expect 2 "nowhere.so" /nowhere.so
exit $failures
