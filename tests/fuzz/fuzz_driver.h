/* What the fuzz targets of texts share: their command line, and changed copies of texts. */
#ifndef TESTS_FUZZ_FUZZ_DRIVER_H
#define TESTS_FUZZ_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* Runs the target on one input; libFuzzer gives this name. Its return value is always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct fuzz_material {
  const char *const *words; /* put into texts, beside bits, pieces of themselves and pieces of other texts */
  size_t word_count;
  const char *const *own; /* texts for a run without arguments */
  int own_count;
} fuzz_material_t;

/*   TARGET                               runs changed copies of the target's own texts
 *   TARGET FILE...                       runs each file once
 *   TARGET --mutate COUNT SEED FILE...   runs COUNT texts made from the files by changes that only SEED decides */
int fuzz_main(int argc, char **argv, const fuzz_material_t *material);

#endif
