"""Packs a wheel: the plugin for JAX, the command, and the shared libraries that they need. argv: BUILD_FOLDER VERSION.

A wheel is a zip file with a list of its files and their digests; nothing but the standard library is needed to write
one. Libraries of the C library, of the compiler and of MPI stay the system's.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

SYSTEM = re.compile(r"ld-linux|libc\.so|libm\.so|libdl\.so|libpthread|librt\.so|libgcc_s|libstdc\+\+|libmpi|libopen-|libz\.so")
OPENED = ["libopenblas.so.0", "libfftw3.so.3", "libfftw3f.so.3"]  # by name, at run time
PACKAGE = "jax_plugins/hlorun"


def needed_libraries(files):
    """Paths by name of the shared libraries that the files need, also indirectly."""
    found, queue = {}, list(files)
    for name in OPENED:
        path = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
        match = re.search(re.escape(name) + r" \(libc6,x86-64\) => (\S+)", path)
        if match and name not in found:
            found[name] = match.group(1)
            queue.append(match.group(1))
    while queue:
        for line in subprocess.run(["ldd", queue.pop()], capture_output=True, text=True).stdout.splitlines():
            match = re.match(r"\s*(\S+) => (/\S+)", line)
            if match and not SYSTEM.search(match.group(1)) and match.group(1) not in found:
                found[match.group(1)] = match.group(2)
    return found


def main():
    build, version = sys.argv[1:3]
    here = os.path.dirname(os.path.abspath(__file__))
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    tag = f"py3-none-manylinux_{glibc}_x86_64"
    info = f"hlorun-{version}.dist-info"
    libs = os.path.join(build, ".libs")
    plugin = os.path.join(libs, "libpjrt_hlorun.so")
    files = {f"{PACKAGE}/__init__.py": os.path.join(here, PACKAGE, "__init__.py"), f"{PACKAGE}/libpjrt_hlorun.so": plugin,
             f"{PACKAGE}/bin/hlorun": os.path.join(build, "hlorun")}
    for name in ("jit_llvm.so", "transport_mpi.so"):
        if os.path.exists(os.path.join(libs, name)):
            files[f"{PACKAGE}/{name}"] = os.path.join(libs, name)
    for name, path in needed_libraries([plugin, os.path.join(build, "hlorun")]).items():
        files[f"{PACKAGE}/libs/{name}"] = os.path.realpath(path)
    texts = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: hlorun\nVersion: {version}\nSummary: JAX on hlorun, and the "
                            "command that runs XLA HLO and StableHLO programs\nRequires-Python: >=3.9\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: hlorun\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/entry_points.txt": "[jax_plugins]\nhlorun = jax_plugins.hlorun\n\n[console_scripts]\n"
                                    "hlorun = jax_plugins.hlorun:main\n",
    }
    wheel = os.path.join(build, f"hlorun-{version}-{tag}.whl")
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        for name, path in sorted(files.items()):
            with open(path, "rb") as f:
                data = f.read()
            add(name, data, 0o100755 if "/bin/" in name or ".so" in name else 0o100644)
        for name, text in texts.items():
            add(name, text.encode(), 0o100644)
        record.append(f"{info}/RECORD,,")
        out.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    print(wheel)


main()
