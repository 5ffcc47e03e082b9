#include "train/tasks.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "lesson/text.hpp"

namespace attn::training {

namespace {

/// A batch of texts that are one token longer than its columns.
/// @param texts        (2 n + 1 x B)
/// @param first_counts for each text the first row whose target counts
Batch batch_of(const arma::umat& texts, const arma::uvec& first_counts) {
  const arma::uword L = texts.n_rows - 1;
  Batch batch{texts.head_rows(L), texts.tail_rows(L)};
  for (arma::uword b = 0; b < texts.n_cols; ++b) {
    for (arma::uword i = 0; i < first_counts(b); ++i) batch.targets(i, b) = ignored_target;
  }
  return batch;
}

/// Texts of a drawn sequence, the separator and what `answer` makes of the sequence.
template <typename Answer>
Batch answered_batch(arma::uword n, arma::uword B, std::mt19937_64& generator, const Answer& answer) {
  arma::umat texts(2 * n + 1, B);
  for (arma::uword b = 0; b < B; ++b) {
    arma::uvec sequence(n);
    for (arma::uword& symbol : sequence) symbol = draw_index(generator, symbols);
    texts(arma::span(0, n - 1), b) = sequence;
    texts(n, b) = symbols;
    texts(arma::span(n + 1, 2 * n), b) = answer(sequence);
  }
  return batch_of(texts, arma::uvec(B, arma::fill::value(n)));
}

/// The first so many of all symbols in a random order (Fisher, Yates 1938).
arma::uvec different_symbols(arma::uword count, std::mt19937_64& generator) {
  arma::uvec order(symbols);
  std::iota(order.begin(), order.end(), arma::uword{0});
  for (arma::uword i = 0; i < count; ++i) std::swap(order(i), order(i + draw_index(generator, symbols - i)));
  return order.head(count);
}

}  // namespace

Batch copy_batch(arma::uword n, arma::uword B, std::mt19937_64& generator) {
  return answered_batch(n, B, generator, [](const arma::uvec& sequence) { return sequence; });
}

Batch sort_batch(arma::uword n, arma::uword B, std::mt19937_64& generator) {
  return answered_batch(n, B, generator, [](const arma::uvec& sequence) -> arma::uvec { return arma::sort(sequence); });
}

Batch induction_batch(arma::uword n, arma::uword B, std::mt19937_64& generator) {
  if (n < 2 || n > symbols) {
    throw std::invalid_argument("n is " + std::to_string(n) + ", expected 2 to " + std::to_string(symbols));
  }
  arma::umat texts(2 * n + 1, B);
  arma::uvec periods(B);
  for (arma::uword b = 0; b < B; ++b) {
    const arma::uword period = periods(b) = n / 2 + draw_index(generator, n - n / 2 + 1);
    const arma::uvec sequence = different_symbols(period, generator);
    for (arma::uword i = 0; i < texts.n_rows; ++i) texts(i, b) = sequence(i % period);
  }
  return batch_of(texts, periods);
}

Batch Task::draw(arma::uword B, std::mt19937_64& generator) const {
  if (name == "copy") return copy_batch(length, B, generator);
  if (name == "sort") return sort_batch(length, B, generator);
  if (name == "induction") return induction_batch(length, B, generator);
  return reverse_batch(symbols, length, B, generator);
}

const std::vector<Task>& tasks() {
  static const std::vector<Task> all = {
      {"reverse", "write ten digits backwards",
       "in the rows from | on, a line from right to left: each answer looks at the digit that it has to write, "
       "the last one first.",
       120, 20, 0.1},
      {"copy", "write ten digits once more",
       "in the rows from | on, a line parallel to the diagonal: each answer looks at the digit with the same place.",
       120, 20, 0.1},
      {"sort", "write ten digits in ascending order",
       "in the rows from | on, each answer looks at the digits that are next in order, wherever they are.", 400, 20,
       0.1},
      {"induction", "write B after A, where A B came before",
       "a line parallel to the diagonal: where a digit comes again, its row looks at the digit after the earlier one.",
       300, 50, 0.01}};
  return all;
}

const Task& task_named(const std::string& name) {
  for (const Task& task : tasks()) {
    if (task.name == name) return task;
  }
  throw std::invalid_argument("there is no task " + cut(harmless(name), 60));
}

arma::mat sources_of(const Task& task, const arma::uvec& ids, const arma::uvec& targets) {
  const arma::uword L = ids.n_elem, n = L / 2;
  arma::mat sources(L, L, arma::fill::zeros);
  for (arma::uword i = 0; i < L; ++i) {
    if (targets(i) == ignored_target) continue;
    if (task.name == "reverse") sources(i, 2 * n - 1 - i) = 1;
    if (task.name == "copy") sources(i, i - n) = 1;
    if (task.name == "sort") {
      for (arma::uword j = 0; j < n; ++j) sources(i, j) = ids(j) == targets(i) ? 1 : 0;
    }
    if (task.name == "induction") {
      for (arma::uword j = 0; j < i; ++j) sources(i, j + 1) = ids(j) == ids(i) ? 1 : 0;
    }
  }
  return sources;
}

std::string text_of(arma::uword id) { return id == symbols ? "|" : std::to_string(id); }

std::string text_of(const std::vector<arma::uword>& ids) {
  std::string text;
  for (const arma::uword id : ids) text += (text.empty() ? "" : " ") + text_of(id);
  return text;
}

std::vector<arma::uword> whole_sequence(const Batch& batch, arma::uword column) {
  std::vector<arma::uword> ids(batch.ids.begin_col(column), batch.ids.end_col(column));
  ids.push_back(batch.targets(batch.targets.n_rows - 1, column));
  return ids;
}

arma::uword first_counted(const arma::uvec& targets) {
  const auto first = std::find_if(targets.begin(), targets.end(), [](auto id) { return id != ignored_target; });
  return static_cast<arma::uword>(first - targets.begin());
}

}  // namespace attn::training
