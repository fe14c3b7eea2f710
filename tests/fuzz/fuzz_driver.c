#include "fuzz_driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (1 << 18) /* longer files are cut, so that a run stays quick */

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

static void mutate(const fuzz_material_t *material, text_t *text, const text_t *other) {
  size_t at = random_below(text->size + 1), left = text->size - at, gone = random_below(left < 12 ? left + 1 : 12);
  switch (random_below(6)) {
    case 0:
      if (left) text->data[at] ^= (char)(1u << random_below(8));
      break;
    case 1: splice(text, at, gone, "", 0); break;
    case 2: {
      const char *word = material->words[random_below(material->word_count)];
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

static void run_mutations(const fuzz_material_t *material, long count, const text_t *texts, int text_count) {
  text_t work = {malloc(TEXT_MAX), 0};
  if (!work.data) exit(2);
  for (long n = 0; n < count; n++) {
    const text_t *from = &texts[random_below((uint64_t)text_count)];
    memcpy(work.data, from->data, from->size);
    work.size = from->size;
    for (uint64_t changes = 1 + random_below(4); changes; changes--)
      mutate(material, &work, &texts[random_below((uint64_t)text_count)]);
    char *exact = malloc(work.size ? work.size : 1); /* so that reading beyond its end is seen */
    if (!exact) exit(2);
    memcpy(exact, work.data, work.size);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, work.size);
    free(exact);
  }
  free(work.data);
}

static void run_files(const fuzz_material_t *material, char **paths, int count, long mutations) {
  text_t *texts = calloc((size_t)count, sizeof *texts);
  if (!texts) exit(2);
  for (int i = 0; i < count; i++) texts[i] = load(paths[i]);
  if (mutations) run_mutations(material, mutations, texts, count);
  for (int i = 0; i < count; i++) {
    if (!mutations) LLVMFuzzerTestOneInput((const uint8_t *)texts[i].data, texts[i].size);
    free(texts[i].data);
  }
  free(texts);
}

static void run_own_texts(const fuzz_material_t *material) {
  text_t *texts = calloc((size_t)material->own_count, sizeof *texts);
  if (!texts) exit(2);
  for (int i = 0; i < material->own_count; i++) {
    texts[i] = (text_t){(char *)material->own[i], strlen(material->own[i])};
    LLVMFuzzerTestOneInput((const uint8_t *)material->own[i], texts[i].size);
  }
  state = 1;
  run_mutations(material, 20000, texts, material->own_count);
  free(texts);
  printf("1 passed, 0 failed\n");
}

int fuzz_main(int argc, char **argv, const fuzz_material_t *material) {
  bool mutations = argc > 4 && strcmp(argv[1], "--mutate") == 0;
  if (mutations) state = strtoull(argv[3], NULL, 0);
  if (argc == 1)
    run_own_texts(material);
  else if (mutations)
    run_files(material, argv + 4, argc - 4, strtol(argv[2], NULL, 0));
  else
    run_files(material, argv + 1, argc - 1, 0);
  return 0;
}
