/* Files of jax.export, made by Exported.serialize(): a flatbuffer around MLIR bytecode. */
#ifndef READ_EXPORT_FILE_H
#define READ_EXPORT_FILE_H

#include "base/arena.h"

typedef struct export_file {
  hr_str_t bytecode;  /* within the file */
  int platform_index; /* index of cpu among its platforms; 0 if there is one platform */
  bool has_cpu;       /* cpu is one of its platforms */
  hr_str_t platform;  /* the first one */
} export_file_t;

/* True if this is such a file. Reads only within the bytes. */
bool export_file_read(hr_str_t bytes, export_file_t *out_file);

#endif
