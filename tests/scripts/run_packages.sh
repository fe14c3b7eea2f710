#!/usr/bin/env bash
# Packages: `make wheel` and `make deb`, and that what they hold runs where it is unpacked: the command also in a root that
# has a C library and that of the compiler, and nothing else; the plugin in JAX and PyTorch/XLA, where HLORUN_JAX_PYTHON and
# HLORUN_TORCH_XLA_PYTHON have them.
set -u
. "$(dirname "$0")/common.sh"
unset HLORUN_MODULE_DIR HLORUN_LIBRARY LD_LIBRARY_PATH PJRT_NAMES_AND_LIBRARY_PATHS JAX_PLATFORMS
python=${HLORUN_JAX_PYTHON:-python3}

if [ -n "$(sanitizer_flags)" ]; then
  skip "a build with sanitizers is not packed"
  finish
fi
for tool in python3 readelf strip ldd; do
  command -v "$tool" >/dev/null || { skip "there is no $tool"; finish; }
done

# --- the wheel ---
if make -s -C "$build_dir" wheel WHEEL_FOLDER="$work/wheels" WHEEL_LEVEL=0 >"$work/out" 2>&1; then pass
else fail "make wheel" "$work/out"; finish; fi
wheel=$(echo "$work"/wheels/*.whl)
case ${wheel##*/} in
  hlorun-*-py3-none-manylinux_2_*_x86_64.whl) pass ;;
  *) fail "the name of the wheel: ${wheel##*/}" ;;
esac
site=$work/site
if python3 -m pip --version >/dev/null 2>&1; then
  expect_exit "pip install" 0 python3 -m pip install -q --no-index --no-deps --no-compile --target "$site" "$wheel"
  expect_exit "the command that pip installs" 0 env PYTHONPATH="$site" "$site/bin/hlorun" --version
else
  skip "there is no pip: the wheel is unpacked by itself"
  expect_exit "the wheel is unpacked" 0 python3 -m zipfile -e "$wheel" "$site"
  chmod +x "$site/jax_plugins/hlorun/hlorun"
fi

# A root with the libraries that the rules of manylinux leave to the system. A convolution opens oneDNN, the
# factorisation OpenBLAS, the transform FFTW. The loader asks /proc where a file is.
root=$work/root
cases=$source_dir/tests/cases
mkdir -p "$root/lib64" "$root/lib" "$root/cases" "$root/proc"
loader=$(readelf -lW "$hlorun" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
cp "$loader" "$root/lib64/"
for name in libc libm libdl libpthread librt libresolv libgcc_s libstdc++; do
  path=$(/sbin/ldconfig -p | sed -n "s/^\s*$name\.so\.[0-9]* (libc6,x86-64.*) => //p" | head -n 1)
  [ -z "$path" ] || cp "$path" "$root/lib/"
done
cp -r "$site/jax_plugins/hlorun" "$root/hlorun"
cp "$cases/cholesky.mlir" "$cases/convolution.mlir" "$cases/fft.mlir" "$source_dir/examples/hello.hlo" "$root/cases/"
cat >"$work/bare" <<BARE
mount -t proc proc '$root/proc' || exit 99
exec env -i '$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)' '$root' /hlorun/hlorun "\$@"
BARE
if unshare -m sh "$work/bare" --version >/dev/null 2>&1; then
  expect_exit "a program in a bare root" 0 unshare -m sh "$work/bare" -n 2 --input '0=f32[3]{1,2,3}' \
    --input '1=f32[3]{10,20,30}' /cases/hello.hlo
  expect_text "its result" "{11, 22, 33}"
  for name in cholesky convolution fft; do
    expect_exit "$name in a bare root" 0 unshare -m sh "$work/bare" test "/cases/$name.mlir"
  done
else
  skip "unshare -m or chroot is not allowed: the wheel is not tried in a bare root"
fi

numpy_python=
for one in "$python" python3; do
  if "$one" -c 'import numpy' 2>/dev/null; then numpy_python=$one; break; fi
done
cat >"$work/module.py" <<'PROGRAM'
import hlorun, numpy, sys
y = hlorun.load(sys.argv[1])(numpy.float32([1, 2, 3]), numpy.float32([10, 20, 30]))
print(hlorun.__file__, y)
PROGRAM
if [ -n "$numpy_python" ]; then
  expect_exit "import hlorun" 0 env PYTHONPATH="$site" "$numpy_python" "$work/module.py" "$source_dir/examples/hello.hlo"
  expect_text "import hlorun" "$site/hlorun/__init__.py"
else
  skip "there is no Python with NumPy (HLORUN_JAX_PYTHON)"
fi

cat >"$work/show.py" <<'PROGRAM'
import jax, jax.numpy as jnp
known = "hlorun" in jax.devices()[0].client.platform_version
root = jnp.linalg.cholesky(4 * jnp.eye(2))[1, 1]
print(f"{jax.device_count()} {known} {root}\n", end="")  # in one write, also if the output is not buffered
PROGRAM
if "$python" -c 'import jax' 2>/dev/null; then
  expect_exit "JAX finds the plugin" 0 env PYTHONPATH="$site" "$python" "$work/show.py"
  expect_text "JAX finds the plugin" "1 True 2.0"
  expect_exit "the command of the wheel starts JAX on two processes" 0 \
    env PYTHONPATH="$site" "$site/jax_plugins/hlorun/hlorun" -n 2 "$python" "$work/show.py"
  expect_text "two processes" "2 True 2.0"
else
  skip "JAX is not installed (HLORUN_JAX_PYTHON)"
fi

# PyTorch on the wheel's plugin: training equal to PyTorch's own, and a mesh of several devices and of two processes.
torch_python=${HLORUN_TORCH_XLA_PYTHON:-python3}
if "$torch_python" -c 'import torch_xla' 2>/dev/null; then
  expect_exit "PyTorch/XLA, training" 0 env PYTHONPATH="$site" PJRT_DEVICE=HLORUN \
    "$torch_python" "$source_dir/tests/pjrt/torch_programs.py" training
  expect_exit "PyTorch/XLA, a mesh of devices" 0 env PYTHONPATH="$site" PJRT_DEVICE=HLORUN HLORUN_DEVICES=4 \
    "$torch_python" "$source_dir/tests/pjrt/torch_programs.py" mesh
  expect_text "a mesh of devices" "4 devices"
  expect_exit "PyTorch/XLA, a mesh of two processes" 0 env PYTHONPATH="$site" PJRT_DEVICE=HLORUN \
    "$site/jax_plugins/hlorun/hlorun" -n 2 "$torch_python" "$source_dir/tests/pjrt/torch_programs.py" mesh
  expect_text "a mesh of two processes" "2 devices"
else
  skip "torch_xla is not installed (HLORUN_TORCH_XLA_PYTHON)"
fi

# --- the Debian package ---
if ! command -v dpkg-deb >/dev/null; then
  skip "there is no dpkg-deb"
  finish
fi
case $work$build_dir in *' '*) skip "make deb: $build_dir has a space in its name"; finish ;; esac
if make -s -C "$build_dir" deb DEB_FOLDER="$work/debs" DEB_LEVEL=0 >"$work/out" 2>&1; then pass
else fail "make deb" "$work/out"; finish; fi
deb=$(echo "$work"/debs/hlorun_*.deb)
expect_exit "the package says what it is" 0 dpkg-deb --field "$deb"
expect_text "its libraries" "libuv1"
if grep '^Depends' "$work/out" | grep -q openmpi; then fail "MPI is recommended, not wanted" "$work/out"; else pass; fi
expect_exit "the package is unpacked" 0 dpkg-deb -x "$deb" "$work/installed"
expect_exit "its command" 0 "$work/installed/usr/bin/hlorun" -n 2 --input '0=f32[3]{1,2,3}' --input '1=f32[3]{10,20,30}' \
  "$source_dir/examples/hello.hlo"
for file in lib/hlorun/libpjrt_hlorun.so lib/hlorun/transport_mpi.so lib/libhlorun.so.0 include/hlorun.h share/man/man1/hlorun.1.gz \
  lib/python3/dist-packages/hlorun/__init__.py lib/python3/dist-packages/hlorun/_library.py lib/python3/dist-packages/jax_plugins/hlorun/__init__.py; do
  if [ -e "$work/installed/usr/$file" ]; then pass; else fail "the package has no $file"; fi
done
if grep -rqF "$work" "$work/installed/usr/lib/pkgconfig"; then fail "a path of the build is in the package"; else pass; fi
finish
