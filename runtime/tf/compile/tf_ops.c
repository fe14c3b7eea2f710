/* Look-up of operations: a binary search in tf_ops.def, which is sorted by name. */
#include "tf/compile/tf_ops.h"

#include <stdlib.h>
#include <string.h>

#include "tf/lower/tf_elementwise.h"
#include "tf/compile/tf_lower.h"

/* The table is indexed by no number: rows are found by name. */
static const tf_op_row_t rows[] = {
#define TF_OP(name, inputs, function, variant, outputs) \
  {name, inputs, tf_lower_##function, variant, outputs},
#include "tf/compile/tf_ops.def"
#undef TF_OP
};

/* Names compare as bytes, a prefix before the longer name; the key need not end in a zero. */
static int compare_name(const void *key, const void *row) {
  const hr_str_t *name = key;
  const char *other = ((const tf_op_row_t *)row)->name;
  size_t size = strlen(other);
  int order = memcmp(name->data, other, name->size < size ? name->size : size);
  return order ? order : (name->size > size) - (name->size < size);
}

const tf_op_row_t *tf_op_find(hr_str_t name) {
  if (!name.size) return NULL;
  return bsearch(&name, rows, sizeof rows / sizeof *rows, sizeof *rows, compare_name);
}

/* Names in the row are separated by one blank each. */
int tf_op_output_position(hr_str_t op, hr_str_t output) {
  const tf_op_row_t *row = tf_op_find(op);
  int position = 0;
  for (const char *at = row ? row->outputs : ""; *at; position++) {
    size_t size = strcspn(at, " ");
    if (size == output.size && !memcmp(at, output.data, size)) return position;
    at += size + (at[size] == ' ');
  }
  return -1;
}
