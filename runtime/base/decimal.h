/* Decimals as doubles, rounded right, whatever the locale. */
#ifndef HR_BASE_DECIMAL_H
#define HR_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* `text`: '-'? digits ('.' digits)? ('e' sign? digits)?, checked by the caller; either part of the
 * digits may be empty. *out_exact (may be NULL): the double is surely the decimal itself. NAN when
 * memory runs out. */
double hr_decimal_read(const char *text, size_t size, bool *out_exact);

#endif
