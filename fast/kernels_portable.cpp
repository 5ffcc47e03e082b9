#define ATTN_LANES 4
#define ATTN_MAX_TILE 6
#include "kernels_body.hpp"

namespace attn::fast {

extern const Kernels portable_kernels;
const Kernels portable_kernels = {"portable", R, max_tile, project, scores, mask, exponentials, mix};

}  // namespace attn::fast
