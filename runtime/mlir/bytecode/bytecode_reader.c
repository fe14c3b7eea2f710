/* A file of bytecode: its header and sections. Sections are read in the order of their
 * dependences: strings; dialects and op names; offsets of attributes and types; resources;
 * properties; last the operations, which decode attributes and types on first use. */
#include "mlir/bytecode/bytecode_reader.h"

#include <stdio.h>
#include <string.h>

#include "mlir/bytecode/bytecode.h"

static const uint8_t magic[4] = {'M', 'L', 0xef, 'R'};

/* The magic number 4d 4c ef 52 ("ML", ef, "R"). */
bool mlir_is_bytecode(const void *bytes, size_t size) {
  return size >= sizeof magic && !memcmp(bytes, magic, sizeof magic);
}

/* The producer's name ends with a NUL. "StableHLO_v1.2.3" names the version of a portable
 * artifact. */
static hr_status_t read_producer(bytecode_reader_t *reader, bytecode_cursor_t *cursor) {
  const uint8_t *end = memchr(cursor->at, 0, bytecode_left(cursor));
  long major, minor, patch;
  if (!end) return bytecode_error(reader, cursor, "the producer's name does not end");
  if (sscanf((const char *)cursor->at, "StableHLO_v%ld.%ld.%ld", &major, &minor, &patch) == 3) {
    int64_t version[3] = {major, minor, patch};
    memcpy(reader->module->vhlo_version, version, sizeof version);
  }
  cursor->at = end + 1;
  return NULL;
}

/* Magic number, version, producer. */
static hr_status_t read_header(bytecode_reader_t *reader, bytecode_cursor_t *cursor) {
  if (!mlir_is_bytecode(cursor->at, bytecode_left(cursor)))
    return bytecode_error(reader, cursor, "this is not MLIR bytecode");
  cursor->at += sizeof magic;
  HR_TRY(bytecode_take_var(reader, cursor, &reader->version));
  if (reader->version > BYTECODE_VERSION)
    return bytecode_error(reader, cursor, "bytecode of version %lu, versions up to %d are known",
                          (unsigned long)reader->version, BYTECODE_VERSION);
  return read_producer(reader, cursor);
}

/* Sections may come in any order, each at most once; five of them are required. */
static hr_status_t find_sections(bytecode_reader_t *reader, bytecode_cursor_t *cursor) {
  static const bytecode_section_t required[] = {
      BYTECODE_STRINGS, BYTECODE_DIALECTS, BYTECODE_ATTR_TYPES, BYTECODE_ATTR_OFFSETS, BYTECODE_IR};
  while (bytecode_left(cursor)) {
    int id;
    bytecode_cursor_t section;
    HR_TRY(bytecode_take_section(reader, cursor, &id, &section));
    if (reader->sections[id].at) return bytecode_error(reader, cursor, "section %d twice", id);
    reader->sections[id] = section;
  }
  for (size_t i = 0; i < sizeof required / sizeof *required; i++)
    if (!reader->sections[required[i]].at)
      return bytecode_error(reader, cursor, "section %d is missing", required[i]);
  return NULL;
}

/* Tables first, operations last. */
static hr_status_t read_file(bytecode_reader_t *reader) {
  bytecode_cursor_t cursor = {reader->start, reader->end};
  HR_TRY(read_header(reader, &cursor));
  HR_TRY(find_sections(reader, &cursor));
  HR_TRY(bytecode_read_strings(reader));
  HR_TRY(bytecode_read_dialects(reader));
  HR_TRY(bytecode_read_offsets(reader));
  HR_TRY(bytecode_read_resources(reader));
  HR_TRY(bytecode_read_blobs(reader));
  return bytecode_read_ir(reader);
}

/* The budget for copies is a multiple of the size of the file, with some room for small files. */
hr_status_t mlir_read_bytecode(mlir_module_t *module) {
  const uint8_t *start = (const uint8_t *)module->source.text;
  bytecode_reader_t reader = {.module = module,
                              .arena = &module->arena,
                              .start = start,
                              .end = start + module->source.size_bytes,
                              .budget = (1 << 16) + 16 * (uint64_t)module->source.size_bytes};
  hr_status_t st = read_file(&reader);
  HR_VEC_FREE(&reader.op_names);
  HR_VEC_FREE(&reader.resources);
  return st;
}
