// How a figure writes numbers.

/** 0.67; -inf as −∞; what is very large or small as 2.7e43; nothing where there is no number yet. */
export function short(x, digits = 2) {
  if (x === undefined || x === null) return "\u2007";
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const text = size >= 1e5 || (size > 0 && size < 10 ** -digits / 2) ? x.toExponential(1).replace("e+", "e") : x.toFixed(digits);
  return text.replace("-", "−");
}
