/* Whatever bytes are read: no crash, no leak, and what is accepted prints as text that reads back and prints the same.
 * With -DHR_FUZZING -fsanitize=fuzzer it is a target of libFuzzer; else a program:
 *   fuzz_hlo_text                             runs changed copies of a few texts of its own
 *   fuzz_hlo_text FILE...                     runs each file once
 *   fuzz_hlo_text --mutate COUNT SEED FILE... runs COUNT texts made from the files by changes that only SEED decides */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/print.h"
#include "read/read.h"

#define TEXT_MAX (1 << 18) /* longer files are cut, so that a run stays quick */

static void fail(const char *what) {
  fprintf(stderr, "fuzz_hlo_text: %s\n", what);
  abort();
}

/* The bytes must outlive the module. */
static hr_status_t read_bytes(const void *data, size_t size, hlo_module_t **out_module) {
  hlo_module_t *module;
  HR_TRY(hlo_module_create(HR_STR("fuzz"), &module));
  module->source = (hr_source_t){"fuzz", data, size};
  hr_status_t st = read_hlo_text(module);
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

/* Errors must be of the program, and be printable. */
static void drop_status(hr_status_t st) {
  hr_code_t code = hr_status_code(st);
  if (code == HR_INTERNAL) fail("internal error");
  char *text = hr_status_format(st);
  free(text);
  hr_status_release(st);
}

/* A verified module prints as text that reads back the same. */
static void check_print(const hlo_module_t *module, hlo_print_style_t style) {
  hr_text_t first, second;
  hlo_module_t *again;
  hr_text_init(&first);
  hr_text_init(&second);
  hlo_print_module(&first, module, style);
  hr_status_t st = read_bytes(first.data, first.size, &again);
  if (st) {
    hr_status_print(stderr, st);
    if (style == HLO_PRINT_LONG) fail("what was printed does not read back");
    drop_status(st); /* without '%', a name can look like a reserved word */
  } else {
    hlo_print_module(&second, again, style);
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
      fail("what was printed reads back different");
    hlo_module_destroy(again);
  }
  hr_text_deinit(&first);
  hr_text_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hlo_opcode_t op;
  hlo_op_from_name(HR_STR("add"), &op); /* fills a table that stays */
  size_t live = hr_mem_live_blocks();
  hlo_module_t *module = NULL;
  hr_status_t st = read_bytes(data, size, &module);
  if (!st) st = hlo_verify(module);
  if (!st) {
    hr_text_t dot;
    check_print(module, HLO_PRINT_LONG);
    hr_text_init(&dot);
    hlo_print_dot(&dot, module);
    hr_text_deinit(&dot);
  }
  if (st) drop_status(st);
  hlo_module_destroy(module);
  if (hr_mem_live_blocks() != live) fail("leak");
  return 0;
}

#ifndef HR_FUZZING

static uint64_t state;

static uint64_t random_below(uint64_t limit) { /* splitmix64 */
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return limit ? (z ^ (z >> 31)) % limit : 0;
}

typedef struct text {
  char *data;
  size_t size;
} text_t;

static text_t load(const char *path) {
  text_t text = {malloc(TEXT_MAX), 0};
  FILE *file = fopen(path, "rb");
  if (!text.data || !file) {
    perror(path);
    exit(2);
  }
  text.size = fread(text.data, 1, TEXT_MAX, file);
  fclose(file);
  return text;
}

/* Replaces `gone` bytes at `at` by `size` others. */
static void splice(text_t *text, size_t at, size_t gone, const char *bytes, size_t size) {
  if (text->size - gone + size > TEXT_MAX) return;
  memmove(text->data + at + size, text->data + at + gone, text->size - at - gone);
  memcpy(text->data + at, bytes, size);
  text->size += size - gone;
}

static void mutate(text_t *text, const text_t *other) {
  static const char *const words[] = {"{",
                                      "}",
                                      "(",
                                      ")",
                                      ",",
                                      "=",
                                      "[",
                                      "]",
                                      "{...}",
                                      "%",
                                      "-1",
                                      "0",
                                      "1",
                                      "9999999999",
                                      "-9223372036854775808",
                                      "18446744073709551615",
                                      "nan",
                                      "inf",
                                      "-0",
                                      "f32[]",
                                      "s4[2]{0:E(4)}",
                                      "pred[]",
                                      "(f32[], token[])",
                                      "ROOT ",
                                      "1e400",
                                      "parameter(1)",
                                      ", sharding={replicated}",
                                      ", metadata={op_name=\"x\"}",
                                      "/*",
                                      "\"",
                                      "\\",
                                      "{{0,1}}",
                                      "[2,4]<=[8]",
                                      "constant(1)",
                                      "\n",
                                      "_",
                                      "f32[<=3,?]",
                                      ", to_apply={a = f32[] parameter(0)}"};
  size_t at = random_below(text->size + 1), left = text->size - at, gone = random_below(left < 12 ? left + 1 : 12);
  switch (random_below(6)) {
    case 0:
      if (left) text->data[at] ^= (char)(1u << random_below(8));
      break;
    case 1: splice(text, at, gone, "", 0); break;
    case 2: {
      const char *word = words[random_below(sizeof words / sizeof *words)];
      splice(text, at, random_below(2) ? gone : 0, word, strlen(word));
      break;
    }
    case 3: { /* a piece of itself */
      char piece[64];
      size_t from = random_below(text->size + 1), size = random_below(sizeof piece);
      if (size > text->size - from) size = text->size - from;
      memcpy(piece, text->data + from, size);
      splice(text, at, 0, piece, size);
      break;
    }
    case 4: { /* a piece of another text */
      size_t from = random_below(other->size + 1), size = random_below(200);
      if (size > other->size - from) size = other->size - from;
      splice(text, at, gone, other->data + from, size);
      break;
    }
    default: text->size = random_below(20) ? text->size : at; break;
  }
}

static void run_mutations(long count, const text_t *texts, int text_count) {
  text_t work = {malloc(TEXT_MAX), 0};
  if (!work.data) exit(2);
  for (long n = 0; n < count; n++) {
    const text_t *from = &texts[random_below((uint64_t)text_count)];
    memcpy(work.data, from->data, from->size);
    work.size = from->size;
    for (uint64_t changes = 1 + random_below(4); changes; changes--)
      mutate(&work, &texts[random_below((uint64_t)text_count)]);
    char *exact = malloc(work.size ? work.size : 1); /* so that reading beyond its end is seen */
    if (!exact) exit(2);
    memcpy(exact, work.data, work.size);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, work.size);
    free(exact);
  }
  free(work.data);
}

static void run_files(char **paths, int count, long mutations) {
  text_t *texts = malloc((size_t)count * sizeof *texts);
  if (!texts) exit(2);
  for (int i = 0; i < count; i++) texts[i] = load(paths[i]);
  if (mutations) run_mutations(mutations, texts, count);
  for (int i = 0; i < count; i++) {
    if (!mutations) LLVMFuzzerTestOneInput((const uint8_t *)texts[i].data, texts[i].size);
    free(texts[i].data);
  }
  free(texts);
}

static void run_own_texts(void) {
  static const char *const own[] = {
      "HloModule a, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, num_partitions=2\n\n"
      "%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
      "  ROOT %s = f32[] add(%x, %y)\n}\n\nENTRY %e (p: f32[8]) -> f32[8] {\n"
      "  %p = f32[8]{0} parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}\n"
      "  %n = f32[8]{0} negate(%p), metadata={op_name=\"jit(f)/neg\" source_line=3}, backend_config={\"a\":{\"b\":1}}\n"
      "  ROOT %r = f32[8]{0} all-reduce(%n), channel_id=1, replica_groups=[1,2]<=[2], use_global_device_ids=true, "
      "to_apply=%add, control-predecessors={%p}\n}\n",
      "HloModule b\nENTRY e {\n  k = (f32[2,2], pred[3], c64[1]) constant(({{1,-0},{nan(0x7),inf}}, {1,0,1}, "
      "{(1,2)}))\n"
      "  g = f32[2,2] get-tuple-element(k), index=0\n  z = f32[] constant(0)\n"
      "  w = f32[2,2] reduce-window(g, z), window={size=2x1 pad=1_0x0_0}, to_apply={ a = f32[] parameter(0) "
      "b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n  s = f32[1,2] slice(w), slice={[0:2:2], [0:2]}\n"
      "  ROOT t = (f32[1,2], f32[3,2]) tuple(s, f32[3,2] pad(w, z), padding=0_1x0_0)\n}\n",
      "f32[4] add(f32[4] negate(f32[4] a), f32[4] multiply(f32[4] a, f32[4] b))",
      "HloModule c\nENTRY e {\n  x = f32[<=4,2]{1,0:T(8,128)S(1)} parameter(0), origin={{\"x\" {0}}}\n"
      "  st = ((f32[<=4,2]), f32[<=4,2], u32[]) custom-call-start(x), custom_call_target=\"t\", literal=s32[2]{0} {1, "
      "2}\n"
      "  ROOT d = f32[<=4,2] custom-call-done(st), frontend_attributes={a=\"b\",c={d}}\n}\n",
  };
  enum { COUNT = sizeof own / sizeof *own };
  text_t texts[COUNT];
  for (int i = 0; i < COUNT; i++) {
    texts[i] = (text_t){(char *)own[i], strlen(own[i])};
    LLVMFuzzerTestOneInput((const uint8_t *)own[i], texts[i].size);
  }
  state = 1;
  run_mutations(20000, texts, COUNT);
  printf("1 passed, 0 failed\n");
}

int main(int argc, char **argv) {
  bool mutations = argc > 4 && strcmp(argv[1], "--mutate") == 0;
  if (mutations) state = strtoull(argv[3], NULL, 0);
  if (argc == 1)
    run_own_texts();
  else if (mutations)
    run_files(argv + 4, argc - 4, strtol(argv[2], NULL, 0));
  else
    run_files(argv + 1, argc - 1, 0);
  return 0;
}

#endif
