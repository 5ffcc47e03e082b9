#pragma once

#include <armadillo>

namespace attn {

/// A target that does not count, such as that of padding. (PyTorch's ignore_index is -100.)
inline constexpr arma::uword ignored_target = ~arma::uword{0};

/// The mean of -log(softmax(logits)_target) over all tokens whose target counts. Computed from the logits, without a
/// softmax: log-sum-exp minus the target's logit, so that no large logit overflows, and what all logits of a row
/// share costs no digits: a million added to each changes nothing (PyTorch's F.cross_entropy; Goodfellow, Bengio, Courville:
/// Deep Learning, section 6.2.2.3).
///
/// @param logits  (L x V x B), a row of scores for each token; V is the number of classes, the size of a vocabulary
/// @param targets (L x B), the right class of each token, 0 to V - 1, or ignored_target
/// @return        0 when no target counts (PyTorch: NaN)
/// @throws std::invalid_argument naming logits or targets, its shape and what was expected, or the target that is not a
///         class.
double cross_entropy(const arma::cube& logits, const arma::umat& targets);

/// The gradient of that mean with respect to the logits: rows of zeros where the target is ignored, and everywhere when no
/// target counts.
///
/// @param logits  (L x V x B)
/// @param targets (L x B), as in cross_entropy
/// @return        (L x V x B)
/// @throws std::invalid_argument as cross_entropy does.
arma::cube cross_entropy_backward(const arma::cube& logits, const arma::umat& targets);

}  // namespace attn
