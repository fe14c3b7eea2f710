/* Whatever bytes stand in a TensorFlow graph, or in any other file that is given as a program: it
 * is read as the form that it looks like, lowered and verified, or refused; without a crash, a
 * leak or an internal error, and in memory in proportion. Files of tests/cases/tf are its best
 * inputs: `fuzz_graph --mutate COUNT SEED FILE...`. With -DHR_FUZZING -fsanitize=fuzzer it is a
 * target of libFuzzer; else a program, see fuzz_driver.h. */
#include <stdio.h>
#include <string.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "ops/rules/verify.h"
#include "proto_mutator.h"
#include "read/read.h"
#include "stablehlo/stablehlo.h"
#include "tf/file/tf_read.h"

static hr_status_t check_input(const uint8_t *data, size_t size) {
  hlo_module_t *module;
  HR_TRY(fuzz_read_module(data, size, &module));
  hr_status_t st = hlo_verify(module);
  if (!st && module->arena.total_bytes > ((size_t)1 << 30) + 4096 * size)
    fuzz_fail("memory out of proportion");
  hlo_module_destroy(module);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_check(data, size, check_input);
}

#ifndef HR_FUZZING

static const char *const graphs[] = {
    /* without the inputs that they want */
    "node { name: \"i\" op: \"Identity\" }\nnode { name: \"s\" op: \"XlaSort\" }\n"
    "node { name: \"w\" op: \"Switch\" }\n",
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } attr "
    "{ "
    "key: \"shape\" value { shape { dim { size: 2 } dim { size: 3 } } } } }\n"
    "node { name: \"c\" op: \"Const\" attr { key: \"dtype\" value { type: DT_INT32 } } attr { key: "
    "\"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 3 "
    "int_val: "
    "2 } } } }\n"
    "node { name: \"r\" op: \"Reshape\" input: \"x\" input: \"c\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } attr { key: \"Tshape\" value { type: DT_INT32 } } }\n"
    "node { name: \"m\" op: \"MatMul\" input: \"x\" input: \"r\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } attr { key: \"transpose_a\" value { b: false } } attr { key: \"transpose_b\" "
    "value "
    "{ b: false } } }\n",
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } attr "
    "{ "
    "key: \"shape\" value { shape { dim { size: 4 } } } } }\n"
    "node { name: \"y\" op: \"f\" input: \"x\" }\n"
    "library { function { signature { name: \"f\" input_arg { name: \"a\" type: DT_FLOAT } "
    "output_arg { name: \"b\" type: DT_FLOAT } } node_def { name: \"t\" op: \"Tanh\" input: \"a\" "
    "attr { key: \"T\" value { type: DT_FLOAT } } } ret { key: \"b\" value: \"t:y:0\" } } }\n",
};

static fuzz_bytes_t builtin_graph(int index) {
  return fuzz_copy(graphs[index], strlen(graphs[index]));
}

/* Text is not a message, or one with a single field: a bit, a number or a piece of it changes. */
static void mutate(fuzz_bytes_t *bytes, const fuzz_bytes_t *other) {
  bool is_text = bytes->size > 4 && memcmp(bytes->data, "node", 4) == 0;
  if (!is_text) {
    proto_mutate(bytes, other);
    return;
  }
  size_t at = fuzz_random_below(bytes->size), from = fuzz_random_below(bytes->size);
  size_t size = fuzz_random_below(24), left = bytes->size - (at > from ? at : from);
  if (size > left) size = left;
  switch (fuzz_random_below(4)) {
    case 0:
      bytes->data[at] ^= (char)(1u << fuzz_random_below(8));
      break;
    case 1:
      bytes->data[at] = "0123456789-:{}\" "[fuzz_random_below(16)];
      break;
    case 2:
      memmove(bytes->data + at, bytes->data + from, size);
      break;
    default:
      if (!fuzz_random_below(10)) bytes->size = at;
  }
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {
      .own = builtin_graph, .own_count = sizeof graphs / sizeof *graphs, .mutate = mutate};
  return fuzz_main(argc, argv, &material);
}

#endif
