// One layer of self-attention in each of the course's versions: time, FLOP/s, share of sgemm's rate, memory.
//
//   naive_v1      lesson 01: one head, double, without an output projection
//   naive         lesson 07: separate projections, double
//   fused         lesson 08: one projection, double
//   whole         lesson 08 in float, with whole score matrices: beside it, flash shows what tiles alone gain
//   flash         lesson 19, readable, float
//   flash_fast    lesson 19's fast kernels, float
//   learners      your lesson 19, instead of the readable one
//
// Shares of sgemm's rate are of single precision, also for those that compute in double.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention_layer.hpp"
#include "attn/flash_attention.hpp"
#include "attn/fused_multi_head_attention.hpp"
#include "attn/masking.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/self_attention_v1.hpp"
#include "flash_layer.hpp"
#include "learners_flash.hpp"
#include "measuring.hpp"
#include "threads.hpp"

namespace attn::bench {
namespace {

struct Size {
  arma::uword B, L;
};
const std::vector<Size> sizes = {{1, 128}, {8, 128}, {10, 60}, {1, 1024}, {1, 4096}, {1, 16384}};

/// A layer that is ready, as a call that computes one forward.
using Forward = std::function<void()>;
using MakeForward = std::function<Forward(Size size, bool causal)>;

/// Keeps the compiler from leaving out what computes the output. (Not DoNotOptimize(output): Armadillo's sizes are
/// const members, so Google Benchmark 1.9 takes it for read-only.)
template <typename Number>
void keep(const arma::Cube<Number>& output) {
  const Number* numbers = output.memptr();
  benchmark::DoNotOptimize(numbers);
  benchmark::ClobberMemory();
}

template <typename Layer>
Forward in_double(std::shared_ptr<Layer> layer, Size size, bool causal) {
  auto X = std::make_shared<arma::cube>(size.L, embed_dim, size.B, arma::fill::randn);
  auto mask = std::make_shared<Mask>(causal ? causal_mask(size.L, size.L) : Mask());
  layer->dropout.eval();
  return [=] { keep(layer->forward(*X, *mask)); };
}

Forward naive_v1(Size size, bool causal) {
  if (causal) return {};  // it takes no mask
  auto layer = std::make_shared<SelfAttentionV1>(embed_dim);
  auto X = std::make_shared<arma::cube>(size.L, embed_dim, size.B, arma::fill::randn);
  return [=] { keep(layer->forward(*X)); };
}

Forward naive(Size size, bool causal) {
  return in_double(std::make_shared<MultiHeadAttention>(embed_dim, num_heads), size, causal);
}

Forward fused(Size size, bool causal) {
  return in_double(std::make_shared<FusedMultiHeadAttention>(embed_dim, num_heads), size, causal);
}

template <typename Layer>
Forward in_float(std::shared_ptr<Layer> layer, Size size) {
  auto X = std::make_shared<arma::fcube>(size.L, embed_dim, size.B, arma::fill::randn);
  return [=] { keep(layer->forward(*X)); };
}

Forward around(HeadsAttention attention, Size size) {
  const Linear qkv(embed_dim, 3 * embed_dim), output(embed_dim, embed_dim);
  return in_float(std::make_shared<FlashLayer>(qkv, output, num_heads, std::move(attention)), size);
}

/// softmax(Q K^T / sqrt(D)) V, head after head, with all L x L scores of a head at once.
arma::fcube attention_with_whole_scores(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, bool causal) {
  arma::fcube output(arma::size(V));
  for (arma::uword h = 0; h < Q.n_slices; ++h) {
    arma::fmat weights = Q.slice(h) * K.slice(h).t() / std::sqrt(static_cast<float>(Q.n_cols));  // (L x L)
    for (arma::uword j = 1; causal && j < weights.n_cols; ++j) {
      weights.col(j).head(j).fill(-arma::fdatum::inf);  // queries before key j
    }
    weights.each_col() -= arma::fvec(arma::max(weights, 1));
    weights = arma::exp(weights);
    weights.each_col() /= arma::fvec(arma::sum(weights, 1));
    output.slice(h) = weights * V.slice(h);
  }
  return output;
}

Forward whole(Size size, bool causal) {
  return around([=](const arma::fcube& Q, const arma::fcube& K,
                    const arma::fcube& V) { return attention_with_whole_scores(Q, K, V, causal); },
                size);
}

Forward flash(Size size, bool causal) {
  return around(
      [=](const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V) {
        FlashOptions options;
        options.causal = causal;
        return flash_attention(Q, K, V, options).output;
      },
      size);
}

Forward learners_flash(Size size, bool causal) {
  return around([=](const arma::fcube& Q, const arma::fcube& K,
                    const arma::fcube& V) { return learners::flash_attention(Q, K, V, causal); },
                size);
}

Forward flash_fast(Size size, bool causal) {
  const Linear qkv(embed_dim, 3 * embed_dim), output(embed_dim, embed_dim);
  auto layer = std::make_shared<fast::AttentionLayer>(qkv, output, num_heads);
  auto X = std::make_shared<arma::fcube>(size.L, embed_dim, size.B, arma::fill::randn);
  return [=] { keep(layer->forward(*X, causal)); };
}

/// Layers with score matrices need two numbers of 8 bytes for each head and pair: too much memory beyond 4096 tokens.
bool fits(const std::string& kind, Size size) {
  return size.L <= 4096 || kind.find("flash") == 0 || kind == "learners";
}

void measure(benchmark::State& state, const MakeForward& make, Size size, bool causal, double sgemm) {
  const Forward forward = make(size, causal);
  if (!forward) return state.SkipWithError("takes no mask");
  try {
    state.counters["peak_MiB"] = static_cast<double>(peak_growth(forward)) / (1 << 20);
  } catch (const std::exception& error) {
    return state.SkipWithError(error.what());
  }
  for (auto _ : state) forward();
  const double flops = layer_flops(size.B, size.L, causal) * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
  state.counters["of_sgemm"] = benchmark::Counter(flops / sgemm, benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace attn::bench

int main(int argc, char** argv) {
  using namespace attn::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const double sgemm = sgemm_rate(attn::fast::max_threads());
  std::cout << "sgemm: " << sgemm * 1e-9 << " GFLOP/s with " << attn::fast::max_threads()
            << " threads, kernels: " << attn::fast::usable_kernels().front()->name << ", E = " << embed_dim
            << ", H = " << num_heads << "\n";
  const std::vector<std::pair<std::string, MakeForward>> kinds = {{"naive_v1", naive_v1},
                                                                  {"naive", naive},
                                                                  {"fused", fused},
                                                                  {"whole", whole},
                                                                  {"flash", flash},
                                                                  {"flash_fast", flash_fast},
                                                                  {"learners", learners_flash}};
  for (const Size size : sizes) {
    for (const bool causal : {false, true}) {
      for (const auto& [kind, make] : kinds) {
        if (!fits(kind, size)) continue;
        const std::string name =
            std::to_string(size.B) + "x" + std::to_string(size.L) + (causal ? "_causal/" : "/") + kind;
        benchmark::RegisterBenchmark(
            name.c_str(),
            [make = make, size, causal, sgemm](benchmark::State& state) { measure(state, make, size, causal, sgemm); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
