/* The functions of small_eigen.c for one real type. Included once per type, with
 *   EIGEN_REAL      the type
 *   EIGEN_EPSILON   half the distance of 1 from the next number; EIGEN_TINY the least normal number
 *   EIGEN_MATH(f)   the name of a function of math.h for the type
 *   EIGEN_NAME(x)   the name of function x in this instance
 * Matrices are stored by columns, SIZE numbers apart; those beyond row n are zero. */

/* d: diagonal, e: off-diagonal; z: vectors by columns; length: n rounded up to whole vectors, or 0
 * if no vectors are wanted. */
typedef struct EIGEN_NAME(problem) {
  int n, length;
  EIGEN_REAL a[SIZE][SIZE], z[SIZE][SIZE], d[SIZE], e[SIZE], taus[SIZE], cosines[SIZE], sines[SIZE];
} EIGEN_NAME(problem_t);

NATIVE_INLINE EIGEN_REAL EIGEN_NAME(with_sign)(EIGEN_REAL size, EIGEN_REAL sign) {
  return EIGEN_MATH(copysign)(size, sign);
}

/* The larger of two magnitudes. */
NATIVE_INLINE EIGEN_REAL EIGEN_NAME(larger)(EIGEN_REAL x, EIGEN_REAL y) {
  EIGEN_REAL a = EIGEN_MATH(fabs)(x), b = EIGEN_MATH(fabs)(y);
  return a > b ? a : b;
}

/* sqrt(x * x + y * y), rounded as LAPACK's lapy2. */
NATIVE_INLINE EIGEN_REAL EIGEN_NAME(length_of)(EIGEN_REAL x, EIGEN_REAL y) {
  EIGEN_REAL a = EIGEN_MATH(fabs)(x), b = EIGEN_MATH(fabs)(y), large = a > b ? a : b,
             small = a > b ? b : a;
  EIGEN_REAL ratio = large == 0 ? 0 : small / large;
  return small == 0 ? large : large * EIGEN_MATH(sqrt)(1 + ratio * ratio);
}

/* --- reduction to tridiagonal form ------------------------------------------------------------ */

/* By LAPACK, since vectors of f32 have the signs that its roundings give. */
NATIVE_INLINE void EIGEN_NAME(reduce)(EIGEN_NAME(problem_t) * p, lapack_fn sytd2) {
  int size = SIZE, info;
  sytd2("L", &p->n, p->a, &size, p->d, p->e, p->taus, &info, ONE_CHAR);
  for (int i = 0; i < p->n - 1; i++) p->a[i][i + 1] = 1;
}

/* z = Q z */
NATIVE_INLINE void EIGEN_NAME(transform_back)(EIGEN_NAME(problem_t) * p) {
  for (int i = p->n - 2; i >= 0; i--)
    for (int c = 0; c < p->n && p->taus[i] != 0; c++) {
      EIGEN_REAL dot = 0;
      for (int r = i + 1; r < p->n; r++) dot += p->a[i][r] * p->z[c][r];
      dot *= p->taus[i];
      for (int r = i + 1; r < p->n; r++) p->z[c][r] -= dot * p->a[i][r];
    }
}

/* --- implicit QL and QR ----------------------------------------------------------------------- */

/* The rotation that takes (f, g) to (r, 0), with a cosine that is not negative. Returns r. Numbers
 * whose squares would vanish are divided by the larger one, as by LAPACK's lartg. */
NATIVE_INLINE EIGEN_REAL EIGEN_NAME(rotation)(EIGEN_REAL f, EIGEN_REAL g, EIGEN_REAL *out_cosine,
                                              EIGEN_REAL *out_sine) {
  if (g == 0) {
    *out_cosine = 1;
    *out_sine = 0;
    return f;
  }
  if (f == 0) {
    *out_cosine = 0;
    *out_sine = EIGEN_NAME(with_sign)(1, g);
    return EIGEN_MATH(fabs)(g);
  }
  const EIGEN_REAL least = EIGEN_MATH(sqrt)(EIGEN_TINY);
  EIGEN_REAL unit = 1;
  if (EIGEN_MATH(fabs)(f) <= least || EIGEN_MATH(fabs)(g) <= least) {
    unit = EIGEN_NAME(larger)(EIGEN_NAME(larger)(f, g), EIGEN_TINY);
    f /= unit;
    g /= unit;
  }
  EIGEN_REAL r = EIGEN_NAME(with_sign)(EIGEN_MATH(sqrt)(f * f + g * g), f);
  *out_cosine = f / r;
  *out_sine = g / r;
  return r * unit;
}

/* Columns j and j + 1 of z become c z[j] + s z[j + 1] and c z[j + 1] - s z[j]. */
NATIVE_INLINE void EIGEN_NAME(rotate)(EIGEN_NAME(problem_t) * p, int j, EIGEN_REAL c,
                                      EIGEN_REAL s) {
  EIGEN_REAL *x = p->z[j], *y = p->z[j + 1];
  for (int r = 0; r < p->length; r++) {
    EIGEN_REAL next = y[r];
    y[r] = c * next - s * x[r];
    x[r] = s * next + c * x[r];
  }
}

/* Diagonalises rows j and j + 1; the eigenvalue of larger magnitude becomes number `first`. */
NATIVE_INLINE void EIGEN_NAME(solve_two)(EIGEN_NAME(problem_t) * p, int j, int first, int second) {
  EIGEN_REAL a = p->d[j], b = p->e[j], c = p->d[j + 1], cosine, sine;
  EIGEN_REAL sum = a + c, difference = a - c, twice = b + b;
  EIGEN_REAL root = EIGEN_NAME(length_of)(difference, twice);
  bool is_a = EIGEN_MATH(fabs)(a) > EIGEN_MATH(fabs)(c);
  EIGEN_REAL most = is_a ? a : c;
  EIGEN_REAL least = is_a ? c : a;
  EIGEN_REAL large = (EIGEN_REAL)0.5 * (sum < 0 ? sum - root : sum + root);
  EIGEN_REAL small = sum == 0 ? -large : most / large * least - b / large * b;
  EIGEN_REAL shifted = difference >= 0 ? difference + root : difference - root;
  if (EIGEN_MATH(fabs)(shifted) > EIGEN_MATH(fabs)(twice)) {
    EIGEN_REAL cotangent = -twice / shifted;
    sine = 1 / EIGEN_MATH(sqrt)(1 + cotangent * cotangent);
    cosine = cotangent * sine;
  } else if (twice == 0) {
    cosine = 1;
    sine = 0;
  } else {
    EIGEN_REAL tangent = -shifted / twice;
    cosine = 1 / EIGEN_MATH(sqrt)(1 + tangent * tangent);
    sine = tangent * cosine;
  }
  if ((sum < 0) == (difference < 0)) {
    EIGEN_REAL turned = cosine;
    cosine = -sine;
    sine = turned;
  }
  EIGEN_NAME(rotate)(p, j, cosine, sine);
  p->d[first] = large;
  p->d[second] = small;
  p->e[j] = 0;
}

/* The shift of Wilkinson, from the 2 x 2 block at the end that converges. */
NATIVE_INLINE EIGEN_REAL EIGEN_NAME(shifted)(EIGEN_REAL at_m, EIGEN_REAL p, EIGEN_REAL next,
                                             EIGEN_REAL e) {
  EIGEN_REAL g = (next - p) / (2 * e), r = EIGEN_NAME(length_of)(g, 1);
  return at_m - p + e / (g + EIGEN_NAME(with_sign)(r, g));
}

/* The off-diagonal element between row i and the next one in the direction of `step`. */
NATIVE_INLINE EIGEN_REAL *EIGEN_NAME(beside)(EIGEN_NAME(problem_t) * p, int i, int step) {
  return &p->e[step < 0 ? i - 1 : i];
}

/* One step on rows l ... m (`step` 1: QL, which converges at l) or m ... l (-1: QR). The bulge is
 * chased from m to l. */
NATIVE_INLINE void EIGEN_NAME(chase)(EIGEN_NAME(problem_t) * p, int l, int m, int step) {
  EIGEN_REAL *d = p->d, s = 1, c = 1, moved = 0;
  EIGEN_REAL g = EIGEN_NAME(shifted)(d[m], d[l], d[l + step], *EIGEN_NAME(beside)(p, l, step));
  for (int i = m - step; i != l - step; i -= step) {
    EIGEN_REAL e = *EIGEN_NAME(beside)(p, i, step), f = s * e, b = c * e;
    EIGEN_REAL r = EIGEN_NAME(rotation)(g, f, &c, &s);
    if (i != m - step) *EIGEN_NAME(beside)(p, i + step, step) = r;
    g = d[i + step] - moved;
    r = (d[i] - g) * s + 2 * c * b;
    moved = s * r;
    d[i + step] = g + moved;
    g = c * r - b;
    EIGEN_NAME(rotate)(p, step > 0 ? i : i - 1, c, -(EIGEN_REAL)step * s);
  }
  d[l] -= moved;
  *EIGEN_NAME(beside)(p, l, step) = g;
}

/* The nearest row from l to end at which the off-diagonal is negligible. */
NATIVE_INLINE int EIGEN_NAME(negligible_from)(EIGEN_NAME(problem_t) * p, int l, int end, int step) {
  const EIGEN_REAL eps = EIGEN_EPSILON;
  for (int m = l; m != end; m += step) {
    EIGEN_REAL e = *EIGEN_NAME(beside)(p, m, step), square = e * e;
    EIGEN_REAL next = EIGEN_MATH(fabs)(p->d[m + step]);
    if (square <= eps * eps * EIGEN_MATH(fabs)(p->d[m]) * next + EIGEN_TINY) return m;
  }
  return end;
}

/* Diagonalises a block whose off-diagonals are not negligible. False: too many steps. */
NATIVE_INLINE bool EIGEN_NAME(solve_block)(EIGEN_NAME(problem_t) * p, int first, int last,
                                           int *steps_left) {
  bool is_ql = EIGEN_MATH(fabs)(p->d[last]) >= EIGEN_MATH(fabs)(p->d[first]);
  int step = is_ql ? 1 : -1;
  int l = is_ql ? first : last;
  int end = is_ql ? last : first;
  while (step * l <= step * end) {
    int m = EIGEN_NAME(negligible_from)(p, l, end, step);
    if (m != end) *EIGEN_NAME(beside)(p, m, step) = 0;
    if (m == l) {
      l += step;
    } else if (m == l + step) {
      int lower = hr_min(l, m);
      EIGEN_NAME(solve_two)(p, lower, lower, lower + 1);
      l += 2 * step;
    } else {
      if ((*steps_left)-- == 0) return false;
      EIGEN_NAME(chase)(p, l, m, step);
    }
  }
  return true;
}

/* The magnitude of the largest number of a block. */
NATIVE_INLINE EIGEN_REAL EIGEN_NAME(block_size)(EIGEN_NAME(problem_t) * p, int first, int last) {
  EIGEN_REAL size = EIGEN_MATH(fabs)(p->d[last]);
  for (int i = first; i < last; i++)
    size = EIGEN_NAME(larger)(size, EIGEN_NAME(larger)(p->d[i], p->e[i]));
  return size;
}

/* Diagonalises a block as solve_block does. One whose squares would vanish, such as the rounding
 * errors that a matrix of low rank leaves, is scaled up meanwhile. */
NATIVE_INLINE bool EIGEN_NAME(solve_scaled)(EIGEN_NAME(problem_t) * p, int first, int last,
                                            int *steps_left) {
  const EIGEN_REAL least = EIGEN_MATH(sqrt)(EIGEN_TINY) / (EIGEN_EPSILON * EIGEN_EPSILON);
  EIGEN_REAL size = EIGEN_NAME(block_size)(p, first, last);
  if (size < EIGEN_TINY) return true;
  if (size >= least) return EIGEN_NAME(solve_block)(p, first, last, steps_left);
  EIGEN_REAL up = least / size, down = size / least;
  for (int i = first; i <= last; i++) p->d[i] *= up;
  for (int i = first; i < last; i++) p->e[i] *= up;
  bool done = EIGEN_NAME(solve_block)(p, first, last, steps_left);
  for (int i = first; i <= last; i++) p->d[i] *= down;
  return done;
}

/* Eigenvalues of the tridiagonal matrix in d and its vectors in z, which begins as the identity.
 * False: no convergence. */
NATIVE_INLINE bool EIGEN_NAME(solve)(EIGEN_NAME(problem_t) * p) {
  int steps_left = 30 * p->n, next = 0;
  while (next < p->n) {
    int last = next;
    if (next > 0) p->e[next - 1] = 0;
    for (; last < p->n - 1; last++) {
      EIGEN_REAL size = EIGEN_MATH(sqrt)(EIGEN_MATH(fabs)(p->d[last]));
      size *= EIGEN_MATH(sqrt)(EIGEN_MATH(fabs)(p->d[last + 1])) * EIGEN_EPSILON;
      if (EIGEN_MATH(fabs)(p->e[last]) <= size) break;
    }
    if (last < p->n - 1) p->e[last] = 0;
    if (last > next && !EIGEN_NAME(solve_scaled)(p, next, last, &steps_left)) return false;
    next = last + 1;
  }
  return true;
}

/* Selection sort, which moves fewest vectors. */
NATIVE_INLINE void EIGEN_NAME(sort)(EIGEN_NAME(problem_t) * p) {
  for (int i = 0; i < p->n - 1; i++) {
    int least = i;
    for (int j = i + 1; j < p->n; j++)
      if (p->d[j] < p->d[least]) least = j;
    if (least == i) continue;
    EIGEN_REAL value = p->d[i], column[SIZE];
    p->d[i] = p->d[least];
    p->d[least] = value;
    memcpy(column, p->z[i], sizeof column);
    memcpy(p->z[i], p->z[least], sizeof column);
    memcpy(p->z[least], column, sizeof column);
  }
}

/* Are the magnitudes of the lower triangle in the range in which squares neither overflow nor
 * vanish? */
NATIVE_INLINE bool EIGEN_NAME(load)(EIGEN_NAME(problem_t) * p, const EIGEN_REAL *in) {
  EIGEN_REAL most = 0, none = 0;
  for (int r = 0; r < p->n; r++)
    for (int c = 0; c <= r; c++) {
      EIGEN_REAL x = in[r * p->n + c], size = EIGEN_MATH(fabs)(x);
      p->a[c][r] = x;
      none += x - x;
      most = size > most ? size : most;
    }
  return none == 0 && most <= EIGEN_MOST && most >= EIGEN_LEAST;
}

static bool EIGEN_NAME(eigen)(lapack_fn sytd2, int n, const void *in, void *values, void *vectors) {
  EIGEN_NAME(problem_t) p;
  EIGEN_REAL *out = vectors;
  p.n = n;
  p.length = vectors ? (n + 3) / 4 * 4 : 0;
  if (!EIGEN_NAME(load)(&p, in)) return false;
  for (int c = 0; c < n; c++)
    for (int r = 0; r < p.length; r++) p.z[c][r] = r == c;
  EIGEN_NAME(reduce)(&p, sytd2);
  if (!EIGEN_NAME(solve)(&p)) return false;
  EIGEN_NAME(sort)(&p);
  memcpy(values, p.d, (size_t)n * sizeof *p.d);
  if (!vectors) return true;
  EIGEN_NAME(transform_back)(&p);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++) out[r * n + c] = p.z[c][r];
  return true;
}
