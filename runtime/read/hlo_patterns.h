/* Patterns of numbers in HLO text:
 *
 *   int    ::= "-"? digits
 *   float  ::= "-"? digits? "." digits? exponent? | "-"? digits exponent
 *   labels ::= side "_" kernel "->" side   side ::= [bf?0-9]{2,}, kernel ::= [io?0-9]{2,}
 *   sizes  ::= digits ("x" digits)+
 *   pads   ::= pad ("x" pad)*              pad  ::= int "_" int ("_" int)?
 *
 * Each function returns the length of its pattern at the start of the text; 0: the text starts with
 * something else. */
#ifndef READ_HLO_PATTERNS_H
#define READ_HLO_PATTERNS_H

#include <stddef.h>

size_t read_match_int(const char *text, size_t size);
size_t read_match_float(const char *text, size_t size);
size_t read_match_labels(const char *text, size_t size);
size_t read_match_sizes(const char *text, size_t size); /* a single number is an int */
size_t read_match_pads(const char *text, size_t size);
/* "(0x7)", which may follow nan: the bits of its mantissa. */
size_t read_match_payload(const char *text, size_t size);

#endif
