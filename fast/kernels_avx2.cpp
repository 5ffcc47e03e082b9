#include <immintrin.h>

#define ATTN_LANES 8
#define ATTN_TILE_COLUMNS 6
#define ATTN_LARGER(a, b) _mm256_max_ps(a, b)
#include "kernels_body.hpp"
#include "stream_body.hpp"
#include "train_body.hpp"

namespace attn::fast {

extern const Kernels avx2_kernels;
const Kernels avx2_kernels = {"AVX2",       R,   tile_columns,   project,      scores, mask,
                              exponentials, mix, stream_kernels, train_kernels};

}  // namespace attn::fast
