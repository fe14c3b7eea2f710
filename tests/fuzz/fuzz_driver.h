/* What the fuzz targets share: their command line, and changed copies of inputs. */
#ifndef TESTS_FUZZ_FUZZ_DRIVER_H
#define TESTS_FUZZ_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_BYTES_MAX ((size_t)1 << 18) /* longer files are cut, so that a run stays quick */

/* Runs the target on one input; libFuzzer gives this name. Its return value is always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct fuzz_bytes {
  char *data; /* from malloc; those that are changed have room for FUZZ_BYTES_MAX */
  size_t size;
} fuzz_bytes_t;

typedef struct fuzz_material {
  fuzz_bytes_t (*own)(int index); /* inputs for a run without arguments; the caller frees data */
  const char *const *texts;       /* the inputs, where they are texts; then without `own` */
  int own_count;
  /* One change of `bytes`, which may take pieces of `other`; NULL: a change of text. */
  void (*mutate)(fuzz_bytes_t *bytes, const fuzz_bytes_t *other);
  const char *const
      *words; /* put into texts, beside bits, pieces of themselves and pieces of other texts */
  size_t word_count;
  long rounds; /* changed copies in a run without arguments; 0: 20000 */
} fuzz_material_t;

/*   TARGET                               runs changed copies of the target's own inputs
 *   TARGET --own COUNT SEED              the same, so many and as SEED decides
 *   TARGET --write FOLDER                writes them to files, as a corpus for libFuzzer
 *   TARGET --corpus FILE                 runs each input of a kept corpus (tests/fuzz/corpus)
 *   TARGET --unpack FILE FOLDER          writes them to files
 *   TARGET --pack FILE INPUT...          makes a corpus of files
 *   TARGET FILE...                       runs each file once
 *   TARGET --mutate COUNT SEED FILE...   runs COUNT inputs made from the files by changes that only
 * SEED decides */
int fuzz_main(int argc, char **argv, const fuzz_material_t *material);

/* For mutate: the next number below `limit` of the run's seed; 0 if limit is 0. */
uint64_t fuzz_random_below(uint64_t limit);
/* A copy of the bytes, which the caller frees; ends the process when there is no memory. */
fuzz_bytes_t fuzz_copy(const void *data, size_t size);

#endif
