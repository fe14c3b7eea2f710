/* Nearest names by edit distance, for messages about unknown words. */
#include "base/nearest_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static size_t least(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

/* Edits (insert, delete, replace, swap neighbours) between two words of m and n characters, by
 * three rows of the usual table: of i, i - 1 and i - 2 characters of a, in turns. */
static size_t edit_distance(const char *a, size_t m, const char *b, size_t n) {
  uint8_t rows[3][HR_NEAREST_WORD_MAX + 1];
  for (size_t j = 0; j <= n; j++) rows[0][j] = (uint8_t)j;
  for (size_t i = 1; i <= m; i++) {
    uint8_t *row = rows[i % 3];
    const uint8_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    row[0] = (uint8_t)i;
    for (size_t j = 1; j <= n; j++) {
      size_t edits = least(above[j] + 1u, row[j - 1] + 1u, above[j - 1] + (a[i - 1] != b[j - 1]));
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1u < edits) edits = before[j - 2] + 1u;
      row[j] = (uint8_t)edits;
    }
  }
  return rows[m % 3][n];
}

/* Ties go to the first name. Names that share too little with the word are no help; those whose
 * lengths differ by as many characters need no table. */
const char *hr_nearest_name(const char *word, const char *const *names, size_t count) {
  const char *best = NULL;
  size_t m = strlen(word), best_distance = m / 3 + 2; /* farther is no help */
  for (size_t i = 0; m <= HR_NEAREST_WORD_MAX && i < count; i++) {
    size_t n = strlen(names[i]);
    if ((n > m ? n - m : m - n) >= best_distance || n > HR_NEAREST_WORD_MAX) continue;
    size_t distance = edit_distance(word, m, names[i], n);
    if (distance >= best_distance) continue;
    best = names[i];
    best_distance = distance;
  }
  return best;
}
