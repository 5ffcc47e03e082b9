#include <stdexcept>
#include <string>

#include "attn/paged_cache.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

PagePool::PagePool(arma::uword num_pages, arma::uword page_size, arma::uword num_heads, arma::uword head_dim) {
  // TODO(31.1): reject sizes of zero. Make room for keys and values; no page has an owner, and all of them are free.
  todo("31.1");
}

arma::uword PagePool::allocate() {
  // The second part of 31.1: take a page from the free ones; it has one owner now. Refuse when there is none.
  todo("31.1");
}

arma::uword PagePool::owners(arma::uword page) const {
  // The third part of 31.1: reject a page that does not exist.
  todo("31.1");
}

void PagePool::share(arma::uword page) {
  // The fourth part of 31.1: reject a page that is free.
  todo("31.1");
}

void PagePool::release(arma::uword page) {
  // The fifth part of 31.1: reject a page that is free. With its last owner the page becomes free.
  todo("31.1");
}

arma::uword pages_for(arma::uword length, arma::uword page_size) {
  // TODO(31.2): reject a page_size of zero. Round up, without a sum that wraps around.
  todo("31.2");
}

double wasted_when_reserved(const arma::uvec& lengths, arma::uword reserved) {
  // The second part of 31.2: reject a length above reserved. The share of the reserved rows that holds no token.
  todo("31.2");
}

double wasted_in_pages(const arma::uvec& lengths, arma::uword page_size) {
  // The third part of 31.2: reject a page_size of zero. The share of the pages' rows that holds no token.
  todo("31.2");
}

}  // namespace attn
