/* Look-up of an instruction's attributes. An instruction has at most a handful, so that a linear
 * search over the list is faster than any index. Absent attributes read as the fallback that
 * ops/table/attrs.def gives; attributes of the wrong kind cannot occur, readers check kinds. */
#include "ir/attr.h"

#include "ir/module.h"

const hlo_attr_t *hlo_attr_find(const hlo_instr_t *instr, hlo_attr_key_t key) {
  for (int i = 0; i < instr->attr_count; i++)
    if (instr->attrs[i].key == key) return &instr->attrs[i];
  return NULL;
}

bool hlo_attr_bool(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  return attr ? attr->flag : hlo_attr_table[key].fallback != 0;
}

int64_t hlo_attr_int(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  return attr ? attr->integer : hlo_attr_table[key].fallback;
}

int hlo_attr_enum(const hlo_instr_t *instr, hlo_attr_key_t key) {
  return (int)hlo_attr_int(instr, key);
}

double hlo_attr_float(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  return attr ? attr->number : (double)hlo_attr_table[key].fallback;
}

hr_str_t hlo_attr_str(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  return attr ? attr->text : (hr_str_t){"", 0};
}

hr_ints_t hlo_attr_ints(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  return attr ? attr->ints : (hr_ints_t){NULL, 0};
}

const hlo_int_lists_t *hlo_attr_lists(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  return attr ? attr->lists : NULL;
}

const hlo_window_t *hlo_attr_window(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_WINDOW);
  return attr ? attr->window : NULL;
}

const hlo_dim_labels_t *hlo_attr_labels(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_DIM_LABELS);
  return attr ? attr->labels : NULL;
}

const hlo_padding_t *hlo_attr_padding(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_PADDING);
  return attr ? attr->padding : NULL;
}

const hlo_slice_t *hlo_attr_slice(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_SLICE);
  return attr ? attr->slice : NULL;
}

const hlo_groups_t *hlo_attr_groups(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_REPLICA_GROUPS);
  return attr ? attr->groups : NULL;
}
