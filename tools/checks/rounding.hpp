#pragma once

#include <armadillo>

namespace attn::judge {

/// By how much attention in float may differ from the exact attention over the same numbers, through rounding alone:
/// this times the largest |value| for the output, and this itself for the log-sum-exp. Both bounds are absolute. They
/// hold for every order of summing up, and with the keys cut into blocks.
///
/// u = 2^-24 is the largest relative error of one rounding in float. Products of (1 + error) are added up as if errors
/// were infinitely small: for the results here, below 0.05, that leaves out less than a twentieth of them.
///
/// - Score. A sum of D products is off by at most D·u·Σ|q k| (D roundings on the way of each product). Dividing by √D
///   adds 3 u: the root, the division or the reciprocal, the multiplication. With size = the largest Σ|q k| / √D, which
///   is at most the longest query times the longest key, over √D:   (D + 3) u·size
/// - Exponential. Subtracting the maximum, one of the computed scores, rounds to u·2 size. An error in the exponent is
///   a relative error of the exponential; exp itself is good to 4 u at least. When the maximum rises from block to
///   block, what was seen is multiplied by exp(old - new). The differences of a rising maximum add up to no more than
///   the 2 size counted above; exponential and multiplication add 5 u a block, or 10 u where a block has first a
///   maximum of its own. With T blocks, relative:   e = (D + 3) u·size + 2 u·size + 4 u + 10 T u
/// - Sum of S positive numbers: e + S u, relative. Its logarithm has that as an absolute error; logarithm and addition
///   add 2 u·log S + u (size + log S).
/// - Output. The numerator has e + (S + 1) u relative to Σ weight·|value|, which is at most the largest |value|; the
///   denominator e + S u; the division u. Together:   2 e + (2 S + 2) u
///
/// So it is 2 e + (2 S + 2) u for the output, and that is more than the log-sum-exp needs.
///
/// For lesson 19's case "attention", D = 4, S = 7, T = 3, size = 13.3, it is 1.9e-5, and with values up to 2.9 the
/// output may be off by 5.6e-5. It is off by 5e-7. The mistakes catalogued for that case change it by 1 and more; those
/// of the example worked by hand, with 4.7e-5, by 0.2. With scores of 10000 it is 1.1e-2: float has no more digits to
/// give.
///
/// @param Q         (L x D x N), the numbers as they are in float
/// @param K         (S x D x M)
/// @param key_block keys taken together
double rounding_of_attention(const arma::cube& Q, const arma::cube& K, arma::uword key_block);

}  // namespace attn::judge
