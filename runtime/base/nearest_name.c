/* Nearest names by edit distance, for messages about unknown words. */
#include "base/nearest_name.h"

#include <stdbool.h>
#include <string.h>

static size_t least(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

/* Edits (insert, delete, replace, swap neighbours) between two short words, by three rows of the
 * usual table. */
static size_t edit_distance(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b);
  if (m > HR_NEAREST_WORD_MAX || n > HR_NEAREST_WORD_MAX) return HR_NEAREST_WORD_MAX;
  size_t before[HR_NEAREST_WORD_MAX + 1], above[HR_NEAREST_WORD_MAX + 1],
      row[HR_NEAREST_WORD_MAX + 1];
  for (size_t j = 0; j <= n; j++) {
    above[j] = j;
    before[j] = j;
  }
  for (size_t i = 1; i <= m; i++) {
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
    memcpy(before, above, sizeof above);
    memcpy(above, row, sizeof row);
  }
  return above[n];
}

/* Ties go to the first name. Names that share too little with the word are no help. */
const char *hr_nearest_name(const char *word, const char *const *names, size_t count) {
  const char *best = NULL;
  size_t best_distance = strlen(word) / 3 + 2; /* farther is no help */
  for (size_t i = 0; i < count; i++) {
    size_t distance = edit_distance(word, names[i]);
    if (distance >= best_distance) continue;
    best = names[i];
    best_distance = distance;
  }
  return best;
}
