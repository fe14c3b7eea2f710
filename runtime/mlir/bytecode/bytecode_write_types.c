/* Types as bytes, in the encoding of their own dialects or of VHLO. The codes are in
 * bytecode_format.h and vhlo.h. A type is numbered after its parts, so that equal types have equal
 * bytes and share a number. Types without an encoding (opaque types, sub-channel quantisation) are
 * written as text. */
#include "mlir/bytecode/bytecode_writer.h"
#include "mlir/text/mlir_print.h"

/* Writes the type's number in the file; a new one is encoded and numbered first. */
hr_status_t bytecode_put_type(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_type_t *type,
                              bool in_vhlo) {
  uint32_t number;
  HR_TRY(bytecode_number_type(writer, type, in_vhlo, &number));
  bytecode_put_var(text, number);
  return NULL;
}

/* Count, then the number of each type. */
static hr_status_t put_types(bytecode_writer_t *writer, hr_strbuf_t *text, int count,
                             const mlir_type_t *const *items, bool in_vhlo) {
  bytecode_put_var(text, (uint64_t)count);
  for (int i = 0; i < count; i++) HR_TRY(bytecode_put_type(writer, text, items[i], in_vhlo));
  return NULL;
}

/* The error for a type that this version of VHLO does not have: UNSUPPORTED. */
static hr_status_t refused_type(bytecode_writer_t *writer, const mlir_type_t *type) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  mlir_print_type(&text, type);
  hr_status_t st = hr_error(HR_UNSUPPORTED, "the type %s has no form in version %d.%d of VHLO",
                            text.data ? text.data : "", writer->vhlo / 100, writer->vhlo % 100);
  hr_strbuf_deinit(&text);
  return st;
}

/* Row of a float type; NULL: it is not a float that bytecode knows. */
static const bytecode_float_t *find_float(hr_str_t name) {
  for (int i = 0; i < bytecode_float_count; i++)
    if (hr_str_is(name, bytecode_floats[i].name)) return &bytecode_floats[i];
  return NULL;
}

/* Bit 0: storage is signed. */
static int type_flags(const mlir_quant_t *quant) { return quant->storage_signed ? 1 : 0; }

/* Flags and storage type. On the wire the storage type is signless, and a flag has its
 * signedness. */
static hr_status_t put_storage(bytecode_writer_t *writer, hr_strbuf_t *text,
                               const mlir_quant_t *quant, bool in_vhlo) {
  /* storage types of quant are signless; a flag has the signedness */
  const mlir_type_t signless = {.kind = MLIR_TYPE_INTEGER, .width = quant->storage->width};
  mlir_type_t *storage;
  HR_TRY(HR_NEW(&writer->arena, &storage));
  *storage = signless;
  bytecode_put_var(text, (uint64_t)type_flags(quant));
  return bytecode_put_type(writer, text, storage, in_vhlo);
}

/* Smallest and largest stored value. */
static void put_range(hr_strbuf_t *text, const mlir_quant_t *quant) {
  bytecode_put_svar(text, quant->min);
  bytecode_put_svar(text, quant->max);
}

/* Uniform types have the same fields in quant and in VHLO. */
static hr_status_t put_uniform(bytecode_writer_t *writer, hr_strbuf_t *text,
                               const mlir_quant_t *quant, bool in_vhlo) {
  HR_TRY(put_storage(writer, text, quant, in_vhlo));
  HR_TRY(bytecode_put_type(writer, text, quant->expressed, in_vhlo));
  if (quant->axis < 0) {
    bytecode_put_f64(text, quant->scales[0]);
    bytecode_put_svar(text, quant->zero_points[0]);
    put_range(text, quant);
    return NULL;
  }
  bytecode_put_var(text, (uint64_t)quant->axis);
  put_range(text, quant);
  bytecode_put_var(text, (uint64_t)quant->scale_count);
  for (int i = 0; i < quant->scale_count; i++) bytecode_put_f64(text, quant->scales[i]);
  bytecode_put_ints(text, quant->scale_count, quant->zero_points);
  return NULL;
}

/* The forms of quant except sub-channels, which are written as text (is_type_text). */
static hr_status_t put_quant(bytecode_writer_t *writer, hr_strbuf_t *text,
                             const mlir_quant_t *quant) {
  switch (quant->form) {
    case MLIR_QUANT_ANY:
      bytecode_put_var(text, quant->expressed ? QUANT_TYPE_ANY_EXPRESSED : QUANT_TYPE_ANY);
      HR_TRY(put_storage(writer, text, quant, false));
      if (quant->expressed) HR_TRY(bytecode_put_type(writer, text, quant->expressed, false));
      put_range(text, quant);
      return NULL;
    case MLIR_QUANT_CALIBRATED:
      bytecode_put_var(text, QUANT_TYPE_CALIBRATED);
      HR_TRY(bytecode_put_type(writer, text, quant->expressed, false));
      bytecode_put_f64(text, quant->calibrated_min);
      bytecode_put_f64(text, quant->calibrated_max);
      return NULL;
    default:
      bytecode_put_var(text, quant->axis < 0 ? QUANT_TYPE_UNIFORM : QUANT_TYPE_UNIFORM_AXIS);
      return put_uniform(writer, text, quant, false);
  }
}

/* Sizes, then the element type; for tensors, vectors and memrefs. */
static hr_status_t put_shape(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_type_t *type,
                             bool in_vhlo) {
  bytecode_put_ints(text, type->rank, type->dims);
  return bytecode_put_type(writer, text, type->element, in_vhlo);
}

/* Space, shape and layout. The default layout is the identity map, which has an encoding as text
 * only. */
static hr_status_t put_memref(bytecode_writer_t *writer, hr_strbuf_t *text,
                              const mlir_type_t *type) {
  hr_strbuf_t map;
  uint32_t number;
  bytecode_put_var(text, type->space ? BUILTIN_TYPE_MEMREF_SPACE : BUILTIN_TYPE_MEMREF);
  if (type->space) HR_TRY(bytecode_put_attr(writer, text, type->space, false));
  HR_TRY(put_shape(writer, text, type, false));
  if (type->encoding) return bytecode_put_attr(writer, text, type->encoding, false);
  hr_strbuf_init(&map);
  hr_strbuf_add_str(&map, "affine_map<(");
  for (int pass = 0; pass < 2; pass++) {
    for (int d = 0; d < type->rank; d++) hr_strbuf_printf(&map, "%sd%d", d ? ", " : "", d);
    hr_strbuf_add_str(&map, pass ? ")>" : ") -> (");
  }
  hr_status_t st = bytecode_number_text(writer, &writer->attrs, HR_STR("builtin"), &map, &number);
  if (!st) bytecode_put_var(text, number);
  hr_strbuf_deinit(&map);
  return st;
}

/* Vectors with scalable dimensions have another code. */
static hr_status_t put_vector(bytecode_writer_t *writer, hr_strbuf_t *text,
                              const mlir_type_t *type) {
  bytecode_put_var(text, type->scalable ? BUILTIN_TYPE_SCALABLE_VECTOR : BUILTIN_TYPE_VECTOR);
  if (type->scalable) {
    bytecode_put_var(text, (uint64_t)type->rank);
    for (int d = 0; d < type->rank; d++) bytecode_put_byte(text, type->scalable[d]);
  }
  return put_shape(writer, text, type, false);
}

/* Encoding of the builtin dialect. */
static hr_status_t put_builtin_type(bytecode_writer_t *writer, hr_strbuf_t *text,
                                    const mlir_type_t *type) {
  const bytecode_float_t *row;
  switch (type->kind) {
    case MLIR_TYPE_INTEGER:
      bytecode_put_var(text, BUILTIN_TYPE_INTEGER);
      bytecode_put_var(text, (uint64_t)type->width << 2 | (uint64_t)type->signedness);
      return NULL;
    case MLIR_TYPE_FLOAT:
      row = find_float(type->name);
      if (!row) return refused_type(writer, type);
      bytecode_put_var(text, (uint64_t)row->builtin_code);
      return NULL;
    case MLIR_TYPE_INDEX:
      bytecode_put_var(text, BUILTIN_TYPE_INDEX);
      return NULL;
    case MLIR_TYPE_NONE:
      bytecode_put_var(text, BUILTIN_TYPE_NONE);
      return NULL;
    case MLIR_TYPE_COMPLEX:
      bytecode_put_var(text, BUILTIN_TYPE_COMPLEX);
      return bytecode_put_type(writer, text, type->element, false);
    case MLIR_TYPE_FUNCTION:
      bytecode_put_var(text, BUILTIN_TYPE_FUNCTION);
      HR_TRY(put_types(writer, text, type->input_count, type->inputs, false));
      return put_types(writer, text, type->result_count, type->results, false);
    case MLIR_TYPE_TENSOR:
      bytecode_put_var(text, type->encoding ? BUILTIN_TYPE_TENSOR_ENCODED : BUILTIN_TYPE_TENSOR);
      if (type->encoding) HR_TRY(bytecode_put_attr(writer, text, type->encoding, false));
      return put_shape(writer, text, type, false);
    case MLIR_TYPE_UNRANKED_TENSOR:
      bytecode_put_var(text, BUILTIN_TYPE_UNRANKED_TENSOR);
      return bytecode_put_type(writer, text, type->element, false);
    case MLIR_TYPE_MEMREF:
      return put_memref(writer, text, type);
    case MLIR_TYPE_VECTOR:
      return put_vector(writer, text, type);
    case MLIR_TYPE_TUPLE:
      bytecode_put_var(text, BUILTIN_TYPE_TUPLE);
      return put_types(writer, text, type->result_count, type->results, false);
    default:
      return refused_type(writer, type);
  }
}

/* Encoding of the type's own dialect: quant, StableHLO or builtin. */
static hr_status_t put_dialect_type(bytecode_writer_t *writer, hr_strbuf_t *text,
                                    const mlir_type_t *type) {
  switch (type->kind) {
    case MLIR_TYPE_TOKEN:
      bytecode_put_var(text, STABLEHLO_TYPE_TOKEN);
      return NULL;
    case MLIR_TYPE_FUTURE:
      bytecode_put_var(text, STABLEHLO_TYPE_FUTURE);
      return put_types(writer, text, type->result_count, type->results, false);
    case MLIR_TYPE_QUANT:
      return put_quant(writer, text, type->quant);
    default:
      return put_builtin_type(writer, text, type);
  }
}

/* Code of the type among VHLO's; -1: no version of VHLO has it. `row`: its row if it is a float. */
static int vhlo_type_code(const mlir_type_t *type, const bytecode_float_t *row) {
  bool is_plain_memref = !type->encoding && !type->space;
  switch (type->kind) {
    case MLIR_TYPE_INTEGER:
      return vhlo_integer_code(type->width, type->signedness == MLIR_UNSIGNED);
    case MLIR_TYPE_FLOAT:
      return row ? row->vhlo_code : -1;
    case MLIR_TYPE_INDEX:
      return VHLO_TYPE_INDEX;
    case MLIR_TYPE_NONE:
      return VHLO_TYPE_NONE;
    case MLIR_TYPE_COMPLEX:
      return VHLO_TYPE_COMPLEX;
    case MLIR_TYPE_FUNCTION:
      return VHLO_TYPE_FUNCTION;
    case MLIR_TYPE_TENSOR:
      return type->encoding ? VHLO_TYPE_TENSOR_ENCODED : VHLO_TYPE_TENSOR;
    case MLIR_TYPE_UNRANKED_TENSOR:
      return VHLO_TYPE_UNRANKED;
    case MLIR_TYPE_MEMREF:
      return is_plain_memref ? VHLO_TYPE_BUFFER : -1;
    case MLIR_TYPE_TUPLE:
      return VHLO_TYPE_TUPLE;
    case MLIR_TYPE_FUTURE:
      return VHLO_TYPE_FUTURE;
    case MLIR_TYPE_TOKEN:
      return VHLO_TYPE_TOKEN;
    case MLIR_TYPE_QUANT:
      if (type->quant->form != MLIR_QUANT_UNIFORM || type->quant->block_count) return -1;
      return type->quant->axis < 0 ? VHLO_TYPE_QUANT : VHLO_TYPE_QUANT_AXIS;
    case MLIR_TYPE_OPAQUE:
      return hr_str_is(type->name, "shape.witness") ? VHLO_TYPE_WITNESS : -1;
    case MLIR_TYPE_VECTOR:
      return -1;
  }
  return -1;
}

/* Fields after the code in VHLO's encoding: element, dimensions, lists of types. */
static hr_status_t put_vhlo_fields(bytecode_writer_t *writer, hr_strbuf_t *text,
                                   const mlir_type_t *type) {
  switch (type->kind) {
    case MLIR_TYPE_COMPLEX:
    case MLIR_TYPE_UNRANKED_TENSOR:
      return bytecode_put_type(writer, text, type->element, true);
    case MLIR_TYPE_FUNCTION:
      HR_TRY(put_types(writer, text, type->input_count, type->inputs, true));
      return put_types(writer, text, type->result_count, type->results, true);
    case MLIR_TYPE_TUPLE:
    case MLIR_TYPE_FUTURE:
      return put_types(writer, text, type->result_count, type->results, true);
    case MLIR_TYPE_TENSOR:
      if (type->encoding) HR_TRY(bytecode_put_attr(writer, text, type->encoding, true));
      return put_shape(writer, text, type, true);
    case MLIR_TYPE_MEMREF:
      return put_shape(writer, text, type, true);
    case MLIR_TYPE_QUANT:
      return put_uniform(writer, text, type->quant, true);
    default:
      return NULL;
  }
}

/* Encoding of VHLO. Errors: UNSUPPORTED if the written version does not have the type. */
static hr_status_t put_vhlo_type(bytecode_writer_t *writer, hr_strbuf_t *text,
                                 const mlir_type_t *type) {
  const bytecode_float_t *row = type->kind == MLIR_TYPE_FLOAT ? find_float(type->name) : NULL;
  int code = vhlo_type_code(type, row);
  if (code < 0) return refused_type(writer, type);
  int since = row ? row->since : vhlo_type_since(code);
  if (writer->vhlo < since) return refused_type(writer, type);
  bytecode_put_var(text, (uint64_t)code);
  return put_vhlo_fields(writer, text, type);
}

/* The dialect that encodes the type outside of VHLO; see put_dialect_type. */
static hr_str_t type_dialect(const mlir_type_t *type) {
  if (type->kind == MLIR_TYPE_TOKEN || type->kind == MLIR_TYPE_FUTURE) return HR_STR("stablehlo");
  return type->kind == MLIR_TYPE_QUANT ? HR_STR("quant") : HR_STR("builtin");
}

/* Types that have no binary encoding. */
static bool is_type_text(const mlir_type_t *type) {
  return type->kind == MLIR_TYPE_OPAQUE ||
         (type->kind == MLIR_TYPE_QUANT && type->quant->block_count);
}

/* Binary encoding if there is one, else text. VHLO has its own type for !shape.witness. */
static hr_status_t encode_type(bytecode_writer_t *writer, const mlir_type_t *type, bool in_vhlo,
                               hr_strbuf_t *text, uint32_t *out_number) {
  uint32_t dialect;
  bool witness =
      in_vhlo && type->kind == MLIR_TYPE_OPAQUE && hr_str_is(type->name, "shape.witness");
  if (is_type_text(type) && !witness) {
    mlir_print_type(text, type);
    hr_str_t owner =
        type->kind == MLIR_TYPE_QUANT ? HR_STR("quant") : bytecode_dialect_of(type->name);
    return bytecode_number_text(writer, &writer->types, owner, text, out_number);
  }
  HR_TRY(in_vhlo ? put_vhlo_type(writer, text, type) : put_dialect_type(writer, text, type));
  HR_TRY(bytecode_number_dialect(writer, in_vhlo ? HR_STR("vhlo") : type_dialect(type), &dialect));
  return bytecode_number_bytes(writer, &writer->types, dialect, true, text, out_number);
}

/* The number of a type; encodes it if neither its address nor its bytes are known. */
hr_status_t bytecode_number_type(bytecode_writer_t *writer, const mlir_type_t *type, bool in_vhlo,
                                 uint32_t *out_number) {
  hr_strbuf_t text;
  if (bytecode_find_number(&writer->types, type, in_vhlo, out_number)) return NULL;
  if (++writer->depth > BYTECODE_WRITE_MAX_DEPTH)
    return hr_error(HR_UNSUPPORTED, "a type nested more than %d levels deep",
                    BYTECODE_WRITE_MAX_DEPTH);
  hr_strbuf_init(&text);
  hr_status_t st = encode_type(writer, type, in_vhlo, &text, out_number);
  if (!st) st = bytecode_cache_number(writer, &writer->types, type, in_vhlo, *out_number);
  hr_strbuf_deinit(&text);
  writer->depth--;
  return st;
}
