#pragma once

#include <armadillo>
#include <cstdint>
#include <map>
#include <vector>

namespace attn {

/// Pages for the keys and values of many sequences, of one attention layer, and how many owners each page has (Kwon et al.
/// 2023, sections 4.2 and 4.4, where a page is a physical block). A page with no owner is free.
class PagePool {
 public:
  /// @param num_pages P
  /// @param page_size rows of a page: tokens that it has room for
  /// @param num_heads G, key/value heads
  /// @param head_dim  D
  /// @throws std::invalid_argument naming the size that is zero, or as product_of: "num_pages x page_size x num_heads x
  ///         head_dim is ..., expected a product below 2^64".
  PagePool(arma::uword num_pages, arma::uword page_size, arma::uword num_heads, arma::uword head_dim);

  /// A free page, whichever it is; it has one owner now. Its rows may hold anything.
  ///
  /// @throws std::runtime_error "no page is free, all 8 are in use", with P for 8.
  arma::uword allocate();

  /// The page gets one more owner.
  ///
  /// @throws std::invalid_argument naming page, when there is no such page or it is free.
  void share(arma::uword page);

  /// The page loses one owner. With the last one it becomes free.
  ///
  /// @throws std::invalid_argument naming page, when there is no such page or it is free already.
  void release(arma::uword page);

  /// How many owners the page has; 0: it is free.
  ///
  /// @throws std::invalid_argument naming page, when there is no such page.
  arma::uword owners(arma::uword page) const;

  arma::uword num_free() const { return free_.size(); }
  arma::uword num_pages() const { return owners_.n_elem; }  ///< P
  arma::uword page_size() const { return keys.n_rows; }
  arma::uword num_heads() const { return keys.n_slices / owners_.n_elem; }  ///< G
  arma::uword head_dim() const { return keys.n_cols; }                      ///< D

  arma::cube keys;    ///< (page_size x D x G·P): head g of page p is slice p·G + g
  arma::cube values;  ///< likewise

 private:
  arma::uvec owners_;              ///< P numbers
  std::vector<arma::uword> free_;  ///< the free pages, each once
};

/// Pages that a text of `length` tokens needs: length / page_size, rounded up.
///
/// @throws std::invalid_argument naming page_size, when it is zero.
arma::uword pages_for(arma::uword length, arma::uword page_size);

/// How much of a cache holds no token, from 0 to 1, when each sequence reserves `reserved` rows in one piece, and when it has
/// pages; pages that sequences share are counted for each. With no rows both are 0.
///
/// @param lengths tokens of each sequence
/// @throws std::invalid_argument naming lengths and its largest, when that is above reserved; page_size, when it is zero.
double wasted_when_reserved(const arma::uvec& lengths, arma::uword reserved);
double wasted_in_pages(const arma::uvec& lengths, arma::uword page_size);

/// The hash of each full page of a text: of its tokens, and of all tokens before them. So two texts have the same hash for a
/// page when they are equal up to its end. Given, for one page: page_hash(hash of the page before, tokens of the page).
///
/// @param tokens    ids
/// @return          tokens.size() / page_size hashes, rounded down
/// @throws std::invalid_argument naming page_size, when it is zero.
std::vector<std::uint64_t> prefix_hashes(const std::vector<arma::uword>& tokens, arma::uword page_size);

/// FNV-1a over the previous page's hash and this page's tokens, eight bytes each, the lowest first.
///
/// @param previous hash of the page before; 0 for the first page
/// @param begin, end the tokens of the page
inline std::uint64_t page_hash(std::uint64_t previous, const arma::uword* begin, const arma::uword* end) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&hash](std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((number >> (8 * byte)) & 255U)) * 1099511628211U;
  };
  add(previous);
  for (; begin != end; ++begin) add(*begin);
  return hash;
}

/// The keys and values of many sequences in pages of one pool. Each sequence has a block table: the numbers of its pages, in
/// the order of its tokens. A page may be in several tables; then nobody writes to it (copy on write). Kwon et al. 2023,
/// sections 4.2 to 4.4; prefixes by hash: vLLM's automatic prefix caching.
class PagedCache {
 public:
  /// @throws as PagePool.
  PagedCache(arma::uword num_pages, arma::uword page_size, arma::uword num_heads, arma::uword head_dim)
      : pool_(num_pages, page_size, num_heads, head_dim) {}

  /// Begins a sequence, and returns its number: 0, 1, 2, ..., never one that was used before.
  ///
  /// Where full pages of another sequence were published with the same tokens from the beginning of the text on, it begins with
  /// these pages, and length() says how many tokens are there already. At least the last token of the prompt is left out: its
  /// query must still be computed.
  ///
  /// @param prompt ids; empty: nothing is looked up
  arma::uword add(const std::vector<arma::uword>& prompt = {});

  /// Puts new tokens after the last one of a sequence. A last page with room that has other owners is copied first, and the
  /// copy takes its place in this table.
  ///
  /// @param K_new, V_new (L x D x G), L at least 1
  /// @throws std::invalid_argument naming id, K_new or V_new, what it was and what was expected; std::runtime_error that says
  ///         how many pages are needed and how many are free. Nothing has changed then.
  void append(arma::uword id, const arma::cube& K_new, const arma::cube& V_new);

  /// A new sequence with the same tokens, in the same pages. Nothing is copied.
  ///
  /// @return its number
  /// @throws std::invalid_argument naming id.
  arma::uword fork(arma::uword id);

  /// Ends a sequence: each of its pages loses an owner, and is no longer found once it has none.
  ///
  /// @throws std::invalid_argument naming id.
  void remove(arma::uword id);

  /// Lets later sequences find the full pages of this one, as long as somebody owns them. May be called again as the text grows;
  /// a page is entered once. That the tokens are those whose keys
  /// and values were appended is not checked, nor that two prefixes with one hash are equal.
  ///
  /// @param tokens ids of all its tokens, length(id) of them
  /// @throws std::invalid_argument naming id, or tokens, their number and length(id).
  void publish(arma::uword id, const std::vector<arma::uword>& tokens);

  /// Tokens of a sequence.
  ///
  /// @throws std::invalid_argument naming id, when there is no such sequence (any more).
  arma::uword length(arma::uword id) const;

  /// The block table of a sequence: pages_for(length, page_size) pages. The reference is valid until the sequence is appended to
  /// or removed.
  ///
  /// @throws std::invalid_argument naming id.
  const std::vector<arma::uword>& table(arma::uword id) const;

  const PagePool& pool() const { return pool_; }

 private:
  struct Sequence {
    std::vector<arma::uword> table;
    arma::uword length = 0;
  };

  PagePool pool_;
  std::map<arma::uword, Sequence> sequences_;  ///< by number
  arma::uword next_id_ = 0;
  std::multimap<std::uint64_t, arma::uword> published_;  ///< hash of a prefix -> each page at the end of one
};

/// Causal attention of the newest tokens of a sequence, which reads keys and values where they are: page by page, without
/// gathering them into one matrix (online softmax, lesson 18). Rows of the last page that hold no token are not read.
///
/// @param Q  (L x D x H), H a multiple of G: query head h reads key/value head h / (H / G), rounded down. The L queries are the
///           last of the sequence's S tokens, whose keys are in the cache already
/// @return   (L x D x H)
/// @throws std::invalid_argument naming id, Q, its shape and what was expected, or L, when it is above S.
arma::cube paged_attention(const arma::cube& Q, const PagedCache& cache, arma::uword id);

}  // namespace attn
