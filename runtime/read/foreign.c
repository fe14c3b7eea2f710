/* Recognises other files by their first bytes, by words within the first bytes, or by the names of
 * the members of a zip archive, which are searched for as bytes; Python by the lines that
 * statements begin. Nothing else of a file is read. Rows are tried in order: special ones come
 * first. */
#include "read/foreign.h"

#include <ctype.h>
#include <string.h>

#define LOOKED_AT ((size_t)1 << 20) /* bytes that are searched for a word */
#define SCRIPT_BYTES 4096           /* bytes that are searched for a statement of Python */

#define FROM_JAX                                          \
  "import jax; lowered = jax.jit(f).lower(*args)",        \
      "open('f.hlo', 'w').write(lowered.as_text('hlo'))", \
      "numpy.savez('in.npz', **{f'in{i}': a for i, a in enumerate(jax.tree.leaves(args))})"
#define FROM_TORCH_EXPORT                                                        \
  "import torch; from torch_xla.stablehlo import exported_program_to_stablehlo", \
      "program = exported_program_to_stablehlo(torch.export.load('f.pt2'))",     \
      "open('f.mlir', 'w').write(program.get_stablehlo_text())"
#define FROM_TORCH                                                                 \
  "import torch; from torch_xla.stablehlo import exported_program_to_stablehlo",   \
      "program = exported_program_to_stablehlo(torch.export.export(model, args))", \
      "open('f.mlir', 'w').write(program.get_stablehlo_text())"
#define FROM_TF                                                              \
  "f = tf.function(model, jit_compile=True)",                                \
      "hlo = f.experimental_get_compiler_ir(*args)(stage='hlo_serialized')", \
      "open('f.pb', 'wb').write(hlo)"
#define FROM_KERAS                                                            \
  "f = tf.function(tf.keras.models.load_model('f.keras'), jit_compile=True)", \
      "hlo = f.experimental_get_compiler_ir(*args)(stage='hlo_serialized')",  \
      "open('f.pb', 'wb').write(hlo)"
#define BESIDE_A_DUMP \
  "the program is the file beside it that ends in before_optimizations.txt, or in .hlo.pb", "", ""
#define PYTHON_SCRIPT                                                      \
  "hlorun python FILE runs a script of JAX; to keep its program instead:", \
      "lowered = jax.jit(f).lower(*args)", "open('f.hlo', 'w').write(lowered.as_text('hlo'))"
#define REPORT(magic)                                                                  \
  {                                                                                    \
    magic, sizeof magic - 1, 0, NULL, "a report of XLA, no program", { BESIDE_A_DUMP } \
  }
#define AS_ARRAYS "give it with --input, and the program as the operand", "", ""

/* A file begins with `magic` at `offset`, and has `word` within its first bytes (NULL: any). */
static const struct kind {
  const char *magic;
  size_t magic_bytes, offset;
  const char *word, *what;
  const char *lines[3];
} kinds[] = {
    {"PK", 2, 0, "saved_model.pb", "a zip archive with a SavedModel of TensorFlow", {FROM_TF}},
    {"PK", 2, 0, "model.weights.h5", "a model of Keras", {FROM_KERAS}},
    {"PK",
     2,
     0,
     "serialized_exported_program.json",
     "a program of torch.export",
     {FROM_TORCH_EXPORT}},
    {"PK", 2, 0, "models/model.json", "a program of torch.export", {FROM_TORCH_EXPORT}},
    {"PK", 2, 0, "data.pkl", "a file of torch.save", {FROM_TORCH}},
    {"PK", 2, 0, ".npy", "an archive of arrays (.npz)", {AS_ARRAYS}},
    {"PK\3\4", 4, 0, NULL, "a zip archive", {"unzip it, and give the program in it", "", ""}},
    {"TFL3", 4, 4, NULL, "a model of TensorFlow Lite", {FROM_TF}},
    {"\x93NUMPY", 6, 0, NULL, "an array (.npy)", {AS_ARRAYS}},
    {"BZh", 3, 0, NULL, "a file of bzip2", {"unpack it: bzcat FILE | hlorun -", "", ""}},
    {"\xfd"
     "7zXZ",
     5,
     0,
     NULL,
     "a file of xz",
     {"unpack it: xzcat FILE | hlorun -", "", ""}},
    {"\x28\xb5\x2f\xfd",
     4,
     0,
     NULL,
     "a file of zstd",
     {"unpack it: zstdcat FILE | hlorun -", "", ""}},
    {"\x7f"
     "ELF",
     4,
     0,
     NULL,
     "an executable or a library",
     {"libraries with functions for custom calls are given with --plugin", "", ""}},
    {"\x89HDF", 4, 0, NULL, "a file of HDF5", {FROM_TF}},
    {"{", 1, 8, NULL, "a file of arrays (.safetensors)", {AS_ARRAYS}},
    {"\x80", 1, 0, NULL, "a pickle of Python", {FROM_JAX}},
    {"\x08\x01\x12", 3, 0, NULL, "a SavedModel of TensorFlow", {FROM_TF}},
    {"\x08",
     1,
     0,
     NULL,
     "a protocol buffer of another program, such as a model of ONNX",
     {"python -m torch_mlir.tools.import_onnx f.onnx -o f.onnx.mlir",
      "torch-mlir-opt --torch-onnx-to-torch-backend-pipeline "
      "--torch-backend-to-stablehlo-backend-pipeline f.onnx.mlir -o f.mlir",
      ""}},
    {"%PDF", 4, 0, NULL, "a PDF document", {FROM_JAX}},
    {"GGUF", 4, 0, NULL, "a file of weights (GGUF)", {FROM_JAX}},
    {"\x89PNG", 4, 0, NULL, "a picture", {FROM_JAX}},
    {"<", 1, 0, "<html", "a page of HTML", {FROM_JAX}},
    {"{ lambda", 8, 0, NULL, "a jaxpr", {FROM_JAX}},
    {"; ModuleID", 10, 0, NULL, "LLVM IR", {BESIDE_A_DUMP}},
    REPORT("BufferAssignment:"),
    REPORT("HloLiveRange "),
    REPORT("Memory Space: "),
    REPORT("\nUsed values:"),
    {"xla_", 4, 0, "xla_gpu_", "a list of XLA's options", {BESIDE_A_DUMP}},
};

/* Whether a file has the row's magic and word. Archives have their list of members at the end,
 * hence the search from both sides. */
static bool fits(const struct kind *kind, hr_str_t bytes) {
  size_t searched = bytes.size < LOOKED_AT ? bytes.size : LOOKED_AT;
  if (bytes.size < kind->offset + kind->magic_bytes) return false;
  if (memcmp(bytes.data + kind->offset, kind->magic, kind->magic_bytes) != 0) return false;
  if (!kind->word) return true;
  const char *tail = bytes.data + bytes.size - searched; /* directory of a zip archive */
  size_t size = strlen(kind->word);
  return memmem(bytes.data, searched, kind->word, size) || memmem(tail, searched, kind->word, size);
}

/* The "{" of a safetensors file is a single byte: the length before it must fit the file, too. */
static bool is_length(const struct kind *kind, hr_str_t bytes) {
  uint64_t length = 0;
  if (kind->offset != 8) return true;
  for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)bytes.data[i];
  return length >= 2 && length <= bytes.size - 8;
}

static const struct kind python_script = {.what = "a Python script", .lines = {PYTHON_SCRIPT}};

/* A statement at the start of a line: a keyword and a name. In HLO text "=" follows a first word,
 * in MLIR and in text protos no such word begins a line. */
static bool is_python_line(hr_str_t line) {
  static const char *const starts[] = {
      "import ", "from ", "def ", "class ", "#!/usr/bin/python", "#!/usr/bin/env python"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    size_t size = strlen(starts[i]);
    if (line.size <= size || memcmp(line.data, starts[i], size) != 0) continue;
    if (*line.data == '#' || isalpha((unsigned char)line.data[size]) || line.data[size] == '_')
      return true;
  }
  return false;
}

/* Looks at the lines of the first part of the file. */
static bool is_python(hr_str_t bytes) {
  const char *at = bytes.data;
  const char *end = at + (bytes.size < SCRIPT_BYTES ? bytes.size : SCRIPT_BYTES);
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *line_end = newline ? newline : end;
    if (is_python_line((hr_str_t){at, (size_t)(line_end - at)})) return true;
    at = line_end + 1;
  }
  return false;
}

static hr_status_t refuse(const char *path, const struct kind *kind) {
  hr_status_t st = hr_error(HR_INVALID, "%s is %s, want HLO or StableHLO", path, kind->what);
  for (int line = 0; line < 3 && *kind->lines[line]; line++)
    st = hr_status_note(st, "%s", kind->lines[line]);
  return st;
}

/* Tries the rows in order. */
hr_status_t read_foreign(const char *path, hr_str_t bytes) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (fits(&kinds[i], bytes) && is_length(&kinds[i], bytes)) return refuse(path, &kinds[i]);
  return is_python(bytes) ? refuse(path, &python_script) : NULL;
}
