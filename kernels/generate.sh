#!/bin/sh
# generate.sh NVCC SOURCE: the PTX of a kernel file, on standard output. It is code for any GPU from
# Ampere on. nvcc writes the newest version of the PTX language, which drivers older than itself refuse;
# the kernels use nothing newer than 8.0, the version of the 525 drivers (CUDA 12.0), so that this is
# what the file says. tests/cli/kernels.sh lets ptxas judge.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --ptx --generate-code arch=compute_80,code=compute_80 -O3 -o "$folder/kernels.ptx" "$2"
sed -e '/^\/\//d' -e '/^$/d' -e 's/^\.version .*/.version 8.0/' "$folder/kernels.ptx"
