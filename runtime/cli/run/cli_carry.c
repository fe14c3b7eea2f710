/* Parses and checks --carry: ranges of results, each with a range of parameters of the same length
 * and shapes. */
#include "cli/run/cli_carry.h"

#include <stdlib.h>
#include <string.h>

/* "3" or "3-5" up to `stop`. */
static bool parse_range(const char *text, const char *stop, int *out_first, int *out_last) {
  char *end;
  long first = strtol(text, &end, 10), last = first;
  if (*text < '0' || *text > '9' || first > INT32_MAX) return false;
  if (end < stop && *end == '-') {
    const char *second = end + 1;
    last = strtol(second, &end, 10);
    if (*second < '0' || *second > '9' || last > INT32_MAX) return false;
  }
  *out_first = (int)first;
  *out_last = (int)last;
  return end == stop && last >= first;
}

/* entry := range ':' range; range := number ['-' number]. Both ranges have the same length, which
 * is limited, so that a typing error does not allocate gigabytes. */
static hr_status_t parse_entry(const char *text, size_t size, cli_carry_t *carry) {
  const char *stop = text + size, *colon = memchr(text, ':', size);
  int out_first, out_last, in_first, in_last;
  if (!colon || !parse_range(text, colon, &out_first, &out_last) ||
      !parse_range(colon + 1, stop, &in_first, &in_last))
    return hr_error(HR_USAGE,
                    "--carry: '%.*s' is not OUT:IN with numbers or ranges such as 1-6:0-5",
                    (int)size, text);
  if (out_last - out_first != in_last - in_first)
    return hr_error(HR_USAGE, "--carry: '%.*s' pairs %lld results with %lld parameters", (int)size,
                    text, (long long)out_last - out_first + 1, (long long)in_last - in_first + 1);
  if (out_last - out_first > 1 << 20)
    return hr_error(HR_USAGE, "--carry: '%.*s' is too long a range", (int)size, text);
  for (int k = 0; k <= out_last - out_first; k++)
    HR_VEC_PUSH(carry, (cli_carried_t){out_first + k, in_first + k});
  return NULL;
}

/* carry := entry {',' entry}; pairs are appended in the order of the text. */
hr_status_t cli_carry_parse(const char *text, cli_carry_t *carry) {
  for (;;) {
    size_t size = strcspn(text, ",");
    HR_TRY(parse_entry(text, size, carry));
    if (!text[size]) return NULL;
    text += size + 1;
  }
}

/* Result and parameter exist, have compatible shapes, and no earlier pair feeds the parameter. A
 * result may feed several. Cost: the pairs before. */
static hr_status_t check_pair(const cli_carry_t *carry, size_t i,
                              const cli_signature_t *signature) {
  cli_carried_t pair = carry->data[i];
  char out[HLO_SHAPE_TEXT], in[HLO_SHAPE_TEXT];
  if (pair.out >= signature->result_count)
    return hr_error(HR_USAGE, "--carry: there is no result %d, the program has %d", pair.out,
                    signature->result_count);
  if (pair.in >= signature->param_count)
    return hr_error(HR_USAGE, "--carry: there is no parameter %d, the program has %d", pair.in,
                    signature->param_count);
  const hlo_shape_t *result = signature->whole_results[pair.out],
                    *param = signature->whole_params[pair.in];
  if (!hlo_shape_compatible(result, param))
    return hr_error(HR_USAGE, "--carry: result %d is %s, parameter %d is %s", pair.out,
                    hlo_shape_text(result, out), pair.in, hlo_shape_text(param, in));
  for (size_t k = 0; k < i; k++)
    if (carry->data[k].in == pair.in)
      return hr_error(HR_USAGE, "--carry: parameter %d is given twice, by results %d and %d",
                      pair.in, carry->data[k].out, pair.out);
  return NULL;
}

/* Checks all pairs: O(n^2) in their number, which is that of the parameters. */
hr_status_t cli_carry_check(const cli_carry_t *carry, const cli_signature_t *signature) {
  for (size_t i = 0; i < carry->count; i++) HR_TRY(check_pair(carry, i, signature));
  return NULL;
}

/* The option may be given several times; the lists are joined. */
hr_status_t cli_carry_from_options(const hr_options_t *options, cli_carry_t *carry) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_CARRY, &from));)
    HR_TRY(cli_carry_parse(given->text, carry));
  return NULL;
}
