/* The nearest of several names, for messages about unknown words. Thread: any. */
#ifndef HR_NEAREST_NAME_H
#define HR_NEAREST_NAME_H

#include <stddef.h>

#define HR_NEAREST_WORD_MAX 64 /* characters of the longest word that has a nearest name */

/* The name of `names` (count of them) that is nearest to `word` in edits; NULL: none is near. */
const char *hr_nearest_name(const char *word, const char *const *names, size_t count);

#endif
