#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn/paged_cache.hpp"
#include "attn/shape.hpp"

namespace attn {

PagePool::PagePool(arma::uword num_pages, arma::uword page_size, arma::uword num_heads, arma::uword head_dim) {
  require_product(
      {{"num_pages", num_pages}, {"page_size", page_size}, {"num_heads", num_heads}, {"head_dim", head_dim}});
  keys.zeros(page_size, head_dim, num_heads * num_pages);
  values.zeros(page_size, head_dim, num_heads * num_pages);
  owners_.zeros(num_pages);
  for (arma::uword page = num_pages; page > 0; --page) free_.push_back(page - 1);  // page 0 is taken first
}

arma::uword PagePool::allocate() {
  if (free_.empty()) {
    throw std::runtime_error("no page is free, all " + std::to_string(num_pages()) + " are in use");
  }
  const arma::uword page = free_.back();
  free_.pop_back();
  owners_(page) = 1;
  return page;
}

arma::uword PagePool::owners(arma::uword page) const {
  if (page < num_pages()) return owners_(page);
  throw std::invalid_argument("page is " + std::to_string(page) +
                              ", expected one below P = " + std::to_string(num_pages()));
}

void PagePool::share(arma::uword page) {
  if (owners(page) == 0) throw std::invalid_argument("page " + std::to_string(page) + " is free, expected one in use");
  ++owners_(page);
}

void PagePool::release(arma::uword page) {
  if (owners(page) == 0) throw std::invalid_argument("page " + std::to_string(page) + " is free, expected one in use");
  if (--owners_(page) == 0) free_.push_back(page);
}

arma::uword pages_for(arma::uword length, arma::uword page_size) {
  require_positive("page_size", page_size);
  return length / page_size + (length % page_size == 0 ? 0 : 1);
}

double wasted_when_reserved(const arma::uvec& lengths, arma::uword reserved) {
  if (lengths.is_empty()) return 0;
  require_at_most("lengths, its largest,", lengths.max(), "reserved", reserved);
  const double rows = static_cast<double>(lengths.n_elem) * static_cast<double>(reserved);
  return rows == 0 ? 0 : 1 - static_cast<double>(arma::accu(lengths)) / rows;
}

double wasted_in_pages(const arma::uvec& lengths, arma::uword page_size) {
  double rows = 0;
  require_positive("page_size", page_size);
  for (const arma::uword length : lengths) {
    rows += static_cast<double>(pages_for(length, page_size)) * static_cast<double>(page_size);
  }
  return rows == 0 ? 0 : 1 - static_cast<double>(arma::accu(lengths)) / rows;
}

}  // namespace attn
