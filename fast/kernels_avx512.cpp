#include <immintrin.h>

#define ATTN_LANES 16
#define ATTN_TILE_COLUMNS 12
#define ATTN_LARGER(a, b) _mm512_maskz_max_ps(0xFFFF, a, b)
#include "kernels_body.hpp"
#include "stream_body.hpp"
#include "train_body.hpp"

namespace attn::fast {

extern const Kernels avx512_kernels;
const Kernels avx512_kernels = {"AVX-512",    R,   tile_columns,   project,      scores, mask,
                                exponentials, mix, stream_kernels, train_kernels};

}  // namespace attn::fast
