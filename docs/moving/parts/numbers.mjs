// How a figure writes numbers.

/** 0.67; -inf as −∞; what is very large as 2.7e43, and with `exponent` what is very small, too; nothing where there is no number yet. */
export function short(x, digits = 2, exponent = false) {
  if (x === undefined || x === null) return "\u2007";
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const small = size < 10 ** -digits / 2;
  if (size >= 1e5 || (exponent && small && size > 0)) return x.toExponential(1).replace("e+", "e").replaceAll("-", "−");
  return (small ? 0 : x).toFixed(digits).replace("-", "−");
}
