/* The writer of bytecode: declarations shared by its files. Strings, attributes and types are
 * numbered in the order of first use; equal bytes get the same number. */
#ifndef MLIR_BYTECODE_WRITER_H
#define MLIR_BYTECODE_WRITER_H

#include "base/map.h"
#include "base/text.h"
#include "mlir/bytecode/bytecode.h"
#include "mlir/bytecode/bytecode_format.h"
#include "mlir/vhlo/vhlo.h"

#define BYTECODE_WRITE_MAX_DEPTH 1000 /* nesting of attributes, types and regions */

/* An encoded attribute, type, or blob of properties. */
typedef struct bytecode_written {
  uint32_t dialect; /* number of the dialect that encodes it */
  bool binary;      /* encoded by fields; else the printed text */
  hr_str_t bytes;   /* encoded form, in the writer's arena */
  hr_str_t rest;    /* elements that follow `bytes`, not copied from the attribute */
} bytecode_written_t;

/* Encoded items by number, and numbers plus 1 by bytes and by address. */
typedef struct bytecode_numbers {
  HR_VEC(bytecode_written_t) items;
  hr_map_t by_bytes, by_address;
} bytecode_numbers_t;

/* Name of an operation. */
typedef struct bytecode_name {
  uint32_t dialect;
  uint32_t string;
  bool registered;
} bytecode_name_t;

/* State of writing one module; texts and encoded items live in its arena. */
typedef struct bytecode_writer {
  const mlir_module_t *module;
  hr_arena_t arena;          /* lives as long as the writer */
  int version;               /* version of the bytecode */
  int vhlo;                  /* version of VHLO as in vhlo.def; 0: plain */
  HR_VEC(hr_str_t) strings;  /* string table, by number */
  hr_map_t string_numbers;   /* numbers plus 1 by text */
  HR_VEC(uint32_t) dialects; /* names of dialects, as numbers of strings */
  HR_VEC(bytecode_name_t) op_names;
  hr_map_t op_numbers;
  bytecode_numbers_t attrs, types, blobs;
  int depth;
} bytecode_writer_t;

/* --- bytes --- */
void bytecode_put_var(hr_strbuf_t *text, uint64_t value);
void bytecode_put_svar(hr_strbuf_t *text, int64_t value);
void bytecode_put_f64(hr_strbuf_t *text, double value);
void bytecode_put_byte(hr_strbuf_t *text, uint8_t byte);
/* The count, then the values. */
void bytecode_put_ints(hr_strbuf_t *text, int64_t count, const int64_t *values);

/* --- numbers --- */
hr_status_t bytecode_number_string(bytecode_writer_t *writer, hr_str_t string,
                                   uint32_t *out_number);
hr_str_t bytecode_dialect_of(hr_str_t name); /* "dialect" of "dialect.rest" */
hr_status_t bytecode_number_dialect(bytecode_writer_t *writer, hr_str_t name, uint32_t *out_number);
/* Number of these bytes; they are copied if they are new. */
hr_status_t bytecode_number_bytes(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                  uint32_t dialect, bool binary, const hr_strbuf_t *bytes,
                                  uint32_t *out_number);
/* Number of binary bytes followed by many elements, which are not copied. */
hr_status_t bytecode_number_elements(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                     uint32_t dialect, const hr_strbuf_t *bytes, hr_str_t elements,
                                     uint32_t *out_number);
/* Number of the object at this address, `in_vhlo` or not; false if none. */
bool bytecode_find_number(const bytecode_numbers_t *numbers, const void *address, bool in_vhlo,
                          uint32_t *out_number);
hr_status_t bytecode_cache_number(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                  const void *address, bool in_vhlo, uint32_t number);

/* --- attributes and types: in_vhlo as VHLO's own, else as those of their dialects --- */
hr_status_t bytecode_number_type(bytecode_writer_t *writer, const mlir_type_t *type, bool in_vhlo,
                                 uint32_t *out_number);
hr_status_t bytecode_number_attr(bytecode_writer_t *writer, const mlir_attr_t *attr, bool in_vhlo,
                                 uint32_t *out_number);
/* The number of an attribute or type; encodes it if it is new. */
hr_status_t bytecode_put_type(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_type_t *type,
                              bool in_vhlo);
hr_status_t bytecode_put_attr(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_attr_t *attr,
                              bool in_vhlo);
/* Text of an attribute or type of a dialect without an encoding here. */
hr_status_t bytecode_number_text(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                 hr_str_t dialect, const hr_strbuf_t *text, uint32_t *out_number);
/* The API version of a custom call, an enumeration in VHLO. */
hr_status_t bytecode_number_api(bytecode_writer_t *writer, const mlir_attr_t *attr,
                                uint32_t *out_number);
/* A dictionary with names of builtin and values of VHLO. */
hr_status_t bytecode_number_mixed_dict(bytecode_writer_t *writer, int count,
                                       const mlir_named_attr_t *fields, uint32_t *out_number);

/* --- operations --- */
hr_status_t bytecode_write_ir(bytecode_writer_t *writer, hr_strbuf_t *text);

#endif
