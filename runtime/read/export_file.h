/* Files of jax.export: what Exported.serialize() gives, a flatbuffer around MLIR bytecode. */
#ifndef READ_EXPORT_FILE_H
#define READ_EXPORT_FILE_H

#include "base/arena.h"

typedef struct export_file {
  hr_str_t bytecode;  /* within the file */
  int platform_index; /* number of cpu among its platforms; 0 if it is for one */
  bool has_cpu;       /* is cpu one of them? */
  hr_str_t platform;  /* the first one */
} export_file_t;

/* Is this such a file? Only tables that lie within the bytes are looked at. */
bool export_file_read(hr_str_t bytes, export_file_t *out_file);

#endif
