/* Lists of frontend attributes, which are sorted by name. */
#ifndef HR_IR_FRONTEND_ATTRIBUTES_H
#define HR_IR_FRONTEND_ATTRIBUTES_H

#include "ir/module.h"

/* Order of the names' bytes. */
bool hlo_name_comes_before(hr_str_t a, hr_str_t b);
/* A copy of `from` (NULL: nothing) with one more frontend attribute. Errors: NO_MEMORY. */
hr_status_t hlo_extra_with_frontend_attribute(hr_arena_t *arena, const hlo_extra_t *from,
                                              hlo_name_value_t added,
                                              const hlo_extra_t **out_extra);

#endif
