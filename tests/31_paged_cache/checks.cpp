#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/kv_cache.hpp"
#include "attn/paged_cache.hpp"
#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;
using Tokens = std::vector<uword>;

const Strings token_axes = {"S", "D", "G"};
const Strings head_axes = {"L", "D", "H"};
constexpr double exact = 0;

/// Whether a call throws std::runtime_error.
bool is_refused(FunctionView<void()> call) {
  try {
    call();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::runtime_error&) {
    return true;
  } catch (const std::exception&) {
  }
  return false;
}

std::string text(const Tokens& numbers) {
  std::string words;
  for (const uword number : numbers) words += (words.empty() ? "" : " ") + std::to_string(number);
  return words.empty() ? "none" : words;
}

/// Rows first to first + count - 1 of all heads.
arma::cube rows_of(const arma::cube& X, uword first, uword count) { return X.rows(first, first + count - 1); }

/// What a sequence holds, read through its table: (length x D x G). As far as its table is long enough.
arma::cube gathered(const PagedCache& cache, uword id, bool of_keys = true) {
  const PagePool& pool = cache.pool();
  const arma::cube& kept = of_keys ? pool.keys : pool.values;
  const Tokens& table = cache.table(id);
  const uword length = std::min<uword>(cache.length(id), table.size() * pool.page_size());
  arma::cube tokens(length, pool.head_dim(), pool.num_heads());
  for (uword i = 0; i < length; ++i) {
    for (uword g = 0; g < pool.num_heads(); ++g) {
      const uword slice = table[i / pool.page_size()] * pool.num_heads() + g;
      if (slice < kept.n_slices) tokens.slice(g).row(i) = kept.slice(slice).row(i % pool.page_size());
    }
  }
  return tokens;
}

// The cache of most checks: 12 pages of 4 rows, 2 heads of width 3.
constexpr uword num_pages = 12, page_size = 4, heads = 2, width = 3;
PagedCache new_cache() { return {num_pages, page_size, heads, width}; }

/// New tokens, as append takes them.
struct Chunk {
  arma::cube K, V;
};
Chunk drawn(uword length) { return {normal(length, width, heads), normal(length, width, heads)}; }

/// The tokens of both, one after the other.
Chunk stacked(const Chunk& a, const Chunk& b) {
  Chunk all = {arma::cube(a.K.n_rows + b.K.n_rows, width, heads), arma::cube(a.K.n_rows + b.K.n_rows, width, heads)};
  for (uword g = 0; g < heads; ++g) {
    all.K.slice(g) = arma::join_cols(a.K.slice(g), b.K.slice(g));
    all.V.slice(g) = arma::join_cols(a.V.slice(g), b.V.slice(g));
  }
  return all;
}

/// A sequence with so many tokens, in one call.
uword add_tokens(PagedCache& cache, const Chunk& chunk) {
  const uword id = cache.add();
  cache.append(id, chunk.K, chunk.V);
  return id;
}

void expect_holds(const PagedCache& cache, uword id, const Chunk& wanted, const std::string& about = "") {
  EXPECT_HOLDS(cache.length(id) == wanted.K.n_rows, "length(" + std::to_string(id) + ") is " +
                                                        std::to_string(cache.length(id)) + ", want " +
                                                        std::to_string(wanted.K.n_rows))
      << about;
  EXPECT_THAT(gathered(cache, id), IsNear(wanted.K, token_axes, exact))
      << note("the keys of sequence " + std::to_string(id) + ", read through its table") << about;
  EXPECT_THAT(gathered(cache, id, false), IsNear(wanted.V, token_axes, exact))
      << note("the values of sequence " + std::to_string(id) + ", read through its table") << about;
}

/// A row for each sequence: free pages of the pool; its tokens, its pages, and the owners of its first three pages (0 where
/// there is no page).
arma::mat state(const PagedCache& cache, const Tokens& ids) {
  arma::mat rows(ids.size(), 6, arma::fill::zeros);
  for (uword k = 0; k < ids.size(); ++k) {
    const Tokens& table = cache.table(ids[k]);
    rows(k, 0) = static_cast<double>(cache.pool().num_free());
    rows(k, 1) = static_cast<double>(cache.length(ids[k]));
    rows(k, 2) = static_cast<double>(table.size());
    for (uword j = 0; j < std::min<uword>(table.size(), 3); ++j) {
      rows(k, 3 + j) = static_cast<double>(cache.pool().owners(table[j]));
    }
  }
  return rows;
}
const Strings state_axes = {"sequences", "state"};
std::string about_state(const std::string& what) {
  return note(what) + note("columns: free pages; tokens, pages, owners of the first, second and third page");
}

/// No page lost, none used twice: each page has as many owners as tables that list it, and is free when there are none.
std::string broken_invariant(const PagedCache& cache, const std::vector<uword>& ids) {
  std::map<uword, uword> listed;
  for (const uword id : ids) {
    const Tokens& table = cache.table(id);
    if (table.size() != pages_for(cache.length(id), page_size)) {
      return "the table of sequence " + std::to_string(id) + " has " + std::to_string(table.size()) + " pages for " +
             std::to_string(cache.length(id)) + " tokens";
    }
    for (const uword page : table) ++listed[page];
  }
  uword in_use = 0;
  for (uword page = 0; page < cache.pool().num_pages(); ++page) {
    const uword owners = cache.pool().owners(page);
    in_use += owners > 0 ? 1 : 0;
    if (owners != listed[page]) {
      return "page " + std::to_string(page) + " has " + std::to_string(owners) + " owners, and is in " +
             std::to_string(listed[page]) + " tables";
    }
  }
  if (cache.pool().num_free() + in_use != cache.pool().num_pages())
    return "a page is neither free nor in use, or it is free twice";
  return "";
}

// ------------------------------------------------------------------------------------------------- PagePool, 31.1

TEST(PagePool, BeginsWithAllPagesFree) {
  const PagePool pool(5, 4, 2, 3);
  EXPECT_THAT(pool.keys, HasShape({{"page_size", 4}, {"D", 3}, {"G·P", 10}}))
      << note("keys") << (pool.keys.n_slices == 5 ? likely_mistake("pool_of_one_head") : "");
  EXPECT_THAT(pool.values, HasShape({{"page_size", 4}, {"D", 3}, {"G·P", 10}})) << note("values");
  EXPECT_HOLDS(pool.num_free() == 5, std::to_string(pool.num_free()) + " pages are free, want all 5");
  EXPECT_HOLDS(pool.num_heads() == 2 && pool.owners(4) == 0, "num_heads() or owners(4) is wrong: want 2 and 0");
}

TEST(Allocate, GivesEachPageOnce) {
  PagePool pool(5, 4, 2, 3);
  std::set<uword> given;
  arma::mat got(5, 3);
  for (uword k = 0; k < 5; ++k) {
    const uword page = pool.allocate();
    const bool is_new = page < 5 && given.insert(page).second;
    got.row(k) =
        arma::rowvec{is_new ? 1.0 : 0.0, static_cast<double>(pool.owners(page)), static_cast<double>(pool.num_free())};
  }
  EXPECT_THAT(got, IsNear(arma::mat{{1, 1, 4}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 0}}, {"calls", "state"}, exact))
      << note("five calls of allocate, of a pool of 5 pages")
      << note("columns: 1 if the page was not given before; its owners; free pages");
  EXPECT_HOLDS(is_refused([&] { pool.allocate(); }), "no page is free, want std::runtime_error")
      << likely_mistake("empty_pool_not_refused");
}

TEST(Release, FreesAPageWithItsLastOwner) {
  PagePool pool(3, 4, 2, 5);
  const uword page = pool.allocate();
  arma::mat got(6, 2);
  for (uword k = 0; k < 6; ++k) {
    if (k == 1 || k == 2) pool.share(page);
    if (k > 2) pool.release(page);
    got.row(k) = arma::rowvec{static_cast<double>(pool.owners(page)), static_cast<double>(pool.num_free())};
  }
  EXPECT_THAT(got, IsNear(arma::mat{{1, 2}, {2, 2}, {3, 2}, {2, 2}, {1, 2}, {0, 3}}, {"calls", "state"}, exact))
      << note("allocate, share, share, release, release, release, of a pool of 3 pages")
      << note("columns: owners of the page; free pages");
}

TEST(Release, GivesFreedPagesAgain) {
  PagePool pool(3, 4, 2, 5);
  for (int k = 0; k < 20; ++k) {
    const uword a = pool.allocate(), b = pool.allocate();
    ASSERT_HOLDS(a != b, "allocate gave page " + std::to_string(a) + " twice");
    pool.release(k % 2 == 0 ? a : b);
    pool.release(k % 2 == 0 ? b : a);
  }
  EXPECT_HOLDS(pool.num_free() == 3, std::to_string(pool.num_free()) + " pages are free, want all 3");
}

TEST(Allocate, NeverGivesAPageInUse) {
  PagePool pool(6, 2, 1, 3);
  std::map<uword, uword> owners;
  for (int step = 0; step < 400; ++step) {
    const auto what = arma::randi<arma::uvec>(2, arma::distr_param(0, 1'000'000));
    if (what(0) % 3 == 0 || owners.empty()) {
      if (pool.num_free() == 0) continue;
      const uword page = pool.allocate();
      ASSERT_HOLDS(owners.insert({page, 1}).second,
                   "allocate gave page " + std::to_string(page) + ", which has owners");
      continue;
    }
    const auto one = std::next(owners.begin(), static_cast<long>(what(1) % owners.size()));
    if (what(0) % 3 == 1) {
      pool.share(one->first);
      ++one->second;
    } else {
      pool.release(one->first);
      if (--one->second == 0) owners.erase(one);
    }
    for (uword page = 0; page < 6; ++page) {
      const uword wanted = owners.count(page) == 0 ? 0 : owners.at(page);
      ASSERT_HOLDS(pool.owners(page) == wanted, "page " + std::to_string(page) + " has " +
                                                    std::to_string(pool.owners(page)) + " owners, want " +
                                                    std::to_string(wanted));
    }
    ASSERT_HOLDS(pool.num_free() == 6 - owners.size(),
                 std::to_string(pool.num_free()) + " pages are free, want " + std::to_string(6 - owners.size()));
  }
}

// ------------------------------------------------------------------------------------------------- counting, 31.2

TEST(PagesFor, RoundsUp) {
  arma::mat got(1, 10);
  for (uword length = 0; length < 10; ++length) got(length) = static_cast<double>(pages_for(length, 4));
  EXPECT_THAT(got, IsNear(arma::mat{{0, 1, 1, 1, 1, 2, 2, 2, 2, 3}}, {"1", "lengths"}))
      << note("pages of 4 rows for 0, 1, 2, ..., 9 tokens");
  EXPECT_HOLDS(pages_for(~uword(0), 4) == (uword(1) << 62U), "pages_for(2^64 - 1, 4) is " +
                                                                 std::to_string(pages_for(~uword(0), 4)) +
                                                                 ", want 2^62: length + page_size - 1 wraps around")
      << likely_mistake("pages_wrap");
}

TEST(Wasted, EqualsPython) {
  const arma::uvec lengths = {37, 512, 16, 1, 900};
  EXPECT_THAT(arma::mat({{wasted_when_reserved(lengths, 2048), wasted_in_pages(lengths, 16)}}),
              Matches(load_golden("waste").expected("shares")))
      << note("37, 512, 16, 1 and 900 tokens; 2048 rows reserved for each, or pages of 16");
}

TEST(Wasted, IsNothingWithoutTokensToKeep) {
  EXPECT_THAT(
      arma::mat({{wasted_when_reserved({}, 8), wasted_in_pages({}, 8), wasted_in_pages({0, 0}, 8),
                  wasted_when_reserved({0, 0}, 0), wasted_when_reserved({8, 8}, 8), wasted_in_pages({8, 16}, 8)}}),
      IsNear(arma::mat{{0, 0, 0, 0, 0, 0}}, {"1", "cases"}))
      << note("no sequence, empty ones, and full rows: nothing is wasted");
}

// --------------------------------------------------------------------------------------------------- append, 31.3

TEST(Append, KeepsTokensInTheirOrder) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(7);
  expect_holds(cache, add_tokens(cache, chunk), chunk, note("7 tokens in one call, pages of 4"));
}

TEST(Append, TakesAPageWhenOneIsFull) {
  PagedCache cache = new_cache();
  const uword id = cache.add();
  const Chunk chunk = drawn(10);
  arma::mat got(10, 6);
  for (uword i = 0; i < 10; ++i) {
    cache.append(id, rows_of(chunk.K, i, 1), rows_of(chunk.V, i, 1));
    got.row(i) = state(cache, {id});
  }
  const arma::mat wanted = {{11, 1, 1, 1, 0, 0}, {11, 2, 1, 1, 0, 0}, {11, 3, 1, 1, 0, 0}, {11, 4, 1, 1, 0, 0},
                            {10, 5, 2, 1, 1, 0}, {10, 6, 2, 1, 1, 0}, {10, 7, 2, 1, 1, 0}, {10, 8, 2, 1, 1, 0},
                            {9, 9, 3, 1, 1, 1},  {9, 10, 3, 1, 1, 1}};
  EXPECT_THAT(got, IsNear(wanted, {"calls", "state"}, exact))
      << about_state("10 calls with one token each, pages of 4 rows, a pool of 12");
  expect_holds(cache, id, chunk, note("10 tokens, one by one"));
}

TEST(Append, HoldsWhatTheCacheOfLesson16Holds) {
  PagedCache cache = new_cache();
  const uword id = cache.add();
  KVCache whole(heads);
  for (const uword length : Tokens{3, 1, 6, 4, 1}) {
    const Chunk chunk = drawn(length);
    cache.append(id, chunk.K, chunk.V);
    whole.append(chunk.K, chunk.V);
  }
  expect_holds(cache, id, {rows_of(whole.keys(), 0, 15), rows_of(whole.values(), 0, 15)},
               note("calls of 3, 1, 6, 4 and 1 tokens; the same as KVCache, to the last bit"));
}

TEST(Append, KeepsSequencesApart) {
  PagedCache cache = new_cache();
  std::vector<Chunk> all = {drawn(9), drawn(9), drawn(9)};
  for (int k = 0; k < 3; ++k) cache.add();
  for (const auto& [first, count] : std::vector<std::pair<uword, uword>>{{0, 2}, {2, 3}, {5, 1}, {6, 3}}) {
    for (uword id = 0; id < 3; ++id)
      cache.append(id, rows_of(all[id].K, first, count), rows_of(all[id].V, first, count));
  }
  for (uword id = 0; id < 3; ++id) expect_holds(cache, id, all[id], note("three sequences in turns"));
  const std::string broken = broken_invariant(cache, {0, 1, 2});
  EXPECT_HOLDS(broken.empty(), broken);
}

TEST(Append, ChangesNothingWhenPagesAreMissing) {
  PagedCache cache = new_cache();
  const Chunk first = drawn(30), second = drawn(6), large = drawn(12), fitting = drawn(10);
  const uword a = add_tokens(cache, first), b = add_tokens(cache, second);  // 8 + 2 pages of 12
  const bool refused = is_refused([&] { cache.append(b, large.K, large.V); });
  EXPECT_HOLDS(refused, "12 tokens more need 3 pages, of which 2 are free, want std::runtime_error");
  EXPECT_THAT(state(cache, {a, b}), IsNear(arma::mat{{2, 30, 8, 1, 1, 1}, {2, 6, 2, 1, 1, 0}}, state_axes, exact))
      << about_state("after a call that must be refused");
  if (HasFailure()) return;
  expect_holds(cache, b, second, note("after a call that was refused"));
  cache.append(b, fitting.K, fitting.V);
  expect_holds(cache, b, stacked(second, fitting), note("16 tokens fit into the 4 pages that are left"));
}

// ----------------------------------------------------------------------------------------------- fork, remove, 31.4

TEST(Fork, SharesAllPages) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(6);
  const uword a = add_tokens(cache, chunk), b = cache.fork(a);
  EXPECT_THAT(state(cache, {a, b}), IsNear(arma::mat{{10, 6, 2, 2, 2, 0}, {10, 6, 2, 2, 2, 0}}, state_axes, exact))
      << about_state("a sequence of 6 tokens in pages of 4, and its fork");
  EXPECT_HOLDS(b != a && cache.table(a) == cache.table(b),
               "the tables are " + text(cache.table(a)) + " and " + text(cache.table(b)) + ", want the same pages");
  expect_holds(cache, b, chunk, note("the fork"));
}

TEST(Remove, FreesPagesThatNobodyElseHas) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(6), more = drawn(5);
  const uword a = add_tokens(cache, chunk), b = cache.fork(a), c = add_tokens(cache, drawn(2));
  cache.append(b, more.K, more.V);  // pages: a 2, b 3, one in common
  arma::mat got(3, 6);
  got.row(0) = state(cache, {b});
  cache.remove(a);
  got.row(1) = state(cache, {b});
  expect_holds(cache, b, stacked(chunk, more), note("after the other sequence was removed"));
  cache.remove(b);
  got.row(2) = state(cache, {c});
  EXPECT_THAT(
      got, IsNear(arma::mat{{7, 11, 3, 2, 1, 1}, {8, 11, 3, 1, 1, 1}, {11, 2, 1, 1, 0, 0}}, {"steps", "state"}, exact))
      << about_state(
             "rows: a fork with 11 tokens; the same, after the first sequence was removed; another sequence, after "
             "both were removed");
}

TEST(Remove, NeverUsesANumberAgain) {
  PagedCache cache = new_cache();
  std::set<uword> ids;
  for (int k = 0; k < 4; ++k) {
    const uword id = add_tokens(cache, drawn(3)), fork = cache.fork(id);
    EXPECT_HOLDS(ids.insert(id).second && ids.insert(fork).second, "a sequence got a number that was used before")
        << likely_mistake("number_used_again");
    cache.remove(fork);
    cache.remove(id);
    EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("id", {std::to_string(id)}), likely_mistake("sequence_stays")),
                        [&] { cache.length(id); });
  }
}

TEST(Remove, LosesNoPageInAnyOrderOfOperations) {
  PagedCache cache = new_cache();
  std::map<uword, Chunk> wanted;
  Tokens ids;
  for (int step = 0; step < 300; ++step) {
    const auto drawn_numbers = arma::randi<arma::uvec>(3, arma::distr_param(0, 1'000'000));
    const uword what = drawn_numbers(0) % 6;
    if (what == 0 || ids.empty()) {
      ids.push_back(cache.add());
      wanted[ids.back()] = {arma::cube(0, width, heads), arma::cube(0, width, heads)};
      continue;
    }
    const uword id = ids[drawn_numbers(1) % ids.size()];
    if (what == 1) {
      ids.push_back(cache.fork(id));
      wanted[ids.back()] = wanted[id];
    } else if (what == 2) {
      cache.remove(id);
      ids.erase(std::find(ids.begin(), ids.end(), id));
    } else {
      const Chunk more = drawn(1 + drawn_numbers(2) % 6);
      const uword length = cache.length(id), pages = pages_for(length + more.K.n_rows, page_size);
      const bool copies = length % page_size != 0 && cache.pool().owners(cache.table(id).back()) > 1;
      const bool fits = pages - cache.table(id).size() + (copies ? 1 : 0) <= cache.pool().num_free();
      const bool refused = is_refused([&] { cache.append(id, more.K, more.V); });
      ASSERT_HOLDS(refused != fits, fits ? "an append was refused for which there are pages"
                                         : "an append was not refused for which pages are missing");
      if (!refused) wanted[id] = stacked(wanted[id], more);
    }
    const std::string broken = broken_invariant(cache, ids);
    ASSERT_HOLDS(broken.empty(), broken) << note("after " + std::to_string(step + 1) + " operations");
    for (const uword one : ids) {
      if (cache.length(one) == 0) continue;
      ASSERT_THAT(gathered(cache, one), IsNear(wanted[one].K, token_axes, exact))
          << note("sequence " + std::to_string(one) + " after " + std::to_string(step + 1) + " operations");
    }
  }
}

// ---------------------------------------------------------------------------- append after a fork, 31.3 with 31.4

TEST(Append, FollowsTheExampleOfTheChapter) {
  PagedCache cache(6, page_size, heads, width);
  const uword a = add_tokens(cache, drawn(6)), b = add_tokens(cache, drawn(3)), c = cache.fork(a);
  arma::cube got(3, 6, 3);
  got.slice(0) = state(cache, {a, b, c});
  const Chunk one = drawn(1), three = drawn(3);
  cache.append(c, one.K, one.V);
  got.slice(1) = state(cache, {a, b, c});
  cache.append(a, three.K, three.V);
  got.slice(2) = state(cache, {a, b, c});
  arma::cube wanted(3, 6, 3);
  wanted.slice(0) = {{3, 6, 2, 2, 2, 0}, {3, 3, 1, 1, 0, 0}, {3, 6, 2, 2, 2, 0}};
  wanted.slice(1) = {{2, 6, 2, 2, 1, 0}, {2, 3, 1, 1, 0, 0}, {2, 7, 2, 2, 1, 0}};
  wanted.slice(2) = {{1, 9, 3, 2, 1, 1}, {1, 3, 1, 1, 0, 0}, {1, 7, 2, 2, 1, 0}};
  EXPECT_THAT(got, IsNear(wanted, {"sequences", "state", "steps"}, exact))
      << about_state("rows: A, B, C; slices: after fork(A), after a token for C, after three for A");
  cache.remove(a);
  EXPECT_THAT(state(cache, {b, c}), IsNear(arma::mat{{3, 3, 1, 1, 0, 0}, {3, 7, 2, 1, 1, 0}}, state_axes, exact))
      << about_state("B and C, after remove(A)");
}

TEST(Append, CopiesASharedPageBeforeItIsWritten) {
  for (const bool writes_to_fork : {true, false}) {
    PagedCache cache = new_cache();
    const Chunk chunk = drawn(6), more = drawn(1);
    const uword a = add_tokens(cache, chunk), b = cache.fork(a);
    const uword writer = writes_to_fork ? b : a, other = writes_to_fork ? a : b;
    cache.append(writer, more.K, more.V);
    const std::string about = std::string("6 tokens in pages of 4, and a fork; then one token for ") +
                              (writes_to_fork ? "the fork" : "the sequence that was forked");
    expect_holds(cache, other, chunk, note(about));
    expect_holds(cache, writer, stacked(chunk, more), note(about));
    EXPECT_THAT(state(cache, {other, writer}),
                IsNear(arma::mat{{9, 6, 2, 2, 1, 0}, {9, 7, 2, 2, 1, 0}}, state_axes, exact))
        << about_state(about);
  }
}

TEST(Append, CopiesNothingAtTheEndOfAPage) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(8), more = drawn(1);
  const uword a = add_tokens(cache, chunk), b = cache.fork(a);
  cache.append(b, more.K, more.V);
  EXPECT_THAT(state(cache, {a, b}), IsNear(arma::mat{{9, 8, 2, 2, 2, 0}, {9, 9, 3, 2, 2, 1}}, state_axes, exact))
      << about_state("8 tokens fill two pages of 4; the fork's next token needs a page, and no copy");
  expect_holds(cache, a, chunk, note("the sequence that was forked"));
  expect_holds(cache, b, stacked(chunk, more), note("the fork, with one more token"));
}

TEST(Append, ChangesNothingWhenTheCopyDoesNotFit) {
  PagedCache cache(3, page_size, heads, width);
  const Chunk chunk = drawn(6), more = drawn(3);
  const uword a = add_tokens(cache, chunk), b = cache.fork(a);
  EXPECT_HOLDS(is_refused([&] { cache.append(b, more.K, more.V); }),
               "3 tokens more need a copy and a new page, of which one is free, want std::runtime_error");
  EXPECT_THAT(state(cache, {a, b}), IsNear(arma::mat{{1, 6, 2, 2, 2, 0}, {1, 6, 2, 2, 2, 0}}, state_axes, exact))
      << about_state("after a call that must be refused");
}

TEST(Append, WritesInPlaceForTheLastOwner) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(6), more = drawn(1);
  const uword a = add_tokens(cache, chunk), b = cache.fork(a);
  cache.remove(a);
  const Tokens before = cache.table(b);
  const bool alone = before.size() == 2 && cache.length(b) == 6 && cache.pool().owners(before.back()) == 1;
  cache.append(b, more.K, more.V);
  const bool copied = alone && cache.table(b).size() == 2 && cache.table(b).back() != before.back();
  EXPECT_HOLDS(cache.table(b) == before,
               "a page with one owner was copied: the table was " + text(before) + ", and is " + text(cache.table(b)))
      << (copied ? likely_mistake("always_copied") : "");
  EXPECT_THAT(state(cache, {b}), IsNear(arma::mat{{10, 7, 2, 1, 1, 0}}, state_axes, exact))
      << about_state("the fork, after the first sequence was removed and one token was appended");
  expect_holds(cache, b, stacked(chunk, more), note("the fork, after the first sequence was removed"));
}

// ---------------------------------------------------------------------------------------- paged_attention, 31.5

/// A cache with one sequence of these tokens, after others came and went: no page is clean, and the pages are in no order.
PagedCache used_cache(const arma::cube& K, const arma::cube& V, uword rows_of_a_page, uword& id) {
  PagedCache cache(9, rows_of_a_page, K.n_slices, K.n_cols);
  arma::cube noise(4 * rows_of_a_page, K.n_cols, K.n_slices);
  noise.fill(1e6);
  const uword first = cache.add(), second = cache.add(), third = cache.add();
  cache.append(first, noise, noise);
  cache.append(second, noise, noise);
  cache.remove(first);
  cache.append(third, noise.rows(0, rows_of_a_page), noise.rows(0, rows_of_a_page));
  cache.remove(second);
  cache.remove(third);
  id = cache.add();
  for (uword i = 0; i < K.n_rows; ++i) cache.append(id, K.rows(i, i), V.rows(i, i));
  return cache;
}

arma::cube attended(const arma::cube& Q, const arma::cube& K, const arma::cube& V, uword rows_of_a_page) {
  uword id = 0;
  const PagedCache cache = used_cache(K, V, rows_of_a_page, id);
  return paged_attention(Q, cache, id);
}

/// One number at a time; head h reads key/value head h / (H / G).
arma::cube naive(const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
  const uword H = Q.n_slices, sharing = H / K.n_slices;
  arma::cube all_K(K.n_rows, K.n_cols, H), all_V(V.n_rows, V.n_cols, H);
  Mask causal(Q.n_rows, K.n_rows, 1);
  for (uword h = 0; h < H; ++h) {
    all_K.slice(h) = K.slice(h / sharing);
    all_V.slice(h) = V.slice(h / sharing);
  }
  for (uword i = 0; i < Q.n_rows; ++i) {
    for (uword j = 0; j < K.n_rows; ++j) causal(i, j, 0) = j + Q.n_rows <= i + K.n_rows ? 1 : 0;
  }
  return naive_attention(Q, all_K, all_V, causal);
}

TEST(PagedAttention, GivesEachQueryARow) {
  EXPECT_THAT(attended(normal(2, 3, 4), normal(7, 3, 2), normal(7, 3, 2), 5), HasShape({{"L", 2}, {"D", 3}, {"H", 4}}));
}

TEST(PagedAttention, GivesTheExampleWorkedByHand) {
  PagedCache cache(3, 2, 1, 1);
  const uword id = cache.add();
  cache.append(id, as_cube(arma::mat(arma::vec{1, 2, 0})), as_cube(arma::mat(arma::vec{10, 20, 30})));
  EXPECT_THAT(paged_attention(arma::cube(1, 1, 1, arma::fill::ones), cache, id),
              Matches(load_golden("by_hand").expected("context")))
      << note("pages of 2 rows: keys 1, 2 and 0, values 10, 20 and 30, the query is 1");
}

TEST(PagedAttention, ReadsNoRowWithoutAToken) {
  PagedCache cache(1, 4, 2, 3);
  arma::cube old(4, 3, 2);
  old.fill(arma::datum::nan);
  cache.append(cache.add(), old, old);
  cache.remove(0);
  const Chunk chunk = drawn(3);
  const uword id = add_tokens(cache, chunk);
  const arma::cube Q = normal(2, width, 4);
  EXPECT_THAT(paged_attention(Q, cache, id), IsNear(naive(Q, chunk.K, chunk.V), head_axes))
      << note("3 tokens in a page of 4 rows, whose last row holds NaN: take the rows that hold tokens, and no others");
}

TEST(PagedAttention, ReadsThePagesOfTheTable) {
  PagedCache cache = new_cache();
  const Chunk a = drawn(10), b = drawn(10);
  cache.add();
  cache.add();
  for (uword i = 0; i < 10; ++i) {  // in turns, so that neighbouring pages belong to different sequences
    cache.append(0, rows_of(a.K, i, 1), rows_of(a.V, i, 1));
    cache.append(1, rows_of(b.K, i, 1), rows_of(b.V, i, 1));
  }
  const arma::cube Q = normal(2, width, 4);
  EXPECT_THAT(paged_attention(Q, cache, 0), IsNear(naive(Q, a.K, a.V), head_axes))
      << note("sequence 0 of two, in pages " + text(cache.table(0)));
  EXPECT_THAT(paged_attention(Q, cache, 1), IsNear(naive(Q, b.K, b.V), head_axes))
      << note("sequence 1 of two, in pages " + text(cache.table(1)));
}

TEST(PagedAttention, EqualsPyTorch) {
  for (const std::string& name : Strings{"grouped", "decode"}) {
    const GoldenCase golden = load_golden(name);
    for (const uword rows_of_a_page : Tokens{4, 16, 2}) {
      EXPECT_THAT(attended(golden.cube("Q"), golden.cube("K"), golden.cube("V"), rows_of_a_page),
                  Matches(golden.expected("context")))
          << note(std::to_string(golden.cube("K").n_rows) + " tokens in pages of " + std::to_string(rows_of_a_page) +
                  " rows, which others had used before");
    }
  }
}

TEST(PagedAttention, IsRightAtEveryPlaceInAPage) {
  for (uword S = 1; S <= 9; ++S) {
    const arma::cube K = normal(S, 3, 2), V = normal(S, 3, 2);
    for (const uword L : {uword(1), S}) {
      const arma::cube Q = normal(L, 3, 4);
      EXPECT_THAT(attended(Q, K, V, 4), IsNear(naive(Q, K, V), head_axes))
          << note(std::to_string(S) + " tokens in pages of 4, of which the last " + std::to_string(L) + " are queries");
    }
  }
}

TEST(PagedAttention, AcceptsExtremeScores) {
  const arma::cube K = 60 * normal(7, 3, 2), V = normal(7, 3, 2), Q = 60 * normal(3, 3, 4);
  const arma::cube shifted = attended(Q, K, V, 4);
  EXPECT_HOLDS(shifted.is_finite(), "scores of thousands give NaN or infinity");
}

TEST(PagedAttention, PutsNoKeysTogether) {
  const uword S = 400;
  PagedCache cache(30, 16, 2, 8);
  const uword id = cache.add();
  cache.append(id, normal(S, 8, 2), normal(S, 8, 2));
  const arma::cube Q = normal(1, 8, 2);
  const std::size_t largest = largest_allocation([&] { paged_attention(Q, cache, id); });
  EXPECT_TRUE(largest < S * 8 * sizeof(double))
      << line("memory", "the largest matrix takes " + bytes_text(largest) + ", want less than " +
                            bytes_text(S * 8 * sizeof(double)) + ", the keys of one head")
      << note("400 tokens in pages of 16 rows, D = 8; one query") << likely_mistake("keys_gathered");
}

// ----------------------------------------------------------------------------------------------- prefixes, 31.6

TEST(PrefixHashes, EqualPython) {
  const std::vector<std::uint64_t> hashes = prefix_hashes({5, 3, 8, 1, 9, 9, 2, 6, 4, 7}, 3);
  arma::mat halves(hashes.size(), 2);
  for (uword k = 0; k < hashes.size(); ++k) {
    halves(k, 0) = static_cast<double>(hashes[k] >> 32U);
    halves(k, 1) = static_cast<double>(hashes[k] & 0xffffffffU);
  }
  EXPECT_THAT(halves, Matches(load_golden("hashes").expected("hashes")))
      << note("10 tokens, pages of 3: the upper and the lower half of each hash");
}

TEST(PrefixHashes, DependOnAllTokensBefore) {
  const auto a = prefix_hashes({1, 2, 3, 4, 5, 6}, 2), b = prefix_hashes({1, 9, 3, 4, 5, 6}, 2);
  ASSERT_HOLDS(a.size() == 3 && b.size() == 3, "6 tokens have " + std::to_string(a.size()) + " hashes, want 3");
  EXPECT_HOLDS(a[1] != b[1] && a[2] != b[2],
               "texts that differ in their second token have the same hash for a later page");
}

TEST(PrefixHashes, AreThoseOfFullPages) {
  arma::mat got(1, 7);
  for (uword length = 0; length < 7; ++length)
    got(length) = static_cast<double>(prefix_hashes(Tokens(length, 1), 3).size());
  EXPECT_THAT(got, IsNear(arma::mat{{0, 0, 0, 1, 1, 1, 2}}, {"1", "lengths"}))
      << note("number of hashes of 0, 1, ..., 6 tokens, pages of 3");
}

/// Ids 100, 101, ...; from `change` on others.
Tokens prompt(uword length, uword change = ~uword(0)) {
  Tokens tokens(length);
  for (uword i = 0; i < length; ++i) tokens[i] = i < change ? 100 + i : 500 + i;
  return tokens;
}

TEST(Add, FindsThePublishedPagesOfThePrompt) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(10);
  const uword a = add_tokens(cache, chunk);
  cache.publish(a, prompt(10));
  const uword b = cache.add(prompt(11, 9));  // the first 9 tokens are the same
  EXPECT_THAT(state(cache, {a, b}), IsNear(arma::mat{{9, 10, 3, 2, 2, 1}, {9, 8, 2, 2, 2, 0}}, state_axes, exact))
      << about_state("10 tokens are published, two full pages of 4; a prompt begins with 9 of them");
  expect_holds(cache, b, {rows_of(chunk.K, 0, 8), rows_of(chunk.V, 0, 8)}, note("what the new sequence begins with"));
}

TEST(Add, FollowsTheExampleOfTheChapter) {
  PagedCache cache(20, 2, heads, width);
  cache.publish(add_tokens(cache, drawn(5)), {5, 3, 8, 1, 9});
  arma::mat got(4, 1);
  uword row = 0;
  for (const Tokens& tokens : {Tokens{5, 3, 8, 1, 4}, {5, 3, 8, 1}, {5, 3, 8, 2, 4}, {7, 3, 8, 1, 4}}) {
    got(row++) = static_cast<double>(cache.length(cache.add(tokens)));
  }
  EXPECT_THAT(got, IsNear(arma::mat(arma::vec{4, 2, 2, 0}), {"prompts", "1"}, exact)) << note(
      "5 3 8 1 9 is published, pages of 2; with how many tokens do the prompts 5 3 8 1 4, 5 3 8 1, 5 3 8 2 4 and "
      "7 3 8 1 4 begin?");
}

TEST(Add, TakesTheFullPagesThatAreTheSame) {
  const std::vector<uword> lengths = {3, 4, 5, 8, 9, 12, 13, 20}, changes = {0, 3, 4, 7, 8, 12, 100};
  arma::mat got(changes.size(), lengths.size());
  for (uword row = 0; row < changes.size(); ++row) {
    PagedCache cache(40, page_size, heads, width);
    const Chunk chunk = drawn(14);
    const uword a = add_tokens(cache, chunk);
    cache.publish(a, prompt(14));
    Tokens ids = {a};
    for (uword column = 0; column < lengths.size(); ++column) {
      ids.push_back(cache.add(prompt(lengths[column], changes[row])));
      got(row, column) = static_cast<double>(cache.length(ids.back()));
    }
    const std::string broken = broken_invariant(cache, ids);
    EXPECT_HOLDS(broken.empty(), broken) << note("a page has as many owners as tables that list it");
  }
  const arma::mat wanted = {{0, 0, 0, 0, 0, 0, 0, 0},  {0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 4, 4, 4, 4, 4, 4},
                            {0, 0, 4, 4, 4, 4, 4, 4},  {0, 0, 4, 4, 8, 8, 8, 8}, {0, 0, 4, 4, 8, 8, 12, 12},
                            {0, 0, 4, 4, 8, 8, 12, 12}};
  EXPECT_THAT(got, IsNear(wanted, {"changes", "lengths"}, exact))
      << note("14 tokens are published, pages of 4. With how many tokens does a prompt begin?")
      << note("rows: prompts that differ from token 0, 3, 4, 7, 8, 12 on, and not at all")
      << note("columns: prompts of 3, 4, 5, 8, 9, 12, 13 and 20 tokens; the last one is always left to compute");
}

TEST(Add, FindsNoPageThatWasFreed) {
  PagedCache cache = new_cache();
  const uword a = add_tokens(cache, drawn(8));
  cache.publish(a, prompt(8));
  cache.remove(a);
  add_tokens(cache, drawn(30));  // takes the pages again
  EXPECT_THAT(state(cache, {cache.add(prompt(9))}), IsNear(arma::mat{{4, 0, 0, 0, 0, 0}}, state_axes, exact))
      << about_state("a sequence with these tokens was removed, and its pages hold others");
}

TEST(Add, KeepsAPublishedPageWhileSomebodyHasIt) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(8);
  const uword a = add_tokens(cache, chunk);
  cache.publish(a, prompt(8));
  const uword b = cache.add(prompt(9));
  cache.remove(a);
  const uword c = cache.add(prompt(9));
  EXPECT_THAT(state(cache, {b, c}), IsNear(arma::mat{{10, 8, 2, 2, 2, 0}, {10, 8, 2, 2, 2, 0}}, state_axes, exact))
      << about_state("b found pages that a published; then a was removed, and c looked for the same");
}

TEST(Add, FindsAPrefixThatTwoHavePublished) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(9);
  const uword a = add_tokens(cache, chunk), b = add_tokens(cache, chunk);
  cache.publish(a, prompt(9));
  cache.publish(b, prompt(9));
  cache.publish(b, prompt(9));  // again: nothing new
  cache.remove(a);
  EXPECT_THAT(state(cache, {b, cache.add(prompt(9))}),
              IsNear(arma::mat{{9, 9, 3, 2, 2, 1}, {9, 8, 2, 2, 2, 0}}, state_axes, exact))
      << about_state("a and b published the same text in pages of their own, and a was removed");
}

TEST(Add, LetsBothWriteOnAlone) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(8), mine = drawn(3), yours = drawn(5);
  const uword a = add_tokens(cache, chunk);
  cache.publish(a, prompt(8));
  const uword b = cache.add(prompt(9));
  cache.append(b, mine.K, mine.V);
  cache.append(a, yours.K, yours.V);
  expect_holds(cache, b, stacked(chunk, mine), note("the one that found the pages"));
  expect_holds(cache, a, stacked(chunk, yours), note("the one that published them"));
  const std::string broken = broken_invariant(cache, {a, b});
  EXPECT_HOLDS(broken.empty(), broken);
}

TEST(Add, LosesNoPageInAnyOrderOfOperations) {
  PagedCache cache = new_cache();
  const Chunk chunk = drawn(20), other = drawn(20);
  std::map<uword, Tokens> texts;
  Tokens ids;
  const auto rows_of_text =
      [&](const Tokens& tokens) {  // two texts that are equal up to a token have the same rows there
        Chunk rows = {rows_of(chunk.K, 0, tokens.size()), rows_of(chunk.V, 0, tokens.size())};
        for (uword i = 0; i < tokens.size(); ++i) {
          if (tokens[i] < 500) continue;
          rows.K.row(i) = other.K.row(i);
          rows.V.row(i) = other.V.row(i);
        }
        return rows;
      };
  for (int step = 0; step < 300; ++step) {
    const auto numbers = arma::randi<arma::uvec>(3, arma::distr_param(0, 1'000'000));
    const uword what = numbers(0) % 4;
    if (what == 0 || ids.empty()) {
      const Tokens tokens = prompt(1 + numbers(1) % 20, numbers(2) % 3 == 0 ? 6 : 100);
      const uword id = cache.add(tokens), found = cache.length(id);
      ASSERT_HOLDS(found < tokens.size(), "a prompt of " + std::to_string(tokens.size()) + " tokens begins with " +
                                              std::to_string(found) + ": the last one is left to compute");
      const Chunk rows = rows_of_text(tokens);
      const uword rest = tokens.size() - found;
      if (is_refused([&] { cache.append(id, rows_of(rows.K, found, rest), rows_of(rows.V, found, rest)); })) {
        cache.remove(id);
        continue;
      }
      texts[id] = tokens;
      ids.push_back(id);
    } else if (what == 1) {
      const auto removed = ids.begin() + static_cast<long>(numbers(1) % ids.size());
      cache.remove(*removed);
      ids.erase(removed);
    } else {
      const uword id = ids[numbers(1) % ids.size()];
      cache.publish(id, texts[id]);
    }
    const std::string broken = broken_invariant(cache, ids);
    const std::string about = note("after " + std::to_string(step + 1) + " calls of add, append, publish and remove");
    ASSERT_HOLDS(broken.empty(), broken) << about;
    for (const uword id : ids) {
      ASSERT_THAT(gathered(cache, id), IsNear(rows_of_text(texts[id]).K, token_axes, exact)) << about;
    }
  }
}

// -------------------------------------------------------------------------------------- bad input: PagePool, 31.1

TEST(PagePool, RejectsWhatDoesNotExist) {
  PagePool pool(4, 2, 1, 3);
  const uword page = pool.allocate();
  EXPECT_PRED_FORMAT1(RejectsArgument("page", {"4"}), [&] { pool.owners(4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("page", {"7"}), [&] { pool.share(7); });
  EXPECT_PRED_FORMAT1(RejectsArgument("page", {"9"}), [&] { pool.release(9); });
  pool.release(page);
  EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("page", {}), likely_mistake("released_twice")),
                      [&] { pool.release(page); });
  EXPECT_PRED_FORMAT1(RejectsArgument("page", {}), [&] { pool.share(page); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_pages", {"0"}), [] { PagePool(0, 4, 2, 3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("page_size", {"0"}), [] { PagePool(5, 0, 2, 3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_pages", {"2^64"}), [] { PagePool(2, uword(1) << 62U, 2, 1); });
}

// -------------------------------------------------------------------------------------- bad input: counting, 31.2

TEST(PagesFor, RejectsAPageOfNothing) {
  EXPECT_PRED_FORMAT1(RejectsArgument("page_size", {"0"}), [] { pages_for(5, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("page_size", {"0"}), [] { wasted_in_pages({5, 3}, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("page_size", {"0"}), [] { wasted_in_pages({}, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"12", "8"}), [] { wasted_when_reserved({9, 3, 12}, 8); });
}

// ---------------------------------------------------------------------------------------- bad input: append, 31.3

TEST(Append, RejectsTokensOfTheWrongShape) {
  PagedCache cache = new_cache();
  const uword id = add_tokens(cache, drawn(3));
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"5"}), [&] { cache.append(5, zeros(1, 3, 2), zeros(1, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"9"}), [&] { cache.table(9); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"1 x 4 x 2", "3"}),
                      [&] { cache.append(id, zeros(1, 4, 2), zeros(1, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"2 x 3 x 2", "1"}),
                      [&] { cache.append(id, zeros(1, 3, 2), zeros(2, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"1 x 3 x 4", "2"}),
                      [&] { cache.append(id, zeros(1, 3, 4), zeros(1, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"1 x 5 x 2", "3"}),
                      [&] { cache.append(id, zeros(1, 3, 2), zeros(1, 5, 2)); });
  EXPECT_HOLDS(cache.length(id) == 3, "a rejected call changed the sequence");
}

// ---------------------------------------------------------------------------------- bad input: fork and remove, 31.4

TEST(Fork, RejectsASequenceThatIsNotThere) {
  PagedCache cache = new_cache();
  add_tokens(cache, drawn(3));
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"3"}), [&] { cache.fork(3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"4"}), [&] { cache.remove(4); });
}

// --------------------------------------------------------------------------------- bad input: paged_attention, 31.5

TEST(PagedAttention, RejectsQueriesThatDoNotFit) {
  PagedCache cache = new_cache();
  const uword id = add_tokens(cache, drawn(5));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"1 x 4 x 2", "3"}), [&] { paged_attention(zeros(1, 4, 2), cache, id); });
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"3", "2"}), [&] { paged_attention(zeros(1, 3, 3), cache, id); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"6", "5"}), [&] { paged_attention(zeros(6, 3, 2), cache, id); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"8"}), [&] { paged_attention(zeros(1, 3, 2), cache, 8); });
}

// --------------------------------------------------------------------------------------- bad input: prefixes, 31.6

TEST(Publish, RejectsAnotherNumberOfTokens) {
  PagedCache cache = new_cache();
  const uword id = add_tokens(cache, drawn(5));
  EXPECT_PRED_FORMAT1(RejectsArgument("tokens", {"6", "5"}), [&] { cache.publish(id, prompt(6)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("tokens", {"4", "5"}), [&] { cache.publish(id, prompt(4)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"7"}), [&] { cache.publish(7, prompt(5)); });
}

TEST(PrefixHashes, RejectAPageOfNothing) {
  EXPECT_PRED_FORMAT1(RejectsArgument("page_size", {"0"}), [] { prefix_hashes({1, 2}, 0); });
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("one token after 512, 8 heads on 2 key/value heads, D = 32, pages of 16", [] {
  PagedCache cache(40, 16, 2, 32);
  const uword id = cache.add();
  cache.append(id, normal(512, 32, 2), normal(512, 32, 2));
  return [cache, id, Q = normal(1, 32, 8)] { return paged_attention(Q, cache, id); };
});

}  // namespace
}  // namespace attn::judge
