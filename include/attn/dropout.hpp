#pragma once

#include <armadillo>

#include "attn/mask.hpp"

namespace attn {

/// Inverted dropout: in training each number becomes 0 with probability p, and those that are kept are divided by
/// 1 - p, so that the mean stays the same. In evaluation it does nothing (Srivastava et al. 2014; PyTorch's
/// torch.nn.Dropout). A new Dropout is in training mode. Its mask, keep, is not the attention mask: 1 is kept, 0 dropped.
class Dropout {
 public:
  /// @param p the probability that a number is dropped, 0 <= p < 1
  /// @throws std::invalid_argument "p is 1.500000, expected 0 <= p < 1" (also for NaN).
  explicit Dropout(double p);

  void train() { training_ = true; }
  void eval() { training_ = false; }
  bool training() const { return training_; }
  double p() const { return p_; }

  /// @return a cube as large as x: in training apply(x, next_mask(x), p()), else x itself
  /// @throws std::invalid_argument while training, when a mask was injected that is not as large as x.
  arma::cube operator()(const arma::cube& x);

  /// Dropout with a mask that is given: x / (1 - p) where keep is not 0, and 0 elsewhere.
  ///
  /// @param keep as large as x
  /// @throws std::invalid_argument naming keep and both shapes, or p.
  static arma::cube apply(const arma::cube& x, const Mask& keep, double p);

  /// Draws a mask from Armadillo's generator: each number is 0 with probability p, else 1.
  ///
  /// @throws std::invalid_argument naming p.
  static Mask draw(arma::uword rows, arma::uword cols, arma::uword slices, double p);

  /// From now on `keep` is used instead of drawn masks, until inject({}). So a result can be compared with PyTorch's,
  /// for the mask that PyTorch drew.
  void inject(Mask keep) { injected_ = std::move(keep); }

 private:
  /// The mask for x: the injected one, if there is one, and else a new one from draw().
  Mask next_mask(const arma::cube& x) const {
    return injected_.is_empty() ? draw(x.n_rows, x.n_cols, x.n_slices, p_) : injected_;
  }

  double p_;
  bool training_ = true;
  Mask injected_;
};

}  // namespace attn
