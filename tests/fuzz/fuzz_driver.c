/* main of fuzz targets that are built without libFuzzer: own inputs, changed copies, corpora. */
#include "fuzz_driver.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

uint64_t fuzz_random_below(uint64_t limit) { /* splitmix64 */
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return limit ? (z ^ (z >> 31)) % limit : 0;
}

static char *allocate(size_t size) {
  char *data = malloc(size ? size : 1);
  if (!data) exit(2);
  return data;
}

fuzz_bytes_t fuzz_copy(const void *data, size_t size) {
  fuzz_bytes_t bytes = {allocate(size), size};
  if (size) memcpy(bytes.data, data, size);
  return bytes;
}

static fuzz_bytes_t load(const char *path) {
  fuzz_bytes_t bytes = {allocate(FUZZ_BYTES_MAX), 0};
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(2);
  }
  bytes.size = fread(bytes.data, 1, FUZZ_BYTES_MAX, file);
  fclose(file);
  return bytes;
}

/* Replaces `gone` bytes at `at` by `size` others. */
static void splice(fuzz_bytes_t *text, size_t at, size_t gone, const char *bytes, size_t size) {
  if (text->size - gone + size > FUZZ_BYTES_MAX) return;
  memmove(text->data + at + size, text->data + at + gone, text->size - at - gone);
  memcpy(text->data + at, bytes, size);
  text->size += size - gone;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* The word around or after a random place; empty if there is none. */
static void find_word(const fuzz_bytes_t *text, size_t *out_at, size_t *out_size) {
  size_t at = fuzz_random_below(text->size), end;
  while (at < text->size && !is_word(text->data[at])) at++;
  while (at > 0 && at < text->size && is_word(text->data[at - 1])) at--;
  for (end = at; end < text->size && is_word(text->data[end]);) end++;
  *out_at = at;
  *out_size = end - at;
}

/* A word of the text in place of another that begins with a character of the same kind: what comes
 * out often parses. */
static void replace_word(fuzz_bytes_t *text) {
  size_t at, gone, from, size;
  char word[64];
  if (!text->size) return;
  find_word(text, &at, &gone);
  for (int tries = 8; gone && tries; tries--) {
    find_word(text, &from, &size);
    if (!size || size > sizeof word) continue;
    if (!isdigit((unsigned char)text->data[at]) != !isdigit((unsigned char)text->data[from]))
      continue;
    memcpy(word, text->data + from, size);
    splice(text, at, gone, word, size);
    return;
  }
}

static void mutate_text(const fuzz_material_t *material, fuzz_bytes_t *text,
                        const fuzz_bytes_t *other) {
  size_t at = fuzz_random_below(text->size + 1), left = text->size - at;
  size_t gone = fuzz_random_below(left < 12 ? left + 1 : 12);
  switch (fuzz_random_below(9)) {
    case 0:
      if (left) text->data[at] ^= (char)(1u << fuzz_random_below(8));
      break;
    case 1:
      splice(text, at, gone, "", 0);
      break;
    case 2: {
      const char *word = material->words[fuzz_random_below(material->word_count)];
      splice(text, at, fuzz_random_below(2) ? gone : 0, word, strlen(word));
      break;
    }
    case 3: { /* a piece of itself */
      char piece[64];
      size_t from = fuzz_random_below(text->size + 1), size = fuzz_random_below(sizeof piece);
      if (size > text->size - from) size = text->size - from;
      memcpy(piece, text->data + from, size);
      splice(text, at, 0, piece, size);
      break;
    }
    case 4: { /* a piece of another text */
      size_t from = fuzz_random_below(other->size + 1), size = fuzz_random_below(200);
      if (size > other->size - from) size = other->size - from;
      splice(text, at, gone, other->data + from, size);
      break;
    }
    case 5:
      text->size = fuzz_random_below(20) ? text->size : at;
      break;
    default:
      replace_word(text);
      break;
  }
}

/* In a block of just its size, so that reading beyond its end is seen. */
static void run_exact(const fuzz_bytes_t *bytes) {
  fuzz_bytes_t exact = fuzz_copy(bytes->data, bytes->size);
  LLVMFuzzerTestOneInput((const uint8_t *)exact.data, exact.size);
  free(exact.data);
}

/* Changes a copy of an input one to four times, perhaps with parts of another. */
static void run_mutations(const fuzz_material_t *material, long count, const fuzz_bytes_t *inputs,
                          int input_count) {
  fuzz_bytes_t work = {allocate(FUZZ_BYTES_MAX), 0};
  for (long n = 0; n < count; n++) {
    const fuzz_bytes_t *from = &inputs[fuzz_random_below((uint64_t)input_count)];
    memcpy(work.data, from->data, from->size);
    work.size = from->size;
    for (uint64_t changes = 1 + fuzz_random_below(4); changes; changes--) {
      const fuzz_bytes_t *other = &inputs[fuzz_random_below((uint64_t)input_count)];
      if (material->mutate)
        material->mutate(&work, other);
      else
        mutate_text(material, &work, other);
    }
    run_exact(&work);
  }
  free(work.data);
}

/* Runs `mutations` changed copies of the inputs, and frees them; each as it is when as_they_are. */
static void run_inputs(const fuzz_material_t *material, fuzz_bytes_t *inputs, int count,
                       bool as_they_are, long mutations) {
  for (int i = 0; as_they_are && i < count; i++) run_exact(&inputs[i]);
  if (mutations) run_mutations(material, mutations, inputs, count);
  for (int i = 0; i < count; i++) free(inputs[i].data);
  free(inputs);
}

static fuzz_bytes_t *allocate_inputs(int count) {
  return (fuzz_bytes_t *)(void *)allocate((size_t)count * sizeof(fuzz_bytes_t));
}

static void run_files(const fuzz_material_t *material, char **paths, int count, long mutations) {
  fuzz_bytes_t *inputs = allocate_inputs(count);
  for (int i = 0; i < count; i++) inputs[i] = load(paths[i]);
  run_inputs(material, inputs, count, !mutations, mutations);
}

static fuzz_bytes_t own_input(const fuzz_material_t *material, int index) {
  if (!material->texts) return material->own(index);
  return fuzz_copy(material->texts[index], strlen(material->texts[index]));
}

static fuzz_bytes_t *own_inputs(const fuzz_material_t *material) {
  fuzz_bytes_t *inputs = allocate_inputs(material->own_count);
  for (int i = 0; i < material->own_count; i++) inputs[i] = own_input(material, i);
  return inputs;
}

static void run_builtin(const fuzz_material_t *material, long count, uint64_t seed) {
  state = seed;
  run_inputs(material, own_inputs(material), material->own_count, true, count);
  printf("1 passed, 0 failed\n");
}

static void write_builtin(const fuzz_material_t *material, const char *folder) {
  fuzz_bytes_t *inputs = own_inputs(material);
  for (int i = 0; i < material->own_count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/own%d", folder, i);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(inputs[i].data, 1, inputs[i].size, file) != inputs[i].size) exit(2);
    fclose(file);
    free(inputs[i].data);
  }
  free(inputs);
}

/* --- kept corpora --- */

static FILE *open_or_end(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  if (file) return file;
  perror(path);
  exit(2);
}

/* A corpus is one file: the size of each input in four bytes, the lowest first, and its bytes. */
static void pack_corpus(const char *path, char **inputs, int count) {
  FILE *corpus = open_or_end(path, "wb");
  for (int i = 0; i < count; i++) {
    fuzz_bytes_t bytes = load(inputs[i]);
    for (int byte = 0; byte < 4; byte++) fputc((int)(bytes.size >> 8 * byte & 255), corpus);
    if (fwrite(bytes.data, 1, bytes.size, corpus) != bytes.size) exit(2);
    free(bytes.data);
  }
  if (fclose(corpus)) exit(2);
}

/* False at the end of the corpus; one that is cut off ends the process. */
static bool next_of_corpus(FILE *corpus, fuzz_bytes_t *out_bytes) {
  unsigned char size[4];
  size_t got = fread(size, 1, sizeof size, corpus);
  if (got == 0) return false;
  out_bytes->size = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
  if (got != sizeof size || out_bytes->size > FUZZ_BYTES_MAX) exit(2);
  if (fread(out_bytes->data, 1, out_bytes->size, corpus) != out_bytes->size) exit(2);
  return true;
}

/* Runs each input, or writes it into a folder, as libFuzzer wants a corpus. */
static void use_corpus(const char *path, const char *folder) {
  FILE *corpus = open_or_end(path, "rb");
  fuzz_bytes_t bytes = {allocate(FUZZ_BYTES_MAX), 0};
  int count = 0;
  for (; next_of_corpus(corpus, &bytes); count++) {
    if (!folder) {
      run_exact(&bytes);
      continue;
    }
    char name[4096];
    snprintf(name, sizeof name, "%s/input%d", folder, count);
    FILE *file = open_or_end(name, "wb");
    if (fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file)) exit(2);
  }
  free(bytes.data);
  fclose(corpus);
  printf("%d inputs\n", count);
}

int fuzz_main(int argc, char **argv, const fuzz_material_t *material) {
  bool mutations = argc > 4 && strcmp(argv[1], "--mutate") == 0;
  if (mutations) state = strtoull(argv[3], NULL, 0);
  if (argc == 1)
    run_builtin(material, material->rounds ? material->rounds : 20000, 1);
  else if (argc == 4 && strcmp(argv[1], "--own") == 0)
    run_builtin(material, strtol(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
  else if (argc == 3 && strcmp(argv[1], "--write") == 0)
    write_builtin(material, argv[2]);
  else if (argc == 3 && strcmp(argv[1], "--corpus") == 0)
    use_corpus(argv[2], NULL);
  else if (argc == 4 && strcmp(argv[1], "--unpack") == 0)
    use_corpus(argv[2], argv[3]);
  else if (argc > 3 && strcmp(argv[1], "--pack") == 0)
    pack_corpus(argv[2], argv + 3, argc - 3);
  else if (mutations)
    run_files(material, argv + 4, argc - 4, strtol(argv[2], NULL, 0));
  else
    run_files(material, argv + 1, argc - 1, 0);
  return 0;
}
