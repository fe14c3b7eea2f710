/* Polynomials of generated math, lowest power first, with the largest error relative to the result.
 * Made by tests/accuracy/fit_polynomials.py, which says what they approach and where. Used by
 * math_*.c, each of which takes some. */
#ifndef JIT_MATH_TABLES_H
#define JIT_MATH_TABLES_H

/* error 2^-28.0 */
static const double math_exp_f32[] __attribute__((unused)) = {
    0x1.fffffc0000000p-2, 0x1.5554900000000p-3,  0x1.5558fe0000000p-5,
    0x1.123b940000000p-7, 0x1.6a20900000000p-10,
};

/* error 2^-57.1 */
static const double math_exp_f64[] __attribute__((unused)) = {
    0x1.000000000000ap-1,  0x1.55555555554f7p-3,  0x1.55555555506c0p-5,  0x1.111111112852cp-7,
    0x1.6c16c18492f2dp-10, 0x1.a01a0127fcda6p-13, 0x1.a01998df0961ap-16, 0x1.71df28bf36cd4p-19,
    0x1.28ae96a291692p-22, 0x1.ad7cfb2e9b0cbp-26,
};

/* error 2^-34.1 */
static const double math_exp_fast[] __attribute__((unused)) = {
    0x1.0000003b192ffp-1, 0x1.5555543ebd8adp-3,  0x1.55548b872044ap-5,
    0x1.1112745cd8020p-7, 0x1.6d8f2453ea76ap-10, 0x1.9f078c11fde87p-13,
};

/* error 2^-25.8 */
static const double math_expm1_f32[] __attribute__((unused)) = {
    0x1.fffffe0000000p-2, 0x1.5554ae0000000p-3,  0x1.5556760000000p-5,
    0x1.1229140000000p-7, 0x1.6bec060000000p-10,
};

/* error 2^-60.3 */
static const double math_expm1_f64[] __attribute__((unused)) = {
    0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.555555555553ep-5,  0x1.111111110f63ep-7,
    0x1.6c16c16c1f2fap-10, 0x1.a01a01b019f63p-13, 0x1.a01a017b4ee2cp-16, 0x1.71ddf7bb93f96p-19,
    0x1.27e536845ec5ep-22, 0x1.af5fe6f331029p-26, 0x1.1ee8ff7abdc8cp-29,
};

/* error 2^-37.4 */
static const double math_expm1_fast[] __attribute__((unused)) = {
    0x1.0000000017ae7p-1,  0x1.55555573d5d13p-3,  0x1.555554f1674ebp-5,  0x1.1110b108966f5p-7,
    0x1.6c17695eb15b0p-10, 0x1.a1715c9da0f65p-13, 0x1.a002c642c3899p-16,
};

/* error 2^-27.3 */
static const double math_log_f32[] __attribute__((unused)) = {
    0x1.5555540000000p-2, -0x1.0002260000000p-2, 0x1.99a0060000000p-3, -0x1.54724c0000000p-3,
    0x1.22da660000000p-3, -0x1.0d85420000000p-3, 0x1.0559820000000p-3, -0x1.38b0ce0000000p-4,
};

/* error 2^-57.8 */
static const double math_log_f64[] __attribute__((unused)) = {
    0x1.5555555555593p-1, 0x1.999999997fcabp-2, 0x1.2492494200f7bp-2, 0x1.c71c51fbb9337p-3,
    0x1.746641dd1f8f5p-3, 0x1.39a16a79d6e49p-3, 0x1.2f08b32e9d5dcp-3,
};

/* error 2^-36.6 */
static const double math_log_fast[] __attribute__((unused)) = {
    0x1.555554fd7025dp-1,
    0x1.999a7adc85518p-2,
    0x1.2438c28ccf104p-2,
    0x1.e2f9a1cea861cp-3,
};

/* error 2^-65.2 */
static const double math_log_tail_f64[] __attribute__((unused)) = {
    0x1.9999999999b31p-2, 0x1.2492492457b57p-2, 0x1.c71c722d962edp-3, 0x1.745ce9d236b82p-3,
    0x1.3b1eef41ccc04p-3, 0x1.0f7f9c07451afp-3, 0x1.0e4593a7d0054p-3,
};

/* error 2^-28.0 */
static const double math_sin_f32[] __attribute__((unused)) = {
    -0x1.5555560000000p-3,
    0x1.1111080000000p-7,
    -0x1.a00efc0000000p-13,
    0x1.6cb2d00000000p-19,
};

/* error 2^-56.3 */
static const double math_sin_f64[] __attribute__((unused)) = {
    -0x1.5555555555546p-3, 0x1.111111110f49ap-7,   -0x1.a01a019b945d0p-13,
    0x1.71de350a24d0dp-19, -0x1.ae5e0fbe75ba6p-26, 0x1.5d79bf45f7a87p-33,
};

/* error 2^-29.9 */
static const double math_cos_f32[] __attribute__((unused)) = {
    0x1.55554a0000000p-5,
    -0x1.6c0bae0000000p-10,
    0x1.99c54e0000000p-16,
};

/* error 2^-62.0 */
static const double math_cos_f64[] __attribute__((unused)) = {
    0x1.5555555555549p-5,   -0x1.6c16c16c14be8p-10, 0x1.a01a019c2765ep-16,
    -0x1.27e4f7a6b3a86p-22, 0x1.1ee9a8db667ffp-29,  -0x1.8f8c1205dc414p-37,
};

/* error 2^-55.2 */
static const double math_tan_f64[] __attribute__((unused)) = {
    0x1.55555555554c2p-2,   0x1.111111111b556p-3,  0x1.ba1ba1b217e5dp-5,   0x1.664f4a1693bfdp-6,
    0x1.226e066005a02p-7,   0x1.d6dadef4ee6d3p-9,  0x1.7d475067dcd75p-10,  0x1.38a167c5b0716p-11,
    0x1.cad4ebc439feep-13,  0x1.2daf206e45388p-13, -0x1.33369efa90f59p-15, 0x1.9e4da6b4d4c7fp-14,
    -0x1.a2514aba1f356p-15, 0x1.71fe495e873d5p-16,
};

/* error 2^-29.3 */
static const double math_tan_fast[] __attribute__((unused)) = {
    0x1.555562c1b4bbfp-2, 0x1.110ce40cfd2f0p-3,   0x1.bafaa2066c9a7p-5, 0x1.5b6b621753cddp-6,
    0x1.69c48b6c92db8p-7, -0x1.6d464c02f5e39p-13, 0x1.27768cb47c538p-8,
};

/* error 2^-28.7 */
static const double math_tanh_f32[] __attribute__((unused)) = {
    -0x1.5555480000000p-2, 0x1.110c720000000p-3,  -0x1.b9094a0000000p-5,
    0x1.582fd00000000p-6,  -0x1.9500cc0000000p-8,
};

/* error 2^-57.2 */
static const double math_tanh_f64[] __attribute__((unused)) = {
    -0x1.555555555554bp-2,  0x1.11111111102b6p-3,  -0x1.ba1ba1b935e99p-5,  0x1.664f4849577b7p-6,
    -0x1.226e2d0280006p-7,  0x1.d6d24798b53e8p-9,  -0x1.7d8b961ba19e3p-10, 0x1.3460ae799243dp-11,
    -0x1.e80aa84fc4878p-13, 0x1.5972a21df66f6p-14, -0x1.3d288cd7fcac9p-16,
};

/* error 2^-58.4 */
static const double math_atan_f64[] __attribute__((unused)) = {
    -0x1.555555555553cp-2, 0x1.99999999956afp-3, -0x1.24924922a2e5bp-3, 0x1.c71c70e208cdep-4,
    -0x1.745cf869568fep-4, 0x1.3b11111ee7becp-4, -0x1.10eb5d4721fd4p-4, 0x1.df0a1a277bc59p-5,
    -0x1.9cbb3c67b8430p-5, 0x1.37999c713ac43p-5, -0x1.24e61a610d055p-6,
};

/* error 2^-30.5 */
static const double math_atan_fast[] __attribute__((unused)) = {
    -0x1.5555490e13537p-2, 0x1.999188997b1e6p-3,  -0x1.23b411c9e71d9p-3,
    0x1.b1db7bd734d36p-4,  -0x1.f19497cf5c511p-5,
};

/* error 2^-55.7 */
static const double math_asin_f64[] __attribute__((unused)) = {
    0x1.555555555538dp-3, 0x1.333333336ed14p-4, 0x1.6db6db4244885p-5,  0x1.f1c72c4ae180dp-6,
    0x1.6e89f286910b3p-6, 0x1.1c6bfc50e08f1p-6, 0x1.c6fba7108e6dfp-7,  0x1.8ed114e58e386p-7,
    0x1.ab532aea3ea46p-8, 0x1.404b1c04864acp-6, -0x1.0a5d069d53bbfp-6, 0x1.059d67b64990dp-5,
};

/* error 2^-31.8 */
static const double math_asin_fast[] __attribute__((unused)) = {
    0x1.55554c5938d13p-3, 0x1.33387fde04fb0p-4, 0x1.6cae4c7f5f085p-5,
    0x1.04963f94d806ep-5, 0x1.d8d61a181bfc9p-7, 0x1.3370c7427c753p-5,
};

/* error 2^-14.7 */
static const double math_cbrt_guess[] __attribute__((unused)) = {
    0x1.ab856c64bd3b4p+0,  -0x1.2c41879af8091p+0, 0x1.6415a7288c5e2p-1,
    -0x1.c5174e736da3cp-3, 0x1.d46e383ea8d5fp-6,
};

/* error 2^-26.9 */
static const double math_erf_f32[] __attribute__((unused)) = {
    0x1.06eba80000000p-3,   0x1.45f2fa0000000p-1,   0x1.a4fa600000000p-4,
    -0x1.39cde40000000p-6,  -0x1.503f8e0000000p-13, 0x1.b4fbc00000000p-10,
    -0x1.4bc46a0000000p-11, 0x1.ed5eee0000000p-14,  -0x1.3689d80000000p-17,
};

/* error 2^-56.1 */
static const double math_erf_near_f64[] __attribute__((unused)) = {
    0x1.06eba8214db68p-3,  -0x1.812746b0379dcp-2,  0x1.ce2f21a04230bp-4,  -0x1.b82ce3125a3d4p-6,
    0x1.565bcd0681897p-8,  -0x1.c02db26876b63p-11, 0x1.f9a2f2c225e34p-14, -0x1.f4cdf161b7942p-17,
    0x1.b9a6a5a2b8b0dp-20, -0x1.5d0809350d09bp-23, 0x1.de9b7ed3e88d9p-27, -0x1.c3e43574513a6p-31,
};

/* error 2^-58.9 */
static const double math_erf_far_f64[] __attribute__((unused)) = {
    0x1.058671b52c776p-2,   -0x1.b57034efd3f72p-2,  0x1.eeea7dc8a78b3p-3,   -0x1.437f0b68c0c20p-4,
    0x1.e9471597a0875p-9,   0x1.ca95ed5344428p-8,   -0x1.bc25a47f7c84fp-11, -0x1.016b5ceb01078p-10,
    0x1.6d5f041dabccfp-15,  0x1.6da9790ac5d0ap-13,  0x1.cdca629b65f9fp-16,  -0x1.ceb8fc23cdb5fp-16,
    -0x1.d477f8ba0fb21p-17, 0x1.7612b1b1500ecp-20,  0x1.f725e361c3d34p-19,  0x1.4011e8a42fc49p-20,
    -0x1.b374e2af6c3adp-22, -0x1.04a6c2d186435p-21, -0x1.3c83f6ebb612bp-23,
};

/* error 2^-34.3 */
static const double math_exp2_fast[] __attribute__((unused)) = {
    0x1.62e42ff0e6f01p-1,  0x1.ebfbe07909577p-3,  0x1.c6b08ab77f556p-5,  0x1.3b29f21171e8dp-7,
    0x1.5d8a8bc00caf2p-10, 0x1.445ddbcef27c9p-13, 0x1.fde37a3464492p-17,
};

#endif
