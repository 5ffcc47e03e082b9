// Times both ways to attend to the same rows, and counts what they cost: your latent attention, from few queries to many.
//
//   ./learn demo 30
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <vector>

#include "attn/latent_attention.hpp"
#include "shared/program_end.hpp"

namespace {

using arma::uword;

/// The widths of DeepSeek-V2, with 8 of its 128 heads.
attn::LatentAttentionConfig widths() {
  attn::LatentAttentionConfig config;
  config.embed_dim = 512;
  config.num_heads = 8;
  config.head_dim = 128;
  config.rope_dim = 64;
  config.value_dim = 128;
  config.latent_dim = 512;
  config.query_latent_dim = 256;
  return config;
}

/// The least of three runs.
double milliseconds(const std::function<arma::cube()>& attend) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    attend();
    least =
        std::min(least, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

void show() {
  const uword S = 1024;
  const attn::LatentAttentionConfig config = widths();
  const attn::LatentAttention layer(config);
  const arma::cube rows = layer.latent_rows(arma::cube(S, config.embed_dim, 1, arma::fill::randn));
  std::cout << "1024 cached rows of DeepSeek-V2's width, 8 heads, in double.\n\n"
               "new tokens   expanded               absorbed               times faster\n";
  for (const uword L : std::vector<uword>{1, 16, 64, 128, 256, 512, 1024}) {
    const arma::cube Q = layer.queries(arma::cube(L, config.embed_dim, 1, arma::fill::randn), S - L);
    const double expanded = milliseconds([&] { return layer.attend_expanded(Q, rows); });
    const double absorbed = milliseconds([&] { return layer.attend_absorbed(Q, rows); });
    const auto gflops = [](uword flops) { return 1e-9 * static_cast<double>(flops); };
    std::printf("%10d %7.2f GFLOP %5.0f ms %7.2f GFLOP %5.0f ms   %.1f\n", static_cast<int>(L),
                gflops(attn::expanded_flops(config, L, S)), expanded, gflops(attn::absorbed_flops(config, L, S)),
                absorbed, expanded / absorbed);
  }
  std::cout << "\nBoth give the same numbers: ./learn check 30\n";
}

}  // namespace

int main() { return attn::run_demonstration("30", show); }
