#!/bin/sh
# pack.sh CONTENTS OUTPUT STRIP STATUS TOOLKIT: makes gpu_bundle's tar. The same inputs give the same bytes.
#
# CONTENTS has a line "MODE<tab>PATH<tab>PATH-IN-THE-BUNDLE" for each file; the mode "program" strips it, and
# "link:OTHER-PATH-IN-THE-BUNDLE" makes a hard link. STATUS is Bazel's stable workspace status, TOOLKIT what nvcc --version
# says.
set -eu
contents=$1 output=$2 strip=$3 status=$4 toolkit=$5

release=$(sed -n 's/.*release \([0-9.]*\),.*/\1/p' "$toolkit")
# The driver and the cuBLASLt that `run` asks for.
case $release in
  13.*) ;;
  *) echo "gpu_bundle is for CUDA 13, and the toolkit of this build is release ${release:-unknown}" >&2; exit 1 ;;
esac

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/draftmark-gpu
tab=$(printf '\t')
while IFS=$tab read -r mode source target; do
  mkdir -p "$(dirname "$root/$target")"
  case $mode in
    program) "$strip" -o "$root/$target" "$source" && chmod 755 "$root/$target" ;;
    script) cp -L "$source" "$root/$target" && chmod 755 "$root/$target" ;;
    link:*) ln "$root/${mode#link:}" "$root/$target" ;;  # packed before: bin/ sorts before data/
    file) cp -L "$source" "$root/$target" && chmod 644 "$root/$target" ;;
  esac
done <"$contents"
commit=$(sed -n 's/^STABLE_GIT_COMMIT //p' "$status")
echo "${commit:-unknown}" >"$root/COMMIT"
echo "$release" >"$root/CUDA"
chmod -R u=rwX,go=rX "$root"

tar -C "$stage" --sort=name --format=gnu --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - draftmark-gpu |
  gzip -9 -n >"$output"
