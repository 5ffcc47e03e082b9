// The fast trainer as one of the peers that bench/run train compares: commands on standard input, one line each.
//
//   version                                 of what it measures   -> a few words
//   kernels                                 -> their name
//   make FILE B L E H N                     writes random parameters, as floats in the order of parameters_of
//   load FILE B L E H N THREADS             -> "ready"
//   losses K                                of K steps   -> K numbers
//   time K                                  K steps      -> seconds
//   sgemm THREADS                           -> FLOP/s
//   macs                                    multiplications and additions of a forward pass   -> number
//
// The model is GPT-2's architecture with V = 256, F = 4 E and a tied head. There are four batches, taken in turn.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "measuring.hpp"
#include "trainer.hpp"

extern "C" char* openblas_get_config();

namespace attn::bench {
namespace {

using std::size_t;

constexpr size_t vocab_size = 256, batches = 4;

/// The parameters of a model of this configuration, as zeros: names and sizes, without a model.
class Parameters {
 public:
  explicit Parameters(const LanguageModelConfig& config) {
    const size_t E = config.attention.embed_dim, F = config.hidden_dim;
    add("token_embedding", config.vocab_size * E, true);
    add("position_embedding", config.max_position * E, true);
    for (size_t n = 0; n < config.num_layers; ++n) {
      const std::string block = "blocks." + std::to_string(n) + ".";
      add_layer(block + "attention_norm", E, E, false);
      for (const char* name : {"query", "key", "value", "output"}) {
        add_layer(block + "attention." + name + "_proj", E * E, E, true);
      }
      add_layer(block + "feed_forward_norm", E, E, false);
      add_layer(block + "feed_forward.up_proj", E * F, F, true);
      add_layer(block + "feed_forward.down_proj", F * E, E, true);
    }
    add_layer("final_norm", E, E, false);
    for (size_t i = 0; i < views.size(); ++i) views[i].values = numbers_[i].memptr();
  }

  std::vector<ParameterView> views;

 private:
  void add(const std::string& name, size_t size, bool decayed) {
    numbers_.emplace_back(size, arma::fill::zeros);
    views.push_back({name, nullptr, size, decayed});
  }
  void add_layer(const std::string& name, size_t weight, size_t bias, bool decayed) {
    add(name + ".weight", weight, decayed);
    add(name + ".bias", bias, false);
  }

  std::vector<arma::vec> numbers_;
};

/// Every other token is random, and the next follows from it.
std::vector<Batch> drawn(size_t B, size_t L) {
  std::vector<Batch> result;
  std::uint64_t x = 1;
  for (size_t k = 0; k < batches; ++k) {
    arma::umat ids(L + 1, B);
    for (size_t b = 0; b < B; ++b) {
      for (size_t i = 0; i <= L; ++i) {
        x = (x * 1103515245 + 12345) % (std::uint64_t{1} << 31);
        ids(i, b) = i % 2 == 0 ? (x >> 16) % vocab_size : (ids(i - 1, b) * 5 + 1) % vocab_size;
      }
    }
    result.push_back({ids.head_rows(L), ids.tail_rows(L)});
  }
  return result;
}

class Peer {
 public:
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, path;
    size_t count = 0, threads = 0;
    words >> command;
    if (command == "version") return version();
    if (command == "kernels") return fast::usable_kernels().front()->name;
    if (command == "make" && words >> path && read_sizes(words)) return make(path), "written";
    if (command == "load" && words >> path && read_sizes(words) && words >> threads)
      return load(path, threads), "ready";
    if (command == "losses" && words >> count) return losses(count);
    if (command == "time" && words >> count) return std::to_string(time(count));
    if (command == "sgemm" && words >> threads) return std::to_string(sgemm_rate(static_cast<int>(threads)));
    if (command == "macs") return std::to_string(macs());
    throw std::invalid_argument("cannot do: " + line);
  }

 private:
  static std::string version() {
#ifdef __clang__
    const std::string compiler = "Clang " __clang_version__;
#else
    const std::string compiler = "GCC " __VERSION__;
#endif
    std::istringstream blas(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
    std::string name, number;
    blas >> name >> number;
    return compiler + ", " + name + " " + number;
  }

  bool read_sizes(std::istream& words) {
    config_ = {};
    if (!(words >> B_ >> L_ >> config_.attention.embed_dim >> config_.attention.num_heads >> config_.num_layers)) {
      return false;
    }
    config_.architecture = Architecture::gpt2;
    config_.vocab_size = vocab_size;
    config_.hidden_dim = 4 * config_.attention.embed_dim;
    config_.max_position = L_;
    config_.norm_epsilon = 1e-5;
    config_.attention.num_kv_heads = config_.attention.num_heads;
    config_.attention.bias = true;
    return true;
  }

  /// As GPT-2 begins: matrices are normal with a deviation of 0.02, biases 0 and the weights of norms 1.
  void make(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    std::mt19937_64 generator(1);
    std::normal_distribution<float> normal(0, 0.02f);
    for (const ParameterView& view : Parameters(config_).views) {
      const bool norm = view.name.find("norm.weight") != std::string::npos;
      for (size_t i = 0; i < view.size; ++i) {
        const float number = view.decayed ? normal(generator) : norm ? 1.0f : 0.0f;
        file.write(reinterpret_cast<const char*>(&number), sizeof(number));
      }
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }

  void load(const std::string& path, size_t threads) {
    std::ifstream file(path, std::ios::binary);
    Parameters parameters(config_);
    for (const ParameterView& view : parameters.views) {
      arma::fvec numbers(view.size);
      file.read(reinterpret_cast<char*>(numbers.memptr()), static_cast<std::streamsize>(4 * view.size));
      view.vector() = arma::conv_to<arma::vec>::from(numbers);
    }
    if (!file) throw std::runtime_error("cannot read " + path);
    trainer_ = std::make_unique<fast::Trainer>(config_, parameters.views, static_cast<unsigned>(threads));
    batches_.clear();
    for (Batch& batch : drawn(B_, L_)) batches_.push_back({std::move(batch)});
    training_.optimizer = {0.9, 0.95, 1e-8, 0.1};
    training_.schedule = {1e-3, 1e-4, 10, 1000};
  }

  double step() { return trainer_->step(batches_[trainer_->steps() % batches], training_).loss; }

  std::string losses(size_t count) {
    std::ostringstream text;
    text.precision(8);
    for (size_t k = 0; k < count; ++k) text << (k == 0 ? "" : " ") << step();
    return text.str();
  }

  double time(size_t times) {
    return seconds([&] {
      for (size_t k = 0; k < times; ++k) step();
    });
  }

  /// Of the matrices' products and, in causal order, of attention.
  double macs() const {
    const auto tokens = static_cast<double>(B_ * L_), E = static_cast<double>(config_.attention.embed_dim);
    const double layer = 12 * E * E + static_cast<double>(L_ + 1) * E;
    return tokens * (static_cast<double>(config_.num_layers) * layer + static_cast<double>(vocab_size) * E);
  }

  LanguageModelConfig config_;
  size_t B_ = 0, L_ = 0;
  TrainingConfig training_;
  std::unique_ptr<fast::Trainer> trainer_;
  std::vector<std::vector<Batch>> batches_;
};

}  // namespace
}  // namespace attn::bench

int main() {
  attn::bench::Peer peer;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << peer.answer(line) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what() << std::endl;
    }
  }
}
