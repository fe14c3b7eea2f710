#!/bin/sh
# Packs a Debian package out of what `make install` puts in place, under /usr: command, library, plugin, pages, modules of
# Python. argv: PREFIX SOURCE_FOLDER VERSION OUT_FOLDER LEVEL, in the build folder; LEVEL 0 compresses nothing.
# Needs dpkg-deb and ldd.
#
# The package depends on the packages that have the libraries which the files are linked to. What is opened at run time is
# recommended: OpenBLAS, oneDNN, Open MPI.
set -eu
prefix=$1 source=$2 version=$3 out=$4 level=$5
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

"$MAKE" -s install DESTDIR="$root/made" >/dev/null
tree=$root/tree
mkdir -p "$tree/DEBIAN" "$tree/usr/lib/python3/dist-packages/jax_plugins" "$tree/usr/share/doc/hlorun"
cp -a "$root/made$prefix/." "$tree/usr/"
find "$tree" -name '*.la' -delete
# The folder of the installation is in this file alone.
sed -i "s|^prefix=.*|prefix=/usr|" "$tree/usr/lib/pkgconfig/hlorun.pc"
mv "$tree/usr/share/hlorun/python/hlorun" "$tree/usr/lib/python3/dist-packages/"
rmdir -p --ignore-fail-on-non-empty "$tree/usr/share/hlorun/python"
cp -r "$source/runtime/pjrt/python/jax_plugins/hlorun" "$tree/usr/lib/python3/dist-packages/jax_plugins/"
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
cp "$source/README.md" "$tree/usr/share/doc/hlorun/"
gzip -9n "$tree"/usr/share/man/man*/*
chmod -R u+rwX,go+rX,go-w "$tree"
strip --strip-unneeded "$tree/usr/bin/hlorun" "$tree"/usr/lib/libhlorun.so.*.*.* "$tree"/usr/lib/hlorun/*.so

# packages_of FILE...: those that have the libraries of the files, each once, with a comma between.
packages_of() {
  for file in "$@"; do ldd "$file"; done | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | while read -r library; do
    # A merged /usr has a library by two names, of which the package knows one.
    { dpkg -S "$library" || dpkg -S "/usr$library" || dpkg -S "$(readlink -f "$library")"; } 2>/dev/null | head -n 1
  done | cut -d: -f1 | sort -u | paste -sd, | sed 's/,/, /g'
}
depends=$(packages_of "$tree/usr/bin/hlorun" "$tree"/usr/lib/libhlorun.so.*.*.* "$tree/usr/lib/hlorun/libpjrt_hlorun.so")
architecture=$(dpkg --print-architecture)
cat >"$tree/DEBIAN/control" <<CONTROL
Package: hlorun
Version: $version
Section: science
Priority: optional
Architecture: $architecture
Maintainer: hlorun <hlorun@localhost>
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: $depends
Recommends: libopenblas0, libdnnl2, libopenmpi3, openmpi-bin
Suggests: python3-numpy
Description: runs XLA HLO and StableHLO programs on CPUs
 hlorun runs programs as JAX, TensorFlow and PyTorch/XLA write them, on one
 process or on many. It is a command, a library for C, C++ and Python, and a
 plugin for JAX.
CONTROL
cat >"$tree/DEBIAN/triggers" <<TRIGGERS
activate-noawait ldconfig
TRIGGERS
mkdir -p "$out"
package=$out/hlorun_${version}_$architecture.deb
form=xz
[ "$level" -gt 0 ] || form=none
dpkg-deb --root-owner-group -Z$form -z"$level" --build "$tree" "$package" >/dev/null
echo "$package"
