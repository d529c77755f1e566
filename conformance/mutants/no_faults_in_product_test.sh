#!/bin/sh
# no_faults_in_product_test.sh PRODUCT MUTANT: fails if PRODUCT holds a trace of the fault switches that MUTANT has.
set -u
result=0
# What is behind DM_FAULT and what only mutants compute, as symbols; and a text of the table, which outlives stripping.
for trace in FaultIsOn FaultTick FaultFirst MistakenContextInput ViterbiChoice \
  'fault: block rows rotate with their slot index'; do
  # Where the mutant does not show it, its absence in the product would prove nothing.
  grep -q -a -F "$trace" "$2" || { echo "\"$trace\" is not in $2"; result=1; }
  if grep -q -a -F "$trace" "$1"; then echo "\"$trace\" is in $1"; result=1; fi
done
exit $result
