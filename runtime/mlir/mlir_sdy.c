/* The kinds of sdy's attributes by their names. The name "axes" has two kinds: lists of axes, one
 * for each dimension, are in brackets, and a single list in braces. */
#include "mlir/mlir_sdy.h"

#include <string.h>

static const struct {
  const char *name;
  mlir_sdy_kind_t kind;
} kinds[] = {{"gathering_axes", {"#sdy<list_of_axis_ref_lists", ">"}},
             {"in_shardings", {"#sdy.sharding_per_value<[", "]>"}},
             {"manual_axes", {"#sdy<manual_axes{", "}>"}},
             {"mesh", {"#sdy.mesh<", ">"}},
             {"out_sharding", {"#sdy.sharding<", ">"}},
             {"out_shardings", {"#sdy.sharding_per_value<[", "]>"}},
             {"params", {"#sdy<all_to_all_param_list", ">"}},
             {"reduce_scatter_axes", {"#sdy<list_of_axis_ref_lists", ">"}},
             {"reduction_axes", {"#sdy<axis_ref_list", ">"}},
             {"sharding", {"#sdy.sharding<", ">"}},
             {"slicing_axes", {"#sdy<list_of_axis_ref_lists", ">"}}};

static bool is_sdy(hr_str_t name) { return name.size > 4 && !memcmp(name.data, "sdy.", 4); }

bool mlir_sdy_kind_of(const mlir_op_t *op, const mlir_named_attr_t *entry,
                      mlir_sdy_kind_t *out_kind) {
  hr_str_t text = entry->value->text;
  if (!is_sdy(op->name) || entry->value->kind != MLIR_ATTR_STRING) return false;
  if (hr_str_is(entry->name, "axes")) {
    bool is_one = text.size && *text.data == '{';
    *out_kind =
        (mlir_sdy_kind_t){is_one ? "#sdy<axis_ref_list" : "#sdy<list_of_axis_ref_lists", ">"};
    return true;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!hr_str_is(entry->name, kinds[i].name)) continue;
    *out_kind = kinds[i].kind;
    return true;
  }
  return false;
}
