#!/usr/bin/env bash
# runtime/hlorun.hpp: compiles without a warning by the C++17 and C++20 of CXX (default g++), and does what it says.
set -u
. "$(dirname "$0")/common.sh"
compiler=${CXX:-g++}
library=$build_dir/.libs/libhlorun.so

if ! command -v "${compiler##* }" >/dev/null; then
  skip "there is no C++ compiler ($compiler)"
  finish
fi
if [ ! -e "$library" ]; then
  skip "there is no shared library: $library"
  finish
fi
for standard in c++17 c++20; do
  # shellcheck disable=SC2086 # CXX may be several words
  if $compiler -std=$standard -Wall -Wextra -Werror -O1 ${HLORUN_CXXFLAGS:-} -I"$source_dir/runtime" \
    -o "$work/wrapper" "$source_dir/tests/cplusplus/test_wrapper.cpp" "$library" -Wl,-rpath,"$build_dir/.libs" \
    -lpthread >"$work/out" 2>&1; then
    pass
  else
    fail "hlorun.hpp as $standard" "$work/out"
    continue
  fi
  timeout 100 "$work/wrapper" >"$work/out" 2>&1
  add_counts "$work/out" || fail "the wrapper as $standard" "$work/out"
  [ "$failed" -eq 0 ] || cat "$work/out"
done
finish
