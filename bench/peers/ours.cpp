// The course's layers as one of the peers that bench/run compares. All peers answer the same commands on standard
// input, each with one line:
//
//   version                   of what it measures                             -> a few words
//   load FOLDER B L THREADS   reads weights and input                          -> "ready"
//   write NAME                computes once, and writes FOLDER/NAME            -> "written"
//   time N                    computes N times                                 -> seconds
//
// This one also takes "make FOLDER B L", which draws weights and input, and "sgemm THREADS": FLOP/s. Files hold float32
// in PyTorch's order: x.f32 (B, L, E), in_proj_weight.f32 (3E, E), in_proj_bias.f32, out_proj_weight.f32,
// out_proj_bias.f32.
//
//   bench_peer_ours fast | naive
#include <omp.h>

#include <armadillo>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "attention_layer.hpp"
#include "attn/multi_head_attention.hpp"
#include "measuring.hpp"

extern "C" {
void openblas_set_num_threads(int threads);
char* openblas_get_config();
}

namespace attn::bench {
namespace {

using arma::uword;
const uword E = embed_dim;

void write_floats(const std::string& path, const arma::fmat& columns) {
  std::ofstream file(path, std::ios::binary);
  const auto size = static_cast<std::streamsize>(columns.n_elem * sizeof(float));
  if (!file.write(reinterpret_cast<const char*>(columns.memptr()), size))
    throw std::runtime_error("cannot write " + path);
}

/// PyTorch's rows are our columns.
arma::fmat read_floats(const std::string& path, uword row_length, uword rows) {
  arma::fmat columns(row_length, rows);
  std::ifstream file(path, std::ios::binary);
  const auto size = static_cast<std::streamsize>(columns.n_elem * sizeof(float));
  if (!file.read(reinterpret_cast<char*>(columns.memptr()), size)) throw std::runtime_error("cannot read " + path);
  return columns;
}

void make(const std::string& folder, uword B, uword L) {
  arma::arma_rng::set_seed(19);
  const auto linear = [&](const std::string& name, uword rows) {
    const float bound = 1 / std::sqrt(static_cast<float>(E));
    const auto draw = [&](uword n) { return arma::fmat((2 * arma::randu<arma::fmat>(n, rows) - 1) * bound); };
    write_floats(folder + "/" + name + "_weight.f32", draw(E));
    write_floats(folder + "/" + name + "_bias.f32", draw(1).t());
  };
  linear("in_proj", 3 * E);
  linear("out_proj", E);
  write_floats(folder + "/x.f32", arma::fmat(E, B * L, arma::fill::randn));
}

Linear read_linear(const std::string& folder, const std::string& name, uword out) {
  Linear linear(E, out);
  linear.weight = arma::conv_to<arma::mat>::from(read_floats(folder + "/" + name + "_weight.f32", E, out));
  linear.bias = arma::conv_to<arma::rowvec>::from(read_floats(folder + "/" + name + "_bias.f32", out, 1));
  return linear;
}

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward() = 0;
  virtual arma::fcube result() const = 0;  ///< (L x E x B)
};

class FastLayer : public Layer {
 public:
  FastLayer(arma::fcube X, const Linear& qkv, const Linear& output)
      : X_(std::move(X)), layer_(qkv, output, num_heads) {}
  void forward() override { Y_ = layer_.forward(X_); }
  arma::fcube result() const override { return Y_; }

 private:
  arma::fcube X_, Y_;
  fast::AttentionLayer layer_;
};

class NaiveLayer : public Layer {
 public:
  NaiveLayer(const arma::fcube& X, const Linear& qkv, const Linear& output)
      : X_(arma::conv_to<arma::cube>::from(X)), layer_(E, num_heads) {
    const auto part = [&](uword p) {
      Linear linear(E, E);
      linear.weight = qkv.weight.cols(p * E, (p + 1) * E - 1);
      linear.bias = qkv.bias.cols(p * E, (p + 1) * E - 1);
      return linear;
    };
    layer_.query_proj = part(0);
    layer_.key_proj = part(1);
    layer_.value_proj = part(2);
    layer_.output_proj = output;
    layer_.dropout.eval();
  }
  void forward() override { Y_ = layer_.forward(X_); }
  arma::fcube result() const override { return arma::conv_to<arma::fcube>::from(Y_); }

 private:
  arma::cube X_, Y_;
  MultiHeadAttention layer_;
};

class Peer {
 public:
  explicit Peer(std::string kind) : kind_(std::move(kind)) {}

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, name;
    uword B = 0, L = 0;
    int number = 0;
    words >> command;
    if (command == "version") return version();
    if (command == "make" && words >> folder_ >> B >> L) return make(folder_, B, L), "made";
    if (command == "load" && words >> folder_ >> B >> L >> number) return load(B, L, number), "ready";
    if (command == "write" && words >> name && layer_) return write(name), "written";
    if (command == "time" && words >> number && layer_) return time(number);
    if (command == "sgemm" && words >> number) return std::to_string(sgemm_rate(number));
    throw std::invalid_argument("cannot do: " + line);
  }

 private:
  /// "GCC 12.2.0, OpenBLAS 0.3.21"
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

  void load(uword B, uword L, int threads) {
    omp_set_num_threads(threads);
    openblas_set_num_threads(threads);
    const arma::fmat x = read_floats(folder_ + "/x.f32", E, B * L);
    arma::fcube X(L, E, B);
    for (uword b = 0; b < B; ++b) X.slice(b) = x.cols(b * L, (b + 1) * L - 1).t();
    const Linear qkv = read_linear(folder_, "in_proj", 3 * E), output = read_linear(folder_, "out_proj", E);
    if (kind_ == "fast") {
      layer_ = std::make_unique<FastLayer>(std::move(X), qkv, output);
    } else {
      layer_ = std::make_unique<NaiveLayer>(X, qkv, output);
    }
  }

  void write(const std::string& name) {
    layer_->forward();
    const arma::fcube Y = layer_->result();
    arma::fmat rows(E, Y.n_rows * Y.n_slices);
    for (uword b = 0; b < Y.n_slices; ++b) rows.cols(b * Y.n_rows, (b + 1) * Y.n_rows - 1) = Y.slice(b).t();
    write_floats(folder_ + "/" + name, rows);
  }

  std::string time(int times) {
    return std::to_string(seconds([&] {
      for (int t = 0; t < times; ++t) layer_->forward();
    }));
  }

  std::string kind_, folder_;
  std::unique_ptr<Layer> layer_;
};

}  // namespace
}  // namespace attn::bench

int main(int argc, char** argv) {
  const std::string kind = argc == 2 ? argv[1] : "";
  if (kind != "fast" && kind != "naive") {
    std::cerr << "usage: bench_peer_ours fast | naive\n";
    return 2;
  }
  attn::bench::Peer peer(kind);
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << peer.answer(line) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what() << std::endl;
    }
  }
}
