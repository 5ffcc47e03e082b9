#include "held_out.hpp"

#include <algorithm>

#include "attn/cross_entropy.hpp"

namespace attn::training {

double total_nats(LanguageModel& model, const std::vector<arma::uword>& before, const std::vector<arma::uword>& tokens,
                  arma::uword L, arma::uword B) {
  std::vector<arma::uword> all(before.end() - static_cast<std::ptrdiff_t>(L), before.end());
  all.insert(all.end(), tokens.begin(), tokens.end());
  const arma::uword stride = std::max<arma::uword>(L / 2, 1);
  const arma::uword windows = (tokens.size() + stride - 1) / stride;
  double nats = 0;
  for (arma::uword first = 0; first < windows; first += B) {
    const arma::uword count = std::min(B, windows - first);
    arma::umat ids(L, count), targets(L, count);
    for (arma::uword b = 0; b < count; ++b) {
      const arma::uword begin = (first + b) * stride;  // of the tokens that count
      const arma::uword counted = std::min<arma::uword>(stride, tokens.size() - begin);
      const arma::uword start =
          begin + counted - 1;  // in all, where `before` has L tokens: the window ends with the last one
      for (arma::uword i = 0; i < L; ++i) {
        ids(i, b) = all[start + i];
        targets(i, b) = i + counted < L ? ignored_target : all[start + i + 1];
      }
    }
    model.reset();
    const arma::cube logits = model.extend(ids);  // (L x V x count)
    const arma::uvec places = arma::find(targets != ignored_target);
    nats += cross_entropy(logits, targets) * static_cast<double>(places.n_elem);
  }
  model.reset();
  return nats;
}

}  // namespace attn::training
