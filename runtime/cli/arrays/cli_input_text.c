/* Reads HLO literals, scalars for whole arrays, and values in the form SIZESxTYPE=ELEMENTS.
 * Elements are read by the reader of HLO literals, so that all types and spellings are the same
 * everywhere; it is called once per element. */
#include "cli/arrays/cli_input_text.h"

#include <stdlib.h>
#include <string.h>

#include "read/read.h"

#define ELEMENT_MAX 128 /* characters of one element */
#define SEPARATORS " ,[]\t\n"

/* --- one value for all elements --- */

/* Copies the element's bytes; complex numbers are one element. */
static hr_status_t fill(const hlo_shape_t *shape, const hlo_value_t *element,
                        hlo_value_t **out_value) {
  size_t bytes = hr_dtype_bytes(shape->dtype);
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value));
  char *to = (*out_value)->data;
  for (int64_t i = 0; i < (*out_value)->count; i++)
    memcpy(to + (size_t)i * bytes, element->data, bytes);
  return NULL;
}

/* A dynamic shape cannot be filled, as the number of elements is unknown. */
static bool is_static(const hlo_shape_t *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (shape->dynamic && shape->dynamic[d]) return false;
  return true;
}

/* *out_value NULL: the text is not a scalar of the type. */
static hr_status_t try_scalar(const char *text, const hlo_shape_t *shape, hlo_value_t **out_value) {
  hlo_shape_t scalar = {.dtype = shape->dtype};
  hlo_value_t *element;
  *out_value = NULL;
  if (!shape->rank || !is_static(shape)) return NULL;
  hr_status_t st = read_literal(text, &scalar, &element);
  hr_status_release(st);
  if (st) return NULL;
  st = fill(shape, element, out_value);
  hlo_value_release(element);
  return st;
}

/* --- 2x3xf32=1 2 3 --- */

typedef struct typed {
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK];
  const char *elements;
} typed_t;

/* Accepts HLO's names and MLIR's names of integers and booleans: i1, i32, si32, ui8. */
static bool find_dtype(hr_str_t name, hr_dtype_t *out_dtype) {
  char copy[24];
  if (hr_dtype_from_name(name, out_dtype)) return hr_dtype_is_array(*out_dtype);
  if (hr_str_is(name, "i1")) {
    *out_dtype = HR_PRED;
    return true;
  }
  if (name.size < 2 || name.size >= sizeof copy) return false;
  bool is_signless = *name.data == 'i';
  snprintf(copy, sizeof copy, "%s%.*s", is_signless ? "s" : "", (int)name.size - 1, name.data + 1);
  if (!is_signless)
    snprintf(copy, sizeof copy, "%c%.*s", *name.data, (int)name.size - 2, name.data + 2);
  bool is_integer = is_signless || (name.data[1] == 'i' && strchr("su", *name.data));
  return is_integer && hr_dtype_from_name(hr_str_from(copy), out_dtype);
}

/* False: the text has another form, which is not an error yet. */
static bool parse_typed(const char *text, typed_t *out_typed) {
  typed_t typed = {.rank = 0};
  char *end;
  while (*text >= '0' && *text <= '9') {
    if (typed.rank == HLO_MAX_RANK) return false;
    typed.dims[typed.rank++] = strtoll(text, &end, 10);
    if (*end != 'x') return false;
    text = end + 1;
  }
  const char *equals = strchr(text, '=');
  if (!equals || !find_dtype((hr_str_t){text, (size_t)(equals - text)}, &typed.dtype)) return false;
  typed.elements = equals + 1;
  *out_typed = typed;
  return true;
}

/* The user repeats type and sizes; they must match. */
static hr_status_t check_typed(const char *label, const typed_t *typed, const hlo_shape_t *shape) {
  char wanted[HLO_SHAPE_TEXT];
  bool fits = typed->dtype == shape->dtype && typed->rank == shape->rank;
  for (int d = 0; fits && d < shape->rank; d++) fits = typed->dims[d] == shape->dims[d];
  if (fits) return NULL;
  return hr_error(HR_USAGE, "--input %s: the sizes or the type are not those of %s", label,
                  hlo_shape_text(shape, wanted));
}

/* `into` has room for one element. */
static hr_status_t read_element(const char *label, hr_str_t text, const hlo_shape_t *scalar,
                                void *into) {
  char copy[ELEMENT_MAX];
  hlo_value_t *element;
  snprintf(copy, sizeof copy, "%.*s", HR_STR_ARGS(text));
  hr_status_t st = read_literal(copy, scalar, &element);
  if (st) {
    hr_status_release(st);
    return hr_error(HR_USAGE, "--input %s: '%s' is no element of %s", label, copy,
                    hr_dtype_name(scalar->dtype));
  }
  memcpy(into, element->data, hr_dtype_bytes(scalar->dtype));
  hlo_value_release(element);
  return NULL;
}

/* Reads one element, or as many as the array has. */
static hr_status_t read_elements(const char *label, const char *text, hlo_value_t *value) {
  hlo_shape_t scalar = {.dtype = value->dtype};
  size_t bytes = hr_dtype_bytes(value->dtype);
  int64_t count = 0;
  for (const char *at = text + strspn(text, SEPARATORS); *at; count++) {
    size_t size = strcspn(at, SEPARATORS);
    if (count == value->count) return hr_error(HR_USAGE, "--input %s: too many elements", label);
    HR_TRY(read_element(label, (hr_str_t){at, size}, &scalar,
                        (char *)value->data + (size_t)count * bytes));
    at += size;
    at += strspn(at, SEPARATORS);
  }
  if (count == value->count) return NULL;
  if (count != 1)
    return hr_error(HR_USAGE, "--input %s: found %lld elements, want %lld, or one for all", label,
                    (long long)count, (long long)value->count);
  for (int64_t i = 1; i < value->count; i++)
    memcpy((char *)value->data + (size_t)i * bytes, value->data, bytes);
  return NULL;
}

/* The value is released if an element is wrong. */
static hr_status_t value_of_typed(const char *label, const typed_t *typed, const hlo_shape_t *shape,
                                  hlo_value_t **out_value) {
  hlo_value_t *value;
  HR_TRY(check_typed(label, typed, shape));
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &value));
  hr_status_t st = read_elements(label, typed->elements, value);
  if (st)
    hlo_value_release(value);
  else
    *out_value = value;
  return st;
}

/* --- all forms --- */

/* Tries the forms in turn; the message is that of HLO literals. */
hr_status_t cli_input_from_text(const char *label, const char *text, const hlo_shape_t *shape,
                                hlo_value_t **out_value) {
  char wanted[HLO_SHAPE_TEXT];
  typed_t typed;
  if (parse_typed(text, &typed)) return value_of_typed(label, &typed, shape, out_value);
  HR_TRY(try_scalar(text, shape, out_value));
  if (*out_value) return NULL;
  hr_status_t st = read_literal(text, shape, out_value);
  if (!st && !hlo_value_fits(*out_value, shape)) {
    hlo_value_release(*out_value);
    st = hr_error(HR_USAGE, "'%s' has another type or other sizes", text);
  }
  if (!st) return NULL;
  hr_status_t told = hr_error(HR_USAGE, "--input %s=%s: no value of %s, and no .npy file: %s",
                              label, text, hlo_shape_text(shape, wanted), hr_status_message(st));
  hr_status_release(st);
  return hr_status_note(told,
                        "the form is --input K=FILE.npy, or a value such as 3.5 (for all "
                        "elements), {1, 2}, f32[2]{1, 2} or 2xf32=1 2");
}
