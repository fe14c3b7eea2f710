/* Data structures of direct convolution, shared by
 *
 *   conv_direct.c         entry points, and the loop nest over tasks, k blocks and panels
 *   conv_direct_plan.c    choice of the form, the register tile, the phases and the blocking
 *   conv_direct_scratch.c sizes and offsets in scratch memory
 *   conv_direct_pack.c    packing of the weights into panels
 *   conv_direct_block.c   addresses that the tiles of one block read and write
 *   conv_direct_region.c  copies of a block's input (region) and of its results
 *   conv_direct_tiles.h   micro-kernels, compiled for each vector width and type
 *
 * In GEMM terms the convolution of one group is C[m][n] = sum over taps of A_tap[m][k] B_tap[k][n]:
 *
 *   m          result positions (image and all spatial coordinates)
 *   n          channels of the result in one group: columns
 *   k          channels of the input in one group: terms of one tap
 *   tap        element of the window; A_tap is the input shifted by the tap, B_tap its weights
 *   panel      tile.width columns of B, packed [tap][k][column], zero-padded
 *   k group    terms that one instruction multiplies: 1, 2 (bf16 pairs) or 4 (VNNI bytes)
 *   k block    terms of each tap that one pass over a panel sums, see direct_k_block
 *   tile       tile.rows positions by up to 4 vectors of columns, in registers
 *   block      some lines of positions of a phase and group, the work of one task
 *   line       results that differ in the last spatial coordinate (or, with one spatial axis, the
 *              results of one image)
 *
 * Strides and offsets are in elements of the array unless a comment says bytes. */
#ifndef HLO_OPS_CONV_DIRECT_H
#define HLO_OPS_CONV_DIRECT_H

#include "base/arith.h"
#include "ops/kernels/conv/conv_prefetch.h"
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/move/native_transpose.h"

#define DIRECT_SIGN_BITS ((int)0x80808080) /* sign bits of four int8 terms */

/* --- arguments of the micro-kernels --- */

/* Tiles of one line that share their taps and need no indirection: the address of row r and tap t
 * is from + r * from_stride + tap_offsets[t]. The last tile starts at row `last_row`: it may
 * overlap the one before and recompute some of its results. */
typedef struct direct_line {
  const char *from;         /* input of row 0, before the tap's offset */
  char *to;                 /* results of row 0 */
  int64_t tiles;            /* tiles of the line */
  int64_t last_row;         /* first row of the last tile */
  int64_t inner_begin;      /* rows [inner_begin, inner_end) read no padding along the last axis */
  int64_t inner_end;        /* end of these rows */
  int64_t position;         /* coordinate of row 0 on the last axis of the input */
  const int32_t *live_taps; /* count, then indices, of the taps with any input */
} direct_line_t;

/* First row of a tile of the line. */
static inline int64_t direct_line_row(const direct_line_t *line, int64_t tile, int64_t rows) {
  return tile + 1 < line->tiles ? tile * rows : line->last_row;
}

/* One panel times all tiles of a block, over one k block. Terms and strides of B are counted in
 * units: an element, or the k_group elements that fill 32 bits. */
typedef struct direct_panel {
  int64_t rows;    /* positions of a tile */
  int64_t vectors; /* vectors of columns of a tile */
  int64_t taps;    /* taps of the phase */

  /* Tiles by strides. */
  const direct_line_t *lines;   /* lines of the block */
  int64_t line_count;           /* number of `lines` */
  int64_t from_stride;          /* input bytes from one row to the next */
  int64_t to_stride;            /* result bytes from one row to the next */
  const int64_t *tap_offsets;   /* input bytes from a row's base address to each tap */
  const int64_t *tap_positions; /* coordinate of each tap on the last axis, relative to the row */
  int64_t axis_size;            /* size of the last axis of the input */
  int64_t position_stride;      /* step of that coordinate from one row to the next */
  const void *zeros;            /* address read instead of padding */
  int64_t tap_reuse;            /* adjacent taps that a sliding tile keeps in registers; 0: none */

  /* Tiles by an indirection buffer: positions at borders, and remainders of lines. */
  int64_t indirect_tiles;         /* number of these tiles */
  const int32_t *live_taps;       /* [tile][1 + taps]: count, then indices of the taps */
  const void *const *indirection; /* [tile][live tap][row]: addresses of A */
  void *const *results;           /* [tile][row]: addresses of C */

  /* Range of terms and columns. */
  int64_t column;   /* first column of the panel */
  int64_t k_first;  /* first term; depthwise: the panel's first element of a position */
  int64_t k_count;  /* number of terms */
  int64_t k_stride; /* depthwise: elements between the terms of one column */

  /* Packed weights and the accumulators' start. */
  const void *weights; /* B of the first tap, term and column */
  int64_t tap_stride;  /* units from one tap to the next */
  int64_t width;       /* units from one term to the next: columns of the panel */
  const void *bias;    /* initial sums of the columns; NULL: zero */
  int sign_flip;       /* mask XORed to units of A: int8 becomes uint8 + 128 */
  bool accumulate;     /* sums are added to C (all k blocks but the first) */

  conv_prefetch_t next; /* weights that are packed next; a step is a tile */
} direct_panel_t;

/* Depthwise: gather that repeats and reorders the channels of a position, so that element i of the
 * expanded position is the term of column i % padded_n. A vector whose lanes all come from two
 * adjacent source vectors is made by one permutation. */
typedef struct channel_expand {
  int64_t channels; /* channels of a source position */
  int64_t count;    /* elements of an expanded position, a multiple of the lanes */
  int32_t *sources; /* [count]: source channel of each element; NULL: no expansion */
  int32_t *starts;  /* [count / lanes]: first channel of the two vectors; -1: gather by elements */
  void *lanes;      /* [count]: lane index relative to `starts`, of the elements' size */
} channel_expand_t;

/* --- the plan --- */

/* One spatial axis of a phase. */
typedef struct direct_axis {
  int64_t first;     /* coordinate of the phase's first result */
  int64_t stride;    /* coordinates from one result of the phase to the next */
  int64_t count;     /* results of the phase */
  int64_t in_stride; /* input coordinates from one result to the next */
  int64_t taps;      /* taps of the axis that meet the input for some result */
  int64_t *starts;   /* [taps]: input coordinate of the first result, ascending */
  int64_t *elements; /* [taps]: index within the window */
} direct_axis_t;

/* Results that meet the same taps. A forward convolution has one phase; with holes in the input
 * (data gradient, transposed convolution, strides with base dilation) each residue of the inputs'
 * coordinates modulo the hole width is a separate phase, so no hole is ever read. */
typedef struct direct_phase {
  direct_axis_t axes[CONV_MAX_SPATIAL];
  int64_t taps;                             /* taps of a position; merged rows count as one */
  int64_t k;                                /* terms of a tap */
  int64_t *offsets;                         /* [taps]: bytes from a position's base address */
  int64_t *tap_positions;                   /* [taps]: coordinate along the last axis */
  int64_t region[CONV_MAX_SPATIAL];         /* positions of an image's region, per axis */
  int64_t region_strides[CONV_MAX_SPATIAL]; /* elements from one of them to the next */

  int64_t line_positions; /* positions of an entry of axis 0 */
  int64_t lines;          /* entries of axis 0, over all images */
  int64_t block_lines;    /* entries of the largest block */
  int64_t blocks;         /* blocks of one group */
  int64_t first_task;     /* index of the phase's first task */

  int64_t panel_elements;  /* elements of a packed panel */
  int64_t packed_at;       /* first element of group 0 in the packed weights */
  int64_t *weight_offsets; /* [taps]: elements from a window's first one; packed.late only */
} direct_phase_t;

/* Sizes and strides of one group's product. */
typedef struct direct_gemm {
  int64_t groups;       /* products */
  int64_t fused_groups; /* groups of the program in one product: more than 1 if depthwise */
  int64_t k;            /* terms of a tap */
  int64_t n;            /* columns */
  int64_t k_stride;     /* stride of the reduction dimension in the program's weights */
  int64_t n_stride;     /* stride of output channels in the program's weights */
} direct_gemm_t;

/* Element sizes and conversions. */
typedef struct direct_types {
  int64_t sum_bytes;      /* size of an accumulator */
  int64_t in_bytes;       /* size of an element of the input and of the weights */
  int64_t out_bytes;      /* size of an element of the result */
  int64_t k_group;        /* terms that are multiplied at once: 1, 2 or 4 */
  bool flips_sign;        /* int8 input is multiplied as uint8, see flip_bias_compute */
  bool narrows_result;    /* the result's type is not that of the sums */
  bool widens_operand[2]; /* input and weights are converted before the loops */
} direct_types_t;

/* Register tile and panels. */
typedef struct direct_tiling {
  int64_t lanes;    /* elements of a vector */
  int64_t rows;     /* positions of a tile */
  int64_t width;    /* columns of a panel */
  int64_t panels;   /* panels of a group */
  int64_t padded_n; /* columns rounded up to whole vectors */
} direct_tiling_t;

/* Variants of the loop nest; they exclude each other except where a comment says so. */
typedef struct direct_form {
  bool narrow_n;         /* n of at most 4: vectors of terms, panel [tap][column][term] */
  bool depthwise;        /* each column has its own terms: elementwise products */
  bool merges_last_axis; /* few channels: the taps of a row are one tap of taps * k terms */
  bool has_region;       /* any form: the block's input is copied, channels innermost, padded */
  bool has_copy;         /* any form: results go through a buffer of the block */
} direct_form_t;

/* Depthwise form only. */
typedef struct direct_depthwise {
  int64_t tap_reuse;       /* see direct_panel_t */
  channel_expand_t expand; /* from channels to elements of a position */
  void (*expand_line)(const channel_expand_t *expand, const void *from, int64_t count, void *to);
} direct_depthwise_t;

/* Division of the work. Tasks are numbered [phase][group][block][part]. */
typedef struct direct_partition {
  int phase_count;
  direct_phase_t *phases;
  int64_t parts;       /* parts into which the columns are divided: 1 unless blocks are too few */
  int64_t part_panels; /* panels of a part */
  int64_t tasks;       /* tasks of all phases */
} direct_partition_t;

/* Packed weights: [group][phase][panel], then the bias of flipped signs. */
typedef struct direct_packed {
  int64_t group_elements; /* elements of a group */
  int64_t elements;       /* elements of all groups */
  size_t bytes;           /* size with the bias */
  size_t bias_at;         /* offset of the bias, bytes */
  const void *constant;   /* packed weights of a plan with constant weights; else NULL */
  bool late;              /* a task packs a k block of a panel before it multiplies by it */
} direct_packed_t;

/* Byte offsets in scratch memory. */
typedef struct direct_scratch {
  size_t wide_at[2];   /* widened input and weights */
  size_t packed_at;    /* packed weights */
  size_t workers_at;   /* workspaces, one per worker */
  size_t worker_bytes; /* size of a workspace */
} direct_scratch_t;

/* Byte offsets in a worker's workspace. */
typedef struct direct_workspace {
  size_t zeros_at;       /* zeros that padding is read from */
  size_t zeros_bytes;    /* size of the zeros */
  size_t spare_at;       /* results of the last tile's surplus rows, never read */
  size_t spans_at;       /* direct_span_t[] */
  size_t lines_at;       /* direct_line_t[] */
  size_t line_taps_at;   /* live taps of the lines */
  size_t indirection_at; /* indirection buffer */
  size_t live_taps_at;   /* live taps of the indirect tiles */
  size_t results_at;     /* result addresses of the indirect tiles */
  size_t region_at;      /* region */
  size_t line_at;        /* line of a region before its channels are expanded */
  size_t edge_copies_at; /* padded copies of merged taps */
  size_t copy_at;        /* results of the block, [position][padded_n] sums */
  size_t narrow_at;      /* results of the block in the result's type */
  size_t weights_at;     /* packed k block of a panel, with packed.late */
} direct_workspace_t;

typedef struct conv_direct {
  const conv_problem_t *problem;
  conv_array_t input;          /* array that is read: SRC, or DST for the data gradient */
  conv_array_t output;         /* array that is written */
  const int64_t *input_sizes;  /* spatial sizes of `input` */
  const int64_t *output_sizes; /* spatial sizes of `output` */
  int64_t channels;            /* channels of a position that one product reads */
  int64_t position_elements;   /* elements of a position as tiles read it */
  int workers;                 /* most workers that run the plan */
  void (*sum_panel)(const direct_panel_t *panel);
  direct_gemm_t gemm;
  direct_types_t types;
  direct_form_t form;
  direct_tiling_t tile;
  direct_depthwise_t depthwise;
  direct_partition_t partition;
  direct_packed_t packed;
  direct_scratch_t scratch;
  direct_workspace_t workspace;
} conv_direct_t;

/* --- a run --- */

/* Addresses of one run. */
typedef struct direct_run {
  const conv_direct_t *plan;
  const char *from;    /* input, widened if necessary */
  const char *weights; /* weights, widened if necessary; unused if they are constant */
  char *to;            /* result */
  char *packed;        /* packed weights */
  char *workspaces;    /* scratch memory of all workers */
  const op_native_epilogue_t *epilogue;
} direct_run_t;

/* A result position: image and coordinates along the axes of the phase. */
typedef struct direct_position {
  int64_t image;
  int64_t at[CONV_MAX_SPATIAL];
} direct_position_t;

/* Results of a block that differ in the last coordinate only.
 *
 *   0          inner_begin                     inner_end      count
 *   |--border--|------ all taps of the row inside ------|--border--|
 *        line_begin |---- tiles by strides ----| line_end
 *
 * Results outside of [line_begin, line_end) go through the indirection buffer. */
typedef struct direct_span {
  direct_position_t position; /* first result */
  int64_t first_result;       /* index of the first result in the block */
  int64_t count;              /* results */
  int64_t inner_begin;        /* first result whose last-axis taps are all inside */
  int64_t inner_end;          /* end of these */
  int64_t line_begin;         /* first result of the line */
  int64_t line_end;           /* end of the line */
  int64_t in_offset;          /* first result's base in the input or region, merged taps excluded */
  int64_t in_stride;          /* step to the next result */
  int64_t out_offset;         /* first result in the output */
  int64_t out_stride;         /* step to the next result */
  bool outer_inside;          /* taps of all other axes are inside, too */
} direct_span_t;

/* A block in progress: entries [begin, end) of axis 0, counted over all images. */
typedef struct direct_block {
  const direct_run_t *run;
  const direct_phase_t *phase;
  int64_t group;
  int64_t begin;          /* first entry */
  int64_t end;            /* end of the entries */
  int64_t positions;      /* results */
  int64_t line_count;     /* lines found so far */
  int64_t indirect_rows;  /* results with pointers found so far */
  int64_t indirect_tiles; /* tiles of the results with pointers */
  char *workspace;        /* scratch memory of the worker */
  char *edge_copy;        /* free space for the next edge copy */
  int worker;
} direct_block_t;

/* Input coordinates from the first tap to the last one. */
static inline int64_t direct_tap_span(const direct_axis_t *axis) {
  return axis->taps ? axis->starts[axis->taps - 1] - axis->starts[0] : 0;
}

/* Terms of each tap in one k block: a multiple of 16, or all. */
int64_t direct_k_block(const conv_direct_t *plan, const direct_phase_t *phase);

/* Most terms of a tap in any phase. */
int64_t direct_max_k(const conv_direct_t *plan);

/* Fills in the plan except for its function pointers and scratch offsets; `problem` and `workers`
 * are set. *out_fits false: another kernel is faster, or is required. Arrays live as long as the
 * arena. */
hr_status_t direct_plan_init(hr_arena_t *arena, conv_direct_t *plan, bool *out_fits);
/* Assigns all scratch offsets; returns the size in bytes. */
size_t direct_plan_scratch(conv_direct_t *plan);

/* Packs panels [begin, end) of all groups, numbered [group][panel], for all phases. A task function
 * of hr_workers_split with a direct_run_t as context. */
void direct_pack_panels(void *run, int64_t begin, int64_t end, int worker);
/* Packs the k block from term `first` on of one panel, [tap][term][column]; packed.late only. */
void direct_pack_k_block(const direct_run_t *run, const direct_phase_t *phase, int64_t panel,
                         int64_t first, int64_t terms, void *to);
/* Sets phase->weight_offsets of all phases. */
hr_status_t direct_plan_weight_offsets(hr_arena_t *arena, conv_direct_t *plan);
/* Rows that direct_pack_k_block reads with these arguments. `steps`: number of tiles that share
 * their prefetching. */
conv_prefetch_t direct_k_block_rows(const direct_run_t *run, const direct_phase_t *phase,
                                    int64_t panel, int64_t first, int64_t terms, int64_t steps);
/* Initial sums of a phase and group, [padded_n]; types.flips_sign only. */
const char *direct_flip_bias(const direct_run_t *run, const direct_phase_t *phase, int64_t group);

/* Computes the block's lines, indirection buffer and live taps, after its region if it has one. */
void direct_block_prepare(direct_block_t *block);
/* Copies the block's input, channels innermost and zero-padded, into the workspace. */
void direct_block_fill_region(const direct_block_t *block);
/* Slots of result `number`, counted over the indirect ones, in the indirection buffer: every
 * tile.rows-th slot. */
const void **direct_block_indirection(const direct_block_t *block, int64_t number);
/* Live taps of an indirect tile: count, then indices. */
int32_t *direct_block_live_taps(const direct_block_t *block, int64_t tile);
/* Copies columns [begin, end) of the block's buffer to the result, narrowed if necessary. */
void direct_block_store(const direct_block_t *block, int64_t begin, int64_t end);
#endif
