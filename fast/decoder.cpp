#include "decoder.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "threads.hpp"
#include "units.hpp"

namespace attn::fast {

namespace {

using std::size_t;

/// Checks a configuration, and returns it with head_dim.
LanguageModelConfig checked(LanguageModelConfig config, size_t capacity, size_t threads) {
  DecoderAttentionConfig& attention = config.attention;
  require_positive("vocab_size", config.vocab_size);
  require_positive("num_layers", config.num_layers);
  require_positive("hidden_dim", config.hidden_dim);
  require_positive("embed_dim", attention.embed_dim);
  require_multiple("num_heads", attention.num_heads, "num_kv_heads", attention.num_kv_heads);
  if (attention.head_dim == 0) {
    attention.head_dim = require_multiple("embed_dim", attention.embed_dim, "num_heads", attention.num_heads);
    attention.head_dim /= attention.num_heads;
  }
  require_multiple("head_dim", attention.head_dim, "a pair's width", 2);
  require_product({{"num_heads", attention.num_heads}, {"head_dim", attention.head_dim}});
  if (!attention.rope_speeds.is_empty()) {
    require_shape("rope_speeds", attention.rope_speeds, {{"1", 1}, {"D/2", attention.head_dim / 2}});
  }
  if (attention.window != 0) throw std::invalid_argument("window is not 0: the fast decoder has no sliding window");
  if (attention.soft_cap != 0) throw std::invalid_argument("soft_cap is not 0: the fast decoder does not cap scores");
  // No size that is computed from the capacity may wrap around. The cache has 8 bytes for each number of a key and of its
  // value, and a thread's scores 16 for each token; both are rounded up to whole panels.
  require_product({{"num_layers", config.num_layers},
                   {"num_kv_heads", attention.num_kv_heads},
                   {"head_dim", attention.head_dim},
                   {"capacity", capacity},
                   {"16 bytes", 16}});
  require_positive("threads", threads);
  if (config.architecture == Architecture::gpt2) {
    if (attention.num_kv_heads != attention.num_heads ||
        attention.head_dim * attention.num_heads != attention.embed_dim) {
      throw std::invalid_argument("num_kv_heads or head_dim: gpt2 has G = H and D = E / H");
    }
    require_at_most("capacity", capacity, "max_position", config.max_position);
  } else if (attention.pairing != RopePairing::half_split) {
    throw std::invalid_argument("pairing: the fast decoder turns half-split pairs only");
  }
  return config;
}

/// (D/2); empty for gpt2.
std::vector<double> speeds_of(const LanguageModelConfig& config) {
  if (config.architecture == Architecture::gpt2) return {};
  const DecoderAttentionConfig& attention = config.attention;
  std::vector<double> speeds(attention.rope_speeds.begin(), attention.rope_speeds.end());
  for (size_t p = speeds.size(); p < attention.head_dim / 2; ++p) {
    speeds.push_back(std::pow(10000, -2 * static_cast<double>(p) / static_cast<double>(attention.head_dim)));
  }
  return speeds;
}

}  // namespace

size_t usual_threads() { return static_cast<size_t>(max_threads()); }

Decoder::Decoder(const LanguageModelConfig& config, const Tensors& tensors, size_t capacity, size_t threads,
                 const Kernels& kernels, Number cached)
    : config_(checked(config, capacity, threads)),
      weights_(config_, tensors),
      kernels_(kernels),
      E_(config_.attention.embed_dim),
      H_(config_.attention.num_heads),
      G_(config_.attention.num_kv_heads),
      D_(config_.attention.head_dim),
      F_(config_.hidden_dim),
      R_(kernels.rows),
      W_((H_ + 2 * G_) * D_),
      capacity_(capacity),
      speeds_(speeds_of(config_)),
      cache_(config_.num_layers, G_, D_, capacity, R_, cached),
      team_(threads) {
  const size_t of_attention = heads_together * (divided_up(capacity, R_) * R_ + max_rows / 2 * D_);
  const size_t of_weights = tiles_together * kernels.tile_columns * inputs_together;
  for (size_t t = 0; t < threads; ++t) {
    own_.push_back({{}, {}, QueryGroup(kernels, D_), std::vector<float>(D_)});
    own_.back().normalized.reserve(tokens_per_step * E_);
    own_.back().scratch.reserve(std::max({of_attention, of_weights, 2 * cache_.copied(capacity)}));
  }
}

const arma::fmat& Decoder::extend(const arma::uvec& ids, Logits logits) {
  require_positive("ids, its number of elements,", ids.n_elem);
  require_at_most("ids, its largest,", ids.max(), "V - 1", config_.vocab_size - 1);
  if (ids.n_elem > capacity_ - length_) {
    throw std::invalid_argument("capacity is " + std::to_string(capacity_) + ", expected at least " +
                                std::to_string(length_ + ids.n_elem) + ", the old tokens and the new ones");
  }
  const bool all = logits == Logits::all;
  arma::fmat columns(all ? config_.vocab_size : 0, all ? ids.n_elem : 0);
  logits_.set_size(1, config_.vocab_size);
  for (size_t first = 0, count = 0; first < ids.n_elem; first += count) {
    const size_t left = ids.n_elem - first;
    const bool in_rows = left <= tokens_per_step;
    count = std::min(left, in_rows ? tokens_per_step : tokens_per_prefill);
    reserve(in_rows ? count : divided_up(count, R_) * R_, in_rows);
    find_angles(count);
    embed(ids.memptr() + first, count, in_rows);
    team_.run([&](size_t thread) { in_rows ? step(thread, count) : prefill(thread, count); });
    length_ += count;
    if (all) compute_logits(0, count, in_rows, columns.colptr(first));
    if (!all && count == left) compute_logits(count - 1, 1, in_rows, logits_.memptr());
  }
  if (all) logits_ = columns.t();
  return logits_;
}

void Decoder::reset(size_t length) {
  length_ = require_at_most("length", length, "length()", length_);
  cache_.forget_after(length_);
}

void Decoder::reserve(size_t rows, bool in_rows) {
  x_.reserve(rows * E_);
  normalized_.reserve(std::max(rows, tokens_per_step) * E_);
  qkv_.reserve(rows * W_);
  hidden_.reserve(rows * 2 * F_);
  angles_.reserve(rows * D_);
  if (in_rows) parts_.reserve(team_.size() * rows * std::max(3 * E_, F_));
  if (!in_rows) std::fill_n(x_.data(), rows * E_, 0.0f);  // the last panel may not be full
}

/// Where column c of a token is in x_: at place(token) + c * (1 or R).
size_t Decoder::place(size_t token, bool in_rows) const {
  return in_rows ? token * E_ : token / R_ * R_ * E_ + token % R_;
}

void Decoder::embed(const arma::uword* ids, size_t L, bool in_rows) {
  std::vector<float> row(E_), position(E_);
  const size_t between = in_rows ? 1 : R_;
  for (size_t l = 0; l < L; ++l) {
    copy_row(weights_.tokens.weights, ids[l], E_, row.data());
    if (weights_.positions.weights.data != nullptr) {
      copy_row(weights_.positions.weights, length_ + l, E_, position.data());
    }
    float* to = x_.data() + place(l, in_rows);
    for (size_t c = 0; c < E_; ++c) to[c * between] = row[c] + position[c];
  }
}

void Decoder::find_angles(size_t L) {
  for (size_t l = 0; l < L; ++l) {
    for (size_t p = 0; p < speeds_.size(); ++p) {
      const double angle = static_cast<double>(length_ + l) * speeds_[p];
      angles_.data()[l * D_ + 2 * p] = static_cast<float>(std::cos(angle));
      angles_.data()[l * D_ + 2 * p + 1] = static_cast<float>(std::sin(angle));
    }
  }
}

/// QK-norm, if there is one, and RoPE for one head of the l'th new token.
void Decoder::turn(const Norm& norm, size_t l, float* head) const {
  if (!norm.weight.empty()) {
    kernels_.stream.normalize(head, D_, norm.weight.data(), nullptr, norm.epsilon, head);
  }
  const float* angles = angles_.data() + l * D_;
  for (size_t p = 0; p < speeds_.size(); ++p) {
    const float a = head[p], b = head[p + D_ / 2], cosine = angles[2 * p], sine = angles[2 * p + 1];
    head[p] = a * cosine - b * sine;
    head[p + D_ / 2] = a * sine + b * cosine;
  }
}

/// For `L` of the new tokens.
/// @param result (L x V), row-major
void Decoder::compute_logits(size_t first, size_t L, bool in_rows, float* result) {
  const size_t V = config_.vocab_size, between = in_rows ? 1 : R_;
  for (size_t begin = 0; begin < L; begin += tokens_per_step) {
    const size_t count = std::min(L - begin, tokens_per_step);
    for (size_t l = 0; l < count; ++l) {
      const float* from = x_.data() + place(first + begin + l, in_rows);
      for (size_t c = 0; c < E_; ++c) normalized_.data()[l * E_ + c] = from[c * between];
    }
    team_.run([&](size_t thread) {
      const ConstRows x = normalize_rows(weights_.final_norm, {normalized_.data(), E_}, count, own_[thread]);
      const Range range = share(V, thread);
      multiply_rows(weights_.head, range, x, count, {result + begin * V + range.first, V});
    });
  }
}

/// What a thread does of so many outputs. Threads begin at different lines of the cache.
Range Decoder::share(size_t outputs, size_t thread) const {
  const auto begin = [&](size_t t) { return t == team_.size() ? outputs : outputs * t / team_.size() / 16 * 16; };
  return {begin(thread), begin(thread + 1) - begin(thread)};
}

}  // namespace attn::fast
