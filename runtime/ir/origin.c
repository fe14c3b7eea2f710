/* Printer of origin={...}: a tree that mirrors the tuple of the value's shape, {"name" {index}}
 * for a leaf, () for tuples. */
#include "ir/origin.h"

#include "ir/print.h"
#include "ir/sharding.h"

static void print_leaf(hr_strbuf_t *text, const hlo_origin_t *leaf) {
  hr_strbuf_add_char(text, '{');
  if (leaf->known) {
    hlo_print_string(text, leaf->instruction);
    if (leaf->index.count) {
      hr_strbuf_add_str(text, " {");
      hlo_ints_print(text, leaf->index);
      hr_strbuf_add_char(text, '}');
    }
  }
  hr_strbuf_add_char(text, '}');
}

void hlo_origin_print(hr_strbuf_t *text, const hlo_origin_t *origin) {
  if (origin->synthetic_call) {
    hr_strbuf_add_str(text, "[synthetic_call]");
  } else if (origin->is_tuple) {
    hr_strbuf_add_char(text, '(');
    for (int i = 0; i < origin->element_count; i++) {
      if (i) hr_strbuf_add_str(text, ", ");
      hlo_origin_print(text, origin->elements[i]);
    }
    hr_strbuf_add_char(text, ')');
  } else {
    print_leaf(text, origin);
  }
}
