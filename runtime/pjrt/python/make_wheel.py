"""Packs a wheel: the plugin for JAX and PyTorch/XLA, the module hlorun, the command, and the shared libraries that
they need.

usage: make_wheel.py [--out FOLDER] [--level 0..9] BUILD_FOLDER SOURCE_FOLDER VERSION

A wheel is a zip file with a list of its files and their digests; the standard library and binutils (readelf, strip)
write one. Its tag names the newest glibc that any of the files asks for. Left to the system is what the rules of
manylinux count on: the C library, and those of the compiler. MPI is the system's, too: transport_mpi.so, which is
opened by processes of mpirun only, is not looked into.
"""
import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SYSTEM = re.compile(r"ld-linux|linux-vdso|lib(c|m|dl|pthread|rt|resolv|util)\.so|libgcc_s|libstdc\+\+")
OPENED = ["libopenblas.so.0", "libdnnl.so.2", "libfftw3.so.3", "libfftw3f.so.3"]  # by name, at run time
PLUGIN = "jax_plugins/hlorun"
RELATIVE_RELOCATIONS = "GLIBC_ABI_DT_RELR"  # glibc 2.36 reads them


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def opened_libraries():
    """Paths by name of the libraries that are opened at run time. One that is not installed is left out, with a
    word."""
    known = output_of("/sbin/ldconfig", "-p")
    found = {}
    for name in OPENED:
        match = re.search(re.escape(name) + r" \(libc6,x86-64\) => (\S+)", known)
        if match:
            found[name] = match.group(1)
        else:
            print(f"make wheel: {name} is not installed: the wheel goes without it", file=sys.stderr)
    return found


def needed_libraries(files):
    """Paths by name of the shared libraries that the files need, also indirectly."""
    found = opened_libraries()
    queue = list(files) + list(found.values())
    while queue:
        for line in output_of("ldd", queue.pop()).splitlines():
            match = re.match(r"\s*(\S+) => (.*)", line)
            if not match or SYSTEM.search(match.group(1)) or match.group(1) in found:
                continue
            path = match.group(2).split(" (")[0]
            if not path.startswith("/"):
                sys.exit(f"make wheel: {match.group(1)} is needed and was not found")
            found[match.group(1)] = path
            queue.append(path)
    return found


def loading_order(libraries):
    """Those that libraries opened at run time need, each after what it needs itself. Loaded in this order beforehand,
    they are found by their names: a search path in the plugin counts for what it opens, not for what that needs."""
    order = []

    def visit(name):
        needs = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", libraries[name]))
        for need in needs:
            if need in libraries and need not in order:
                visit(need)
                order.append(need)

    for name in OPENED:
        if name in libraries:
            visit(name)
    return order


def newest_glibc(paths):
    """The newest version of the C library whose symbols the files ask for, as (2, 36)."""
    versions = {(2, 17)}
    for path in paths:
        asked = output_of("readelf", "--version-info", "--wide", path)
        versions.update((2, int(minor)) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", asked))
        if RELATIVE_RELOCATIONS in asked:
            versions.add((2, 36))
    return max(versions)


def license_of(path):
    """The file of Debian that says whose the library is, and under which terms; None elsewhere."""
    for name in (path, path.replace("/usr/lib/", "/lib/", 1), path.replace("/lib/", "/usr/lib/", 1)):
        done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True) if shutil.which("dpkg") else None
        if done and done.returncode == 0:
            text = f"/usr/share/doc/{done.stdout.split(':')[0]}/copyright"
            return text if os.path.exists(text) else None
    return None


def strip(path, folder):
    """A copy of the file without symbols and debugging information."""
    copy = os.path.join(folder, hashlib.sha256(path.encode()).hexdigest())
    subprocess.run(["strip", "--strip-unneeded", "-o", copy, path], check=True)
    return copy


def collect(build, source):
    """Paths by their name in the wheel: machine code, then everything else; and the text of libs/order.txt."""
    libs, package = os.path.join(build, ".libs"), os.path.join(build, "package", ".libs")
    code = {f"{PLUGIN}/hlorun": os.path.join(build, "package", "hlorun"),
            f"{PLUGIN}/libhlorun.so": os.path.join(package, "libhlorun.so"),
            f"{PLUGIN}/libpjrt_hlorun.so": os.path.join(package, "libpjrt_hlorun.so")}
    python = os.path.join(source, "runtime/pjrt/python", PLUGIN)
    others = {f"{PLUGIN}/__init__.py": os.path.join(python, "__init__.py"),
              f"{PLUGIN}/torch_device.py": os.path.join(python, "torch_device.py"),
              f"{PLUGIN}/start/sitecustomize.py": os.path.join(source, "runtime/pjrt/python/start/sitecustomize.py"),
              **{f"hlorun/{name}": os.path.join(source, "runtime/api/python/hlorun", name)
                 for name in ("__init__.py", "_library.py")}}
    libraries = needed_libraries(list(code.values()))
    order = "".join(name + "\n" for name in loading_order(libraries))
    for name in ("jit_llvm.so", "transport_mpi.so"):
        if os.path.exists(os.path.join(libs, name)):
            code[f"{PLUGIN}/{name}"] = os.path.join(libs, name)
    for name, path in libraries.items():
        path = os.path.realpath(path)
        code[f"{PLUGIN}/libs/{name}"] = path
        terms = license_of(path)
        if terms:
            others[f"{PLUGIN}/libs/{name}.copyright"] = terms
    return code, others, order


def metadata(version, tag):
    return {
        "METADATA": f"Metadata-Version: 2.1\nName: hlorun\nVersion: {version}\n"
                    "Summary: Runs XLA HLO and StableHLO programs on CPUs: a command, a module, and a plugin for JAX and PyTorch/XLA\n"
                    "Requires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: jax\n"
                    'Requires-Dist: jax>=0.5; extra == "jax"\n',
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: hlorun\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[jax_plugins]\nhlorun = jax_plugins.hlorun\n\n"
                            "[torch_xla.plugins]\nhlorun = jax_plugins.hlorun.torch_device:Device\n\n"
                            "[console_scripts]\nhlorun = jax_plugins.hlorun:main\n",
    }


def write_wheel(path, level, code, others, texts):
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as out:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # equal files give equal wheels
            entry.external_attr = (0o100000 | mode) << 16
            out.writestr(entry, data, zipfile.ZIP_DEFLATED, level)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        for files, mode in ((code, 0o755), (others, 0o644)):
            for name, file_path in sorted(files.items()):
                with open(file_path, "rb") as file:
                    add(name, file.read(), mode)
        folder = next(iter(texts)).split("/", 1)[0]
        for name, text in texts.items():
            add(name, text.encode(), 0o644)
        out.writestr(f"{folder}/RECORD", "\n".join(record + [f"{folder}/RECORD,,"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=".")
    parser.add_argument("--level", type=int, default=6)
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("version")
    options = parser.parse_args()
    code, others, order = collect(options.build, options.source)
    tag = "py3-none-manylinux_{}_{}_x86_64".format(*newest_glibc(code.values()))
    texts = {f"hlorun-{options.version}.dist-info/{name}": text for name,
             text in metadata(options.version, tag).items()}
    texts[f"{PLUGIN}/libs/order.txt"] = order
    wheel = os.path.join(options.out, f"hlorun-{options.version}-{tag}.whl")
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        write_wheel(wheel, options.level, {name: strip(path, folder) for name, path in code.items()}, others, texts)
    print(wheel)


main()
