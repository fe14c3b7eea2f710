/* dense_resource<...>, and the resources at the end of the file that it refers to.
 *   resource ::= "dense_resource<" key "> :" type    its blob is in {-# ... #-} at the end */
#include "mlir/text/mlir_elements.h"

/* The blob may come at the end of the file, so that the attribute is queued in `unresolved`. */
hr_status_t mlir_parse_dense_resource(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_DENSE;
  HR_TRY(mlir_take_word(parser, "dense_resource"));
  HR_TRY(mlir_take(parser, '<'));
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_WORD && token->kind != MLIR_TOKEN_STRING)
    return mlir_expected(parser, "the key of a resource");
  attr->resource = token->text;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take(parser, '>'));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_parse_type(parser, &attr->type));
  HR_VEC_PUSH(&parser->unresolved, attr);
  *out_attr = attr;
  return NULL;
}

/* key: "0x...": the blob is kept as text and decoded on demand. */
static hr_status_t parse_resource(mlir_parser_t *parser, bool keep) {
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_WORD && token->kind != MLIR_TOKEN_STRING)
    return mlir_expected(parser, "the key of a resource");
  hr_str_t key = token->text;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take(parser, ':'));
  const mlir_attr_t *blob;
  HR_TRY(mlir_parse_attr(parser, &blob));
  return keep && blob->kind == MLIR_ATTR_STRING
             ? hr_map_put(&parser->resources, key, (void *)blob, NULL)
             : NULL;
}

/* "{" key ":" value, ... "}" of one dialect. */
static hr_status_t parse_resource_group(mlir_parser_t *parser, bool keep) {
  hr_str_t name;
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "the name of a dialect", &name));
  HR_TRY(mlir_take(parser, ':'));
  HR_TRY(mlir_take(parser, '{'));
  for (bool more = !mlir_at(parser, '}'); more;) {
    HR_TRY(parse_resource(parser, keep));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take(parser, '}');
}

/* {-# dialect_resources: {builtin: {key: "0x..."}}, external_resources: {...} #-} */
hr_status_t mlir_parse_resources(mlir_parser_t *parser) {
  HR_TRY(mlir_lexer_next(&parser->lexer));
  for (bool more = mlir_peek(parser)->kind != MLIR_TOKEN_RESOURCES_END; more;) {
    bool keep = mlir_at_word(parser, "dialect_resources");
    hr_str_t section;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_WORD, "dialect_resources or external_resources",
                          &section));
    HR_TRY(mlir_take(parser, ':'));
    HR_TRY(mlir_take(parser, '{'));
    for (bool inner = !mlir_at(parser, '}'); inner;) {
      HR_TRY(parse_resource_group(parser, keep));
      HR_TRY(mlir_take_if(parser, ',', &inner));
    }
    HR_TRY(mlir_take(parser, '}'));
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take_kind(parser, MLIR_TOKEN_RESOURCES_END, "'#-}'", NULL);
}

/* A blob is 4 bytes of alignment and the data. An attribute without a blob for its key stays
 * without data; the importer refuses it. */
hr_status_t mlir_finish_resources(mlir_parser_t *parser) {
  for (size_t i = 0; i < parser->unresolved.count; i++) {
    mlir_attr_t *attr = parser->unresolved.data[i];
    const mlir_attr_t *blob = hr_map_get(&parser->resources, attr->resource);
    if (!blob) continue;
    unsigned char *bytes;
    size_t size;
    int64_t count;
    HR_TRY(mlir_element_count(parser, attr->type, &count));
    HR_TRY(mlir_decode_hex(parser, blob->text, &bytes, &size));
    if (size < 4) return mlir_expected(parser, "resource blobs of at least 4 bytes");
    HR_TRY(mlir_dense_from_bytes(parser->arena, attr->type, bytes + 4, size - 4, attr));
  }
  return NULL;
}
