#include "attn/embedding_backward.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

arma::mat embedding_backward(const Embedding& embedding, const arma::umat& ids, const arma::cube& d_Y) {
  const arma::uword V = embedding.weight.n_rows;
  require_shape("ids", ids, {{"L"}, {"B"}});
  require_shape("d_Y", d_Y, {{"L", ids.n_rows}, {"E", embedding.weight.n_cols}, {"B", ids.n_cols}});
  if (ids.max() >= V) {
    throw std::invalid_argument("ids holds " + std::to_string(ids.max()) + ", expected numbers below " +
                                std::to_string(V) + ", the rows of the embedding");
  }
  arma::mat d_weight(arma::size(embedding.weight), arma::fill::zeros);  // (V x E)
  for (arma::uword b = 0; b < ids.n_cols; ++b) {
    for (arma::uword i = 0; i < ids.n_rows; ++i) d_weight.row(ids(i, b)) += d_Y.slice(b).row(i);
  }
  return d_weight;
}

arma::mat positions_backward(const arma::mat& table, const arma::cube& d_X) {
  require_shape("table", table, {{"P"}, {"E"}});
  require_shape("d_X", d_X, {{"L"}, {"E", table.n_cols}, {"B"}});
  require_at_most("L", d_X.n_rows, "P", table.n_rows);
  arma::mat d_table(arma::size(table), arma::fill::zeros);  // (P x E)
  for (arma::uword b = 0; b < d_X.n_slices; ++b) d_table.head_rows(d_X.n_rows) += d_X.slice(b);
  return d_table;
}

}  // namespace attn
