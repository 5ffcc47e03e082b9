#include "attn/paged_cache.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

namespace {

/// The sequence of that number, in a map of sequences that may be const.
template <class Sequences>
auto& sequence_of(Sequences& sequences, arma::uword id) {
  const auto found = sequences.find(id);
  if (found != sequences.end()) return found->second;
  throw std::invalid_argument("id is " + std::to_string(id) + ", expected a sequence that was added and not removed");
}

/// Copies the slices of one page to another.
void copy_page(PagePool& pool, arma::uword from, arma::uword to) {
  for (arma::uword g = 0; g < pool.num_heads(); ++g) {
    pool.keys.slice(to * pool.num_heads() + g) = pool.keys.slice(from * pool.num_heads() + g);
    pool.values.slice(to * pool.num_heads() + g) = pool.values.slice(from * pool.num_heads() + g);
  }
}

}  // namespace

arma::uword PagedCache::length(arma::uword id) const { return sequence_of(sequences_, id).length; }

const std::vector<arma::uword>& PagedCache::table(arma::uword id) const { return sequence_of(sequences_, id).table; }

void PagedCache::append(arma::uword id, const arma::cube& K_new, const arma::cube& V_new) {
  Sequence& sequence = sequence_of(sequences_, id);
  require_shape("K_new", K_new, {{"L"}, {"D", pool_.head_dim()}, {"G", pool_.num_heads()}});
  require_shape("V_new", V_new, {{"L", K_new.n_rows}, {"D", pool_.head_dim()}, {"G", pool_.num_heads()}});
  const arma::uword page_size = pool_.page_size();
  const arma::uword pages = pages_for(sequence.length + K_new.n_rows, page_size);
  const bool copies = sequence.length % page_size != 0 && pool_.owners(sequence.table.back()) > 1;
  const arma::uword needed = pages - sequence.table.size() + (copies ? 1 : 0);
  if (needed > pool_.num_free()) {
    throw std::runtime_error("needs " + std::to_string(needed) + " pages, " + std::to_string(pool_.num_free()) +
                             " are free");
  }

  sequence.table.reserve(pages);  // from here on nothing can fail
  if (copies) {                   // the page's other owners must not see the new tokens
    const arma::uword shared = sequence.table.back();
    sequence.table.back() = pool_.allocate();
    copy_page(pool_, shared, sequence.table.back());
    pool_.release(shared);
  }
  while (sequence.table.size() < pages) sequence.table.push_back(pool_.allocate());
  for (arma::uword i = 0; i < K_new.n_rows; ++i, ++sequence.length) {
    const arma::uword page = sequence.table[sequence.length / page_size], row = sequence.length % page_size;
    for (arma::uword g = 0; g < pool_.num_heads(); ++g) {
      pool_.keys.slice(page * pool_.num_heads() + g).row(row) = K_new.slice(g).row(i);
      pool_.values.slice(page * pool_.num_heads() + g).row(row) = V_new.slice(g).row(i);
    }
  }
}

arma::uword PagedCache::fork(arma::uword id) {
  const Sequence copy = sequence_of(sequences_, id);
  sequences_[next_id_] = copy;
  for (const arma::uword page : copy.table) pool_.share(page);
  return next_id_++;
}

void PagedCache::remove(arma::uword id) {
  for (const arma::uword page : sequence_of(sequences_, id).table) {
    pool_.release(page);
    if (pool_.owners(page) > 0) continue;
    for (auto entry = published_.begin(); entry != published_.end();) {
      entry = entry->second == page ? published_.erase(entry) : std::next(entry);
    }
  }
  sequences_.erase(id);
}

std::vector<std::uint64_t> prefix_hashes(const std::vector<arma::uword>& tokens, arma::uword page_size) {
  require_positive("page_size", page_size);
  std::vector<std::uint64_t> hashes;
  for (arma::uword begin = 0; tokens.size() - begin >= page_size; begin += page_size) {
    const arma::uword* page = tokens.data() + begin;
    hashes.push_back(page_hash(hashes.empty() ? 0 : hashes.back(), page, page + page_size));
  }
  return hashes;
}

arma::uword PagedCache::add(const std::vector<arma::uword>& prompt) {
  Sequence sequence;
  for (const std::uint64_t hash : prefix_hashes(prompt, pool_.page_size())) {
    const auto found = published_.find(hash);
    if (found == published_.end() || sequence.length + pool_.page_size() >= prompt.size()) break;
    pool_.share(found->second);
    sequence.table.push_back(found->second);
    sequence.length += pool_.page_size();
  }
  sequences_[next_id_] = sequence;
  return next_id_++;
}

void PagedCache::publish(arma::uword id, const std::vector<arma::uword>& tokens) {
  const Sequence& sequence = sequence_of(sequences_, id);
  if (tokens.size() != sequence.length) {
    throw std::invalid_argument("tokens has " + std::to_string(tokens.size()) +
                                " elements, expected length(id) = " + std::to_string(sequence.length));
  }
  const std::vector<std::uint64_t> hashes = prefix_hashes(tokens, pool_.page_size());
  for (arma::uword k = 0; k < hashes.size(); ++k) {
    const auto [first, last] = published_.equal_range(hashes[k]);
    const auto same = [&](const auto& entry) { return entry.second == sequence.table[k]; };
    if (std::none_of(first, last, same)) published_.emplace(hashes[k], sequence.table[k]);
  }
}

}  // namespace attn
