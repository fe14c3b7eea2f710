/* Correctly rounded conversion of decimals to doubles, and number formatting, always in the C
 * locale, whatever the locale of the embedding program. Thread: any. */
#ifndef HR_BASE_DECIMAL_H
#define HR_BASE_DECIMAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* `text`: '-'? digits ('.' digits)? ('e' sign? digits)?, checked by the caller; either part of the
 * digits may be empty. *out_exact (may be NULL): true only if the double equals the decimal. NAN
 * when memory runs out. */
double hr_decimal_read(const char *text, size_t size, bool *out_exact);

/* Like the functions of the C library, with a decimal point. */
double hr_strtod(const char *text, char **out_end);
float hr_strtof(const char *text, char **out_end);
int hr_vsnprintf(char *into, size_t size, const char *format, va_list args);
int hr_snprintf(char *into, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int hr_vasprintf(char **out_text, const char *format, va_list args);

#endif
