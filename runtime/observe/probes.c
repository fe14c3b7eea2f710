/* Values seen by probes of one execution: an append-only list, searched linearly by id and
 * visit. */
#include "observe/probes.h"

hr_status_t exec_probes_add(exec_probes_t *probes, hr_str_t id, hlo_value_t *value) {
  HR_VEC_PUSH(&probes->values, (exec_probe_value_t){id, value});
  hlo_value_retain(value);
  return NULL;
}

hlo_value_t *exec_probes_find(const exec_probes_t *probes, hr_str_t id, int64_t n) {
  for (size_t i = 0; i < probes->values.count; i++)
    if (hr_str_equal(probes->values.data[i].id, id) && n-- == 0)
      return hlo_value_retain(probes->values.data[i].value);
  return NULL;
}

void exec_probes_clear(exec_probes_t *probes) {
  for (size_t i = 0; i < probes->values.count; i++) hlo_value_release(probes->values.data[i].value);
  HR_VEC_FREE(&probes->values);
}
