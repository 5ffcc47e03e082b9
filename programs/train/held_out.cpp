#include "train/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/characters.hpp"
#include "attn/cross_entropy.hpp"

namespace attn::training {

namespace {

constexpr double discount = 0.75;

/// Up to three ids as one number: there are fewer than 2^21 code points.
std::uint64_t key_of(const std::array<std::uint64_t, 3>& characters, std::size_t from, std::size_t to) {
  std::uint64_t key = 0;
  for (std::size_t i = from; i < to; ++i) key = key << 21U | characters[i];
  return key;
}

std::vector<char32_t> code_points(const std::string& text) {
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = length_from_first_byte(text[at]);
    points.push_back(code_point(text.substr(at, size)));
    at += size;
  }
  return points;
}

}  // namespace

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

std::uint64_t TrigramModel::id(char32_t character) const {
  const auto found = ids_.find(character);
  return found == ids_.end() ? ids_.size() : found->second;
}

TrigramModel::TrigramModel(const std::string& training) {
  std::array<std::uint64_t, 3> last{};
  std::size_t seen = 0;
  for (const char32_t point : code_points(training)) {
    last = {last[1], last[2], ids_.emplace(point, ids_.size()).first->second};
    ++frequencies_[last[2]];
    end_ = {end_[1], point};
    // a pair, or a character, counts once for each different one before it
    if (++seen >= 3 && ++counts_[2][key_of(last, 0, 3)] == 1 && ++counts_[1][key_of(last, 1, 3)] == 1) {
      ++counts_[0][key_of(last, 2, 3)];
    }
  }
  length_ = static_cast<double>(seen);
  for (std::size_t level = 0; level < 3; ++level) {
    for (const auto& [key, count] : counts_[level]) {
      Total& total = totals_[level][key >> 21U];
      total.count += count;
      ++total.distinct;
    }
  }
}

double TrigramModel::probability(std::size_t level, const std::array<std::uint64_t, 3>& characters) const {
  const double lower = level > 0 ? probability(level - 1, characters) : 1 / (static_cast<double>(ids_.size()) + 1);
  const auto total = totals_[level].find(key_of(characters, 2 - level, 2));
  if (total == totals_[level].end()) return lower;
  const auto found = counts_[level].find(key_of(characters, 2 - level, 3));
  const double count = found == counts_[level].end() ? 0 : found->second;
  return (std::max(count - discount, 0.0) + discount * total->second.distinct * lower) / total->second.count;
}

double TrigramModel::bits(char32_t before_last, char32_t last, char32_t next) const {
  return -std::log2(probability(2, {id(before_last), id(last), id(next)}));
}

double TrigramModel::unigram_bits(char32_t next) const {
  const auto found = frequencies_.find(id(next));
  const double count = found == frequencies_.end() ? 0 : found->second;
  const auto distinct = static_cast<double>(ids_.size());
  return -std::log2((std::max(count - discount, 0.0) + discount * distinct / (distinct + 1)) / length_);
}

double TrigramModel::uniform_bits() const { return std::log2(static_cast<double>(ids_.size()) + 1); }

SimpleModels simple_models(const std::string& training, const std::string& text) {
  const TrigramModel model(training);
  auto [before_last, last] = model.end_of_training();
  const std::vector<char32_t> points = code_points(text);
  SimpleModels mean;
  for (const char32_t point : points) {
    mean.trigram += model.bits(before_last, last, point) / static_cast<double>(points.size());
    mean.unigram += model.unigram_bits(point) / static_cast<double>(points.size());
    before_last = std::exchange(last, point);
  }
  mean.uniform = model.uniform_bits();
  return mean;
}

}  // namespace attn::training
