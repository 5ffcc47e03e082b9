#define ATTN_LANES 4
#define ATTN_TILE_COLUMNS 6
#include "kernels_body.hpp"
#include "stream_body.hpp"
#include "train_body.hpp"

namespace attn::fast {

extern const Kernels portable_kernels;
const Kernels portable_kernels = {"portable",   R,   tile_columns,   project,      scores, mask,
                                  exponentials, mix, stream_kernels, train_kernels};

}  // namespace attn::fast
