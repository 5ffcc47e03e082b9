#include "attn/batches.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

Batch next_token_batch(const std::vector<arma::uword>& text, arma::uword L, arma::uword B, std::mt19937_64& generator) {
  require_product({{"L", L}, {"B", B}});
  if (text.size() <= L) {
    throw std::invalid_argument("text has " + std::to_string(text.size()) +
                                " tokens, expected more than L = " + std::to_string(L));
  }
  Batch batch{arma::umat(L, B), arma::umat(L, B)};
  for (arma::uword b = 0; b < B; ++b) {
    const arma::uword start = draw_index(generator, text.size() - L);
    for (arma::uword i = 0; i < L; ++i) {
      batch.ids(i, b) = text[start + i];
      batch.targets(i, b) = text[start + i + 1];
    }
  }
  return batch;
}

Batch reverse_batch(arma::uword symbols, arma::uword n, arma::uword B, std::mt19937_64& generator) {
  require_positive("symbols", symbols);
  require_product({{"2", 2}, {"n", n}, {"B", B}});
  Batch batch{arma::umat(2 * n, B), arma::umat(2 * n, B)};
  batch.targets.fill(ignored_target);
  for (arma::uword b = 0; b < B; ++b) {
    arma::uvec text(2 * n + 1);  // sequence, separator, reversed sequence
    for (arma::uword i = 0; i < n; ++i) text(i) = text(2 * n - i) = draw_index(generator, symbols);
    text(n) = symbols;
    batch.ids.col(b) = text.head(2 * n);
    batch.targets.col(b).tail(n) = text.tail(n);
  }
  return batch;
}

}  // namespace attn
