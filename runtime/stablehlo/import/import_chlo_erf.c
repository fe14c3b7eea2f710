/* erfc and the inverse of erf as formulas, and the Bessel function i1e.
 * Source: Cephes (erfc, i1e); M. Giles, "Approximating the erfinv function". */
#include <math.h>

#include "stablehlo/import/import_formula.h"

/* --- erfc ---
 * Near 0 it is 1 - erf, beyond 1 the product of exp(-x^2) and a slow factor. Both halves are
 * computed everywhere and one of them is chosen. */

/* erf for |x| < 1 and erfc of |x| >= 1, in f32: polynomials in x^2 and 1/x^2. */
static expr_t small_erf_f32(hlo_builder_t *f, expr_t x) {
  static const double t[] = {7.853861353153693e-5,  -8.010193625184903e-4, 5.188327685732524e-3,
                             -2.685381193529856e-2, 1.128358514861418e-1,  -3.761262582423300e-1,
                             1.128379165726710};
  return f_mul(f, x, F_POLYNOMIAL(f, f_mul(f, x, x), t));
}

/* exp(-x^2) times a rational function of 1 / x^2, single precision. */
static expr_t large_erfc_f32(hlo_builder_t *f, expr_t x) {
  static const double below_2[] = {
      2.326819970068386e-2,  -1.387039388740657e-1, 3.687424674597105e-1,
      -5.824733027278666e-1, 6.210004621745983e-1,  -4.944515323274145e-1,
      3.404879937665872e-1,  -2.741127028184656e-1, 5.638259427386472e-1};
  static const double above_2[] = {
      -1.047766399936249e+1, 1.297719955372516e+1, -7.495518717768503,    2.921019019210786,
      -1.015265279202700,    4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1};
  expr_t one = f_number(f, 1, x);
  expr_t square = f_mul(f, x, x);
  expr_t magnitude = f_abs(f, x);
  expr_t inverse = f_div(f, one, square);
  expr_t scale = f_mul(f, f_exp(f, f_neg(f, square)), f_div(f, one, magnitude));
  expr_t factor = f_select(f, f_lt(f, magnitude, f_number(f, 2, x)),
                           F_POLYNOMIAL(f, inverse, below_2), F_POLYNOMIAL(f, inverse, above_2));
  return f_mul(f, scale, factor);
}

/* erf(x) for |x| < 1 in f64: Cephes' quotient of polynomials in x^2. */
static expr_t small_erf_f64(hlo_builder_t *f, expr_t x) {
  static const double t[] = {9.60497373987051638749, 9.00260197203842689217e1,
                             2.23200534594684319226e3, 7.00332514112805075473e3,
                             5.55923013010394962768e4};
  static const double u[] = {1,
                             3.35617141647503099647e1,
                             5.21357949780152679795e2,
                             4.59432382970980127987e3,
                             2.26290000613890934246e4,
                             4.92673942608635921086e4};
  expr_t square = f_mul(f, x, x);
  return f_div(f, f_mul(f, x, F_POLYNOMIAL(f, square, t)), F_POLYNOMIAL(f, square, u));
}

/* erfc(x) for |x| >= 1 in f64: Cephes' quotients of polynomials in |x|, in two ranges. */
static expr_t large_erfc_f64(hlo_builder_t *f, expr_t x) {
  static const double p[] = {
      2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
      4.86371970985681366614e1,   1.96520832956077098242e2,  5.26445194995477358631e2,
      9.34528527171957607540e2,   1.02755188689515710272e3,  5.57535335369399327526e2};
  static const double q[] = {1,
                             1.32281951154744992508e1,
                             8.67072140885989742329e1,
                             3.54937778887819891062e2,
                             9.75708501743205489753e2,
                             1.82390916687909736289e3,
                             2.24633760818710981792e3,
                             1.65666309194161350182e3,
                             5.57535340817727675546e2};
  static const double r[] = {5.64189583547755073984e-1, 1.27536670759978104416,
                             5.01905042251180477414,    6.16021097993053585195,
                             7.40974269950448939160,    2.97886665372100240670};
  static const double s[] = {1,
                             2.26052863220117276590,
                             9.39603524938001434673,
                             1.20489539808096656605e1,
                             1.70814450747565897222e1,
                             9.60896809063285878198,
                             3.36907645100081516050};
  expr_t magnitude = f_abs(f, x);
  expr_t scale = f_exp(f, f_neg(f, f_mul(f, x, x)));
  expr_t near =
      f_div(f, f_mul(f, scale, F_POLYNOMIAL(f, magnitude, p)), F_POLYNOMIAL(f, magnitude, q));
  expr_t far =
      f_div(f, f_mul(f, scale, F_POLYNOMIAL(f, magnitude, r)), F_POLYNOMIAL(f, magnitude, s));
  return f_select(f, f_lt(f, magnitude, f_number(f, 8, x)), near, far);
}

/* 1 - erf(x) near 0, the product otherwise; for negative x erfc(-x) = 2 - erfc(x). */
expr_t formula_erfc(hlo_builder_t *f, expr_t const *operands) {
  expr_t x = operands[0];
  if (!x) return NULL;
  bool is_double = x->shape->dtype == HR_F64;
  double limit = is_double ? 7.09782712893383996843e2
                           : 88.72283905206835; /* bound of x^2: exp underflows beyond */
  expr_t zero = f_number(f, 0, x);
  expr_t one = f_number(f, 1, x);
  expr_t large = is_double ? large_erfc_f64(f, x) : large_erfc_f32(f, x);
  large = f_select(f, f_gt(f, f_mul(f, x, x), f_number(f, limit, x)), zero, large);
  large = f_select(f, f_lt(f, x, zero), f_sub(f, f_number(f, 2, x), large), large);
  expr_t small = f_sub(f, one, is_double ? small_erf_f64(f, x) : small_erf_f32(f, x));
  return f_select(f, f_lt(f, f_abs(f, x), one), small, large);
}

/* --- the inverse of erf ---
 * x times a polynomial in w = -log(1 - x^2), shifted; others near the ends, in sqrt(w). */

/* Giles' polynomials in w = -log(1 - x^2), two ranges. */
static expr_t inverse_f32(hlo_builder_t *f, expr_t w) {
  static const double middle[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                  -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                  -0.00417768164,  0.246640727,    1.50140941};
  static const double end[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                               -0.00367342844,  0.00573950773,  -0.0076224613,
                               0.00943887047,   1.00167406,     2.83297682};
  expr_t in_middle = f_lt(f, w, f_number(f, 5, w));
  return f_select(f, in_middle, F_POLYNOMIAL(f, f_sub_number(f, w, 2.5), middle),
                  F_POLYNOMIAL(f, f_sub_number(f, f_sqrt(f, w), 3), end));
}

/* Giles' polynomials for double precision, in three ranges of w. */
static expr_t inverse_f64(hlo_builder_t *f, expr_t w) {
  static const double middle[] = {
      -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
      1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
      6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
      2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
      4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
      0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
      0.24015818242558961693,     1.6536545626831027356};
  static const double outer[] = {
      2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
      1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
      2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
      6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
      0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
      -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
      3.0838856104922207635};
  static const double end[] = {
      -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
      -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
      2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
      -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
      7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
      1.0103004648645343977,      4.8499064014085844221};
  expr_t root = f_sqrt(f, w);
  expr_t near = F_POLYNOMIAL(f, f_sub_number(f, w, 3.125), middle);
  expr_t far = f_select(f, f_lt(f, w, f_number(f, 16, w)),
                        F_POLYNOMIAL(f, f_sub_number(f, root, 3.25), outer),
                        F_POLYNOMIAL(f, f_sub_number(f, root, 5), end));
  return f_select(f, f_lt(f, w, f_number(f, 6.25, w)), near, far);
}

/* The result is infinite at +-1. */
expr_t formula_erf_inv(hlo_builder_t *f, expr_t const *operands) {
  expr_t x = operands[0];
  if (!x) return NULL;
  expr_t w = f_neg(f, f_log1p(f, f_mul(f, x, f_neg(f, x))));
  expr_t inside = f_mul(f, x->shape->dtype == HR_F64 ? inverse_f64(f, w) : inverse_f32(f, w), x);
  expr_t at_end = f_eq(f, f_abs(f, x), f_number(f, 1, x));
  return f_select(f, at_end, f_mul_number(f, x, INFINITY), inside);
}

/* --- i1e: exp(-|x|) i1(x), by Chebyshev series in |x|/2 - 2 up to 8 and in 32/|x| - 2 beyond ---
 */

/* Clenshaw's recurrence, highest coefficient first; half of the constant term is used. */
static expr_t chebyshev(hlo_builder_t *f, expr_t x, int count, const double *coefficients) {
  expr_t b0 = f_number(f, 0, x);
  expr_t b1 = b0;
  expr_t b2 = b0;
  for (int i = 0; i < count; i++) {
    b2 = b1;
    b1 = b0;
    b0 = f_add_number(f, f_sub(f, f_mul(f, x, b1), b2), coefficients[i]);
  }
  return f_mul_number(f, f_sub(f, b0, b2), 0.5);
}
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* Chebyshev series on [0, 8] and beyond, evaluated by Clenshaw's recurrence. */
expr_t formula_bessel_i1e(hlo_builder_t *f, expr_t const *operands) {
  static const double low[] = {
      2.77791411276104639959e-18,  -2.11142121435816608115e-17, 1.55363195773620046921e-16,
      -1.10559694773538630805e-15, 7.60068429473540693410e-15,  -5.04218550472791168711e-14,
      3.22379336594557470981e-13,  -1.98397439776494371520e-12, 1.17361862988909016308e-11,
      -6.66348972350202774223e-11, 3.62559028155211703701e-10,  -1.88724975172282928790e-9,
      9.38153738649577178388e-9,   -4.44505912879632808065e-8,  2.00329475355213526229e-7,
      -8.56872026469545474066e-7,  3.47025130813767847674e-6,   -1.32731636560394358279e-5,
      4.78156510755005422638e-5,   -1.61760815825896745588e-4,  5.12285956168575772895e-4,
      -1.51357245063125314899e-3,  4.15642294431288815669e-3,   -1.05640848946261981558e-2,
      2.47264490306265168283e-2,   -5.29459812080949914269e-2,  1.02643658689847095384e-1,
      -1.76416518357834055153e-1,  2.52587186443633654823e-1};
  static const double high[] = {
      7.51729631084210481353e-18,  4.41434832307170791151e-18,  -4.65030536848935832153e-17,
      -3.20952592199342395980e-17, 2.96262899764595013876e-16,  3.30820231092092828324e-16,
      -1.88035477551078244854e-15, -3.81440307243700780478e-15, 1.04202769841288027642e-14,
      4.27244001671195135429e-14,  -2.10154184277266431302e-14, -4.08355111109219731823e-13,
      -7.19855177624590851209e-13, 2.03562854414708950722e-12,  1.41258074366137813316e-11,
      3.25260358301548823856e-11,  -1.89749581235054123450e-11, -5.58974346219658380687e-10,
      -3.83538038596423702205e-9,  -2.63146884688951950684e-8,  -2.51223623787020892529e-7,
      -3.88256480887769039346e-6,  -1.10588938762623716291e-4,  -9.76109749136146840777e-3,
      7.78576235018280120474e-1};
  enum {
    LOW_F32 = 17, /* number of trailing terms sufficient for f32 */
    HIGH_F32 = 7
  };
  expr_t x = operands[0];
  if (!x) return NULL;
  bool is_double = x->shape->dtype == HR_F64;
  int low_count = is_double ? COUNT(low) : LOW_F32;
  int high_count = is_double ? COUNT(high) : HIGH_F32;
  expr_t magnitude = f_abs(f, x);
  expr_t near = f_sub_number(f, f_mul_number(f, magnitude, 0.5), 2);
  near = f_mul(f, magnitude, chebyshev(f, near, low_count, low + COUNT(low) - low_count));
  expr_t far = f_sub_number(f, f_div(f, f_number(f, 32, x), magnitude), 2);
  far = f_div(f, chebyshev(f, far, high_count, high + COUNT(high) - high_count),
              f_sqrt(f, magnitude));
  return f_mul(f, f_sign(f, x), f_select(f, f_le(f, magnitude, f_number(f, 8, x)), near, far));
}
