#!/usr/bin/env bash
# What `make install` puts in place works from there: command, module, man page, pkg-config file, library, header.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
unset HLORUN_MODULE_DIR

# Libtool puts libraries into no folder with a space in its name, and pkg-config has no way to say it.
case $work in
  *' '*) skip "make install: $work has a space in its name"; finish ;;
esac
if ! make -C "$build_dir" install DESTDIR="$work/root" >"$work/out" 2>&1; then
  fail "make install" "$work/out"
  finish
fi
prefix=$work/root$(sed -n 's/^prefix = //p' "$build_dir/Makefile")
pass

leak_check_off
expect_exit "installed command on two processes" 0 \
  "$prefix/bin/hlorun" -n 2 --input '0=f32[3]{1,2,3}' --input '1=f32[3]{10,20,30}' "$source_dir/examples/hello.hlo"
expect_text "installed command on two processes" "{11, 22, 33}"
leak_check_on
for file in man/man1/hlorun.1 man/man1/hlorun-check.1 man/man1/hlorun-convert.1 man/man1/hlorun-schedule.1 \
  man/man1/hlorun-test.1 man/man3/libhlorun.3 man/man7/hlorun-design.7 man/man7/hlorun-feeds.7 \
  man/man7/hlorun-performance.7 bash-completion/completions/hlorun zsh/site-functions/_hlorun \
  fish/vendor_completions.d/hlorun.fish; do
  if [ -s "$prefix/share/$file" ]; then pass; else fail "share/$file is missing"; fi
done

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root
flags=$(pkg-config --cflags --libs hlorun 2>"$work/out") || fail "pkg-config" "$work/out"
sanitize=$(sanitizer_flags)
compiler=$(sed -n 's/^CC = //p' "$build_dir/Makefile")
# shellcheck disable=SC2086 # flags are meant to be split
expect_exit "a program that embeds hlorun builds" 0 \
  $compiler $sanitize -Wall -Wextra "$source_dir/examples/embed.c" $flags -o embed
expect_exit "it runs" 0 env LD_LIBRARY_PATH="$prefix/lib" ./embed "$source_dir/examples/hello.hlo"
expect_text "it runs" "f32[3]: 11 22 33"

if [ -e "$prefix/lib/libhlorun.so" ]; then
  exported=$(nm -D --defined-only "$prefix/lib/libhlorun.so" | awk '{ print $3 }' | grep -v '^hlorun_' | tr '\n' ' ')
  if [ -z "$exported" ]; then pass; else fail "libhlorun exports $exported"; fi
fi
finish
