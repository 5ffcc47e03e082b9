#include "attn/paged_cache.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

arma::uword PagedCache::length(arma::uword id) const {
  // TODO(31.3): reject an id that sequences_ does not have.
  todo("31.3");
}

const std::vector<arma::uword>& PagedCache::table(arma::uword id) const {
  // The second part of 31.3: likewise.
  todo("31.3");
}

// K_new, V_new (L x D x G)
void PagedCache::append(arma::uword id, const arma::cube& K_new, const arma::cube& V_new) {
  // The third part of 31.3: reject an unknown id and wrong shapes, and refuse when pages are missing, before anything
  // changes. A last page with room and other owners is replaced by a copy. Take the pages that are missing, then write each
  // token into its row.
  todo("31.3");
}

arma::uword PagedCache::fork(arma::uword id) {
  // TODO(31.4): reject an unknown id. The new sequence has the same table and length; each of its pages gets one more owner.
  todo("31.4");
}

void PagedCache::remove(arma::uword id) {
  // The second part of 31.4: reject an unknown id. Each of its pages loses an owner. With 31.6: a page that is now free is no
  // longer published.
  todo("31.4");
}

std::vector<std::uint64_t> prefix_hashes(const std::vector<arma::uword>& tokens, arma::uword page_size) {
  // TODO(31.6): reject a page_size of zero. For each full page: page_hash of the hash before, and of its tokens.
  todo("31.6");
}

arma::uword PagedCache::add(const std::vector<arma::uword>& prompt) {
  if (!prompt.empty()) {
    // The second part of 31.6: begin with the published pages of the prompt, and own each, until one is missing or no token
    // would be left to compute.
    todo("31.6");
  }
  sequences_[next_id_] = Sequence();
  return next_id_++;
}

void PagedCache::publish(arma::uword id, const std::vector<arma::uword>& tokens) {
  // The third part of 31.6: reject an unknown id, and the wrong number of tokens. Enter the hash of each full page.
  todo("31.6");
}

}  // namespace attn
