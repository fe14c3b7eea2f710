/* Memory for small objects with the lifetime of an execution. The C library caches freed blocks by
 * size, but not aligned ones. */
#ifndef HR_BASE_MEM_OBJECT_H
#define HR_BASE_MEM_OBJECT_H

#include "base/mem.h"

/* As hr_alloc, with the alignment of malloc in place of HR_ALIGNMENT. Owner: freed by hr_free. */
hr_status_t hr_alloc_object(size_t size_bytes, void **out_memory);

#endif
